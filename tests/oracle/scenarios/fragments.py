# SPDX-License-Identifier: MIT
"""fragments - IPv4 reassembly.
"""
import time

from lab.packets import A4, B4, BCAST4, frag4, icmp, ip4, udp
from lab.recording import scenario
from lab.tools import Peer, payload, ping, send_frags


@scenario('frag', 'IPv4 fragments both ways: order, duplicates, overlaps, a hole that times out',
          listen='udp:7 udp:6000', nano=True, tail=.5)
def frag(x):
    t0 = time.monotonic()
    p = Peer(x, '10.231.0.50')
    q = Peer(x, '10.231.0.51')

    def dg(peer, n, dp=6000, **kw):
        return udp(4000, dp, payload(n), src=peer.ip, dst=B4, **kw)

    # incomplete ones first: they time out 30 s from now
    send_frags(x, p, frag4(17, dg(p, 2900), [1480], src=p.ip, id=1)[:1])    # with ICMP
    send_frags(x, p, frag4(17, dg(p, 2900), [1480], src=p.ip, id=2)[1:])    # without
    send_frags(x, p, frag4(17, dg(p, 4000), [1480, 2960], src=p.ip, id=3,
                           order=[0, 2]))                                   # hole
    # large datagrams both ways
    ua, ub = x.A.udp(), x.B.udp()
    sa = x.A.udp(7)
    for n in (1472, 1473, 3000, 8000, 20000, 65507):
        ua.sendto(payload(n), (B4, 7))
        x.echo(7)
        ua.recv(66000)
    for n in (1500, 4000, 12345):
        ub.sendto(payload(n), (A4, 7))
        d, frm = sa.recvfrom(66000)
        sa.sendto(d, frm)
        ub.recv(66000)
    ua.sendto(payload(5000), (B4, 6999))        # NoPorts, after reassembly
    ub.sendto(payload(5000), (A4, 6999))
    ping(x, x.A, B4, 3, size=4000)
    ping(x, x.B, A4, 2, size=9000)
    # order and duplicates
    send_frags(x, p, frag4(17, dg(p, 4000), [1480, 2960], src=p.ip, id=10, order=[2, 1, 0]))
    one = frag4(17, dg(p, 4000), [1480, 2960], src=p.ip, id=11)
    two = frag4(17, dg(q, 4000), [1000, 2000, 3000], src=q.ip, id=11)
    send_frags(x, p, [one[0], one[0], one[1], one[1], one[2]])              # exact duplicates
    send_frags(x, q, [two[3], two[1]])
    send_frags(x, p, frag4(17, dg(p, 100), [8], src=p.ip, id=12))           # 8-byte first
    send_frags(x, q, [two[0], two[2]])
    send_frags(x, p, frag4(17, dg(p, 800), range(8, 800, 16), src=p.ip, id=13))
    # a duplicate after the datagram is complete starts a queue that times out
    three = frag4(17, dg(p, 2000), [1480], src=p.ip, id=14)
    send_frags(x, p, three + three[1:])
    # overlaps: the queue is thrown away, what follows starts another one
    d = dg(p, 2900)
    send_frags(x, p, [ip4(17, d[:1480], src=p.ip, id=20, flags='M'),
                      ip4(17, d[1472:2904], src=p.ip, id=20, off=1472, flags='M'),
                      ip4(17, d[2904:], src=p.ip, id=20, off=2904)])
    send_frags(x, p, [ip4(17, d[:1480], src=p.ip, id=21, flags='M'),
                      ip4(17, d[1480:], src=p.ip, id=21, off=1480),
                      ip4(17, d[:1480], src=p.ip, id=21, flags='M')])
    # a fragment wholly inside another one counts as a duplicate
    send_frags(x, p, [ip4(17, d[:1480], src=p.ip, id=22, flags='M'),
                      ip4(17, d[400:800], src=p.ip, id=22, off=400, flags='M'),
                      ip4(17, d[1480:], src=p.ip, id=22, off=1480)])
    # two ends, data behind the end, nothing inside, not a multiple of 8
    send_frags(x, p, [ip4(17, d[1480:], src=p.ip, id=23, off=1480),
                      ip4(17, d[1480:2000], src=p.ip, id=23, off=1480)])
    send_frags(x, p, [ip4(17, d[800:1600], src=p.ip, id=24, off=800),
                      ip4(17, d[1600:2400], src=p.ip, id=24, off=1600, flags='M')])
    send_frags(x, p, [ip4(17, b'', src=p.ip, id=25, off=800)])
    d = dg(p, 1900)
    send_frags(x, p, [ip4(17, d[:1001], src=p.ip, id=26, flags='M'),
                      ip4(17, d[1000:], src=p.ip, id=26, off=1000)])
    # checksum wrong after reassembly: open port, closed port
    send_frags(x, p, frag4(17, dg(p, 2500, bad=True), [1480], src=p.ip, id=30))
    send_frags(x, p, frag4(17, dg(p, 2500, dp=6999, bad=True), [1480], src=p.ip, id=31))
    send_frags(x, p, frag4(17, dg(p, 2500, dp=6999), [1480], src=p.ip, id=32))
    # for somebody else, for nobody's protocol, to the broadcast address
    send_frags(x, p, frag4(17, dg(p, 2500), [1480], src=p.ip, dst='10.231.0.200', id=33))
    send_frags(x, p, frag4(253, payload(2500), [1480], src=p.ip, id=34))
    send_frags(x, p, frag4(17, udp(4000, 6000, payload(2500), src=p.ip, dst=BCAST4),
                           [1480], src=p.ip, dst=BCAST4, id=35), dst='ff:ff:ff:ff:ff:ff')
    # ECN marks that agree and that do not; options in the fragments
    f = frag4(17, dg(p, 2500), [1480], src=p.ip, id=36, tos=2)
    send_frags(x, p, [f[0], ip4(17, dg(p, 2500)[1480:], src=p.ip, id=36, off=1480, tos=3)])
    f = frag4(17, dg(p, 2500), [1480], src=p.ip, id=37, tos=0)
    send_frags(x, p, [f[0], ip4(17, dg(p, 2500)[1480:], src=p.ip, id=37, off=1480, tos=3)])
    send_frags(x, p, frag4(17, dg(p, 2500), [1472], src=p.ip, id=38, opts=b'\1\1\1\0'))
    # ICMP in fragments
    send_frags(x, p, frag4(1, icmp(8, 0, b'abcd', payload(2900)), [1480], src=p.ip, id=40,
                           order=[1, 0]))
    x.lab.inject(ip4(17, dg(p, 10), src=p.ip, flags='D', id=41), src=p.mac)
    # more than 64 fragments of one sender between two of a datagram: the queue
    # starts again (ipfrag_max_dist)
    r = Peer(x, '10.231.0.52')
    far, near = (frag4(17, dg(r, 2500), [1480], src=r.ip, id=i) for i in (1, 2))
    send_frags(x, r, [far[0], near[0]])
    for i in range(31):
        send_frags(x, r, frag4(17, dg(r, 20), [8], src=r.ip, id=100 + i))
    send_frags(x, r, [near[1]])
    for i in range(3):
        send_frags(x, r, frag4(17, dg(r, 20), [8], src=r.ip, id=200 + i))
    send_frags(x, r, [far[1]])
    time.sleep(max(0, t0 + 31.8 - time.monotonic()))
