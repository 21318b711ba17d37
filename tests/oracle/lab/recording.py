# SPDX-License-Identifier: MIT
"""recording - run one scenario and keep what the kernel counted.

Order of one recording: build the lab, open the listeners, join the groups,
wait until the link is silent; start tcpdump; snapshot 'before'; traffic; read
all UDP data; one last ping (its frames carry the clock of the capture to the
moment of the snapshot); wait for silence; snapshot 'after'; stop tcpdump.
Then the device's own packet and byte counts must equal the number and size
of the captured frames, otherwise the run is thrown away and repeated.
"""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from lab.packets import B4, B6, LL_B, MAC_B
from lab.tools import X, ping
from lab.topology import Lab

SCENARIOS = {}


def scenario(name, about, topo='direct', listen='', mcast='', neigh='static',
             wire=None, nano=False, tail=0.4, mtu=1500, forward=False, note='', setup=None,
             local='', folder=''):
    """Register a scenario. @listen: what B listens on from before 'before'
    until after 'after', e.g. 'tcp:80 udp:7' (IPv4 and IPv6 each); @mcast:
    groups B has joined for the same time; @wire: makes a Wire; @tail: seconds
    of silence required at the end; @setup(x): runs before the first silence;
    @local: addresses that @setup gives to B; @folder: where the recording
    belongs, if not in recordings/NAME (relative to tests/oracle)."""
    def add(fn):
        SCENARIOS[name] = dict(name=name, fn=fn, about=about, topo=topo,
                               listen=listen, mcast=mcast, neigh=neigh,
                               wire=wire, nano=nano, tail=tail, mtu=mtu,
                               forward=forward, note=note, setup=setup,
                               local=local, folder=folder or 'recordings/' + name)
        return fn
    return add


GAUGES = {'Ip.Forwarding', 'Ip.DefaultTTL', 'Tcp.RtoAlgorithm', 'Tcp.RtoMin',
          'Tcp.RtoMax', 'Tcp.MaxConn', 'Tcp.CurrEstab', 'MPTcpExt.MPCurrEstab'}
DEV = ('rx_bytes rx_packets rx_errs rx_drop rx_fifo rx_frame rx_compressed '
       'rx_multicast tx_bytes tx_packets tx_errs tx_drop tx_fifo tx_colls '
       'tx_carrier tx_compressed').split()


def parse_net(net, iface, l3iface):
    """Every counter of a /proc/net tree as {Group.Name: value}, in order."""
    d = {}
    for f in ('snmp', 'netstat'):
        lines = open(os.path.join(net, f)).read().splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            group = names.split(':')[0]
            for n, v in zip(names.split()[1:], values.split()[1:]):
                d['%s.%s' % (group, n)] = int(v)
    def v6(path, prefix):
        for line in open(path):
            n, v = line.split()
            m = re.match(r'(Ip6|Icmp6|UdpLite6|Udp6)(\w+)$', n)
            if m:
                d['%s%s.%s' % (prefix, m[1], m[2])] = int(v)
    v6(os.path.join(net, 'snmp6'), '')
    p = os.path.join(net, 'dev_snmp6', l3iface)
    if os.path.exists(p):
        v6(p, 'Dev')
    for line in open(os.path.join(net, 'dev')):
        if line.strip().startswith(iface + ':'):
            for n, v in zip(DEV, line.split(':')[1].split()):
                d['dev.' + n] = int(v)
    return d


def write_delta(folder, iface, l3iface):
    a = parse_net(os.path.join(folder, 'before/net'), iface, l3iface)
    b = parse_net(os.path.join(folder, 'after/net'), iface, l3iface)
    d = {k: v if k in GAUGES else v - a.get(k, 0) for k, v in b.items()}
    with open(os.path.join(folder, 'delta.tsv'), 'w') as o:
        for k, v in d.items():
            o.write('%s\t%d%s\n' % (k, v, '\tgauge' if k in GAUGES else ''))
    return d


def pcap_frames(path):
    """(frames, bytes on the wire) of a classic pcap, complete records only."""
    with open(path, 'rb') as f:
        data = f.read()
    if len(data) < 24:
        return 0, 0
    e = '<' if data[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    pos, n, size = 24, 0, 0
    while pos + 16 <= len(data):
        cap, orig = struct.unpack(e + 'II', data[pos + 8:pos + 16])
        if pos + 16 + cap > len(data):
            break
        pos += 16 + cap
        n += 1
        size += orig
    return n, size


# Any of these means that a queue or a limit inside B took part: not observable.
SPOILERS = '''Udp.RcvbufErrors Udp.MemErrors Udp6.RcvbufErrors Udp6.MemErrors
TcpExt.PruneCalled TcpExt.RcvPruned TcpExt.OfoPruned TcpExt.TCPRcvQDrop TcpExt.TCPBacklogDrop
TcpExt.TCPOFODrop TcpExt.TCPReqQFullDrop TcpExt.TCPReqQFullDoCookies TcpExt.SyncookiesSent
TcpExt.ListenOverflows TcpExt.TCPAbortOnMemory TcpExt.TCPTimeWaitOverflow TcpExt.TCPRetransFail
Icmp.OutRateLimitGlobal Icmp.OutRateLimitHost Icmp6.OutRateLimitHost'''.split()


class Boundary(RuntimeError):
    """A frame fell outside the snapshots: record again."""


def record_once(spec, folder):
    tmp = folder + '.new'
    shutil.rmtree(tmp, ignore_errors=True)
    os.makedirs(tmp)
    cap = os.path.join(tmp, 'capture.pcap')
    lab = Lab(spec['topo'], spec['wire']() if spec['wire'] else None,
              spec['neigh'], spec['mtu'])
    dump = None
    try:
        x = X(lab, spec)
        if spec['setup']:
            spec['setup'](x)
        time.sleep(3)
        lab.silence(1.2)
        dump = subprocess.Popen(
            ['ip', 'netns', 'exec', lab.cap_host.name, 'tcpdump', '-i', lab.cap_if,
             '-w', cap, '-U', '-s', '0', '-n', '--immediate-mode', '-B', '32768',
             '-Z', 'root', '--time-stamp-precision',
             'nano' if spec['nano'] else 'micro'],
            stderr=subprocess.PIPE, text=True)
        while 'listening on' not in dump.stderr.readline():
            if dump.poll() is not None:
                raise RuntimeError('tcpdump did not start')
        time.sleep(.3)
        c0 = lab.devcount()
        lab.snapshot(os.path.join(tmp, 'before'))
        if lab.devcount() != c0 or pcap_frames(cap)[0]:
            raise Boundary('traffic before the start')
        start = time.time()

        spec['fn'](x)

        lab.B.drain()
        if spec['topo'] in ('wire', 'hub'):
            lab.wire('open')
        lab.silence(min(.15, spec['tail']), 60)
        ping(x, lab.A, B4)
        lab.silence(spec['tail'], 60)
        c1 = lab.devcount()
        lab.snapshot(os.path.join(tmp, 'after'))
        end = time.time()
        if lab.devcount() != c1:
            raise Boundary('traffic during the last snapshot')
        want = (c1[0] - c0[0], c1[1] - c0[1])
        for _ in range(100):
            if pcap_frames(cap)[0] >= want[0]:
                break
            time.sleep(.05)
        dump.send_signal(signal.SIGINT)
        err = dump.communicate()[1]
        if lab.devcount() != c1 or pcap_frames(cap) != want:
            raise Boundary('frames and bytes: device %s, capture %s' %
                           (want, pcap_frames(cap)))
        if not re.search(r'^0 packets dropped by kernel', err, re.M):
            raise Boundary('tcpdump dropped packets')
        dump = None
        with open(os.path.join(tmp, 'meta.env'), 'w') as o:
            o.write('SCENARIO=%s\nABOUT="%s"\nKERNEL=%s\n' %
                    (spec['name'], spec['about'], os.uname().release.split('-')[0]))
            local = '%s/24 %s/64 %s/64 %s' % (B4, B6, LL_B, spec['local'])
            o.write('LOCAL="%s"\nMAC=%s\nIFACE=%s\nL3IFACE=%s\n' %
                    (local.strip(), MAC_B, lab.cap_if, lab.B.ifname))
            o.write('VLAN=%s\nLISTEN="%s"\nMCAST="%s"\nFORWARD=%d\n' %
                    ('10' if spec['topo'] == 'vlan' else '', spec['listen'],
                     spec['mcast'], spec['forward']))
            o.write('START=%.6f\nEND=%.6f\nFRAMES=%d\nNOTE="%s"\n' %
                    (start, end, want[0], spec['note']))
        d = write_delta(tmp, lab.cap_if, lab.B.ifname)
        spoilt = [k for k in SPOILERS if d.get(k)]
        if spoilt:
            raise Boundary('not observable: ' + ' '.join(spoilt))
        keep = os.path.join(folder, 'exclude.txt')
        if os.path.exists(keep):
            shutil.copy(keep, tmp)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(tmp, folder)
        return want
    finally:
        if dump and dump.poll() is None:
            dump.kill()
            dump.wait()
        lab.close()
        shutil.rmtree(tmp, ignore_errors=True)


def record(name, folder):
    spec = SCENARIOS[name]
    folder = os.path.abspath(folder)
    t = time.monotonic()
    for attempt in range(4):
        try:
            n, size = record_once(spec, folder)
            print('%-16s %6d frames %8d bytes %5.1f s  %s' %
                  (name, n, os.path.getsize(os.path.join(folder, 'capture.pcap')),
                   time.monotonic() - t, folder), flush=True)
            return True
        except Boundary as e:
            print('%s: %s; once more' % (name, e), file=sys.stderr, flush=True)
    print('%s: given up' % name, file=sys.stderr)
    return False
