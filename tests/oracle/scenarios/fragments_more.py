# SPDX-License-Identifier: MIT
"""fragments_more - reassembly at its edges, in both families."""
import itertools
import time

from lab.packets import (ACK, B4, B6, BCAST4, MAC_B, ext, frag4, frag6, frag6hdr, icmp,
                         icmp6, ip4, ip6, tcp, udp, udplite)
from lab.recording import scenario
from lab.tools import Peer, payload, ping

JOINED4, L2_JOINED4 = '239.1.2.3', '01:00:5e:01:02:03'
JOINED6, L2_JOINED6 = 'ff05::1234', '33:33:00:00:12:34'


@scenario('frag-more', 'distance and timer of IPv4 fragments, many queues at once, every mix of ECN '
          'marks, the longest datagrams, every protocol in fragments, odd IPv6 fragment headers',
          listen='tcp:5201 udp:6000', mcast='%s %s' % (JOINED4, JOINED6), tail=.5)
def frag_more(x):
    t0 = time.monotonic()
    late = restarted(x, t0)
    distance(x)
    marks(x)
    edges4(x)
    edges6(x)
    crowd(x)
    time.sleep(max(0, t0 + 5 - time.monotonic()))
    late()
    time.sleep(max(0, t0 + 33 - time.monotonic()))
    ping(x, x.A, B4)


def lone(x, peer, n, first_id):
    """@n fragments of datagrams that never come whole."""
    for i in range(n):
        x.inject(ip4(17, b'x' * 8, src=peer.ip, id=first_id + i, off=8000, flags='M'), src=peer.mac)


def distance(x):
    """64 others of the same source between two fragments are too many."""
    for i, n in enumerate((62, 63, 64, 65)):
        p = Peer(x, '10.231.0.%d' % (120 + i))
        a, b = frag4(17, udp(4000, 6000, payload(2000), src=p.ip), [1480], src=p.ip, id=1)
        x.inject(a, src=p.mac)
        lone(x, p, n, 100)
        x.inject(b, src=p.mac)
        x.inject(a, src=p.mac)
    p = Peer(x, '10.231.0.130')             # its own duplicates do not count, they move it along
    a, b = frag4(17, udp(4000, 6000, payload(2000), src=p.ip), [1480], src=p.ip, id=1)
    x.inject(a, src=p.mac)
    for i in range(3):
        lone(x, p, 60, 100 + 60 * i)
        x.inject(a, src=p.mac)
    x.inject(b, src=p.mac)


def restarted(x, t0):
    """A queue that starts again 5 s later has 30 s more; one that does not, not."""
    p, q = Peer(x, '10.231.0.140'), Peer(x, '10.231.0.141')
    frags = [frag4(17, udp(4000, 6000, payload(2000), src=z.ip), [1480], src=z.ip, id=1)
             for z in (p, q)]
    x.inject(frags[0][0], src=p.mac)
    x.inject(frags[1][0], src=q.mac)

    def late():
        lone(x, p, 64, 100)
        lone(x, q, 63, 100)
        x.inject(frags[0][0], src=p.mac)
        x.inject(frags[1][0], src=q.mac)
    return late


def marks(x):
    p, p6 = Peer(x, '10.231.0.150'), Peer(x, 'fd31::150')
    mixes = list(itertools.product(range(4), range(4))) + [
        (1, 2, 3), (0, 1, 1), (2, 2, 3), (0, 0, 1), (1, 2, 0), (3, 3, 0), (3, 2, 1)]
    for i, mix in enumerate(mixes):
        n = 80 * len(mix) - 8
        d, d6 = (udp(4000, 6000, payload(n), src=z.ip, dst=z.local) for z in (p, p6))
        for k, m in enumerate(mix):
            more = k + 1 < len(mix)
            x.inject(ip4(17, d[80 * k:80 * k + 80], src=p.ip, tos=m, id=i, off=80 * k,
                         flags='M' if more else ''), src=p.mac)
            x.inject(ip6(44, frag6hdr(17, 80 * k, more, i) + d6[80 * k:80 * k + 80], src=p6.ip,
                         tc=m), src=p6.mac)


def edges4(x):
    p = Peer(x, '10.231.0.151')
    d = udp(4000, 6000, payload(2500), src=p.ip)
    ids = itertools.count(1)

    def send(*ranges, **kw):
        i = next(ids)
        for a, b, more in ranges:
            x.inject(ip4(17, d[a:b], src=p.ip, id=i, off=a, flags='M' if more else '', **kw),
                     src=p.mac)

    def datagram(proto, data, cuts, dst=B4, l2=MAC_B, **kw):
        x.inject(*frag4(proto, data, cuts, src=p.ip, dst=dst, id=next(ids), **kw), src=p.mac, dst=l2)

    end = len(d)
    send((0, 800, 1), (800, 1600, 1), (400, 1200, 1), (1600, end, 0))       # inside a run of two
    send((1600, 2000, 1), (800, 1600, 1), (800, 2000, 1), (2000, end, 0), (0, 800, 1))
    send((800, 1400, 1), (0, 1400, 1), (1400, end, 0))                      # more than is there
    send((1400, end, 0), (1400, end, 0), (0, 1400, 1))                      # the end twice
    send((0, 800, 1), (1600, end, 0), (800, 1600, 1))
    send((0, 1400, 1), (1400, end, 0), ttl=1)
    send((0, 1400, 1), (1400, end, 0), tos=0x20)
    i = next(ids)                                                           # another protocol
    x.inject(ip4(17, d[:1400], src=p.ip, id=i, flags='M'), src=p.mac)
    x.inject(ip4(136, d[1400:], src=p.ip, id=i, off=1400), src=p.mac)
    i = next(ids)                                                           # DF, another TTL and TOS
    x.inject(ip4(17, d[:1400], src=p.ip, id=i, flags='MD', ttl=9, tos=4), src=p.mac)
    x.inject(ip4(17, d[1400:], src=p.ip, id=i, off=1400, flags='D', ttl=200, tos=8), src=p.mac)
    i = next(ids)                                                           # one of them spoilt
    x.inject(ip4(17, d[:1400], src=p.ip, id=i, flags='M', bad=True), src=p.mac)
    x.inject(ip4(17, d[1400:], src=p.ip, id=i, off=1400), src=p.mac)
    for off, n, more in ((65528, 7, ''), (65528, 8, 'M'), (65528, 100, '')):
        x.inject(ip4(17, payload(n), src=p.ip, id=next(ids), off=off, flags=more), src=p.mac)
    longest = udp(4000, 6000, payload(65507), src=p.ip)
    steps = range(1472, 65520, 1472)
    datagram(17, longest, steps)
    datagram(17, longest + b'x', steps)
    datagram(17, longest, steps, opts=b'\1\1\1\0')
    datagram(17, longest[:-4], steps, opts=b'\1\1\1\0')
    # every protocol, whole and not
    datagram(6, tcp(4000, 9999, 1, 1, ACK, payload(100), src=p.ip), [16])
    datagram(6, tcp(4000, 9999, 1, 1, ACK, payload(100), src=p.ip, bad=True), [16])
    datagram(136, udplite(4000, 6100, payload(100), src=p.ip), [16])
    datagram(253, payload(100), [16])
    datagram(2, b'\x99\0\x66\xff' + b'\0' * 20, [8])
    datagram(1, icmp(8, 0, b'\0\1\0\1', payload(100)), [8, 56])
    datagram(1, icmp(8, 0, b'\0\1\0\1', payload(100), bad=True), [8])
    datagram(17, udp(4000, 6999, payload(100), src=p.ip), [8])
    for dst, l2 in ((BCAST4, 'ff:ff:ff:ff:ff:ff'), (JOINED4, L2_JOINED4),
                    ('239.9.9.9', '01:00:5e:09:09:09'), ('10.231.0.99', MAC_B)):
        for port in (6000, 6999):
            datagram(17, udp(4000, port, payload(100), src=p.ip, dst=dst), [56], dst, l2)
    datagram(17, d, [1400], l2='ff:ff:ff:ff:ff:ff')
    datagram(17, d, [1400], l2='02:00:00:00:00:ee')


def edges6(x):
    p = Peer(x, 'fd31::151')
    d = udp(4000, 6000, payload(2500), src=p.ip, dst=B6)
    small = udp(4000, 6000, payload(100), src=p.ip, dst=B6)
    ids = itertools.count(1)

    def snd(nh, data, dst=B6, l2=MAC_B, **kw):
        x.inject(ip6(nh, data, src=p.ip, dst=dst, **kw), src=p.mac, dst=l2)

    def send(*ranges):
        i = next(ids)
        for a, b, more in ranges:
            snd(44, frag6hdr(17, a, more, i) + d[a:b])

    def datagram(proto, data, cuts, dst=B6, l2=MAC_B, pre=b'', nh=44, **kw):
        for f in frag6(proto, data, cuts, src=p.ip, dst=dst, id=next(ids), **kw):
            snd(nh, pre + f[40:], dst, l2)

    def first(nh, data, more=1):
        snd(44, frag6hdr(nh, 0, more, next(ids)) + data)

    end = len(d)
    send((0, 800, 1), (800, 1400, 1), (400, 1200, 1), (1400, end, 0))
    send((1400, 2000, 1), (800, 1400, 1), (800, 2000, 1), (2000, end, 0), (0, 800, 1))
    send((800, 1400, 1), (0, 1400, 1), (1400, end, 0))
    send((1400, end, 0), (1400, end, 0), (0, 1400, 1))
    send((0, 1400, 1), (0, 1400, 1), (1400, end, 0))
    send((0, 800, 1), (1600, end, 0), (800, 1600, 1))
    i = next(ids)                           # another next header, hop limit, class
    snd(44, frag6hdr(17, 0, 1, i) + d[:1400], hlim=1, tc=4)
    snd(44, frag6hdr(6, 1400, 0, i) + d[1400:], hlim=9, tc=8)
    i = next(ids)                           # hop-by-hop options before the first only
    snd(0, ext(44) + frag6hdr(17, 0, 1, i) + d[:1400])
    snd(44, frag6hdr(17, 1400, 0, i) + d[1400:])
    for off, n in ((65528, 7), (65528, 8)):
        snd(44, frag6hdr(17, off, 0, next(ids)) + payload(n))
    longest = udp(4000, 6000, payload(65527), src=p.ip, dst=B6)
    steps = range(1432, 65520, 1432)
    datagram(17, longest, steps)
    datagram(17, longest[:-2], steps, nh=0, pre=ext(44))
    # alone in its fragment header
    for nh, data in ((17, small), (17, small[:51]), (17, b''), (6, tcp(4000, 9999, 1, src=p.ip, dst=B6)),
                     (58, icmp6(128, 0, b'\0\1\0\1', payload(40), src=p.ip, dst=B6)),
                     (136, udplite(4000, 6100, b'x', src=p.ip, dst=B6)), (59, b''), (253, b'abcd'),
                     (60, ext(17) + small), (60, bytes([17, 0, 1, 9, 0, 0, 0, 0]) + small),
                     (43, bytes([17, 0, 0, 0]) + b'\0' * 4 + small), (0, ext(17) + small),
                     (44, frag6hdr(17, 0, 0, 500) + small), (44, frag6hdr(17, 0, 1, 501) + small)):
        first(nh, data, more=0)
    snd(44, b'\x11\x09\0\6\0\0\0\x09' + small)                   # reserved bits
    snd(0, ext(44) + frag6hdr(17, 0, 0, next(ids)) + small)
    snd(44, frag6hdr(17, 0, 0, next(ids)) + small, plen=60)
    # the first of several must hold the upper header: how much of which
    for nh, data in ((17, small[:8]), (17, b''), (6, tcp(4000, 9999, 1, src=p.ip, dst=B6)[:16]),
                     (6, tcp(4000, 9999, 1, src=p.ip, dst=B6) + b'abcd'),
                     (58, icmp6(128, src=p.ip, dst=B6)), (136, b'abcdefgh'), (253, b''),
                     (253, b'abcdefgh'), (59, b'abcdefgh'), (59, b''), (60, bytes([17, 5]) + b'\0' * 6),
                     (60, ext(17) + small[:8]), (60, ext(17)), (44, frag6hdr(17, 0, 0, 502) + small[:8])):
        first(nh, data)
    datagram(17, small, [8])
    datagram(58, icmp6(128, 0, b'\0\1\0\2', payload(100), src=p.ip, dst=B6), [8, 56])
    datagram(6, tcp(4000, 9999, 1, 1, ACK, payload(100), src=p.ip, dst=B6), [24])
    datagram(136, udplite(4000, 6100, payload(100), src=p.ip, dst=B6), [16])
    datagram(253, payload(100), [16])
    datagram(60, ext(17) + small, [24])
    datagram(17, udp(4000, 6999, payload(100), src=p.ip, dst=B6), [8])
    for dst, l2 in ((JOINED6, L2_JOINED6), ('ff05::4321', '33:33:00:00:43:21'), ('fd31::99', MAC_B)):
        for port in (6000, 6999):
            datagram(17, udp(4000, port, payload(100), src=p.ip, dst=dst), [56], dst, l2)
    datagram(17, d, [1400], l2='ff:ff:ff:ff:ff:ff')
    datagram(17, d, [1400], l2='02:00:00:00:00:ee')


def crowd(x):
    """150 queues of each family at once, filled from the far end."""
    p, p6 = [Peer(x, '10.231.0.%d' % (160 + i)) for i in range(5)], Peer(x, 'fd31::160')
    for part in (2, 0, 1):
        for i in range(150):
            z = p[i % 5]
            d = udp(4000, 6000 if i % 7 else 6999, payload(200 + i), src=z.ip)
            f = frag4(17, d, [72, 144], src=z.ip, id=1000 + i)
            x.inject(f[part], src=z.mac)
            d = udp(4000, 6000 if i % 7 else 6999, payload(200 + i), src=p6.ip, dst=B6)
            f = frag6(17, d, [72, 144], src=p6.ip, id=1000 + i)
            x.inject(f[part], src=p6.mac)
