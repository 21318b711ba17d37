# SPDX-License-Identifier: MIT
"""ecn - ECN marks, multicast and broadcast.
"""
import socket
import struct
import time

from lab.packets import A4, A6, B4, B6, BCAST4, a4, csum, icmp, ip4, ip6, mac, tcp, udp
from lab.recording import scenario
from lab.tools import accept, life_pair_out, payload, ping, transfer
from lab.wires import Wire


def ce_marker(every):
    """Marks every n-th ECN-capable IPv4 or IPv6 packet as congested."""
    def policy(w, to_b, f, rng):
        n = w.state
        if f[12:14] == b'\x08\0' and f[15] & 3 in (1, 2):
            n[to_b] = n.get(to_b, 0) + 1
            if n[to_b] % every == 0:
                h = bytearray(f[14:34])
                h[1] |= 3
                h[10:12] = b'\0\0'
                h[10:12] = struct.pack('!H', csum(bytes(h)))
                f = f[:14] + bytes(h) + f[34:]
        elif f[12:14] == b'\x86\xdd' and (f[15] >> 4) & 3 in (1, 2):
            n[to_b] = n.get(to_b, 0) + 1
            if n[to_b] % every == 0:
                f = f[:15] + bytes([f[15] | 0x30]) + f[16:]
        return [(0, f)]
    return lambda: Wire(policy)


def classic_ecn(x):
    for h in (x.A, x.B):
        h.sysctl(ipv4__tcp_ecn=1)


@scenario('ecn-mcast-bcast', 'ECT(0), ECT(1) and CE marks, multicast joined and not, broadcast',
          topo='wire', wire=ce_marker(9), listen='tcp:5201 udp:7 udp:6000',
          mcast='239.1.2.3 ff05::1234', setup=classic_ecn)
def ecn(x):
    la = x.A.listen(80)
    for v6 in (False, True):
        c = x.A.connect(B6 if v6 else B4, 5201)
        s = accept((x.tcp6 if v6 else x.tcp)[5201])
        transfer([(c, s, 150000)])
        transfer([(s, c, 150000)])
        c.close()
        s.close()
    a, b = life_pair_out(x, la)
    transfer([(b, a, 60000)])
    x.hold(a, b)
    ua, ub = x.A.udp(), x.B.udp()
    ua6 = x.A.udp(v6=True)
    for tos in (0, 1, 2, 3):
        for s in (ua, ub):
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x20 | tos)
        ua6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
        for i in range(tos + 2):
            ua.sendto(b'marked', (B4, 7))
            ub.sendto(b'marked', (A4, 9))
            ua6.sendto(b'marked', (B6, 7))
        ping(x, x.A, B4, 2, tos=tos)
        ping(x, x.A, B6, 2, tos=tos)
    time.sleep(.2)
    x.A.drain()
    # multicast in: joined, all hosts, not joined; a port that nobody has
    for g in ('239.1.2.3', '224.0.0.1', '239.9.9.9'):
        m = mac('01:00:5e:' + ':'.join('%02x' % v for v in (a4(g)[1] & 127, a4(g)[2], a4(g)[3])))
        for port, n in ((6000, 3), (6999, 2)):
            for i in range(n):
                x.inject(ip4(17, udp(5000, port, b'group', dst=g), dst=g, ttl=1), dst=m)
        x.inject(ip4(253, b'what', dst=g), dst=m)
        x.inject(ip4(1, icmp(8, 0, b'abcd'), dst=g), dst=m)
    for i in range(2):
        x.inject(ip6(17, udp(5000, 6000, b'group', src=A6, dst='ff05::1234'), dst='ff05::1234'),
                 dst='33:33:00:00:12:34')
        x.inject(ip6(17, udp(5000, 6000, b'group', src=A6, dst='ff05::5678'), dst='ff05::5678'),
                 dst='33:33:00:00:56:78')
    # broadcast in
    for dst in (BCAST4, '255.255.255.255'):
        for port, n in ((6000, 4), (6999, 3)):
            for i in range(n):
                x.inject(ip4(17, udp(5000, port, b'all', dst=dst), dst=dst),
                         dst='ff:ff:ff:ff:ff:ff')
        x.inject(ip4(6, tcp(5000, 5201, 1, dst=dst), dst=dst), dst='ff:ff:ff:ff:ff:ff')
    # out: B hears its own broadcasts, and not its own multicast with the loop off
    ub.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0)
    ub.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    ub.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, a4(B4))
    for g in ('239.1.2.3', '239.9.9.9', '224.0.0.1'):
        ub.sendto(payload(100), (g, 6000))
    for port in (6000, 6999):
        for i in range(2):
            ub.sendto(payload(200), (BCAST4, port))
    # leave and join while it runs: reports on the wire
    s = x.join(x.B, '239.5.5.5')
    s6 = x.join(x.B, 'ff05::5555')
    time.sleep(1.5)
    for i in range(2):
        x.inject(ip4(17, udp(5000, 6000, b'new', dst='239.5.5.5'), dst='239.5.5.5'),
                 dst='01:00:5e:05:05:05')
    time.sleep(.2)
    s.close()
    s6.close()
    time.sleep(1.5)
    for i in range(3):
        x.inject(ip4(17, udp(5000, 6000, b'old', dst='239.5.5.5'), dst='239.5.5.5'),
                 dst='01:00:5e:05:05:05')
    time.sleep(1)
