#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_tools - the tools that people run read the tree that statplane writes.

usage: test_tools.py STATPLANE RECORDING

Counts RECORDING's capture into a tree, lets each real tool read it, and holds
the tool's figures against the tree's. Tools that read /proc/net itself run in a
mount namespace where the tree lies over the /proc/PID/net of that one process.
A tool that is not installed is skipped. Closing line:
"N passed, N failed, N skipped".
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'oracle'))
import run_all  # noqa: E402  (builds the command line of a recording)

LIMIT_S = 60


class Skip(Exception):
    """The reason why a tool was not run."""


def need(*tools):
    for tool in tools:
        if not (shutil.which(tool) or os.path.exists(tool)):
            raise Skip('no ' + tool)


def command(*cmd, env=None):
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=LIMIT_S,
                       stdin=subprocess.DEVNULL, env=dict(os.environ, LC_ALL='C', **(env or {})))
    if r.returncode:
        raise AssertionError('%s: exit status %d: %s' % (cmd[0], r.returncode, r.stderr.strip()))
    return r.stdout


def below_proc(tree, script):
    """Arguments that run @script, which must end in 'exec TOOL', with @tree/net
    as that process' own /proc/PID/net."""
    if os.geteuid():
        raise Skip('not root: cannot mount')
    r = subprocess.run(['unshare', '--mount', '--propagation', 'private', 'true'],
                       capture_output=True, text=True, timeout=LIMIT_S)
    if r.returncode:
        raise Skip('no mount namespace: ' + r.stderr.strip())
    return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c',
            'mount --bind "$0/net" /proc/$$/net && ' + script, tree]


def equal(tool, name, got, want):
    if got != want:
        raise AssertionError('%s shows %s = %r, the tree has %r' % (tool, name, got, want))


class Tree:
    """One run of statplane, and its figures by name."""

    def __init__(self, statplane, recording, layout):
        self.path = tempfile.mkdtemp(prefix='statplane-tree-')
        meta = run_all.read_meta(recording)
        self.iface = meta['IFACE']
        cmd = [statplane, *run_all.options(recording, meta, self.path), '--layout', layout]
        command(*cmd)
        self.figures = {}
        for name in ('snmp', 'netstat'):
            lines = self.text(name).splitlines()
            for names, values in zip(lines[::2], lines[1::2]):
                group = names.split(':')[0]
                for n, v in zip(names.split()[1:], values.split()[1:]):
                    self.figures[group + n] = int(v)
        for line in self.text('snmp6').splitlines():
            n, v = line.split()
            self.figures[n] = int(v)
        self.dev = {}
        for line in self.text('dev').splitlines()[2:]:
            name, _, row = line.partition(':')
            self.dev[name.strip()] = [int(v) for v in row.split()]

    def text(self, name):
        with open(os.path.join(self.path, 'net', name)) as f:
            return f.read()


def nstat_shows_every_counter(tree, _):
    need('nstat')
    out = command('nstat', '-asz', env={'PROC_ROOT': tree.path})
    rows = dict(line.split()[:2] for line in out.splitlines() if not line.startswith('#'))
    if len(rows) < 300:
        raise AssertionError('nstat shows %d counters only' % len(rows))
    # nstat leaves gauges and settings out, and cannot show more than 64 bits
    for name, value in rows.items():
        equal('nstat', name, int(value), tree.figures[name])


def nstat_json_is_whole(tree, _):
    need('nstat')
    out = command('nstat', '-aszj', env={'PROC_ROOT': tree.path})
    for name, value in json.loads(out)['kernel'].items():
        equal('nstat -j', name, value, tree.figures[name])


def netstat_s_shows_the_totals(tree, _):
    need('netstat', 'unshare')
    out = command(*below_proc(tree.path, 'exec netstat -s'))
    for pattern, name in ((r'(\d+) total packets received', 'IpInReceives'),
                          (r'(\d+) incoming packets delivered', 'IpInDelivers'),
                          (r'(\d+) requests sent out', 'IpOutRequests'),
                          (r'(\d+) ICMP messages received', 'IcmpInMsgs'),
                          (r'(\d+) ICMP messages sent', 'IcmpOutMsgs'),
                          (r'Udp:\n\s+(\d+) packets received', 'UdpInDatagrams'),
                          (r'(\d+) packets to unknown port received', 'UdpNoPorts'),
                          (r'InOctets: (\d+)', 'IpExtInOctets'),
                          (r'(\d+) segments received', 'TcpInSegs')):
        found = re.search(pattern, out)
        if not found:
            raise AssertionError('netstat -s shows no %s' % name)
        equal('netstat -s', name, int(found[1]), tree.figures[name])


def netstat_i_shows_the_device(tree, _):
    need('netstat', 'unshare')
    out = command(*below_proc(tree.path, 'exec cat /proc/net/dev'))
    equal('/proc/net/dev below the mount', 'text', out, tree.text('dev'))


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Daemon:
    """A process that lives for the length of a with block."""

    def __init__(self, *cmd):
        self.process = subprocess.Popen(cmd, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def until(self, attempt):
        """What @attempt returns, as soon as it raises no OSError."""
        end = time.time() + LIMIT_S
        while True:
            try:
                return attempt()
            except (OSError, AssertionError):
                if self.process.poll() is not None:
                    raise AssertionError('ended: ' + self.process.stdout.read()[-500:])
                if time.time() > end:
                    raise
                time.sleep(.1)


def node_exporter_exports_the_tree(tree, _):
    need('prometheus-node-exporter')
    url = '127.0.0.1:%d' % free_port()
    with Daemon('prometheus-node-exporter', '--path.procfs=' + tree.path,
                '--web.listen-address=' + url, '--collector.disable-defaults',
                '--collector.netstat', '--collector.netstat.fields=.*', '--collector.netdev',
                '--no-collector.netdev.netlink', '--collector.netdev.device-exclude=^$',
                '--collector.sockstat', '--collector.softnet') as daemon:
        text = daemon.until(lambda: urllib.request.urlopen(
            'http://%s/metrics' % url, timeout=5).read().decode())
    rows = dict(re.findall(r'^(node_\w+(?:\{[^}]*\})?) (\S+)$', text, re.M))
    for collector in ('netstat', 'netdev', 'sockstat', 'softnet'):
        equal('node_exporter', collector,
              rows['node_scrape_collector_success{collector="%s"}' % collector], '1')
    nr = 0
    for name, value in rows.items():
        m = re.match(r'node_netstat_(\w+?)_(\w+)$', name)
        if m:
            equal('node_exporter', name, int(float(value)), tree.figures[m[1] + m[2]])
            nr += 1
    if nr < 200:
        raise AssertionError('node_exporter shows %d netstat figures only' % nr)
    for i, column in enumerate(('receive_bytes', 'receive_packets')):
        equal('node_exporter', column, int(float(
            rows['node_network_%s_total{device="%s"}' % (column, tree.iface)])),
            tree.dev[tree.iface][i])
    for column in (8, 9):
        name = ('transmit_bytes', 'transmit_packets')[column - 8]
        equal('node_exporter', name, int(float(
            rows['node_network_%s_total{device="%s"}' % (name, tree.iface)])),
            tree.dev[tree.iface][column])
    if not any(n.startswith('node_softnet_processed_total') for n in rows):
        raise AssertionError('node_exporter shows no softnet row')


def sar_reads_positions_right(_, old):
    """sysstat 12.6 goes by position, and its positions are those of 5.15."""
    sadc = '/usr/lib/sysstat/sadc'
    need('sadf', sadc, 'unshare')
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, 'sa')
        command(*below_proc(old.path, 'exec %s -S XALL 1 2 %s' % (sadc, data)))
        out = command('sadf', '-r', data, '--', '-n', 'ALL')
    for column, name in (('irec/s', 'IpInReceives'), ('idel/s', 'IpInDelivers'),
                         ('orq/s', 'IpOutRequests'), ('imsg/s', 'IcmpInMsgs'),
                         ('omsg/s', 'IcmpOutMsgs'), ('iech/s', 'IcmpInEchos'),
                         ('oechr/s', 'IcmpOutEchoReps'), ('odstunr/s', 'IcmpOutDestUnreachs'),
                         ('iseg/s', 'TcpInSegs'), ('idgm/s', 'UdpInDatagrams'),
                         ('noport/s', 'UdpNoPorts'), ('irec6/s', 'Ip6InReceives'),
                         ('imsg6/s', 'Icmp6InMsgs'), ('idgm6/s', 'Udp6InDatagrams')):
        found = re.search(r' %s; (\d+);' % re.escape(column), out)
        if not found:
            raise AssertionError('sar shows no %s' % column)
        equal('sar', column, int(found[1]), old.figures[name])
    found = re.search(r'IFACE; %s; rxpck/s; (\d+);' % old.iface, out)
    equal('sar', 'rxpck/s', found and int(found[1]), old.dev[old.iface][1])


def snmpd_answers_from_the_tree(_, old):
    """net-snmp 5.9 goes by position too."""
    need('snmpd', 'snmpget', 'unshare')
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        conf = os.path.join(folder, 'snmpd.conf')
        with open(conf, 'w') as f:
            f.write('rocommunity public 127.0.0.1\nagentaddress udp:127.0.0.1:%d\n' % port)
        oids = {'4.3.0': 'IpInReceives', '4.9.0': 'IpInDelivers', '4.10.0': 'IpOutRequests',
                '5.1.0': 'IcmpInMsgs', '5.8.0': 'IcmpInEchos', '5.14.0': 'IcmpOutMsgs',
                '5.16.0': 'IcmpOutDestUnreachs', '5.22.0': 'IcmpOutEchoReps',
                '6.10.0': 'TcpInSegs', '7.1.0': ('UdpInDatagrams', 'Udp6InDatagrams'),
                '7.2.0': ('UdpNoPorts', 'Udp6NoPorts')}
        get = ['snmpget', '-v2c', '-cpublic', '-Oqv', '-t1', '-r0', '127.0.0.1:%d' % port]
        with Daemon(*below_proc(old.path, 'exec snmpd -f -Lo -C -c %s -p %s/pid'
                                % (conf, folder))) as daemon:
            out = daemon.until(lambda: command(*get, *('1.3.6.1.2.1.' + o for o in oids)))
    for (oid, name), value in zip(oids.items(), out.split()):
        names = name if isinstance(name, tuple) else (name,)
        equal('snmpd', oid, int(value), sum(old.figures[n] for n in names))


def psutil_counts_the_device(tree, _):
    """Below whichever python3 has psutil; Debian's has it as a package."""
    script = ('import json, psutil, sys\n'
              'psutil.PROCFS_PATH = sys.argv[1]\n'
              'print(json.dumps(psutil.net_io_counters(pernic=True)[sys.argv[2]]._asdict()))')
    for python in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(python) and not subprocess.run(
                [python, '-c', 'import psutil'], stderr=subprocess.DEVNULL).returncode:
            row = json.loads(command(python, '-c', script, tree.path, tree.iface))
            break
    else:
        raise Skip('no psutil')
    dev = tree.dev[tree.iface]
    for name, i in (('bytes_recv', 0), ('packets_recv', 1), ('bytes_sent', 8),
                    ('packets_sent', 9), ('errin', 2), ('dropin', 3)):
        equal('psutil', name, row[name], dev[i])


TESTS = (nstat_shows_every_counter, nstat_json_is_whole, netstat_s_shows_the_totals,
         netstat_i_shows_the_device, node_exporter_exports_the_tree,
         sar_reads_positions_right, snmpd_answers_from_the_tree, psutil_counts_the_device)


def main():
    if len(sys.argv) != 3:
        print(__doc__.split('\n\n')[1], file=sys.stderr)
        return 2
    statplane, recording = sys.argv[1:]
    trees = []
    passed = failed = skipped = 0
    try:
        trees = [Tree(statplane, recording, '6.18'), Tree(statplane, recording, '5.15')]
        for test in TESTS:
            try:
                test(*trees)
                print('ok   ' + test.__name__)
                passed += 1
            except Skip as reason:
                print('skip %s: %s' % (test.__name__, reason))
                skipped += 1
            except (AssertionError, OSError, KeyError, ValueError,
                    subprocess.TimeoutExpired) as fault:
                print('FAIL %s: %s: %s' % (test.__name__, type(fault).__name__, fault))
                failed += 1
    finally:
        for tree in trees:
            shutil.rmtree(tree.path, ignore_errors=True)
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
