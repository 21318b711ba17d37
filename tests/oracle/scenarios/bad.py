# SPDX-License-Identifier: MIT
"""bad - broken, foreign and odd IPv4, TCP and UDP packets.
"""
import struct
import time

from lab.packets import (A4, A6, ACK, B4, B6, BCAST4, ETH_ARP, ETH_IP, ETH_IP6, FIN, MAC_B, PSH,
                         RST, SYN, URG, a4, icmp, ip4, ip6, mac, tcp, udp)
from lab.recording import scenario
from lab.tools import Peer, accept, echo_tcp, payload


@scenario('bad', 'broken, foreign and odd IPv4, TCP and UDP packets',
          listen='tcp:5201 udp:6000', tail=.5)
def bad(x):
    p = Peer(x, '10.231.0.80')
    s = x.A.connect(B4, 5201)
    b = accept(x.tcp[5201])

    def ip(proto, data, l2=MAC_B, pad=0, cut=None, **kw):
        kw.setdefault('src', p.ip)
        pkt = ip4(proto, data, **kw)
        x.inject(pkt[:cut] if cut else pkt, dst=l2, src=p.mac, pad=pad)

    def u(dp=6000, data=b'data', dst=B4, **kw):
        return udp(4000, dp, data, src=p.ip, dst=dst, **kw)

    def t(dp=5201, flags=SYN, seq=1, ack=0, **kw):
        return tcp(4000, dp, seq, ack, flags, src=p.ip, dst=B4, **kw)

    BC = 'ff:ff:ff:ff:ff:ff'
    # the header
    for _ in range(3):
        ip(17, u(), bad=True)
    ip(17, u(), ver=5)
    ip(17, u(), ver=6)
    ip(17, u(), ihl=4)
    ip(17, u(), ihl=0)
    ip(17, u(data=b''), ihl=15)                 # header longer than the frame
    ip(17, u(), tot=200)                        # longer than the frame
    ip(17, u(), tot=16)                         # shorter than its header
    ip(17, u(), tot=0)
    ip(17, u(data=b'z' * 50), cut=40)
    ip(17, u(), cut=10)
    ip(17, u(), cut=19)
    for ttl in (0, 1, 255):
        ip(17, u(), ttl=ttl)
    ip(17, u(data=b''), pad=60)                 # padded frame: octets count it
    ip(17, u(data=b'q'), pad=100)
    ip(6, t(9999), pad=60)
    ip(17, u() + b'trailer', tot=32)            # UDP whole, trailer trimmed
    # protocols that nobody has; one to broadcast, which gets no error
    for proto in (253, 254, 99, 143, 200):
        ip(proto, b'whatever')
    ip(253, b'whatever', dst=BCAST4, l2=BC)
    # addresses
    for _ in range(3):
        ip(17, u(dst='10.231.0.200'), dst='10.231.0.200')
    ip(17, u(dst='192.0.2.9'), dst='192.0.2.9')
    ip(17, u(dst='10.231.0.200'), dst='10.231.0.200', l2=BC)
    ip(17, u(), l2='02:00:00:00:00:ee')         # somebody else's frame
    ip(17, u(), l2=BC)                          # ours in a broadcast frame
    ip(17, u(6999), l2=BC)                      # NoPorts without an error
    ip(6, t(9999), l2=BC)                       # TCP ignores it
    ip(1, icmp(8, 0, b'abcd'), l2=BC)
    for src in ('127.0.0.1', '0.0.0.0', '255.255.255.255', '224.0.0.5', B4, BCAST4,
                '0.1.2.3', '240.0.0.1'):
        ip(17, udp(4000, 6000, b'm', src=src), src=src)
    for dst in ('127.0.0.1', '0.0.0.0', '0.1.2.3', '240.0.0.9', '10.231.0.0'):
        ip(17, u(dst=dst), dst=dst)
    # TCP
    ip(6, b'\0' * 8)
    ip(6, t()[:19])
    ip(6, t(doff=4))
    ip(6, t(doff=0))
    ip(6, t(doff=15))
    for dp in (5201, 9999):
        ip(6, t(dp, bad=True))
        ip(6, t(dp, data=payload(200), flags=ACK, bad=True))
    x.inject(ip4(6, tcp(s.getsockname()[1], 5201, 1, 1, ACK, b'hello', bad=True)))
    x.inject(ip4(6, tcp(s.getsockname()[1], 5201, 1, 1, ACK, payload(300), bad=True)))
    for flags in (0, FIN, RST, ACK, FIN | ACK, SYN | FIN, SYN | RST, SYN | ACK, RST | ACK,
                  FIN | PSH | URG, SYN | FIN | RST | PSH | ACK | URG):
        ip(6, t(9999, flags))                   # closed port
        ip(6, t(5201, flags, seq=100 + flags))  # listener
        time.sleep(.01)
    ip(6, t(5201, RST, seq=101))                # the half-open one goes
    # UDP
    for dp in (6000, 6999):
        ip(17, u(dp, bad=True))
        ip(17, u(dp, data=payload(200), bad=True))
        ip(17, u(dp, zero=True))
        ip(17, u(dp, length=4))
        ip(17, u(dp, length=0))
        ip(17, u(dp, length=100))
        ip(17, u(dp, data=b'abcdef', length=10))
        ip(17, u(dp)[:6])
    # options
    ok = [b'\1\1\1\0', b'\x07\x07\x04\0\0\0\0', b'\x44\x0c\x05\0' + b'\0' * 8,
          b'\x94\x04\0\0', b'\x99\x04ab', b'\x88\x04\0\0']
    broken = [b'\x07\x00\x00\x00', b'\x07\x02\x00\x00', b'\x07\x0f\x04\x00', b'\x44\x03\x05\0',
              b'\x99\x01\0\0', b'\x07\x07\x03\0\0\0\0', b'\x94\x03\0\0']
    for o in ok:
        ip(17, u(), opts=o)
        ip(1, icmp(8, 0, b'opts', o), opts=o)
    for o in broken:
        ip(17, u(), opts=o)
    ip(17, u(dst='10.231.0.200'), dst='10.231.0.200', opts=broken[0])
    ip(17, u(dst='10.231.0.200'), dst='10.231.0.200', opts=ok[0])
    for o in (b'\x83\x07\x04' + a4(A4), b'\x89\x07\x04' + a4(A4)):     # source routes
        ip(17, u(), opts=o)
    ip(17, u(6999), opts=ok[0])
    # things that are not IP
    x.inject(b'\0' * 46, et=0x88cc)
    x.inject(b'\xaa\xaa\3' + b'\0' * 43, et=46)
    arp = struct.pack('!HHBBH', 1, 0x800, 6, 4, 1) + mac(p.mac) + a4(p.ip) + b'\0' * 6 + a4(B4)
    x.inject(arp, et=ETH_ARP, dst=BC, src=p.mac)
    x.inject(ip4(17, u(), src=p.ip), et=ETH_IP6)        # version 4 in an IPv6 frame
    x.inject(ip6(17, udp(1, 6000, b'x', src=A6, dst=B6)), et=ETH_IP)
    echo_tcp(s, b, 10, 10)
    s.close()
    b.close()
    time.sleep(1.2)
