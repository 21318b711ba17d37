# SPDX-License-Identifier: MIT
"""options - IPv4 options of every kind, whole and malformed; every protocol number."""
from lab.packets import (A4, B4, BCAST4, MAC_B, a4, frag4, icmp, ip4, ip6, tcp, udp)
from lab.recording import scenario
from lab.tools import Peer, payload, ping

RR, TS, RA, LSRR, SSRR, SEC, SID, CIPSO = 7, 68, 148, 131, 137, 130, 136, 134
BC = 'ff:ff:ff:ff:ff:ff'


def every_option(x):
    """(name, option bytes)."""
    yield 'end', b'\0\0\0\0'
    yield 'junk behind the end', b'\0\x44\x44\x44'
    yield 'no operation', b'\1' * 8
    yield 'forty bytes', b'\1' * 40
    for n in range(9):                              # record route: length, pointer
        yield 'rr length', bytes([RR, n, 4]) + b'\0' * 9
    for p in (0, 3, 4, 5, 7, 8, 9, 12, 255):
        yield 'rr pointer', bytes([RR, 7, p]) + b'\0' * 5
    yield 'rr of nine', bytes([RR, 39, 4]) + b'\0' * 37
    yield 'rr twice', (bytes([RR, 7, 4]) + b'\0' * 4) * 2
    yield 'rr behind padding', b'\1\1' + bytes([RR, 11, 8]) + a4(A4) + b'\0' * 4
    for n in (0, 1, 2, 3, 4, 5, 8, 12):             # timestamps: length, pointer, flag, overflow
        yield 'ts length', bytes([TS, n, 5, 0]) + b'\0' * 8
    for p in (0, 4, 5, 6, 8, 9, 10, 12, 13):
        yield 'ts pointer', bytes([TS, 8, p, 0]) + b'\0' * 4
    for f in (0, 1, 2, 3, 4, 15, 0x10, 0xe0, 0xf0, 0xf1, 0xf3):
        yield 'ts flag', bytes([TS, 12, 5, f]) + b'\0' * 8
        yield 'ts full', bytes([TS, 12, 13, f]) + b'\0' * 8
    for who in (A4, B4, '10.231.0.255', '239.1.2.3', '10.9.9.9'):
        yield 'ts prespecified', bytes([TS, 12, 5, 3]) + a4(who) + b'\0' * 4
    for f in (1, 3):
        yield 'ts without room for an address', bytes([TS, 8, 5, f]) + b'\0' * 4
    yield 'ts twice', (bytes([TS, 8, 5, 0]) + b'\0' * 4) * 2
    yield 'ts and rr', bytes([TS, 8, 5, 0]) + b'\0' * 4 + bytes([RR, 7, 4]) + b'\0' * 4
    for n in (2, 3, 4, 5):
        yield 'router alert', bytes([RA, n, 0, 0]) + b'\0' * 4
    yield 'router alert 1', bytes([RA, 4, 0, 1])
    yield 'router alert twice', bytes([RA, 4, 0, 0]) * 2
    yield 'security', bytes([SEC, 11]) + b'\0' * 9
    yield 'stream', bytes([SID, 4, 0, 0])
    yield 'cipso short', bytes([CIPSO, 4, 0, 0])
    yield 'cipso of domain 0', bytes([CIPSO, 8]) + b'\0' * 6
    for n in (0, 1, 2, 8, 9, 40, 255):
        yield 'unknown', bytes([0x99, n]) + b'\0' * 6
    yield 'type without length', b'\1\1\1\x99'
    yield 'rr without length', b'\1\1\1\7'
    for kind in (LSRR, SSRR):
        for n in (2, 3, 7, 11):
            yield 'source route length', bytes([kind, n, 4]) + a4(A4) + b'\0' * 5
        for p in (3, 4, 5, 8):
            yield 'source route pointer', bytes([kind, 7, p]) + a4(A4) + b'\0'
        yield 'source route twice', (bytes([kind, 7, 4]) + a4(A4)) * 2
        yield 'source route, then broken', bytes([kind, 7, 4]) + a4(A4) + bytes([RR, 2])


@scenario('options', 'IPv4 options of every kind in UDP, ICMP, TCP and fragments; replies that '
          'carry them; every protocol number', listen='tcp:5201 udp:6000', mcast='239.1.2.3')
def options(x):
    p = Peer(x, '10.231.0.90')

    def ip(proto, data, l2=MAC_B, **kw):
        kw.setdefault('src', p.ip)
        x.inject(ip4(proto, data, **kw), dst=l2, src=p.mac)

    def u(dp=6000, dst=B4, src=p.ip):
        return udp(4000, dp, b'data', src=src, dst=dst)

    for _, o in every_option(x):
        ip(17, u(), opts=o)
    # who else looks at them, and in which order
    good, ts, bad, route = (bytes([RR, 7, 4]) + b'\0' * 4, bytes([TS, 12, 5, 0]) + b'\0' * 8,
                            bytes([RR, 2, 0, 0]), bytes([LSRR, 7, 4]) + a4(A4))
    full = bytes([TS, 4, 5, 0xf0])
    for o in (good, ts, bad, route, full):
        ip(1, icmp(8, 0, b'\0\1\0\1', b'options'), opts=o)
        ip(1, icmp(13, 0, b'\0\1\0\1', b'\0' * 12), opts=o)
        ip(17, u(6999), opts=o)
        ip(6, tcp(4000, 9999, 1, src=p.ip), opts=o)
        ip(253, b'whatever', opts=o)
        ip(17, u(), opts=o, l2=BC)
        ip(17, u(), opts=o, l2='02:00:00:00:00:ee')
        ip(17, u(dst=BCAST4), opts=o, dst=BCAST4, l2=BC)
        ip(17, u(dst='239.1.2.3'), opts=o, dst='239.1.2.3', l2='01:00:5e:01:02:03')
        ip(17, u(dst='239.9.9.9'), opts=o, dst='239.9.9.9', l2='01:00:5e:09:09:09')
        ip(17, u(dst='10.231.0.99'), opts=o, dst='10.231.0.99')
        ip(17, u(dst='192.0.2.1'), opts=o, dst='192.0.2.1')
        ip(17, u(dst='127.0.0.1'), opts=o, dst='127.0.0.1')
        for src in ('127.0.0.1', '224.0.0.9', B4):
            ip(17, u(src=src), opts=o, src=src)
        ip(17, u(), opts=o, ttl=0)
        ip(17, u(), opts=o, bad=True)
        ip(17, u(), opts=o, tot=300)
        d = udp(4000, 6000, payload(2000), src=p.ip)
        x.inject(*frag4(17, d, [1456], src=p.ip, opts=o, id=o[0] + len(o) + o[-1]), src=p.mac)
        ip(17, d[800:900], opts=o, off=800, id=99)
    # B sends some itself, in one piece and in several
    a, b = x.A.udp(7), x.B.udp()
    for o in (bytes([RR, 11, 4]) + b'\0' * 9, bytes([RA, 4, 0, 0]), bytes([TS, 12, 5, 0]) + b'\0' * 8):
        b.setsockopt(0, 4, o)                       # IP_OPTIONS
        for n in (10, 4000):
            b.sendto(payload(n), (A4, 7))
            a.recv(5000)
    # every protocol number, to B, to all and in IPv6
    for n in range(256):
        ip(n, b'\0' * 40)
        ip(n, b'\0' * 40, dst=BCAST4, l2=BC)
        if n not in (0, 43, 44, 60, 135):
            x.inject(ip6(n, b'\0' * 40))
    ping(x, x.A, B4, 2)
