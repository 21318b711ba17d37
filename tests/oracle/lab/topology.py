# SPDX-License-Identifier: MIT
"""topology - hosts joined by links: host A talks to host B, the observed one.

    direct    A vA ------------------------------ vB B
    wire      A vA ---- rA [wire] rB ------------ vB B
    vlan      A vA ---- rA [wire] t0 == vB [wire] rB ---- vB.10 B
    hub       A vA ---- rA [wire] rB ------------ vB B,   C vC ---- rC [wire]
"""
import os
import re
import select
import signal
import socket
import struct
import time

from lab.hosts import Host, calm, run
from lab.packets import (A4, A6, B4, B6, C4, C6, ETH_IP, ETH_IP6, ETH_VLAN, LL_A, LL_B,
                         MAC_A, MAC_B, MAC_C, mac)
from lab.wires import Hub, Tagger, Wire

PROC_FILES = ('snmp snmp6 netstat tcp tcp6 udp udp6 raw dev sockstat '
              'sockstat6 softnet_stat').split()


class Lab:
    def __init__(self, topo='direct', wire=None, neigh='static', mtu=1500):
        self.procs, self.hosts, self.topo = [], {}, topo
        self.wire_ctl = None
        try:
            self._build(topo, wire, neigh, mtu)
        except BaseException:
            self.close()
            raise

    def _host(self, letter):
        h = self.hosts[letter] = Host(self, letter)
        h.ip('link', 'set', 'lo', 'up')
        return h

    def _veth(self, ha, a, hb, b, mac_a=None, mac_b=None, mtu=1500):
        cmd = ['link', 'add', a] + (['address', mac_a] if mac_a else [])
        cmd += ['type', 'veth', 'peer', 'name', b]
        cmd += (['address', mac_b] if mac_b else []) + ['netns', hb.name]
        ha.ip(*cmd)
        for h, n in ((ha, a), (hb, b)):
            h.ip('link', 'set', 'dev', n, 'mtu', str(mtu), 'gso_max_segs', '1')
            h.exec('ethtool', '-K', n, 'tx', 'off', 'rx', 'off', 'tso', 'off',
                   'gso', 'off', 'gro', 'off', 'sg', 'off', 'txvlan', 'off',
                   'rxvlan', 'off', check=False)
            on = re.findall(r'^(?:rx-check|tx-check|tcp-seg|generic-(?:seg|rec))\S*: on',
                            h.exec('ethtool', '-k', n), re.M)
            if on:
                raise RuntimeError('%s: still %s' % (n, ', '.join(on)))

    def _tune(self, h, ifn):
        for c in ('all', 'default', ifn):
            h.sysctl(**{
                'ipv4__conf__%s__rp_filter' % c: 0,
                'ipv4__conf__%s__accept_redirects' % c: 0,
                'ipv4__conf__%s__send_redirects' % c: 0,
                'ipv4__conf__%s__accept_source_route' % c: 0,
                'ipv6__conf__%s__disable_ipv6' % c: 0,
                'ipv6__conf__%s__accept_dad' % c: 0,
                'ipv6__conf__%s__dad_transmits' % c: 0,
                'ipv6__conf__%s__accept_ra' % c: 0,
                'ipv6__conf__%s__autoconf' % c: 0,
                'ipv6__conf__%s__accept_redirects' % c: 0,
                'ipv6__conf__%s__router_solicitations' % c: 0,
                'ipv6__conf__%s__addr_gen_mode' % c: 0})
        h.sysctl(ipv4__icmp_ratelimit=0, ipv4__icmp_msgs_per_sec=1000000,
                 ipv4__icmp_msgs_burst=1000000, ipv6__icmp__ratelimit=0,
                 ipv4__tcp_congestion_control='reno', ipv4__tcp_ecn=2,
                 ipv4__tcp_timestamps=1, ipv4__tcp_sack=1,
                 ipv4__tcp_window_scaling=1, ipv4__ip_forward=0,
                 ipv4__tcp_fastopen=0, ipv4__ping_group_range='0 0',
                 ipv4__tcp_rmem='4096 131072 6291456',
                 ipv4__tcp_wmem='4096 16384 4194304',
                 ipv4__tcp_syncookies=1, ipv4__tcp_fin_timeout=60)

    def _build(self, topo, wire, neigh, mtu):
        A, B = self._host('A'), self._host('B')
        self.A, self.B = A, B
        A.ifname, B.ifname = 'vA', 'vB'
        self.cap_host, self.cap_if = B, 'vB'
        if topo == 'direct':
            self._veth(A, 'vA', B, 'vB', MAC_A, MAC_B, mtu)
        else:
            R = self._host('R')
            self._veth(A, 'vA', R, 'rA', MAC_A, None, mtu)
            ends = [('R', 'rA')]
            if topo == 'wire':
                self._veth(B, 'vB', R, 'rB', MAC_B, None, mtu)
                ends += [('R', 'rB')]
            elif topo == 'hub':
                C = self.C = self._host('C')
                C.ifname = 'vC'
                self._veth(B, 'vB', R, 'rB', MAC_B, None, mtu)
                self._veth(C, 'vC', R, 'rC', MAC_C, None, mtu)
                ends += [('R', 'rB'), ('R', 'rC')]
            elif topo == 'vlan':
                P = self._host('P')
                B.ifname = 'vB.10'
                self._veth(R, 't0', P, 'vB', None, MAC_B, 1600)
                self._veth(B, 'vB.10', P, 'rB', MAC_B, None, mtu)
                ends = [('R', 'rA'), ('R', 't0'), ('P', 'vB'), ('P', 'rB')]
                self.cap_host, self.cap_if = P, 'vB'
            for h, n in ends:
                h = self.hosts[h]
                h.sysctl(**{'ipv6__conf__%s__disable_ipv6' % n: 1})
                h.ip('link', 'set', n, 'up')
            if topo == 'vlan':
                self._wire(ends[:2], Tagger(10))
                self._wire(ends[:1:-1], Tagger(10))
            else:
                self._wire(ends, wire or (Hub() if topo == 'hub' else Wire()))
        both = [(A, A4, A6), (B, B4, B6)]
        if topo == 'hub':
            both.append((C, C4, C6))
        for h, v4, v6 in both:
            self._tune(h, h.ifname)
            h.ip('addr', 'add', v4 + '/24', 'brd', '+', 'dev', h.ifname)
            h.ip('-6', 'addr', 'add', v6 + '/64', 'dev', h.ifname, 'nodad')
            h.ip('link', 'set', h.ifname, 'up')
            with h:
                h.ifindex = socket.if_nametoindex(h.ifname)
        if neigh == 'static':
            for h, m, l in ((A, MAC_B, (B4, B6, LL_B)), (B, MAC_A, (A4, A6, LL_A))):
                for x in l:
                    self.neigh(h, x, m)
        self.l2 = A.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.l2.setsockopt(263, 23, 1)      # PACKET_IGNORE_OUTGOING
        self.l2.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.l2.bind(('vA', 3))
        self.l2.setblocking(False)

    def neigh(self, h, ip, m):
        h.ip('neigh', 'replace', ip, 'lladdr', m, 'dev', h.ifname,
             'nud', 'permanent')

    def _wire(self, ends, wire):
        socks = []
        for h, n in ends:
            with self.hosts[h]:
                s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
                s.setsockopt(263, 23, 1)    # PACKET_IGNORE_OUTGOING
                s.setsockopt(263, 8, 1)     # PACKET_AUXDATA
                s.bind((n, 3))
            s.setblocking(False)
            socks.append(s)
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                os.close(w)
                wire.loop(socks, r)
            finally:
                os._exit(0)
        os.close(r)
        for s in socks:
            s.close()
        self.procs.append(pid)
        self.wire_ctl = w

    def wire(self, command):
        """Send a one-line command to the (last) wire, see Wire.command()."""
        os.write(self.wire_ctl, command.encode() + b'\n')
        time.sleep(.05)

    # -- raw frames from A's side ------------------------------------------
    def frame(self, packet, dst=MAC_B, src=MAC_A, et=None, pad=0, tag=None):
        if et is None:
            et = ETH_IP6 if packet[:1] and packet[0] >> 4 == 6 else ETH_IP
        f = mac(dst) + mac(src)
        if tag is not None:
            f += struct.pack('!HH', ETH_VLAN, tag)
        f += struct.pack('!H', et) + packet
        return f + b'\0' * max(0, pad - len(f))

    def inject(self, *packets, **kw):
        for p in packets:
            self.l2.send(self.frame(p, **kw))
        calm()

    def sniff(self, match, timeout=2):
        """First frame that arrives at vA for which match(frame) is true."""
        end = time.monotonic() + timeout
        while True:
            try:
                f = self.l2.recv(65600)
            except BlockingIOError:
                left = end - time.monotonic()
                if left <= 0 or not select.select([self.l2], [], [], left)[0]:
                    return None
                continue
            r = match(f)
            if r:
                return f if r is True else r

    def sniff_flush(self):
        try:
            while True:
                self.l2.recv(65600)
        except BlockingIOError:
            pass

    # -- silence and snapshots ---------------------------------------------
    def devcount(self):
        for line in self.cap_host.read('dev').splitlines():
            if line.strip().startswith(self.cap_if + ':'):
                f = [int(x) for x in line.split(':')[1].split()]
                return f[1] + f[9], f[0] + f[8]
        raise RuntimeError('no device')

    def silence(self, quiet, timeout=30):
        last, since = self.devcount(), time.monotonic()
        end = since + timeout
        while time.monotonic() < end:
            time.sleep(.03)
            now = self.devcount()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since >= quiet:
                return
        raise RuntimeError('link never silent for %.1f s' % quiet)

    def snapshot(self, folder):
        net = os.path.join(folder, 'net')
        os.makedirs(os.path.join(net, 'dev_snmp6'))
        for f in PROC_FILES:
            t = self.B.read(f)
            if f == 'dev' and self.cap_host is not self.B:
                # the parent interface lives in the wire's own namespace
                t += ''.join(l + '\n' for l in self.cap_host.read(f).splitlines()
                             if l.strip().startswith(self.cap_if + ':'))
            with open(os.path.join(net, f), 'w') as o:
                o.write(t)
        for f in self.B.listdir('dev_snmp6'):
            with open(os.path.join(net, 'dev_snmp6', f), 'w') as o:
                o.write(self.B.read('dev_snmp6/' + f))

    def close(self):
        for pid in self.procs:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass
        self.procs = []
        for h in self.hosts.values():
            h.close_all()
            os.close(h.fd)
            run('ip', 'netns', 'del', h.name, check=False)
        self.hosts = {}
