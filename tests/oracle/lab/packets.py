# SPDX-License-Identifier: MIT
"""packets - addresses of the lab, and packets made by hand.

Every builder takes honest values by default; keyword arguments override one
field each, so that a scenario states exactly what is wrong with a packet.
"""
import socket
import struct

A4, B4, BCAST4 = '10.231.0.1', '10.231.0.2', '10.231.0.255'
A6, B6 = 'fd31::1', 'fd31::2'
C4, C6 = '10.232.0.3', 'fd32::3'
MAC_A, MAC_B, MAC_C = '02:00:00:00:00:0a', '02:00:00:00:00:0b', '02:00:00:00:00:0c'
LL_A, LL_B = 'fe80::ff:fe00:a', 'fe80::ff:fe00:b'

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128
ETH_IP, ETH_ARP, ETH_VLAN, ETH_IP6 = 0x800, 0x806, 0x8100, 0x86dd


def a4(x):
    return socket.inet_aton(x) if isinstance(x, str) else x


def a6(x):
    return socket.inet_pton(socket.AF_INET6, x) if isinstance(x, str) else x


def mac(x):
    return bytes.fromhex(x.replace(':', '')) if isinstance(x, str) else x


def csum(data, start=0):
    """Internet checksum of @data, complemented."""
    if len(data) & 1:
        data += b'\0'
    s = start + sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


def pseudo(src, dst, proto, length):
    if len(src) == 4:
        return src + dst + struct.pack('!BBH', 0, proto, length)
    return src + dst + struct.pack('!IHBB', length, 0, 0, proto)


def ip4(proto, payload, src=A4, dst=B4, tos=0, id=1, off=0, flags='', ttl=64,
        opts=b'', ver=4, ihl=None, tot=None, bad=False):
    """An IPv4 packet. @off in bytes, @flags of 'M' (more) and 'D' (DF);
    @ihl, @tot, @ver override the honest values; @bad spoils the checksum."""
    opts += b'\0' * (-len(opts) % 4)
    n = 20 + len(opts)
    frag = off // 8 | ('M' in flags) << 13 | ('D' in flags) << 14
    h = struct.pack('!BBHHHBBH4s4s', ver << 4 | (n // 4 if ihl is None else ihl),
                    tos, n + len(payload) if tot is None else tot, id, frag,
                    ttl, proto, 0, a4(src), a4(dst)) + opts
    hl = h[0] & 15
    area = (h + payload)[:hl * 4] if 5 <= hl else h
    c = csum(area) ^ (0x5555 if bad else 0)
    return h[:10] + struct.pack('!H', c) + h[12:] + payload


def ip6(nh, payload, src=A6, dst=B6, tc=0, hlim=64, plen=None, ver=6, flow=0):
    return struct.pack('!IHBB', ver << 28 | tc << 20 | flow,
                       len(payload) if plen is None else plen, nh,
                       hlim) + a6(src) + a6(dst) + payload


def addr(x):
    return (a6 if ':' in x else a4)(x) if isinstance(x, str) else x


def udp(sp, dp, data=b'', src=A4, dst=B4, bad=False, zero=False, length=None):
    n = 8 + len(data) if length is None else length
    h = struct.pack('!HHHH', sp, dp, n, 0)
    c = csum(pseudo(addr(src), addr(dst), 17, n) + h + data) or 0xffff
    if bad:
        c = (c ^ 0x1111) or 0x1234
    if zero:
        c = 0
    return h[:6] + struct.pack('!H', c) + data


def udplite(sp, dp, data=b'', cov=0, src=A4, dst=B4, bad=False, zero=False):
    """A UDP-Lite datagram; the checksum covers @cov bytes, 0 for all of it."""
    n = 8 + len(data)
    h = struct.pack('!HHHH', sp, dp, cov, 0)
    c = csum(pseudo(addr(src), addr(dst), 136, n) + (h + data)[:cov or n]) or 0xffff
    if bad:
        c ^= 0x1111
    return h[:6] + struct.pack('!H', 0 if zero else c) + data


def tcp(sp, dp, seq, ack=0, flags=SYN, data=b'', src=A4, dst=B4, win=8192,
        opts=b'', doff=None, bad=False, urg=0):
    opts += b'\1' * (-len(opts) % 4)
    d = 5 + len(opts) // 4 if doff is None else doff
    h = struct.pack('!HHIIBBHHH', sp, dp, seq & 0xffffffff, ack & 0xffffffff,
                    d << 4, flags, win, 0, urg) + opts
    c = csum(pseudo(addr(src), addr(dst), 6, len(h) + len(data)) + h + data)
    return h[:16] + struct.pack('!H', c ^ (0x1111 if bad else 0)) + h[18:] + data


def icmp(type, code=0, rest=b'\0\0\0\0', data=b'', bad=False):
    p = struct.pack('!BBH', type, code, 0) + rest + data
    c = csum(p) ^ (0x1111 if bad else 0)
    return p[:2] + struct.pack('!H', c) + p[4:]


def icmp6(type, code=0, rest=b'\0\0\0\0', data=b'', src=A6, dst=B6, bad=False):
    p = struct.pack('!BBH', type, code, 0) + rest + data
    c = csum(pseudo(a6(src), a6(dst), 58, len(p)) + p) ^ (0x1111 if bad else 0)
    return p[:2] + struct.pack('!H', c) + p[4:]


def frag4(proto, payload, cuts, order=None, **kw):
    """Fragments of one IPv4 datagram, cut at the byte offsets @cuts."""
    cuts = [0] + [c for c in cuts if 0 < c < len(payload)] + [len(payload)]
    out = [ip4(proto, payload[a:b], off=a,
               flags='M' if b < len(payload) else '', **kw)
           for a, b in zip(cuts, cuts[1:])]
    return [out[i] for i in order] if order else out


def frag6hdr(nh, off, more, id):
    return struct.pack('!BBHI', nh, 0, off & ~7 | more, id)


def frag6(nh, payload, cuts, id=1, order=None, **kw):
    cuts = [0] + [c for c in cuts if 0 < c < len(payload)] + [len(payload)]
    out = [ip6(44, frag6hdr(nh, a, b < len(payload), id) + payload[a:b], **kw)
           for a, b in zip(cuts, cuts[1:])]
    return [out[i] for i in order] if order else out


def ext(nh, *opts):
    """A hop-by-hop or destination options header with TLVs @opts, padded."""
    d = b''.join(opts)
    pad = -(len(d) + 2) % 8
    if pad == 1:
        d += b'\0'
    elif pad:
        d += bytes([1, pad - 2]) + b'\0' * (pad - 2)
    return bytes([nh, (len(d) + 2) // 8 - 1]) + d


def mss_opt(n):
    return struct.pack('!BBH', 2, 4, n)


def ts_opt(val, ecr=0):
    return struct.pack('!BBBBII', 1, 1, 8, 10, val & 0xffffffff, ecr)


def sack_opt(*blocks):
    return struct.pack('!BBBB', 1, 1, 5, 2 + 8 * len(blocks)) + b''.join(
        struct.pack('!II', a & 0xffffffff, b & 0xffffffff) for a, b in blocks)
