# SPDX-License-Identifier: MIT
"""ipv6 - extension headers, fragments, groups, broken headers.
"""
import socket
import time

from lab.packets import (A6, ACK, B6, ETH_IP6, MAC_B, a6, ext, frag6, frag6hdr, icmp6, ip6, tcp,
                         udp)
from lab.recording import scenario
from lab.tools import Peer, payload, ping, small_mix


@scenario('v6', 'IPv6 extension headers, fragments, multicast, broken packets, UDP, TCP, NS and NA',
          listen='tcp:5201 udp:7 udp:6000', mcast='ff05::1234', neigh='dynamic', tail=.5)
def v6(x):
    t0 = time.monotonic()
    p = Peer(x, 'fd31::50')

    def u(dp=6000, data=b'data', dst=B6, src=None, **kw):
        return udp(4000, dp, data, src=src or p.ip, dst=dst, **kw)

    def snd(nh, data, l2=MAC_B, cut=None, et=None, **kw):
        kw.setdefault('src', p.ip)
        pkt = ip6(nh, data, **kw)
        x.inject(pkt[:cut] if cut else pkt, dst=l2, src=p.mac, et=et or ETH_IP6)

    # holes first: 60 s
    snd(44, frag6hdr(17, 0, 1, 1) + u(data=payload(2000))[:1024])
    snd(44, frag6hdr(17, 1024, 0, 2) + payload(500))
    # extension headers
    snd(0, ext(17) + u())
    snd(0, ext(17, b'\1\4\0\0\0\0') + u())
    snd(60, ext(17) + u())
    snd(0, ext(60) + ext(17) + u())
    snd(0, ext(60) + ext(60) + ext(17) + u())
    snd(60, ext(0) + ext(17) + u())             # hop-by-hop not first
    snd(0, ext(17, b'\5\2\0\0') + u())          # router alert
    for act in (0x1e, 0x5e, 0x9e, 0xde):        # unknown: skip, drop, report, report
        snd(0, ext(17, bytes([act, 2, 0, 0])) + u())
        snd(60, ext(17, bytes([act, 2, 0, 0])) + u())
    snd(60, ext(17, b'\x9e\2\0\0') + u(dst='ff02::1'), dst='ff02::1', l2='33:33:00:00:00:01')
    snd(60, ext(17, b'\xde\2\0\0') + u(dst='ff02::1'), dst='ff02::1', l2='33:33:00:00:00:01')
    snd(0, bytes([17, 0, 1, 9, 0, 0, 0, 0]) + u())           # option past the header
    snd(0, bytes([17, 0, 1, 4, 0, 1, 0, 0]) + u())           # PadN not zero
    snd(0, bytes([17, 1]) + b'\0' * 14 + u())                # too much padding
    snd(60, bytes([17, 20]) + b'\0' * 6 + u())               # longer than the packet
    snd(43, bytes([17, 0, 0, 0]) + b'\0' * 4 + u())          # routing type 0, nothing left
    snd(43, bytes([17, 2, 0, 1]) + b'\0' * 4 + a6(A6) + u())  # one left
    snd(43, bytes([17, 0, 99, 0]) + b'\0' * 4 + u())
    snd(43, bytes([17, 0, 99, 1]) + b'\0' * 4 + u())
    snd(59, b'')
    snd(59, b'ignored')
    snd(0, ext(59))
    for nh in (253, 254, 99, 143):
        snd(nh, b'whatever')
    snd(60, ext(253) + b'whatever')
    snd(253, b'whatever', dst='ff02::1', l2='33:33:00:00:00:01')
    # the header
    snd(17, u(), plen=200)
    snd(17, u(), plen=0)
    snd(17, u() + b'trailer', plen=12)
    snd(17, u(), cut=20)
    snd(17, u(), ver=4)
    snd(17, u(), ver=7)
    for h in (0, 1, 255):
        snd(17, u(), hlim=h)
    snd(17, u(src='ff02::9'), src='ff02::9')
    snd(17, u(src='::1'), src='::1')
    snd(17, u(src='::'), src='::')
    snd(17, u(dst='::1'), dst='::1')
    snd(17, u(dst='fd31::200'), dst='fd31::200')
    snd(17, u(dst='2001:db8::9'), dst='2001:db8::9')
    snd(17, u(dst='::'), dst='::')
    snd(17, u(dst='ff01::1'), dst='ff01::1', l2='33:33:00:00:00:01')
    snd(17, u(dst='ff00::1'), dst='ff00::1', l2='33:33:00:00:00:01')
    snd(17, u(), l2='02:00:00:00:00:ee')
    snd(17, u(), l2='ff:ff:ff:ff:ff:ff')
    snd(17, u(6999), l2='ff:ff:ff:ff:ff:ff')
    for tc in (1, 2, 3):
        snd(17, u(), tc=tc)
    # UDP and TCP
    for dp in (6000, 6999):
        snd(17, u(dp, bad=True))
        snd(17, u(dp, data=payload(200), bad=True))
        snd(17, u(dp, zero=True))
        snd(17, u(dp, length=4))
        snd(17, u(dp, length=0))
        snd(17, u(dp, length=100))
        snd(17, u(dp, data=b'abcdef', length=10))
        snd(17, u(dp)[:6])
    snd(6, b'\0' * 8)
    snd(6, tcp(4000, 5201, 1, src=p.ip, dst=B6, doff=4))
    snd(6, tcp(4000, 5201, 1, src=p.ip, dst=B6, bad=True))
    snd(6, tcp(4000, 9999, 1, src=p.ip, dst=B6))
    snd(6, tcp(4000, 5201, 1, 1, ACK, src=p.ip, dst=B6))
    # multicast: joined, all nodes, not joined, nobody's port
    for g, l2 in (('ff05::1234', '33:33:00:00:12:34'), ('ff02::1', '33:33:00:00:00:01'),
                  ('ff05::4321', '33:33:00:00:43:21'), ('ff02::1:ff00:2', '33:33:ff:00:00:02')):
        snd(17, u(dst=g), dst=g, l2=l2)
        snd(17, u(6999, dst=g), dst=g, l2=l2)
    ub = x.B.udp(v6=True)
    ub.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    ub.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, x.B.ifindex)
    for g in ('ff05::1234', 'ff02::1', 'ff05::77'):
        ub.sendto(b'to the group', (g, 7777))
    # fragments
    d = u(data=payload(4000))
    for kw in (dict(id=10), dict(id=11, order=[2, 1, 0]), dict(id=12, order=[1, 0, 1, 2])):
        x.inject(*frag6(17, d, [1400, 2800], src=p.ip, **kw), src=p.mac)
    snd(44, frag6hdr(17, 0, 0, 13) + u())                    # atomic
    snd(0, ext(44) + frag6hdr(17, 0, 0, 14) + u())
    snd(44, frag6hdr(17, 0, 1, 15) + d[:1001])               # not a multiple of 8
    snd(44, frag6hdr(17, 65528, 0, 16) + payload(100))       # past the end
    x.inject(*[ip6(44, frag6hdr(17, o, m, 17) + d[o:e], src=p.ip) for o, e, m in
               ((0, 1400, 1), (1392, 2800, 1), (2800, 4008, 0))], src=p.mac)      # overlap
    x.inject(*[ip6(44, frag6hdr(17, o, m, 18) + d[o:e], src=p.ip) for o, e, m in
               ((1400, 2000, 0), (1400, 2400, 0))], src=p.mac)                    # two ends
    snd(44, frag6hdr(17, 0, 1, 19))                          # nothing inside
    snd(44, b'\x11\0\0')                                     # header cut
    snd(44, frag6hdr(17, 0, 1, 20) + b'ab' * 2)              # first without its UDP header
    x.inject(*frag6(58, icmp6(128, 0, b'abcd', payload(3000), src=p.ip), [1400, 2800], src=p.ip,
                    id=21), src=p.mac)
    # ordinary traffic of B and A
    small_mix(x, v6=True)
    ua = x.A.udp(v6=True)
    for n in (1452, 1453, 5000, 20000):
        ua.sendto(payload(n), (B6, 7))
        x.echo(7, True)
        ua.recv(66000)
    ping(x, x.A, B6, 2, size=4000)
    ping(x, x.B, A6, 2, size=4000)
    time.sleep(max(0, t0 + 62.5 - time.monotonic()))
