# SPDX-License-Identifier: MIT
"""tools - what scenarios are written with: sockets in pairs, peers that exist
only as frames, TCP by hand, and X, the lab as a scenario sees it.
"""
import select
import socket
import struct
import time

from lab.packets import (A4, A6, ACK, B4, B6, ETH_IP, ETH_IP6, FIN, SYN, a4, a6, icmp, ip4, ip6,
                         tcp, udp)

LINGER0 = struct.pack('ii', 1, 0)


def rst_close(s):
    """Close with a RST instead of a FIN."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER0)
    s.close()


def accept(l, timeout=5):
    l.settimeout(timeout)
    s, _ = l.accept()
    s.settimeout(timeout)
    return s


def recv_all(s, n):
    got = 0
    while got < n:
        d = s.recv(min(65536, n - got))
        if not d:
            break
        got += len(d)
    return got


def read_eof(s):
    n = 0
    try:
        while True:
            d = s.recv(65536)
            if not d:
                return n
            n += len(d)
    except (ConnectionError, TimeoutError, BlockingIOError):
        return n


def payload(n, seed=0):
    """@n bytes that repeat every 251, so that captures compress well."""
    unit = bytes((i * 7 + seed) & 0xff for i in range(251))
    return (unit * (n // 251 + 1))[:n]


def transfer(pairs, timeout=50, chunk=16384):
    """Move bytes: pairs of [from, to, n]. All run at once; both ends of a
    pair may be used in both directions by listing it twice."""
    left = [[a, b, n, n] for a, b, n in pairs]
    socks = {s for a, b, _ in pairs for s in (a, b)}
    for s in socks:
        s.setblocking(False)
    end = time.monotonic() + timeout
    buf = payload(chunk)
    while any(p[3] for p in left):
        if time.monotonic() > end:
            raise RuntimeError('transfer stuck: %s' % [p[2:] for p in left])
        r, w, _ = select.select([p[1] for p in left if p[3]],
                                [p[0] for p in left if p[2]], [], .3)
        for p in left:
            if p[2] and p[0] in w:
                try:
                    p[2] -= p[0].send(buf[:min(chunk, p[2])])
                except BlockingIOError:
                    pass
            if p[3] and p[1] in r:
                try:
                    d = p[1].recv(65536 if p[3] > 65536 else p[3])
                    if not d:
                        raise RuntimeError('early end of a transfer')
                    p[3] -= len(d)
                except BlockingIOError:
                    pass
    for s in socks:
        s.settimeout(10)


def echo_tcp(client, server, request, reply):
    client.sendall(payload(request))
    recv_all(server, request)
    server.sendall(payload(reply, 3))
    recv_all(client, reply)


def ping(x, frm, dst, n=1, size=56, tos=0, gap=0.0, reply=True, id=0x5150):
    """Echo requests from host @frm through a raw socket."""
    v6 = ':' in dst
    s = frm.raw(58 if v6 else 1, v6)
    s.settimeout(3)
    if tos:
        s.setsockopt(*((socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if v6
                       else (socket.IPPROTO_IP, socket.IP_TOS)), tos)
    if not v6:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    got = 0
    for i in range(n):
        rest = struct.pack('!HH', id, i + 1)
        if v6:
            # checksum by the kernel, which knows the source address
            s.sendto(struct.pack('!BBH', 128, 0, 0) + rest + payload(size), (dst, 0))
        else:
            s.sendto(icmp(8, 0, rest, payload(size)), (dst, 0))
        while reply:
            try:
                p = s.recv(65600)
            except TimeoutError:
                break
            if not v6:
                p = p[(p[0] & 15) * 4:]
            if p[0] == (129 if v6 else 0) and p[4:8] == rest:
                got += 1
                break
        if gap:
            time.sleep(gap)
    s.close()
    frm.keep.remove(s)
    return got


class Peer:
    """A host that exists only as frames: address and MAC of its own behind
    vA. Nothing answers for it but the scenario."""

    count = 0

    def __init__(self, x, ip):
        Peer.count += 1
        self.x, self.ip = x, ip
        self.mac = '02:00:00:00:01:%02x' % (Peer.count & 0xff)
        x.lab.neigh(x.B, ip, self.mac)
        self.v6 = ':' in ip
        self.local = B6 if self.v6 else B4

    def send(self, proto, data, **kw):
        f = ip6 if self.v6 else ip4
        self.x.lab.inject(f(proto, data, src=self.ip, dst=kw.pop('dst', self.local), **kw),
                          src=self.mac)

    def udp(self, sp, dp, data=b'', **kw):
        self.send(17, udp(sp, dp, data, src=self.ip, dst=self.local), **kw)

    def rawtcp(self, sport, bport, **kw):
        return RawTcp(self, sport, bport, **kw)


class RawTcp:
    """One side of a TCP connection in hand-made segments."""

    def __init__(self, peer, sport, bport, iss=1000, win=8192, opts=b''):
        self.peer, self.sport, self.bport = peer, sport, bport
        self.seq, self.ack, self.win, self.opts = iss, 0, win, opts

    def parse(self, f):
        """Our segment in frame @f, as (flags, seq, ack, payload, options)."""
        et = struct.unpack('!H', f[12:14])[0]
        if et == ETH_IP and not self.peer.v6 and f[23] == 6 and f[30:34] == a4(self.peer.ip):
            t = f[14 + (f[14] & 15) * 4:14 + struct.unpack('!H', f[16:18])[0]]
        elif et == ETH_IP6 and self.peer.v6 and f[20] == 6 and f[38:54] == a6(self.peer.ip):
            t = f[54:54 + struct.unpack('!H', f[18:20])[0]]
        else:
            return None
        sp, dp, seq, ack, off, fl = struct.unpack('!HHIIBB', t[:14])
        if (self.bport and sp != self.bport) or (self.sport and dp != self.sport):
            return None
        hl = (off >> 4) * 4
        return fl, seq, ack, t[hl:], t[20:hl], sp, dp

    def expect(self, flags=None, timeout=2, learn=True):
        """Next segment from B, optionally one with all of @flags set."""
        r = self.peer.x.lab.sniff(
            lambda f: (lambda p: p if p and (flags is None or p[0] & flags == flags)
                       else None)(self.parse(f)), timeout)
        if r and learn:
            n = len(r[3]) + bool(r[0] & SYN) + bool(r[0] & FIN)
            self.ack = (r[1] + n) & 0xffffffff
            if not self.bport:
                self.bport = r[5]
            if not self.sport:
                self.sport = r[6]
        return r

    def tx(self, flags, data=b'', seq=None, ack=None, opts=None, win=None, advance=True,
           **kw):
        s = self.seq if seq is None else seq
        t = tcp(self.sport, self.bport, s, self.ack if ack is None else ack,
                flags, data, src=self.peer.ip, dst=self.peer.local,
                win=self.win if win is None else win,
                opts=self.opts if opts is None else opts, **kw)
        self.peer.send(6, t)
        if advance and seq is None:
            self.seq += len(data) + bool(flags & SYN) + bool(flags & FIN)

    def open(self, opts=b''):
        """Passive open on B: SYN, SYN-ACK, ACK."""
        self.peer.x.lab.sniff_flush()
        self.tx(SYN, opts=opts)
        if not self.expect(SYN | ACK):
            raise RuntimeError('no SYN-ACK')
        self.tx(ACK)
        return self

    def meet(self, opts=b''):
        """Answer the SYN that B has just sent: SYN-ACK, then B's ACK."""
        if not self.expect(SYN):
            raise RuntimeError('no SYN')
        self.tx(SYN | ACK, opts=opts)
        self.expect(ACK)
        return self


class X:
    """What a scenario function gets."""

    def __init__(self, lab, spec):
        self.lab, self.A, self.B = lab, lab.A, lab.B
        self.tcp, self.tcp6, self.udp, self.udp6 = {}, {}, {}, {}
        self.udplite, self.udplite6 = {}, {}
        self.inject, self.spec = lab.inject, spec
        for item in spec['listen'].split():
            proto, port = item.split(':')
            port = int(port)
            if proto == 'tcp':
                self.tcp[port] = self.B.listen(port)
                self.tcp6[port] = self.B.listen(port, v6=True)
            elif proto == 'udplite':
                self.udplite[port] = self.B.udplite(port)
                self.udplite6[port] = self.B.udplite(port, v6=True)
            else:
                self.udp[port] = self.B.udp(port)
                self.udp6[port] = self.B.udp(port, v6=True)
        for g in spec['mcast'].split():
            self.join(self.B, g)

    def join(self, host, group):
        v6 = ':' in group
        s = host.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
        if v6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                         a6(group) + struct.pack('@I', host.ifindex))
        else:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                         a4(group) + a4(B4 if host is self.B else A4))
        return s

    def pause(self, t=.02):
        """Let a wire deliver what it holds."""
        if self.lab.topo != 'direct':
            time.sleep(t)

    def hold(self, *socks):
        self.B.keep.extend(socks)

    def echo(self, port, v6=False):
        """Read one datagram from B's UDP listener @port and send it back."""
        s = (self.udp6 if v6 else self.udp)[port]
        d, a = s.recvfrom(65536)
        s.sendto(d, a)


def small_mix(x, v6=False, rounds=3):
    """A bit of everything in one family."""
    a, b = (A6, B6) if v6 else (A4, B4)
    tl = x.tcp6 if v6 else x.tcp
    ping(x, x.A, b, 3)
    ping(x, x.B, a, 2)
    ua = x.A.udp(v6=v6)
    for i in range(8):
        ua.sendto(b'hello %d' % i, (b, 7))
        x.echo(7, v6)
        ua.recv(100)
    for i in range(3):
        ua.sendto(b'nobody', (b, 6999))        # NoPorts and an ICMP error
    x.A.drain()
    sa = x.A.udp(7, v6=v6)
    ub = x.B.udp(v6=v6)
    for i in range(5):
        ub.sendto(payload(100 * i + 1), (a, 7))
        d, frm = sa.recvfrom(2000)
        sa.sendto(d, frm)
        ub.recv(2000)
    for i in range(2):
        try:
            ub.sendto(b'nobody', (a, 6998))    # an ICMP error comes back
        except OSError:
            pass
    la = x.A.listen(80, v6=v6)
    for i in range(rounds):
        c = x.A.connect(b, 5201)
        s = accept(tl[5201])
        echo_tcp(c, s, 100 + 300 * i, 2000 * i + 1)
        first, second = (c, s) if i & 1 else (s, c)
        first.close()
        x.pause()
        second.close()
    for i in range(rounds):
        c = x.B.connect(a, 80)
        s = accept(la)
        echo_tcp(c, s, 50 + 700 * i, 4000 * i + 10)
        first, second = (c, s) if i & 1 else (s, c)
        first.close()
        x.pause()
        second.close()
    la.close()
    x.A.try_connect(b, 6997)
    x.B.try_connect(a, 6996)


def life_pair_in(x, port=5201, v6=False, **kw):
    """(A's end, B's end) of a connection that A opened."""
    a = x.A.connect(B6 if v6 else B4, port, **kw)
    b = accept((x.tcp6 if v6 else x.tcp)[port])
    return a, b


def life_pair_out(x, la, v6=False, port=80, **kw):
    """(A's end, B's end) of a connection that B opened."""
    b = x.B.connect(A6 if v6 else A4, port, **kw)
    return accept(la), b


def send_frags(x, peer, frags, **kw):
    x.lab.inject(*frags, src=peer.mac, **kw)
