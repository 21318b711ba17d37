# SPDX-License-Identifier: MIT
"""udplite - UDP-Lite, and the corners of UDP: who checks a checksum, and when."""
import socket
import time

from lab.packets import (A4, A6, B4, B6, BCAST4, MAC_B, frag4, frag6, icmp, icmp6, ip4, ip6, udp,
                         udplite)
from lab.recording import scenario
from lab.tools import Peer, payload, ping

LITE_SEND_CSCOV = 10
BC, ALL4, ALL6 = 'ff:ff:ff:ff:ff:ff', '01:00:5e:00:00:01', '33:33:00:00:00:01'


@scenario('udplite', 'UDP-Lite: coverage, checksums, closed ports, groups; UDP with bad checksums '
          'to groups and all', listen='udp:6000 udplite:6100', mcast='239.1.2.3 ff05::1234')
def udplite_all(x):
    for v6 in (False, True):
        lite(x, v6)
        plain(x, v6)
    lite_groups(x)
    ping(x, x.A, B4)


def lite(x, v6):
    """Received and sent, to one host."""
    p = Peer(x, 'fd31::b0' if v6 else '10.231.0.176')

    def u(dp, data=b'abcdefgh', cut=None, spoil=None, **kw):
        d = udplite(4000, dp, data, src=p.ip, dst=p.local, **kw)
        if spoil is not None:
            d = d[:spoil] + bytes([d[spoil] ^ 0x55]) + d[spoil + 1:]
        p.send(136, d[:cut])

    for dp in (6100, 6999):
        for cov in (0, 8, 12, 16):          # all of it, the header, some, all of it
            u(dp, cov=cov)
        for cov in (1, 7, 17, 2000):        # below the header, behind the end
            u(dp, cov=cov)
        for n in (8, 300):
            for cov in (0, 8, 12):
                u(dp, payload(n), cov=cov, bad=True)
        u(dp, zero=True)
        u(dp, b'')
        for cut in (0, 4, 7):
            u(dp, cut=cut)
        u(dp, payload(60), cov=20, spoil=30)
        u(dp, payload(60), cov=40, spoil=30)
    cuts = ([1480], [1448])[v6]
    for dp in (6100, 6999):
        for kw in (dict(), dict(cov=8), dict(cov=1800), dict(bad=True)):
            d = udplite(4000, dp, payload(2500), src=p.ip, dst=p.local, **kw)
            x.inject(*(frag6 if v6 else frag4)(136, d, cuts, src=p.ip, id=dp + len(str(kw))),
                     src=p.mac)
    # B answers, with the same coverage or less, in one piece or in several
    s, c = (x.udplite6 if v6 else x.udplite)[6100], x.A.udplite(v6=v6)
    for n, cov in ((20, 0), (20, 8), (500, 100), (3000, 0), (3000, 20)):
        for e in (s, c):
            e.setsockopt(socket.IPPROTO_UDPLITE, LITE_SEND_CSCOV, cov)
        c.sendto(payload(n), (p.local, 6100))
        while True:
            d, a = s.recvfrom(66000)
            if a[1] == c.getsockname()[1]:
                break
        s.sendto(d, a)
        c.recv(66000)
    # errors for it, and for a socket that B does not have
    for port in (6100, 6101):
        q = udplite(port, 9, b'quoted', src=p.local, dst=p.ip)
        if v6:
            q = ip6(136, q, src=B6, dst=p.ip)
            p.send(58, icmp6(1, 4, data=q, src=p.ip, dst=B6))
        else:
            p.send(1, icmp(3, 3, data=ip4(136, q, src=B4, dst=p.ip)))


def plain(x, v6):
    """UDP to a group or to all: a short datagram is checked on arrival, a
    longer one (more than 76 bytes with its header) when a program reads it."""
    src = A6 if v6 else A4
    groups = ((('ff02::1', ALL6), ('ff05::1234', '33:33:00:00:12:34')) if v6 else
              ((BCAST4, BC), ('255.255.255.255', BC), ('224.0.0.1', ALL4),
               ('239.1.2.3', '01:00:5e:01:02:03')))

    def send(d, dst, l2):
        x.inject((ip6 if v6 else ip4)(17, d, src=src, dst=dst), dst=l2)

    for dst, l2 in groups:
        for dp in (6000, 6999):
            for n in (0, 20, 68, 69, 300):
                send(udp(4000, dp, payload(n), src=src, dst=dst, bad=True), dst, l2)
            for n in (20, 300):
                send(udp(4000, dp, payload(n), src=src, dst=dst), dst, l2)
                send(udp(4000, dp, payload(n), src=src, dst=dst, zero=True), dst, l2)
                send(udp(4000, dp, payload(n), src=src, dst=dst, length=4), dst, l2)
                send(udp(4000, dp, payload(n), src=src, dst=dst, length=2000), dst, l2)
            # what is short counts in the datagram, not in the frame
            send(udp(4000, dp, payload(20), src=src, dst=dst, bad=True) + b'\0' * 80, dst, l2)
            send(udp(4000, dp, payload(20), src=src, dst=dst, length=28, bad=True) + b'\0' * 80,
                 dst, l2)
            x.inject(*(frag6 if v6 else frag4)(
                17, udp(4000, dp, payload(1000), src=src, dst=dst, bad=True), [504],
                src=src, dst=dst, id=dp + len(dst)), dst=l2)
    me = B6 if v6 else B4
    for l2 in (MAC_B, BC):                  # one host's address, in its own frame and in one to all
        for dp in (6000, 6999, 0):
            send(udp(4000, dp, b'x', src=src, dst=me), me, l2)
            send(udp(0, dp, b'x', src=src, dst=me), me, l2)
            send(udp(4000, dp, b'', src=src, dst=me), me, l2)
            for n in (20, 300):
                send(udp(4000, dp, payload(n), src=src, dst=me, bad=True), me, l2)


def lite_groups(x):
    for src, f, groups in ((A4, ip4, ((BCAST4, BC), ('224.0.0.1', ALL4),
                                      ('239.1.2.3', '01:00:5e:01:02:03'),
                                      ('239.9.9.9', '01:00:5e:09:09:09'))),
                           (A6, ip6, (('ff02::1', ALL6), ('ff05::1234', '33:33:00:00:12:34'),
                                      ('ff05::4321', '33:33:00:00:43:21')))):
        for dst, l2 in groups:
            for dp in (6100, 6999):
                for n, kw in ((20, dict()), (20, dict(cov=8)), (20, dict(bad=True)),
                              (20, dict(cov=8, bad=True)), (20, dict(cov=28, bad=True)),
                              (68, dict(bad=True)), (69, dict(bad=True)),
                              (300, dict(bad=True)), (300, dict(cov=20, bad=True)),
                              (300, dict(zero=True)), (20, dict(zero=True)), (20, dict(cov=4)), (20, dict(cov=99))):
                    x.inject(f(136, udplite(4000, dp, payload(n), src=src, dst=dst, **kw),
                               src=src, dst=dst), dst=l2)
    time.sleep(.1)
