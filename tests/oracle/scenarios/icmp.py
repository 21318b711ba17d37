# SPDX-License-Identifier: MIT
"""icmp - ICMP and ICMPv6 of every type.
"""
import struct
import time

from lab.packets import (A4, A6, ACK, B4, B6, BCAST4, LL_A, MAC_B, SYN, a6, csum, icmp, icmp6,
                         ip4, ip6, mac, pseudo, tcp, udp)
from lab.recording import scenario
from lab.tools import Peer, life_pair_in, life_pair_out, ping


def inner4(proto, l4, src=B4, dst=A4, **kw):
    """The packet of B that an ICMP error quotes."""
    return ip4(proto, l4, src=src, dst=dst, **kw)


@scenario('icmp', 'ICMP and ICMPv6 of every type, bad checksums, truncated, broadcast, '
          'quoted sockets', listen='tcp:5201 udp:7', nano=True, tail=.5)
def icmp_all(x):
    p, p6 = Peer(x, '10.231.0.60'), Peer(x, 'fd31::60')
    ub, ub6 = x.B.udp(5555), x.B.udp(5555, v6=True)
    ub.sendto(b'x', (p.ip, 9))
    ub6.sendto(b'x', (p6.ip, 9))
    la = x.A.listen(80)
    a, b = life_pair_out(x, la)
    a6_, b6_ = life_pair_in(x, v6=True)
    x.hold(a, b, a6_, b6_)

    def send(pkt, **kw):
        x.inject(ip4(1, pkt, src=kw.pop('src', p.ip), **kw), src=p.mac)

    known = inner4(17, udp(5555, 9, b'x', src=B4, dst=p.ip), dst=p.ip)
    unknown = inner4(17, udp(4444, 9, b'x', src=B4, dst=p.ip), dst=p.ip)
    for t in range(46):
        send(icmp(t, 0, b'\0\0\0\0', known))
    for t in (3, 4, 5, 11, 12):
        send(icmp(t, 1, b'\0\0\0\0', unknown))             # no such socket
        send(icmp(t, 0, b'\0\0\0\0', known[:19]))          # quoted header cut
        send(icmp(t, 0, b'\0\0\0\0', known[:24]))          # fewer than 8 bytes behind it
        send(icmp(t, 0, b'\0\0\0\0', bytes([0x44]) + known[1:]))
        send(icmp(t, 0, b'\0\0\0\0', known[:28]))          # just enough
    for code in range(18):
        send(icmp(3, code, b'\0\0\5\xdc', known))
    send(icmp(3, 1, b'\0\0\0\0', inner4(17, udp(7, 9, b'', src=B4, dst=p.ip), dst=p.ip)))
    send(icmp(3, 1, b'\0\0\0\0', inner4(1, icmp(8, 0, b'abcd'), dst=p.ip)))
    send(icmp(3, 1, b'\0\0\0\0', inner4(99, b'12345678', dst=p.ip)))
    # quoted TCP: established (soft error), nobody's, wrong sequence
    bp, ap = b.getsockname()[1], 80
    for seq in (0, 1):
        send(icmp(3, 1, b'\0\0\0\0', inner4(6, tcp(bp, ap, seq, flags=ACK))))
    send(icmp(3, 3, b'\0\0\0\0', inner4(6, tcp(1, 2, 0, flags=ACK))))
    send(icmp(3, 3, b'\0\0\0\0', inner4(6, tcp(5201, 2, 0, flags=ACK))))   # a listener
    # an error for a SYN of B: the attempt fails; with a wrong sequence it does not
    hole = Peer(x, '10.231.0.99')
    for code, wrong in ((1, 0), (3, 0), (13, 0), (3, 77)):
        x.lab.sniff_flush()
        s = x.B.start_connect(hole.ip, 90 + code)
        x.hold(s)
        fl, seq = hole.rawtcp(0, 0).expect(SYN)[:2]
        send(icmp(3, code, b'\0\0\0\0', inner4(6, tcp(
            s.getsockname()[1], 90 + code, seq + wrong, dst=hole.ip), dst=hole.ip)))
    # checksums, short ones, timestamps
    for t in (0, 3, 8, 13, 45):
        send(icmp(t, 0, b'\0\0\0\0', known, bad=True))
    for n in (0, 1, 4, 7):
        send(icmp(8, 0, b'\0\0\0\0')[:n] if n > 3 else b'\0' * n)
    whole = icmp(8, 0, b'\0\0')                              # 6 bytes, checksum right
    send(whole)
    send(icmp(13, 0, b'\0\1\0\1', b'\0' * 12))
    send(icmp(13, 0, b'\0\1\0\2', b'\0' * 3))
    send(icmp(13, 0, b'\0\1\0\3'))
    # broadcast and multicast
    for t, d in ((8, b'data'), (13, b'\0' * 12), (17, b'\0' * 4), (18, b'\0' * 4), (3, known),
                 (0, b'data'), (10, b''), (45, b'')):
        for dst in (BCAST4, '224.0.0.1', '255.255.255.255'):
            x.inject(ip4(1, icmp(t, 0, b'\0\0\0\0', d), src=p.ip, dst=dst),
                     dst='01:00:5e:00:00:01' if dst[0:3] == '224' else 'ff:ff:ff:ff:ff:ff',
                     src=p.mac)
    ping(x, x.A, BCAST4, 2, reply=False)
    ping(x, x.A, B4, 3, tos=0x10)
    ping(x, x.B, A4, 3, size=1000)

    # ---- version 6
    def send6(t, code=0, rest=b'\0\0\0\0', data=b'', src=p6.ip, dst=B6, hlim=64, cut=None,
              bad=False, l2=MAC_B):
        pkt = icmp6(t, code, rest, data, src=src, dst=dst, bad=bad)
        if cut is not None:
            pkt = pkt[:cut]
            pkt = pkt[:2] + b'\0\0' + pkt[4:]
            c = csum(pseudo(a6(src), a6(dst), 58, cut) + pkt)
            pkt = pkt[:2] + struct.pack('!H', c) + pkt[4:] if cut >= 4 else pkt
        x.inject(ip6(58, pkt, src=src, dst=dst, hlim=hlim), src=p6.mac, dst=l2)

    known6 = ip6(17, udp(5555, 9, b'x', src=B6, dst=p6.ip), src=B6, dst=p6.ip)
    unknown6 = ip6(17, udp(4444, 9, b'x', src=B6, dst=p6.ip), src=B6, dst=p6.ip)
    for t in (0, 1, 2, 3, 4, 5, 100, 101, 127):
        send6(t, 0, b'\0\0\5\xdc', known6)
        send6(t, 0, b'\0\0\5\xdc', unknown6)
        send6(t, 0, b'\0\0\5\xdc', known6[:39])
        send6(t, 0, b'\0\0\5\xdc', known6[:44])
        send6(t, 0, b'\0\0\5\xdc', known6[:48])
    send6(1, 3, b'\0\0\0\0', ip6(6, tcp(1, 2, 0, src=B6, dst=p6.ip), src=B6, dst=p6.ip))
    send6(1, 3, b'\0\0\0\0', ip6(99, b'12345678', src=B6, dst=p6.ip))
    send6(1, 3, b'\0\0\0\0', ip6(58, icmp6(128, 0, b'abcd', src=B6, dst=p6.ip), src=B6, dst=p6.ip))
    hole6 = Peer(x, 'fd31::99')
    x.lab.sniff_flush()
    s = x.B.start_connect(hole6.ip, 90)
    x.hold(s)
    fl, seq = hole6.rawtcp(0, 0).expect(SYN)[:2]
    send6(1, 4, b'\0\0\0\0', ip6(6, tcp(s.getsockname()[1], 90, seq, src=B6, dst=hole6.ip),
                                 src=B6, dst=hole6.ip))
    for t in (128, 129, 131, 132, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 151, 155,
              160, 161, 200, 254, 255):
        send6(t, 0, b'\0\1\0\1', b'd' * 24)
    for t in (1, 128, 135, 200):
        send6(t, 0, b'\0\1\0\1', known6, bad=True)
    for n in (4, 5, 7):
        send6(128, cut=n)
    send6(2, 0, b'\0\0\5\xdc', b'short')
    # neighbour discovery: good, wrong hop limit, for somebody else, probes for ours
    me = a6(B6)
    opt = b'\1\1' + mac(p6.mac)
    sol = 'ff02::1:ff00:2'
    send6(135, 0, b'\0\0\0\0', me + opt, dst=sol, hlim=255, l2='33:33:ff:00:00:02')
    send6(135, 0, b'\0\0\0\0', me + opt, hlim=255)
    send6(135, 0, b'\0\0\0\0', me + opt, hlim=64)
    send6(135, 0, b'\0\0\0\0', a6('fd31::77') + opt, hlim=255)
    send6(135, 0, b'\0\0\0\0', me, src='::', dst=sol, hlim=255, l2='33:33:ff:00:00:02')
    send6(136, 0, b'\x60\0\0\0', a6(p6.ip) + b'\2\1' + mac(p6.mac), hlim=255)
    send6(136, 0, b'\x20\0\0\0', a6('fd31::78') + b'\2\1' + mac(p6.mac), hlim=255)
    send6(133, 0, b'\0\0\0\0', b'\1\1' + mac(p6.mac), src=LL_A, hlim=255)
    send6(134, 0, b'\x40\0\7\x08', b'\0' * 8, src=LL_A, hlim=255)
    send6(137, 0, b'\0\0\0\0', a6(A6) + a6(A6), hlim=255)
    # echo to groups: all nodes is answered, another one is not ours
    send6(128, 0, b'\0\7\0\1', b'all', dst='ff02::1', l2='33:33:00:00:00:01')
    send6(128, 0, b'\0\7\0\1', b'not', dst='ff02::4242', l2='33:33:00:00:42:42')
    # listener query from a router: B reports within a second
    mld = icmp6(130, 0, struct.pack('!HH', 500, 0), b'\0' * 16, src=LL_A, dst='ff02::1')
    x.inject(ip6(0, bytes([58, 0, 5, 2, 0, 0, 1, 0]) + mld, src=LL_A, dst='ff02::1', hlim=1),
             dst='33:33:00:00:00:01')
    x.inject(ip6(58, mld, src=LL_A, dst='ff02::1', hlim=1), dst='33:33:00:00:00:01')
    ping(x, x.A, B6, 3, size=500)
    ping(x, x.B, A6, 2, size=1000)
    time.sleep(2)
