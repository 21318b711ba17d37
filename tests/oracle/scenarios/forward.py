# SPDX-License-Identifier: MIT
"""forward - host B is a router with one arm: A and C talk through it.

Everything that B forwards comes in and goes out by the captured device. A
network without a route is answered by an ICMP error only if B has sent none
to the same host for a second (the kernel's own limit for route errors, which
no option of the lab turns off): hence the waits.
"""
import socket
import time

from lab.packets import (A4, A6, B4, B6, BCAST4, C4, C6, LL_A, MAC_A, MAC_B, MAC_C, a4, ext,
                         frag4, frag6, icmp, icmp6, ip4, ip6, mac, tcp, udp)
from lab.recording import scenario
from lab.tools import accept, echo_tcp, payload, ping, transfer

R4, R6 = '10.232.0.2', 'fd32::2'            # B's second address of each family
NARROW4, NARROW6 = '10.233.0.5', 'fd33::5'  # behind C, path of 1280 bytes
LOCAL = '%s/24 %s/64' % (R4, R6)


def router(x, neigh=True):
    A, B, C = x.A, x.B, x.lab.C
    B.ip('addr', 'add', R4 + '/24', 'brd', '+', 'dev', B.ifname)
    B.ip('-6', 'addr', 'add', R6 + '/64', 'dev', B.ifname, 'nodad')
    B.sysctl(ipv4__ip_forward=1, ipv6__conf__all__forwarding=1)
    for h, to4, to6, via4, via6 in ((A, '10.232.0.0/15', 'fd32::/15', B4, B6),
                                    (C, '10.231.0.0/24', 'fd31::/64', R4, R6)):
        h.ip('route', 'add', to4, 'via', via4)
        h.ip('-6', 'route', 'add', to6, 'via', via6)
    if neigh:
        x.lab.neigh(B, C4, MAC_C)
        x.lab.neigh(B, C6, MAC_C)
    x.lab.neigh(C, R4, MAC_B)
    x.lab.neigh(C, R6, MAC_B)
    B.ip('route', 'add', '10.233.0.0/24', 'via', C4, 'mtu', 'lock', '1280')
    B.ip('-6', 'route', 'add', 'fd33::/64', 'via', C6, 'mtu', 'lock', '1280')
    for kind, n in (('unreachable', 40), ('prohibit', 41), ('blackhole', 42)):
        B.ip('route', 'add', kind, '10.2%d.0.0/24' % n)
        B.ip('-6', 'route', 'add', kind, 'fd%d::/64' % n)


def echo(client, server, dst, n):
    client.sendto(payload(n), (dst, 7))
    d, a = server.recvfrom(66000)
    server.sendto(d, a)
    client.recv(66000)


def through(x, v6):
    """Ordinary traffic between A and C, and between both and B."""
    a, b, c = (A6, B6, C6) if v6 else (A4, B4, C4)
    C = x.lab.C
    ping(x, x.A, c, 3)
    ping(x, C, a, 2, size=1000)
    ping(x, x.A, c, 2, size=4000)
    sc, sa, ua, uc = C.udp(7, v6=v6), x.A.udp(7, v6=v6), x.A.udp(v6=v6), C.udp(v6=v6)
    for n in (1, 500, 1400, 5000):
        echo(ua, sc, c, n)
        echo(uc, sa, a, n)
    for i in range(3):
        ua.sendto(b'nobody', (c, 6999))     # C answers with an error that B passes on
        x.pause()
    x.A.drain()
    lc, la = C.listen(80, v6=v6), x.A.listen(80, v6=v6)
    for src, l, dst in ((x.A, lc, c), (C, la, a)):
        k = src.connect(dst, 80)
        s = accept(l)
        echo_tcp(k, s, 300, 5000)
        transfer([(k, s, 15000), (s, k, 8000)])
        k.close()
        x.pause()
        s.close()
        x.pause()
    x.A.try_connect(c, 6997)
    # the router's own traffic, to either side
    ping(x, x.A, b, 2)
    ping(x, C, R6 if v6 else R4, 2)
    ping(x, x.B, c, 2, size=2000)
    for u, dst in ((ua, b), (uc, R6 if v6 else R4)):
        u.sendto(b'router', (dst, 7))
        x.pause()
        x.echo(7, v6)
        x.pause()
        u.recv(100)
        u.sendto(b'router', (dst, 6999))
    x.pause()
    for src, dst in ((x.A, b), (C, R6 if v6 else R4)):
        k = src.connect(dst, 5201)
        s = accept((x.tcp6 if v6 else x.tcp)[5201])
        echo_tcp(k, s, 100, 3000)
        k.close()
        x.pause()
        s.close()
    k = x.B.connect(c, 80)
    s = accept(lc)
    x.hold(k, s)


@scenario('forward', 'B forwards between A and C: time to live, no route, too big, fragments, '
          'options, odd frames; its own traffic', topo='hub', listen='tcp:5201 udp:7 udp:6000',
          forward=True, setup=router, local=LOCAL, tail=.5)
def forward(x):
    through(x, False)
    through(x, True)
    forward4(x)
    forward6(x)


def forward4(x):
    def send(p, l2=MAC_B, wait=.02):
        x.inject(p, dst=l2)
        time.sleep(wait)

    def u(dst=C4, data=b'data', dp=6999, src=A4, l2=MAC_B, **kw):
        send(ip4(17, udp(4000, dp, data, src=src, dst=dst), src=src, dst=dst, **kw), l2)

    # time to live, as traceroute does it: to C, to B, beyond
    for ttl in (1, 2, 3, 0, 255):
        for port in (33434, 33435):
            u(dp=port + ttl, ttl=ttl)
        send(ip4(1, icmp(8, 0, b'\0\1\0\1', b'trace'), dst=C4, ttl=ttl))
        send(ip4(6, tcp(4000, 81, 1, dst=C4), dst=C4, ttl=ttl))
    u(B4, dp=6000, ttl=1)
    u(R4, dp=6000, ttl=1)
    u(NARROW4, data=payload(1400), ttl=1, flags='D')
    for p in frag4(17, udp(4000, 6999, payload(2000), dst=C4), [1480], dst=C4, ttl=1, id=70):
        send(p)
    send(ip4(1, icmp(3, 3, data=ip4(17, udp(1, 2), dst=C4)), dst=C4, ttl=1))    # never an error
    # no way: an answer, or silence
    for dst in ('10.99.0.1', '10.240.0.1', '10.241.0.1', '240.0.0.9', '0.1.2.3'):
        time.sleep(1.1)
        u(dst)
        u(dst)
    time.sleep(1.1)
    u('10.99.0.1', ttl=1)
    for _ in range(3):
        u('10.242.0.1')
    # frames and addresses that are not forwarded
    for l2 in ('ff:ff:ff:ff:ff:ff', '01:00:5e:00:00:01', '02:00:00:00:00:ee'):
        u(l2=l2)
        u(l2=l2, ttl=1)
    for src in ('127.0.0.1', '0.0.0.0', '255.255.255.255', '224.0.0.5', B4, R4):
        u(src=src)
    for src in ('0.1.2.3', '240.0.0.1', '10.99.0.1'):
        u(src=src)
    for dst in ('127.0.0.1', '239.1.1.1', '224.0.0.2'):
        u(dst, dp=6000, l2=MAC_B if dst[0] == '1' else '01:00:5e:00:00:02')
    for dst in (BCAST4, '10.232.0.255', '255.255.255.255'):
        u(dst, dp=6000)
        u(dst, dp=6000, l2='ff:ff:ff:ff:ff:ff')
    u(A4, src=C4)
    # too big: refused, cut, cut again
    for n in (1252, 1253, 1400):
        u(NARROW4, data=payload(n))
        u(NARROW4, data=payload(n), flags='D')
    u(NARROW4, data=payload(1400), opts=b'\x07\x07\x04\0\0\0\0')
    u(NARROW4, data=payload(1400), opts=b'\x94\4\0\0')
    big = udp(4000, 6999, payload(3000), dst=NARROW4)
    for i, p in enumerate(frag4(17, big, [1480, 2960], dst=NARROW4, id=71)):
        send(p)
    for p in frag4(17, big, [800, 1600, 2400], dst=NARROW4, id=72, order=[3, 1, 0, 2]):
        send(p)
    send(ip4(17, big[:1480], dst=NARROW4, id=73, flags='MD'))
    for p in frag4(17, udp(4000, 6999, payload(3000), dst=C4), [1480, 2960], dst=C4, id=74):
        send(p)
    for n in (1200, 1300, 4000):            # B's own datagrams on the narrow path
        x.B.udp().sendto(payload(n), (NARROW4, 9))
    # options
    for o in (b'\x07\x07\x04\0\0\0\0', b'\x07\x07\x08\0\0\0\0', b'\x44\x0c\x05\0' + b'\0' * 8,
              b'\x44\x04\x05\0', b'\x94\4\0\0', b'\x99\4ab',
              b'\x07\2\0\0', b'\x44\4\5\xf0', b'\x83\7\4' + a4(C4), b'\x89\7\4' + a4(C4)):
        u(opts=o)
    # headers
    u(bad=True)
    u(tot=400)
    u(ver=5)
    send(ip4(253, b'whatever', dst=C4))
    send(ip4(17, b'abc', dst=C4))
    send(ip4(6, b'abc', dst=C4))
    for tos in (1, 2, 3):
        u(tos=tos)


def forward6(x):
    def send(p, l2=MAC_B):
        x.inject(p, dst=l2)
        time.sleep(.02)

    def u(dst=C6, data=b'data', dp=6999, src=A6, l2=MAC_B, nh=17, pre=b'', **kw):
        send(ip6(nh, pre + udp(4000, dp, data, src=src, dst=dst), src=src, dst=dst, **kw), l2)

    for hlim in (1, 2, 3, 0, 255):
        for port in (33434, 33435):
            u(dp=port + hlim, hlim=hlim)
        send(ip6(58, icmp6(128, 0, b'\0\1\0\1', b'trace', dst=C6), dst=C6, hlim=hlim))
        send(ip6(6, tcp(4000, 81, 1, src=A6, dst=C6), dst=C6, hlim=hlim))
    u(B6, dp=6000, hlim=1)
    u(NARROW6, data=payload(1400), hlim=1)
    for dst in ('fd99::1', 'fd40::1', 'fd41::1', '::'):
        u(dst)
    u('fd99::1', hlim=1)
    for _ in range(3):
        u('fd42::1')
    for l2 in ('ff:ff:ff:ff:ff:ff', '33:33:00:00:00:01', '02:00:00:00:00:ee'):
        u(l2=l2)
        u(l2=l2, hlim=1)
    # a router's own: the anycast address of each subnet, the groups of routers
    for dst in ('fd31::', 'fd32::', 'fe80::', R6):
        u(dst, dp=6000)
    send(ip6(58, icmp6(128, 0, b'\0\7\0\1', b'any', dst='fd31::'), dst='fd31::'))
    for g in ('ff02::1', 'ff02::2', 'ff05::2', 'ff05::9', 'ff0e::9', 'ff02::1:ff00:2'):
        u(g, dp=6000, l2='33:33:' + ':'.join('%02x' % b for b in
                                            socket.inet_pton(socket.AF_INET6, g)[12:]))
    send(ip6(58, icmp6(133, 0, b'\0\0\0\0', b'\1\1' + mac(MAC_A), src=LL_A, dst='ff02::2'),
             src=LL_A, dst='ff02::2', hlim=255), '33:33:00:00:00:02')
    for src in ('::', '::1', 'ff02::1', 'fd99::1'):
        u(src=src)
    u(A6, src=C6)
    u('::1')
    # too big
    for n in (1232, 1233, 1400):
        u(NARROW6, data=payload(n))
    for dst in (C6, NARROW6):
        for p in frag6(17, udp(4000, 6999, payload(3000), src=A6, dst=dst), [1400, 2800], dst=dst):
            send(p)
    for n in (1200, 4000):
        x.B.udp(v6=True).sendto(payload(n), (NARROW6, 9))
    # extension headers: only hop-by-hop options are the router's business
    u(nh=0, pre=ext(17))
    u(nh=0, pre=ext(17, b'\5\2\0\0'))
    for act in (0x1e, 0x5e, 0x9e, 0xde):
        u(nh=0, pre=ext(17, bytes([act, 2, 0, 0])))
        u(nh=60, pre=ext(17, bytes([act, 2, 0, 0])))
        u('fd99::1', nh=0, pre=ext(17, bytes([act, 2, 0, 0])))
    u(nh=0, pre=bytes([17, 200]) + b'\0' * 6)
    u(nh=43, pre=bytes([17, 2, 0, 1]) + b'\0' * 4 + socket.inet_pton(socket.AF_INET6, A6))
    u(nh=253)
    u(plen=500)
    u(plen=12)
    u(ver=5)
    for tc in (1, 2, 3):
        u(tc=tc)


@scenario('forward-neigh', 'B forwards to neighbours that it has to find first, and to some '
          'that nobody finds', topo='hub', listen='udp:7', forward=True, neigh='dynamic',
          setup=lambda x: router(x, neigh=False), local=LOCAL, tail=.5)
def forward_neigh(x):
    C = x.lab.C
    uc, uc6, ua, ua6 = C.udp(7), C.udp(7, v6=True), x.A.udp(), x.A.udp(v6=True)
    for u, dst in ((ua, C4), (ua6, C6)):
        for i in range(3):
            u.sendto(payload(100 + i), (dst, 7))
    time.sleep(.3)
    for n in (700, 3000):
        echo(ua, uc, C4, n)
        echo(ua6, uc6, C6, n)
    # three packets wait in vain: three errors, 3 s later
    for v6, dead in ((False, '10.232.0.77'), (True, 'fd32::77')):
        for n in (10, 200, 30):
            if v6:
                x.inject(ip6(17, udp(4000, 9, payload(n), src=A6, dst=dead), dst=dead))
            else:
                x.inject(ip4(17, udp(4000, 9, payload(n), dst=dead), dst=dead))
            time.sleep(.1)
    time.sleep(4)
    ping(x, x.A, C4, 2)
    ping(x, x.A, C6, 2)
