#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ss - sockets: real tools read our tree as they read the kernel's own files.

usage: test_ss.py STATPLANE RECORDINGS

Each recording's capture is counted into a tree. ss, netstat and psutil must then
show the same rows for that tree as for the files that the recorded kernel wrote at
the end; statplane's own ss must show what the real one reads from the tree, also
behind every filter of a list. A tool that is not installed is skipped.

Compared are protocol, both ends and state; Send-Q of connections that are open;
which timer runs and how often it ran out; how long TIME-WAIT still lasts. Not
compared is what no packet tells:

  inode, owner, address in memory, references
  Recv-Q, as reading by the program leaves no trace on the wire
  Send-Q of SYN-SENT, where the kernel counts the SYN itself
  the timer of FIN-WAIT-2: whether the program still holds the socket, and the sums
    that hang on it (inuse and tw of net/sockstat); alloc and orphan, which the
    kernel counts for the whole machine
  how long timers of retransmission still run, to the tick

Closing line: "N passed, N failed, N skipped".
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'oracle'))
import run_all  # noqa: E402  (builds the command line of a recording)
from test_tools import Skip, below_proc, command, need  # noqa: E402

# The kernel's files were read some time after the last packet.
CLOCK_SKEW_S = 3


class Recording:
    """One recording and what statplane makes of it."""

    def __init__(self, statplane, path, keep=None):
        self.name = os.path.basename(path)
        self.kernel = os.path.join(path, 'after')
        self.tree = tempfile.mkdtemp(prefix='statplane-tree-')
        meta = run_all.read_meta(path)
        cmd = [statplane, *run_all.options(path, meta, self.tree)]
        if keep:
            cmd += ['--segment', keep]
        try:
            command(*cmd)
        except BaseException:
            self.remove()
            raise

    def remove(self):
        shutil.rmtree(self.tree, ignore_errors=True)


def same(what, got, want):
    """Two collections of rows, in any order."""
    got, want = collections.Counter(got), collections.Counter(want)
    if got == want:
        return
    raise AssertionError('%s\n      too much: %s\n      missing:  %s' % (
        what, list((got - want).elements())[:5], list((want - got).elements())[:5]))


def ss(tree, *args):
    """The words of each row that ss shows of @tree."""
    out = command('ss', *args, env={'PROC_ROOT': tree})
    return [line.split() for line in out.splitlines()]


def seconds(text):
    """'58sec', '1min2sec', '310ms', and '1.250ms', by which ss means 1.25 s."""
    whole = re.fullmatch(r'(?:(\d+)min)?(?:(\d+)(?:sec|\.(\d+)ms|min)?)?(?:(\d+)ms)?', text)
    if text.endswith('ms') and '.' not in text:
        return int(text[:-2]) / 1000
    if not whole:
        raise AssertionError('no duration: ' + text)
    return int(whole[1] or 0) * 60 + int(whole[2] or 0) + int(whole[3] or 0) / 1000


def ss_rows(tree):
    """Of 'ss -tanoe': what is compared of each row, and how long TIME-WAITs last."""
    rows, lasting = [], {}
    for state, _, send, local, peer, *more in ss(tree, '-Htanoe'):
        timer = re.search(r'timer:\((\w+),([^,]*),(\d+)\)', ' '.join(more))
        if state == 'TIME-WAIT':
            lasting[local, peer] = seconds(timer[2])
        if state == 'SYN-SENT':
            send = None
        running = timer and state != 'FIN-WAIT-2' and (timer[1], timer[3])
        rows.append((state, send, local, peer, running or None))
    return rows, lasting


def ss_shows_the_kernels_connections(r):
    need('ss')
    got, got_lasting = ss_rows(r.tree)
    want, want_lasting = ss_rows(r.kernel)
    same('ss -tanoe', got, want)
    for ends, left in want_lasting.items():
        # Rounded down to whole seconds; our clock is that of the last packet.
        if not -1 <= got_lasting[ends] - left <= CLOCK_SKEW_S:
            raise AssertionError('%s lasts %s s, not %s s' % (ends, got_lasting[ends], left))


def ss_shows_the_kernels_datagram_sockets(r):
    need('ss')
    columns = [[(w[0], w[3], w[4]) for w in ss(tree, '-Huan')] for tree in (r.tree, r.kernel)]
    same('ss -uan', *columns)


def ss_s_counts_the_same(r):
    need('ss')
    sums = []
    for tree in (r.tree, r.kernel):
        out = command('ss', '-s', env={'PROC_ROOT': tree})
        table = {w[0]: w[1:] for w in map(str.split, out.splitlines()) if len(w) == 4}
        waiting = int(re.search(r'timewait (\d+)', out)[1])
        estab = int(re.search(r'estab (\d+)', out)[1])
        # A socket in FIN-WAIT-2 is one in use or one that waits.
        sums.append((estab, table['UDP'], table['RAW'], int(table['TCP'][0]) + waiting))
        if not any(w[0] == 'FIN-WAIT-2' for w in ss(tree, '-Htan')):
            sums[-1] += (table['TCP'], waiting)
    if sums[0] != sums[1]:
        raise AssertionError('ss -s: %s, the kernel has %s' % tuple(sums))


def netstat_shows_the_kernels_rows(r):
    need('netstat', 'unshare')
    rows = []
    for tree in (r.tree, r.kernel):
        out = command(*below_proc(tree, 'exec netstat -tuan'))
        words = [line.split() for line in out.splitlines() if line[:3] in ('tcp', 'udp')]
        rows.append([(w[0], *w[3:]) for w in words])
    same('netstat -tuan', *rows)


PSUTIL = '''
import json, psutil, sys
psutil.PROCFS_PATH = sys.argv[1]
print(json.dumps([[c.family, c.type, *c.laddr, *(c.raddr or ("", 0)), c.status]
                  for c in psutil.net_connections("inet")]))
'''


def psutil_lists_the_kernels_rows(r):
    for python in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(python) and not subprocess.run(
                [python, '-c', 'import psutil'], stderr=subprocess.DEVNULL).returncode:
            break
    else:
        raise Skip('no psutil')
    same('psutil', *([tuple(c) for c in json.loads(command(python, '-c', PSUTIL, tree))]
                     for tree in (r.tree, r.kernel)))


KERNEL_TESTS = (ss_shows_the_kernels_connections, ss_shows_the_kernels_datagram_sockets,
                ss_s_counts_the_same, netstat_shows_the_kernels_rows,
                psutil_lists_the_kernels_rows)

# --- statplane's own ss beside the real one, both over the same sockets -------

# ss(8) says that and binds tighter than or, as it does here; ss itself goes from left
# to right, so none of these depends on it.
FILTERS = (
    '', 'state established', 'state time-wait', 'state syn-recv state last-ack',
    'exclude established', 'state connected', 'state synchronized', 'state bucket',
    'state big', 'state all', 'state all exclude listening', 'state fin-wait-2',
    'state close-wait', 'state closing', 'state syn-sent', 'state listening',
    'sport = :5201', 'sport = 5201', 'dport = :80', 'dport = :http', 'sport != :5201',
    'sport < :5202', 'sport > :5202', 'sport <= :5202', 'sport >= :5202', 'sport lt 5202',
    'sport gt 5202', 'sport le 5202', 'sport ge 5202', 'sport eq 5202', 'sport ne 5202',
    'dst 10.231.0.1', 'dst 10.231.0.1:80', 'dst 10.231.0.96/28', 'dst = 10.231.0.1',
    'src 10.231.0.2', 'src 10.0.0.0/8', 'dst [fd31::1]', 'dst [fd31::1]:80', 'dst fd00::/8',
    'not dst 10.231.0.1', '! sport = :5201', 'sport = :5201 or sport = :5202',
    'sport = :5201 and dst 10.231.0.1', 'sport = :5201 dst 10.231.0.1',
    '( sport = :5201 or sport = :5301 ) and not dst 10.231.0.1',
    'sport = :5301 and dst 10.231.0.1 or sport = :5201',
    'state established ( dport = :80 | sport = :5203 )',
    'state all ! ( sport >= :5200 & sport <= :5300 )',
)


class Own:
    """`statplane ss` of a recording's plane."""

    def __init__(self, statplane, path):
        self.statplane = statplane
        self.segment = 'test-ss-%s-%d' % (os.path.basename(path), os.getpid())
        self.folder = os.path.dirname(path)
        self.recording = Recording(statplane, path, self.segment)

    def remove(self):
        self.recording.remove()
        path = '/dev/shm/statplane-' + self.segment
        if os.path.exists(path):
            os.unlink(path)

    def ss(self, *args):
        return command(self.statplane, 'ss', '--segment', self.segment, *args)

    def rows(self, *args):
        return [line.split() for line in self.ss(*args).splitlines()]


def statplane_ss_shows_what_ss_reads(own):
    need('ss')
    for args in ('-Htan', '-Htn', '-Htln', '-H4tan', '-H6tan', '-Htuan', '-Huan', '-Hta'):
        got, want = own.rows(args), ss(own.recording.tree, args)
        at = 1 if args == '-Htuan' else 0
        # The length that a listener's queue may reach is in no file.
        for row in got + want:
            if row[at] == 'LISTEN':
                row[at + 2] = None
        same('ss ' + args, map(tuple, got), map(tuple, want))


def statplane_ss_shows_the_same_timers(own):
    need('ss')

    def timers(rows):
        found = []
        for row in rows:
            timer = re.search(r'timer:\((\w+),([^,]*),(\d+)\)', ' '.join(row))
            found.append((*row[:1], *row[3:5], timer and (timer[1], timer[3])))
        return found
    same('ss -tano', timers(own.rows('-Htano')), timers(ss(own.recording.tree, '-Htano')))


def filters_mean_what_they_do_in_ss(own):
    need('ss')
    nr = 0
    for text in FILTERS:
        # State if there are several, queues, ends.
        want = [(w[:-4], w[-2:]) for w in ss(own.recording.tree, '-Htan', *text.split())]
        for words in (text.split(), [text]) if text else ([],):
            got = [(w[:-4], w[-2:]) for w in own.rows('-Htan', *words)]
            same("ss -tan '%s'" % text, map(repr, got), map(repr, want))
        nr += bool(want)
    if nr < len(FILTERS) - 5:
        raise AssertionError('only %d filters let anything pass' % nr)


def the_summary_is_that_of_ss(own):
    need('ss')
    real = command('ss', '-s', env={'PROC_ROOT': own.recording.tree})
    mine = own.ss('-s')
    for pattern in (r'Total: (\d+)', r'TCP: +(.*)', r'\nUDP\s+(\d+)\s+(\d+)\s+(\d+)',
                    r'\nTCP\s+(\d+)\s+(\d+)\s+(\d+)', r'\nINET\s+(\d+)\s+(\d+)\s+(\d+)'):
        got, want = re.search(pattern, mine), re.search(pattern, real)
        if not got or got.groups() != want.groups():
            raise AssertionError('%s: %s, ss has %s' % (pattern, got and got[0], want[0]))


def json_has_every_row(own):
    got = json.loads(own.ss('-taj'))
    rows = own.rows('-Htan')
    if len(got['sockets']) != len(rows):
        raise AssertionError('%d in JSON, %d in text' % (len(got['sockets']), len(rows)))
    ports = sorted((s['local_port'], s['remote_port']) for s in got['sockets'])
    want = sorted(tuple(int(w.rsplit(':', 1)[1].replace('*', '0')) for w in row[3:5])
                  for row in rows)
    if ports != want:
        raise AssertionError('other ports in JSON than in text')
    summary = json.loads(own.ss('-sj'))['summary']
    if summary['tcp']['established'] != sum(s['state'] in ('established', 'close-wait')
                                            for s in got['sockets']):
        raise AssertionError('the sum of established ones is wrong')


def sorting_and_top_choose_the_greatest(own):
    everything = json.loads(own.ss('-taj'))['sockets']
    figures = {
        'bytes': lambda s: s['bytes_in'] + s['bytes_out'],
        'packets': lambda s: s['packets_in'] + s['packets_out'],
        'retrans': lambda s: s['retransmitted'],
        'rtt': lambda s: s['rtt_us'],
        'send-q': lambda s: s['tx_queue'],
    }
    for key, figure in figures.items():
        want = sorted(map(figure, everything), reverse=True)
        for top in (1, 7, len(everything), len(everything) + 5, None):
            args = ['--top', str(top)] if top else []
            got = json.loads(own.ss('-taj', '--sort', key, *args))['sockets']
            if list(map(figure, got)) != want[:top]:
                raise AssertionError('--sort %s --top %s' % (key, top))
    local = [s['local_port'] for s in json.loads(own.ss('-t4aj', 'src', '10.231.0.2',
                                                        '--sort', 'peer'))['sockets']]
    if len(local) < 100:
        raise AssertionError('--sort peer shows %d' % len(local))


def lines_of_info_tell_octets_and_rates(own):
    with_losses = Own(own.statplane, os.path.join(own.folder, 'loss'))
    try:
        text = with_losses.ss('-tani')
    finally:
        with_losses.remove()
    for pattern in (r'bytes_sent:\d+', r'bytes_received:\d+', r'segs_in:\d+', r'segs_out:\d+',
                    r'rtt:[\d.]+/[\d.]+', r'retrans:\d+/\d+', r'mss:\d+',
                    r'rate_in:[\d.]+[KMG]?bps', r'age:\S+'):
        if not re.search(pattern, text):
            raise AssertionError('no %s in ss -i' % pattern)
    plain = own.ss('-tan').splitlines()
    if len(own.ss('-tani').splitlines()) != 2 * len(plain) - 1:
        raise AssertionError('not a second line for each')
    if len(own.ss('-taniO').splitlines()) != len(plain):
        raise AssertionError('-O has more than a line for each')
    if any(line != line.rstrip() for line in plain):
        raise AssertionError('a line ends in a space')


def a_wrong_filter_is_refused_with_its_place(own):
    r = subprocess.run([own.statplane, 'ss', '--segment', own.segment, 'sport', '=', ':80',
                        'or', 'dport', '=', 'x'], capture_output=True, text=True)
    want = ("statplane: filter, character 24: there is no service 'x'\n"
            "  sport = :80 or dport = x\n"
            "                         ^\n"
            "Try 'statplane ss --help'.\n")
    if (r.returncode, r.stdout, r.stderr) != (2, '', want):
        raise AssertionError(repr((r.returncode, r.stdout, r.stderr)))


OWN_TESTS = (statplane_ss_shows_what_ss_reads, statplane_ss_shows_the_same_timers,
             filters_mean_what_they_do_in_ss, the_summary_is_that_of_ss, json_has_every_row,
             sorting_and_top_choose_the_greatest, lines_of_info_tell_octets_and_rates,
             a_wrong_filter_is_refused_with_its_place)


def run(name, test, subject, counts):
    try:
        test(subject)
        print('ok   ' + name)
        counts['passed'] += 1
    except Skip as reason:
        print('skip %s: %s' % (name, reason))
        counts['skipped'] += 1
    except (AssertionError, OSError, KeyError, ValueError, IndexError, TypeError,
            subprocess.TimeoutExpired) as fault:
        print('FAIL %s: %s: %s' % (name, type(fault).__name__, fault))
        counts['failed'] += 1


def main():
    if len(sys.argv) != 3:
        print(__doc__.split('\n\n')[1], file=sys.stderr)
        return 2
    statplane, folder = sys.argv[1:]
    counts = collections.Counter()
    for name in sorted(os.listdir(folder)):
        recording = Recording(statplane, os.path.join(folder, name))
        try:
            for test in KERNEL_TESTS:
                run(test.__name__ + ' ' + name, test, recording, counts)
        finally:
            recording.remove()
    own = Own(statplane, os.path.join(folder, 'many'))
    try:
        for test in OWN_TESTS:
            run(test.__name__, test, own, counts)
    finally:
        own.remove()
    print('%d passed, %d failed, %d skipped'
          % tuple(counts[k] for k in ('passed', 'failed', 'skipped')))
    return 1 if counts['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
