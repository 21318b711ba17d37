#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_cli - the program from outside: exit statuses, messages, what is left behind.

usage: test_cli.py STATPLANE RECORDING [TEST]...

RECORDING is a folder of tests/oracle/recordings. Each test is a function below,
its name says what must hold. Closing line: "N passed, N failed, N skipped".
"""
import fcntl
import gzip
import importlib.machinery
import importlib.util
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'oracle'))
import run_all  # noqa: E402  (what a recording's host was)



def load(path):
    """A program whose name does not end in .py, as a module."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path), path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


compare = load(os.path.join(HERE, '..', 'oracle', 'compare'))
LIMIT_S = 60
FILES = ('dev', 'netstat', 'raw', 'raw6', 'snmp', 'snmp6', 'sockstat', 'sockstat6',
         'softnet_stat', 'tcp', 'tcp6', 'udp', 'udp6', 'udplite', 'udplite6')


class Skip(Exception):
    """The reason why a test was not run."""


class Bench:
    """The program, a capture, and a folder to play in."""

    def __init__(self, statplane, recording):
        self.statplane = os.path.abspath(statplane)
        self.recording = os.path.abspath(recording)
        self.capture = os.path.join(self.recording, 'capture.pcap')
        self.meta = run_all.read_meta(self.recording)
        self.nr_packets = int(self.meta['FRAMES'])
        self.folder = tempfile.mkdtemp(prefix='statplane-cli-')
        self.planes = []

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in self.planes:
            if os.path.exists('/dev/shm/statplane-' + name):
                os.unlink('/dev/shm/statplane-' + name)

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, 'wb') as f:
                f.write(content)
        return path

    def plane(self, name):
        """A name that nobody else uses, removed at the end."""
        name = 'test-%d-%s' % (os.getpid(), name)
        self.planes.append(name)
        return name

    def bytes(self):
        with open(self.capture, 'rb') as f:
            return f.read()

    def host(self):
        """Options that say who was observed."""
        opts = ['--mac', self.meta['MAC']]
        for address in self.meta['LOCAL'].split():
            opts += ['--local', address]
        return opts

    def call(self, *args, stdin=None, env=None, stdout=subprocess.PIPE):
        return subprocess.run([self.statplane, *args], input=stdin, stdout=stdout,
                              stdin=subprocess.DEVNULL if stdin is None else None,
                              stderr=subprocess.PIPE, timeout=LIMIT_S,
                              env=dict(os.environ, LC_ALL='C', **(env or {})))

    def run(self, *args, **kw):
        return self.call('run', *args, *self.host(), **kw)

    def json(self, *args, status=0, **kw):
        r = self.call(args[0], '--json', *args[1:], **kw)
        is_(r.returncode, status, r.stderr.decode())
        return json.loads(r.stdout)

    def start(self, *args, stderr=subprocess.PIPE, **kw):
        return subprocess.Popen([self.statplane, *args], stdout=subprocess.PIPE,
                                stderr=stderr, **kw)


def is_(got, want, about=''):
    if got != want:
        raise AssertionError('%.200r instead of %.200r %s' % (got, want, about))


def has(text, part):
    text = text.decode(errors='replace') if isinstance(text, bytes) else text
    if part not in text:
        raise AssertionError('no %r in %.300r' % (part, text))


def has_not(text, part):
    text = text.decode(errors='replace') if isinstance(text, bytes) else text
    if part in text:
        raise AssertionError('%r in %.300r' % (part, text))


def fails(r, status, *parts):
    """Status, and one message with all of @parts."""
    is_(r.returncode, status, r.stderr.decode(errors='replace'))
    has(r.stderr, 'statplane: ')
    for part in parts:
        has(r.stderr, part)


def until(condition, what):
    end = time.time() + LIMIT_S
    while not condition():
        if time.time() > end:
            raise AssertionError('never: ' + what)
        time.sleep(.02)


def figures(result):
    """What must not depend on how a capture was read."""
    return {k: result[k] for k in ('packets', 'octets', 'first_s', 'last_s', 'counters',
                                   'devices', 'observer')}


# usage

def wrong_usage_is_status_2_and_one_line(b):
    for args in ((), ('nonsense',), ('run',), ('run', 'x'), ('run', '-r'),
                 ('run', '-r', 'x', '--bogus'), ('run', '-r', 'x', '-q'),
                 ('run', '-r', 'x', '--json=1'), ('run', '-r', 'x', '--local', '1.2.3'),
                 ('run', '-r', 'x', '--local', '1.2.3.4/33'),
                 ('run', '-r', 'x', '--local', '::1/129'),
                 ('run', '-r', 'x', '--local', '1.2.3.4/'),
                 ('run', '-r', 'x', '--local', '224.0.0.1'),
                 ('run', '-r', 'x', '--mcast', '10.0.0.1'),
                 ('run', '-r', 'x', '--mac', '00:11:22:33:44'),
                 ('run', '-r', 'x', '--mac', '00:11:22:33:44:5g'),
                 ('run', '-r', 'x', '--listen', '80'), ('run', '-r', 'x', '--listen', 'tcp:0'),
                 ('run', '-r', 'x', '--listen', 'tcp:65536'),
                 ('run', '-r', 'x', '--listen', 'sctp:1'), ('run', '-r', 'x', '--vlan', '4095'),
                 ('run', '-r', 'x', '--vlan', '-1'), ('run', '-r', 'x', '--checksum', 'maybe'),
                 ('run', '-r', 'x', '--layout', '7.0'), ('run', '-r', 'x', '--iface', 'a/b'),
                 ('run', '-r', 'x', '--iface', 'a234567890123456'),
                 ('run', '-r', 'x', '--netns', 'a/b'), ('run', '-r', '-', '-'),
                 ('show',), ('show', 'a', 'b'), ('show', '--list', 'snmp'),
                 ('show', 'metrics', '--json'), ('show', 'snmp', '--layout', '2.4'),
                 ('ls', 'x'), ('ls', '--bogus'), ('bench',), ('bench', 'x'), ('bench', 'add', 'x'),
                 ('bench', 'add', '--bogus'), ('bench', 'add', '--threads', '0'),
                 ('info', 'x'), ('info', '--segment')):
        r = b.call(*args)
        is_(r.returncode, 2, args)
        is_(r.stdout, b'', args)
        lines = r.stderr.decode().splitlines()
        is_(len(lines), 2, args)
        if not lines[0].startswith('statplane: '):
            raise AssertionError(lines[0])
        has(lines[1], "Try 'statplane")


def help_is_there_for_every_command(b):
    for args in (('--help',), ('help',), ('help', 'run'), ('run', '--help'), ('show', '--help'),
                 ('ls', '--help'), ('info', '--help'), ('bench', '--help')):
        r = b.call(*args)
        is_(r.returncode, 0, args)
        has(r.stdout, 'usage: statplane')
        has(r.stdout, '--help' if args in (('--help',), ('help',)) else '\nExamples\n')
        for line in r.stdout.decode().splitlines():
            if len(line) > 80:
                raise AssertionError('%r: more than 80 columns: %r' % (args, line))
        is_(r.stderr, b'', args)
    has(b.call('--version').stdout, 'statplane ')


# input

def packets_of_a_recording_are_counted(b):
    r = b.json('run', '-r', b.capture, *b.host())
    is_(r['packets'], b.nr_packets)
    is_(r['complete'], True)
    is_(r['errors'], [])
    is_(r['host']['learned'], False)
    is_(sum(r['devices']['eth0'][k] for k in ('rx_packets', 'tx_packets')), b.nr_packets)


def standard_input_and_gzip_equal_the_file(b):
    plain = b.bytes()
    packed = gzip.compress(plain)
    want = figures(b.json('run', '-r', b.capture, *b.host()))
    for args, stdin in ((('-r', b.path('a.pcap.gz', packed)), None), (('-r', '-'), plain),
                        (('-r', '-'), packed), (('-r-',), plain),
                        (('--read', b.path('b.pcap', plain)), None)):
        is_(figures(b.json('run', *args, *b.host(), stdin=stdin)), want, args)


def standard_input_may_be_a_file(b):
    want = figures(b.json('run', '-r', b.capture, *b.host()))
    with open(b.capture, 'rb') as f:
        r = subprocess.run([b.statplane, 'run', '-r', '-', '--json', *b.host()], stdin=f,
                           capture_output=True, timeout=LIMIT_S)
    is_(figures(json.loads(r.stdout)), want)


def split(capture, nr):
    """The first @nr packets, and the rest, each as a capture."""
    order = '<' if capture[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    off = 24
    for _ in range(nr):
        off += 16 + struct.unpack_from(order + 'I', capture, off + 8)[0]
    return capture[:off], capture[:24] + capture[off:]


def several_captures_are_one(b):
    want = figures(b.json('run', '-r', b.capture, *b.host()))
    parts = split(b.bytes(), 100)
    first, rest = b.path('1.pcap', parts[0]), b.path('2.pcap', parts[1])
    for args in (('-r', first, rest), ('-r', first, '-r', rest), ('-r', first, '--', rest)):
        got = b.json('run', *b.host(), *args)
        is_(figures(got), want, args)
        is_(got['captures'], [first, rest])


def pcapng(capture):
    """@capture, a pcap, as a pcapng: a section, an interface, a block a packet."""
    order = '<' if capture[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    magic, link = struct.unpack_from(order + 'I16xI', capture)
    nanoseconds = magic == 0xa1b23c4d

    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = struct.pack('<I', len(body) + 12)
        return struct.pack('<I', kind) + size + body + size
    out = block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1))
    out += block(1, struct.pack('<HHIHHB3xHH', link & 0xffff, 0, 0, 9, 1,
                                9 if nanoseconds else 6, 0, 0))
    off = 24
    while off < len(capture):
        seconds, part, cap_len, size = struct.unpack_from(order + 'IIII', capture, off)
        time = seconds * (10 ** 9 if nanoseconds else 10 ** 6) + part
        off += 16
        out += block(6, struct.pack('<IIIII', 0, time >> 32, time & 0xffffffff, cap_len, size)
                     + capture[off:off + cap_len])
        off += cap_len
    return out


def pcapng_equals_pcap(b):
    want = figures(b.json('run', '-r', b.capture, *b.host()))
    plain = pcapng(b.bytes())
    for content in (plain, gzip.compress(plain)):
        is_(figures(b.json('run', '-r', b.path('a.pcapng', content), *b.host())), want)
    is_(figures(b.json('run', '-r', '-', *b.host(), stdin=plain)), want)


def a_truncated_capture_counts_up_to_the_damage(b):
    first, _ = split(b.bytes(), 100)
    path = b.path('cut.pcap', first + b.bytes()[len(first):len(first) + 20])
    r = b.run('-r', path, '--proc-dir', b.path('cut'))
    fails(r, 1, path, 'packet 101 at byte %d' % len(first), 'the 100 packets before')
    has(r.stdout, 'Packets  100 with')
    has(r.stdout, 'Incomplete')
    got = b.json('run', '-r', path, *b.host(), status=1)
    is_(got['packets'], 100)
    is_(got['complete'], False)
    is_(len(got['errors']), 1)
    is_(sorted(os.listdir(b.path('cut/net'))), sorted(FILES + ('dev_snmp6',)))


def damage_in_one_capture_does_not_hide_the_next(b):
    first, rest = split(b.bytes(), 100)
    got = b.json('run', '-r', b.path('cut.pcap', first[:-1]), b.path('no.pcap'),
                 b.path('rest.pcap', rest), *b.host(), status=1)
    is_(got['packets'], b.nr_packets - 1)
    is_(len(got['errors']), 2)


def what_is_no_capture_is_told_from_what_is(b):
    for content, part in ((b'', 'is empty'), (b'hello, world', 'not a capture'),
                          (b'\x28\xb5\x2f\xfd____', 'zstd -dc'), (b'\xfd7zXZ\0____', 'xz -dc'),
                          (struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 127), '802.11'),
                          (b.bytes()[:10], 'header'), (gzip.compress(b''), 'is empty')):
        r = b.run('-r', b.path('x.pcap', content), '--proc-dir', b.path('none'))
        fails(r, 1, 'x.pcap', part)
        is_(r.stdout, b'', part)
        is_(os.listdir(b.path('none/net')), [], part)


def what_cannot_be_read_is_told(b):
    fails(b.run('-r', b.path('nowhere.pcap')), 1, 'nowhere.pcap', 'No such file')
    fails(b.run('-r', b.folder), 1, 'directory')
    path = b.path('secret.pcap', b.bytes())
    os.chmod(path, 0)
    # root, but without the right to read everything
    cmd = ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] if not os.geteuid() else []
    r = subprocess.run([*cmd, b.statplane, 'run', '-r', path], capture_output=True,
                       timeout=LIMIT_S)
    fails(r, 1, path, 'Permission denied')


def a_capture_without_packets_is_no_error(b):
    got = b.json('run', '-r', b.path('none.pcap', b.bytes()[:24]))
    is_(got['packets'], 0)
    is_(got['first_s'], None)
    is_(b.call('run', '-r', b.path('none.pcap')).returncode, 0)


def other_link_types_do_not_mix(b):
    raw = struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101)
    r = b.run('-r', b.capture, b.path('raw.pcap', raw))
    fails(r, 1, 'raw.pcap', 'link type', 'run of its own')
    has(r.stdout, 'Packets  %d with' % b.nr_packets)


def the_host_is_found_out(b):
    want = b.json('run', '-r', b.capture, *b.host())
    for stdin in (None, b.bytes()):
        r = b.call('run', '-r', '-' if stdin else b.capture, '--json', stdin=stdin)
        is_(r.returncode, 0, r.stderr.decode())
        has(r.stderr, '--mac ' + b.meta['MAC'])
        has(r.stderr, '--local ' + b.meta['LOCAL'].split()[0])
        got = json.loads(r.stdout)
        is_(got['host']['learned'], True)
        is_(got['devices'], want['devices'])


def a_host_that_is_not_in_the_capture_is_doubted(b):
    r = b.call('run', '-r', b.capture, '--local', '192.0.2.7/24')
    is_(r.returncode, 0, r.stderr.decode())
    has(r.stdout, 'Doubtful')
    has_not(b.run('-r', b.capture).stdout, 'Doubtful')
    has_not(b.call('run', '-r', b.path('none.pcap', b.bytes()[:24])).stdout, 'Doubtful')


# signals

def catches(pid, nr):
    with open('/proc/%d/status' % pid) as f:
        mask = re.search(r'^SigCgt:\s+(\w+)', f.read(), re.M)[1]
    return int(mask, 16) >> (nr - 1) & 1


def a_silent_fifo_can_be_interrupted(b):
    fifo = b.path('fifo')
    os.mkfifo(fifo)
    for nr in (signal.SIGINT, signal.SIGTERM):
        p = b.start('run', '-r', fifo, *b.host())
        until(lambda: catches(p.pid, nr), 'it handles the signal')
        p.send_signal(nr)
        out, err = p.communicate(timeout=LIMIT_S)
        is_(p.returncode, 128 + nr, err.decode())
        is_(out, b'')


def what_came_through_a_pipe_is_printed_when_interrupted(b):
    name = b.plane('pipe')
    p = b.start('run', '-r', '-', '--segment', name, *b.host(), stdin=subprocess.PIPE)
    first, _ = split(b.bytes(), 100)
    p.stdin.write(first)
    p.stdin.flush()

    def counted():
        r = b.call('show', 'net/dev', '--json', '--segment', name)
        if r.returncode:
            return False
        row = json.loads(r.stdout)['devices']['eth0']
        return row['rx_packets'] + row['tx_packets'] == 100
    until(counted, 'a reader sees 100 packets while the pipe is open')
    is_([row['state'] for row in b.json('ls')['planes'] if row['name'] == name], ['live'])
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=LIMIT_S)
    is_(p.returncode, 143, err.decode())
    has(out, 'Packets  100 with')
    has(out, 'Stopped by TERM')


def a_reader_that_goes_away_is_no_noise(b):
    read, write = os.pipe()
    os.close(read)
    r = b.run('-r', b.capture, stdout=write)
    os.close(write)
    is_(r.returncode, 141)
    is_(r.stderr, b'')


def full_standard_output_is_an_error(b):
    with open('/dev/full', 'wb') as full:
        fails(b.run('-r', b.capture, stdout=full), 1, 'standard output', 'No space left')
        fails(b.call('ls', stdout=full), 1, 'standard output')


# output

def the_tree_has_every_file(b):
    tree = b.path('tree')
    r = b.run('-r', b.capture, '--iface', 'vB', '--proc-dir', tree)
    is_(r.returncode, 0, r.stderr.decode())
    is_(sorted(os.listdir(tree)), ['net'])
    is_(sorted(os.listdir(tree + '/net')), sorted(FILES + ('dev_snmp6',)))
    is_(os.listdir(tree + '/net/dev_snmp6'), ['vB'])
    for name in FILES:
        with open(tree + '/net/' + name) as f:
            if not f.read().endswith('\n'):
                raise AssertionError(name + ' does not end in a newline')


def the_tree_is_replaced_whole(b):
    tree = b.path('again')
    b.run('-r', b.capture, '--proc-dir', tree, '--layout', '5.15')
    with open(tree + '/net/netstat') as f:
        before, old = f.read(), f
        b.run('-r', b.capture, '--proc-dir', tree)
        with open(tree + '/net/netstat') as g:
            has_not(before, 'TCPAORequired')
            has(g.read(), 'TCPAORequired')
        old.seek(0)
        is_(old.read(), before, 'the open file changed')
    is_([n for n in os.listdir(tree + '/net') if n.startswith('.')], [])


def a_tree_that_cannot_be_is_refused_before_counting(b):
    for place in (b.path('file', b''), b.path('no/such'), '/proc'):
        r = b.run('-r', b.capture, '--proc-dir', place)
        fails(r, 1, place)
        is_(r.stdout, b'')


def private_mount(script, *args):
    """Run @script in a mount namespace of its own."""
    if os.geteuid():
        raise Skip('not root: cannot mount')
    unshare = ['unshare', '--mount', '--propagation', 'private']
    r = subprocess.run([*unshare, 'true'], capture_output=True, text=True, timeout=LIMIT_S)
    if r.returncode:
        raise Skip('no mount namespace: ' + r.stderr.strip())
    return subprocess.run([*unshare, 'sh', '-c', script, *args], capture_output=True,
                          timeout=LIMIT_S)


def a_full_disk_leaves_no_part_of_a_tree(b):
    disk = b.path('disk')
    os.mkdir(disk)
    r = private_mount('mount -t tmpfs -o size=24k tmpfs "$0" || exit 99; '
                      '"$1" run -r "$2" --local 10.0.0.1 --proc-dir "$0/tree"; echo "status $?"; '
                      'find "$0" -type f', disk, b.statplane, b.capture)
    if r.returncode == 99:
        raise Skip('cannot mount a tmpfs')
    has(r.stderr, 'No space left on device')
    is_(r.stdout.decode().splitlines()[-1], 'status 1')


def a_full_disk_for_the_plane_is_an_error(b):
    disk = b.path('disk2')
    os.mkdir(disk)
    r = private_mount('mount -t tmpfs -o size=64k tmpfs "$0" || exit 99; '
                      '"$1" run -r "$2" --local 10.0.0.1 --segment "$0/plane"; echo "status $?"; '
                      'find "$0" -type f', disk, b.statplane, b.capture)
    if r.returncode == 99:
        raise Skip('cannot mount a tmpfs')
    has(r.stderr, 'No space left on device')
    is_(r.stdout.decode().splitlines()[-1], 'status 1')


def colours_are_for_terminals_that_want_them(b):
    has_not(b.run('-r', b.capture, env={'TERM': 'xterm'}).stdout, '\033')
    for env, wanted in (({'TERM': 'xterm', 'NO_COLOR': ''}, True),
                        ({'TERM': 'xterm', 'NO_COLOR': '1'}, False),
                        ({'TERM': 'dumb', 'NO_COLOR': ''}, False)):
        is_(b'\033[1m' in on_terminal(b, env), wanted, env)


def terminal(columns):
    """Both ends of a pseudo-terminal: (ours, the program's)."""
    try:
        master, slave = pty.openpty()
    except OSError as reason:
        raise Skip('no pseudo-terminal: %s' % reason)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    return master, slave


def on_terminal(b, env, columns=80):
    """Standard output of a run whose standard output is a terminal."""
    master, slave = terminal(columns)
    p = subprocess.Popen([b.statplane, 'run', '-r', b.capture, *b.host()], stdout=slave,
                         stderr=subprocess.DEVNULL, env=dict(os.environ, **env))
    os.close(slave)
    out = b''
    while True:
        if not select.select([master], [], [], LIMIT_S)[0]:
            raise AssertionError('nothing more from the terminal')
        try:
            piece = os.read(master, 65536)
        except OSError:
            break  # the other end is closed
        if not piece:
            break
        out += piece
    p.wait(LIMIT_S)
    os.close(master)
    return out


def the_progress_line_fits_the_terminal(b):
    first, rest = split(b.bytes(), 1)
    packet = split(rest, 1)[0][24:]
    for columns, named in ((20, False), (200, True)):
        master, slave = terminal(columns)
        fifo = b.path('a-long-name-for-a-fifo-%d' % columns)
        os.mkfifo(fifo)
        p = b.start('run', '-r', fifo, '--local', '10.0.0.1', stdin=subprocess.DEVNULL,
                    stderr=slave)
        os.close(slave)
        with open(fifo, 'wb', buffering=0) as pipe:
            pipe.write(first)

            def progress():
                pipe.write(packet)
                return select.select([master], [], [], 0)[0]
            until(progress, 'a progress line')
        p.communicate(timeout=LIMIT_S)
        line = os.read(master, 65536).decode().split('\r')[0]
        os.close(master)
        if len(line) >= columns:
            raise AssertionError('%d columns: %r' % (columns, line))
        is_('-fifo-%d: ' % columns in line, named, line)
        has(line, ' packets')


def the_summary_fits_the_terminal(b):
    whole = b.run('-r', b.capture).stdout.decode().splitlines()
    for columns in (45, 80, 120, 300):
        lines = on_terminal(b, {'TERM': 'dumb'}, columns).decode().splitlines()
        # one line a counter, whatever the width: only the host may take more
        rows = [line for line in lines if re.match(r'  \S', line)]
        is_(len(rows), len([line for line in whole if re.match(r'  \S', line)]), columns)
        for line in lines if columns >= 80 else rows:
            if len(line) > columns:
                raise AssertionError('%d columns: %r' % (columns, line))
        text = '\n'.join(lines)
        has_not(text, 'RFC')
        is_('Segments sent with RST set' in text, columns >= 80, columns)
        if columns >= 80:
            is_('...' in text, columns <= 120, columns)


def the_summary_shows_every_counter_with_its_meaning(b):
    counters = b.json('run', '-r', b.capture, *b.host())['counters']
    out = b.run('-r', b.capture).stdout.decode()
    for group, items in counters.items():
        if group.endswith('Msg'):
            continue
        for name, value in items.items():
            found = re.search(r'^%s\n(?:  .*\n)*?  %s +(-?\d+) \w+ +\w' % (group, name), out, re.M)
            is_(int(found[1]) if found else 0, value, group + name)


def counters_in_json_are_those_of_the_tree(b):
    recording = os.path.join(os.path.dirname(b.recording), 'icmp', 'capture.pcap')
    tree = b.path('same')
    got = b.json('run', '-r', recording, '--local', '10.231.0.2/24', '--local', 'fd31::2/64',
                 '--proc-dir', tree)
    want = compare.read_net(tree + '/net', {'IFACE': 'eth0', 'L3IFACE': 'eth0'})
    nr = 0
    for group, items in got['counters'].items():
        for name, value in items.items():
            # what only other layouts print is in the JSON, not in the tree
            if group + '.' + name in want and not group.endswith('Msg'):
                is_(value, want[group + '.' + name], group + name)
                nr += value != 0
    for group, prefix in (('IcmpMsg', 'IcmpMsg.'), ('Icmp6Msg', 'Icmp6.')):
        for name, value in got['counters'][group].items():
            is_(value, want[prefix + name], group + name)
            nr += 1
    for name, value in got['devices']['eth0'].items():
        is_(value, want['dev.' + name], name)
    if nr < 80:
        raise AssertionError('only %d figures were not zero' % nr)


def nothing_is_left_behind_without_a_segment(b):
    r = private_mount('mount -t tmpfs tmpfs /dev/shm || exit 99; "$0" run -r "$1" '
                      '--local 10.0.0.1 >/dev/null; ls -A /dev/shm', b.statplane, b.capture)
    if r.returncode == 99:
        raise Skip('cannot mount a tmpfs')
    is_((r.returncode, r.stdout), (0, b''))


# planes

def a_plane_is_shown_as_the_tree_has_it(b):
    name, tree = b.plane('show'), b.path('shown')
    r = b.run('-r', b.capture, '--segment', name, '--proc-dir', tree, '--layout', '6.1')
    is_(r.returncode, 0, r.stderr.decode())
    for file in FILES + ('dev_snmp6/eth0',):
        with open(os.path.join(tree, 'net', file), 'rb') as f:
            want = f.read()
        for shown in (file, 'net/' + file):
            r = b.call('show', shown, '--segment', name, '--layout', '6.1')
            is_(r.returncode, 0, r.stderr.decode())
            is_(r.stdout, want, shown)
        got = b.json('show', file, '--segment', name)
        is_(got['file'], 'net/' + file)
    listed = b.call('show', '--list', '--segment', name).stdout.decode().split()
    is_(sorted(listed), sorted(['net/' + f for f in FILES] + ['net/dev_snmp6/eth0', 'metrics']))
    is_(b.json('show', '--list', '--segment', name)['files'], listed[:-1])
    has(b.call('show', 'metrics', '--segment', name).stdout, '# EOF\n')


def a_path_is_a_plane_too(b):
    path = b.path('plane')
    is_(b.run('-r', b.capture, '--segment', path).returncode, 0)
    has(b.call('show', 'snmp', '--segment', path).stdout, 'Ip: Forwarding')
    is_(b.json('info', '--segment', path)['path'], path)


def ls_and_info_know_clean_from_abandoned(b):
    clean, abandoned = b.plane('clean'), b.plane('abandoned')
    b.run('-r', b.capture, '--segment', clean)
    p = b.start('run', '-r', '-', '--segment', abandoned, *b.host(), stdin=subprocess.PIPE)
    p.stdin.write(b.bytes())
    p.stdin.flush()
    until(lambda: b.call('show', 'dev', '--segment', abandoned).stdout.count(b'eth0') == 1,
          'the plane of a pipe')

    def states():
        return {row['name']: row.get('state') for row in b.json('ls')['planes']}
    is_(states()[clean], 'clean')
    is_(states()[abandoned], 'live')
    p.kill()
    p.communicate()
    is_(states()[abandoned], 'abandoned')
    info = b.json('info', '--segment', abandoned)
    is_(info['state'], 'abandoned')
    is_(info['pid'], p.pid)
    is_(info['program'], 'statplane')
    has(b.call('ls').stdout, abandoned)
    has(b.call('info', '--segment', clean).stdout, 'clean')
    # the last figures can still be read
    has(b.call('show', 'snmp', '--segment', abandoned).stdout, 'Ip: Forwarding')
    # and the name can be taken over
    is_(b.run('-r', b.capture, '--segment', abandoned).returncode, 0)
    is_(states()[abandoned], 'clean')


def a_plane_in_use_is_not_taken(b):
    name = b.plane('busy')
    p = b.start('run', '-r', '-', '--segment', name, *b.host(), stdin=subprocess.PIPE)
    p.stdin.write(b.bytes())
    p.stdin.flush()
    until(lambda: b.call('show', 'dev', '--segment', name).returncode == 0, 'its plane')
    try:
        fails(b.run('-r', b.capture, '--segment', name), 1, 'another process')
    finally:
        p.stdin.close()
        p.stdin = None
        p.communicate(timeout=LIMIT_S)
    is_(p.returncode, 0)


def without_a_name_the_only_plane_is_meant(b):
    r = private_mount('mount -t tmpfs tmpfs /dev/shm || exit 99; "$0" show snmp; echo "status $?"; '
                      '"$0" ls; "$0" info; "$0" run -r "$1" --local 10.0.0.1 --segment one '
                      '>/dev/null; "$0" show snmp || exit 1; "$0" run -r "$1" --local 10.0.0.1 '
                      '--segment two >/dev/null; "$0" show snmp; echo "status $?"', b.statplane,
                      b.capture)
    if r.returncode == 99:
        raise Skip('cannot mount a tmpfs')
    is_(r.returncode, 0)
    lines = r.stdout.decode().splitlines()
    is_(lines[0], 'status 1')
    has(lines[1], 'NAME')
    has(r.stdout, 'There is no plane')
    has(r.stdout, 'Ip: Forwarding')
    is_(lines[-1], 'status 1')
    for part in ('there is no plane', 'there are 2 planes', '\n  one\n  two\n'):
        has(r.stderr, part)


def what_is_not_there_is_told(b):
    name = b.plane('less')
    b.run('-r', b.capture, '--segment', name)
    fails(b.call('show', 'nonsense', '--segment', name), 1, '--list')
    fails(b.call('show', 'snmp', '--segment', name, '--netns', 'other'), 1, 'namespace')
    fails(b.call('show', 'snmp', '--segment', b.plane('never')), 1, 'statplane ls')
    fails(b.call('show', 'snmp', '--segment', b.capture), 1, 'no plane')
    fails(b.call('info', '--segment', b.path('x', b'')), 1, 'no plane')


def names_are_the_ones_asked_for(b):
    name = b.plane('names')
    b.run('-r', b.capture, '--segment', name, '--netns', 'blue', '--iface', 'wan0')
    is_(b.json('show', 'snmp', '--segment', name)['netns'], 'blue')
    is_(list(b.json('show', 'dev', '--segment', name, '--netns', 'blue')['devices']), ['wan0'])


TESTS = (
    wrong_usage_is_status_2_and_one_line,
    help_is_there_for_every_command,
    packets_of_a_recording_are_counted,
    standard_input_and_gzip_equal_the_file,
    standard_input_may_be_a_file,
    several_captures_are_one,
    pcapng_equals_pcap,
    a_truncated_capture_counts_up_to_the_damage,
    damage_in_one_capture_does_not_hide_the_next,
    what_is_no_capture_is_told_from_what_is,
    what_cannot_be_read_is_told,
    a_capture_without_packets_is_no_error,
    other_link_types_do_not_mix,
    the_host_is_found_out,
    a_host_that_is_not_in_the_capture_is_doubted,
    a_silent_fifo_can_be_interrupted,
    what_came_through_a_pipe_is_printed_when_interrupted,
    a_reader_that_goes_away_is_no_noise,
    full_standard_output_is_an_error,
    the_tree_has_every_file,
    the_tree_is_replaced_whole,
    a_tree_that_cannot_be_is_refused_before_counting,
    a_full_disk_leaves_no_part_of_a_tree,
    a_full_disk_for_the_plane_is_an_error,
    colours_are_for_terminals_that_want_them,
    the_progress_line_fits_the_terminal,
    the_summary_fits_the_terminal,
    the_summary_shows_every_counter_with_its_meaning,
    counters_in_json_are_those_of_the_tree,
    nothing_is_left_behind_without_a_segment,
    a_plane_is_shown_as_the_tree_has_it,
    a_path_is_a_plane_too,
    ls_and_info_know_clean_from_abandoned,
    a_plane_in_use_is_not_taken,
    without_a_name_the_only_plane_is_meant,
    what_is_not_there_is_told,
    names_are_the_ones_asked_for,
)


def main(tests, doc):
    if len(sys.argv) < 3:
        print(doc.split('\n\n')[1], file=sys.stderr)
        return 2
    b = Bench(*sys.argv[1:3])
    passed = failed = skipped = 0
    try:
        for test in tests:
            if sys.argv[3:] and test.__name__ not in sys.argv[3:]:
                continue
            try:
                test(b)
                print('ok   ' + test.__name__, flush=True)
                passed += 1
            except Skip as reason:
                print('skip %s: %s' % (test.__name__, reason), flush=True)
                skipped += 1
            except (AssertionError, OSError, KeyError, ValueError, TypeError,
                    subprocess.SubprocessError) as fault:
                print('FAIL %s: %s: %s' % (test.__name__, type(fault).__name__, fault), flush=True)
                failed += 1
    finally:
        b.close()
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(TESTS, __doc__))
