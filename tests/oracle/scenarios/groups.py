# SPDX-License-Identifier: MIT
"""groups - IGMP and MLD in all their versions; sources that a group excludes."""
import socket
import struct
import time

from lab.packets import (A4, A6, B4, B6, LL_A, MAC_B, a4, a6, csum, icmp6, ip4, ip6, udp)
from lab.recording import scenario
from lab.tools import ping

ALERT4, ALERT6 = b'\x94\4\0\0', bytes([58, 0, 5, 2, 0, 0, 1, 0])
IP_UNBLOCK_SOURCE, IP_BLOCK_SOURCE, IP_ADD_SOURCE, IP_DROP_SOURCE = 37, 38, 39, 40
MCAST_BLOCK, MCAST_UNBLOCK, MCAST_ADD, MCAST_DROP = 43, 44, 46, 47
S1, S2, S3 = '10.231.0.50', '10.231.0.51', '10.231.0.52'
T1, T2, T3 = 'fd31::50', 'fd31::51', 'fd31::52'


def l2(group):
    if ':' in group:
        return '33:33:' + ':'.join('%02x' % b for b in a6(group)[12:])
    b = a4(group)
    return '01:00:5e:%02x:%02x:%02x' % (b[1] & 127, b[2], b[3])


def quick(x):
    """Repeated reports come within half a second."""
    for v in ('ipv4__conf__%s__igmpv2', 'ipv4__conf__%s__igmpv3', 'ipv6__conf__%s__mldv1',
              'ipv6__conf__%s__mldv2'):
        x.B.sysctl(**{v % x.B.ifname + '_unsolicited_report_interval': 400})


@scenario('igmp-mld', 'joins, leaves and excluded sources; IGMPv1, v2, v3 and MLDv1, v2 queries and '
          'reports of others, whole and broken', listen='udp:6000', mcast='239.1.2.3 ff05::1234',
          setup=quick, tail=.8)
def igmp_mld(x):
    v3_queries(x)
    sources4(x)
    mldv2_queries(x)
    sources6(x)
    old_igmp(x)
    old_mld(x)
    ping(x, x.A, B4)


def data(x, group, *sources):
    """A datagram to port 6000 and one to a closed port, from each source."""
    for src in sources:
        for port in (6000, 6999):
            f = ip6 if ':' in group else ip4
            x.inject(f(17, udp(5000, port, b'group', src=src, dst=group), src=src, dst=group),
                     dst=l2(group))


def igmp(x, type, code, group, extra=b'', dst=None, mac=None, opts=ALERT4, ttl=1, cut=None,
         bad=False, wait=.25, src=A4):
    p = struct.pack('!BBH4s', type, code, 0, a4(group)) + extra
    p = p[:cut]
    c = csum(p) ^ (0x1111 if bad else 0)
    dst = dst or '224.0.0.1'
    x.inject(ip4(2, p[:2] + struct.pack('!H', c) + p[4:], src=src, dst=dst, opts=opts, ttl=ttl),
             dst=mac or l2(dst))
    time.sleep(wait)


def v3_queries(x):
    g, tail = '239.1.2.3', b'\2\x7d\0\0'
    igmp(x, 0x11, 1, '0.0.0.0', tail)
    igmp(x, 0x11, 1, g, tail, dst=g)
    igmp(x, 0x11, 1, '239.9.9.9', tail, dst='239.9.9.9')
    igmp(x, 0x11, 1, '239.9.9.9', tail)
    igmp(x, 0x11, 1, g, b'\2\x7d\0\1' + a4(A4), dst=g)
    igmp(x, 0x11, 1, g, b'\2\x7d\0\x09' + a4(A4), dst=g)        # more sources than there are
    igmp(x, 0x11, 1, '0.0.0.0', tail, bad=True)
    igmp(x, 0x11, 1, '0.0.0.0', tail, cut=10)
    igmp(x, 0x11, 1, '0.0.0.0', tail, cut=3)
    igmp(x, 0x11, 1, '0.0.0.0', tail, dst=B4, mac=MAC_B)
    igmp(x, 0x11, 1, '0.0.0.0', tail, opts=b'')
    # what other hosts say
    for t in (0x12, 0x16, 0x17):
        for grp, dst in ((g, g), ('239.7.7.7', '239.7.7.7'), (g, '224.0.0.2'), (g, B4)):
            igmp(x, t, 0, grp, dst=dst, mac=MAC_B if dst == B4 else None, wait=0, src=S3)
    igmp(x, 0x22, 0, '0.0.0.1', b'\4\0\0\0' + a4(g), dst='224.0.0.22', wait=0)
    for t in (0, 0x13, 0x14, 0x1e, 0x99):
        igmp(x, t, 0, '0.0.0.0', wait=0)
    for dst in ('224.0.0.13', '224.0.0.1', B4):                 # PIM
        x.inject(ip4(103, b'\x20\0\0\0', dst=dst, ttl=1), dst=MAC_B if dst == B4 else l2(dst))


def source4(x, s, what, group, src):
    s.setsockopt(socket.IPPROTO_IP, what, a4(group) + a4(B4) + a4(src))
    time.sleep(.9)


def sources4(x):
    everyone = (S1, S2, S3, A4)
    data(x, '239.1.2.3', *everyone)
    data(x, '239.5.5.5', *everyone)
    s, t = x.join(x.B, '239.5.5.5'), x.join(x.B, '239.5.5.5')   # twice: one report
    time.sleep(.9)
    data(x, '239.5.5.5', *everyone)
    s.close()
    time.sleep(.9)
    data(x, '239.5.5.5', *everyone)
    t.close()
    time.sleep(.9)
    data(x, '239.5.5.5', *everyone)
    # include: only the sources asked for
    s = x.B.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for what, src in ((IP_ADD_SOURCE, S1), (IP_ADD_SOURCE, S2), (IP_DROP_SOURCE, S1),
                      (IP_ADD_SOURCE, S3)):
        source4(x, s, what, '232.1.1.1', src)
        data(x, '232.1.1.1', *everyone)
    s.close()
    time.sleep(.9)
    data(x, '232.1.1.1', *everyone)
    # exclude: all but
    s = x.join(x.B, '239.6.6.6')
    time.sleep(.9)
    for what, src in ((IP_BLOCK_SOURCE, S1), (IP_BLOCK_SOURCE, S2), (IP_UNBLOCK_SOURCE, S1)):
        source4(x, s, what, '239.6.6.6', src)
        data(x, '239.6.6.6', *everyone)
    # one socket excludes, another wants all: nobody is excluded
    t = x.join(x.B, '239.6.6.6')
    time.sleep(.9)
    data(x, '239.6.6.6', *everyone)
    t.close()
    time.sleep(.9)
    data(x, '239.6.6.6', *everyone)
    # one excludes, one includes what the other excludes
    t = x.B.socket(socket.AF_INET, socket.SOCK_DGRAM)
    source4(x, t, IP_ADD_SOURCE, '239.6.6.6', S2)
    data(x, '239.6.6.6', *everyone)
    s.close()                                                   # only the included one remains
    time.sleep(.9)
    data(x, '239.6.6.6', *everyone)
    igmp(x, 0x11, 1, '239.6.6.6', b'\2\x7d\0\0', dst='239.6.6.6')
    igmp(x, 0x11, 1, '0.0.0.0', b'\2\x7d\0\0')
    t.close()
    time.sleep(.9)


def mld(x, type, group, rest=b'\0\x64\0\0', extra=b'', dst='ff02::1', src=LL_A, alert=True, hlim=1,
        mac=None, cut=None, bad=False, wait=.3):
    body = a6(group) + extra
    m = icmp6(type, 0, rest, body[:cut], src=src, dst=dst, bad=bad)
    x.inject(ip6(0 if alert else 58, (ALERT6 if alert else b'') + m, src=src, dst=dst, hlim=hlim),
             dst=mac or l2(dst))
    time.sleep(wait)


def mldv2_queries(x):
    g, tail = 'ff05::1234', b'\2\x7d\0\0'
    mld(x, 130, '::', extra=tail)
    mld(x, 130, g, extra=tail, dst=g)
    mld(x, 130, 'ff05::9999', extra=tail, dst='ff05::9999')
    mld(x, 130, 'ff05::9999', extra=tail)
    mld(x, 130, g, extra=b'\2\x7d\0\1' + a6(A6), dst=g)
    mld(x, 130, g, extra=b'\2\x7d\0\x09' + a6(A6), dst=g)
    mld(x, 130, '::', extra=tail, src=A6)
    mld(x, 130, '::', extra=tail, alert=False)
    mld(x, 130, '::', extra=tail, hlim=64)
    mld(x, 130, '::', extra=tail, dst=B6, mac=MAC_B)
    mld(x, 130, '::', extra=tail, bad=True)
    mld(x, 130, '::', cut=8)
    mld(x, 130, '::', extra=tail, cut=18)
    for t in (131, 132):
        for grp, dst in ((g, g), ('ff05::7777', 'ff05::7777'), (g, 'ff02::2'), (g, B6)):
            mld(x, t, grp, dst=dst, mac=MAC_B if dst == B6 else None, wait=0, src='fe80::52')
    mld(x, 143, '::', rest=b'\0\0\0\1', extra=b'', cut=0, dst='ff02::16', wait=0)
    for dst in ('ff02::d', 'ff02::1', B6):
        x.inject(ip6(103, b'\x20\0\0\0', dst=dst, hlim=1), dst=MAC_B if dst == B6 else l2(dst))


def source6(x, s, what, group, src):
    def sockaddr(a):
        return struct.pack('=HHI16sI', socket.AF_INET6, 0, 0, a6(a), 0).ljust(128, b'\0')
    s.setsockopt(socket.IPPROTO_IPV6, what,
                 struct.pack('=II', x.B.ifindex, 0) + sockaddr(group) + sockaddr(src))
    time.sleep(.9)


def sources6(x):
    everyone = (T1, T2, T3, A6)
    data(x, 'ff05::1234', *everyone)
    data(x, 'ff05::5555', *everyone)
    s = x.join(x.B, 'ff05::5555')
    time.sleep(.9)
    data(x, 'ff05::5555', *everyone)
    s.close()
    time.sleep(.9)
    data(x, 'ff05::5555', *everyone)
    s = x.B.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    for what, src in ((MCAST_ADD, T1), (MCAST_ADD, T2), (MCAST_DROP, T1)):
        source6(x, s, what, 'ff35::11', src)
        data(x, 'ff35::11', *everyone)
        x.inject(ip6(253, b'what', src=T1, dst='ff35::11'), dst=l2('ff35::11'))
        x.inject(ip6(58, icmp6(128, 0, b'abcd', src=T3, dst='ff35::11'), src=T3, dst='ff35::11'),
                 dst=l2('ff35::11'))
    s.close()
    time.sleep(.9)
    data(x, 'ff35::11', *everyone)
    s = x.join(x.B, 'ff05::6666')
    time.sleep(.9)
    for what, src in ((MCAST_BLOCK, T1), (MCAST_BLOCK, T2), (MCAST_UNBLOCK, T1)):
        source6(x, s, what, 'ff05::6666', src)
        data(x, 'ff05::6666', *everyone)
    s.close()
    time.sleep(.9)
    data(x, 'ff05::6666', *everyone)


def old_igmp(x):
    """After a query of an old version B reports in that version, to the group
    itself, and hears its own report."""
    for version, code in ((2, 1), (1, 0)):
        igmp(x, 0x11, code, '0.0.0.0', wait=.5 if version == 2 else 10.5)
        if version == 2:
            igmp(x, 0x11, code, '239.1.2.3', dst='239.1.2.3', wait=.5)
        group = '239.8.8.%d' % version
        data(x, group, A4)
        s = x.join(x.B, group)
        time.sleep(.9)
        data(x, group, A4)
        if version == 2:                    # version 1 says nothing when it leaves
            s.close()
            time.sleep(.9)
            data(x, group, A4)


def old_mld(x):
    mld(x, 130, '::', wait=.6)
    mld(x, 130, 'ff05::1234', dst='ff05::1234', wait=.6)
    data(x, 'ff05::8888', A6)
    s = x.join(x.B, 'ff05::8888')
    time.sleep(.9)
    data(x, 'ff05::8888', A6)
    s.close()
    time.sleep(.9)
    data(x, 'ff05::8888', A6)
