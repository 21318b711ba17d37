#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_hostile - the program among people and machines that mean it no good.

usage: test_hostile.py STATPLANE RECORDING [TEST]...

As test_cli.py, whose bench and helpers it uses: names with escape sequences,
planes that shrink, descriptors that are closed, limits that are hit.
"""
import fcntl
import json
import os
import re
import select
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_cli  # noqa: E402
from test_cli import LIMIT_S, Skip, fails, has, has_not, is_, private_mount, until  # noqa: E402

# a line feed, an escape sequence, its one-byte form, that in UTF-8, a change of direction
EVIL = b'a\nb\033[31m\x9b2J\xc2\x9b2J\xe2\x80\xae.pcap'
CONTROL = re.compile(rb'[\0-\x09\x0b-\x1f\x7f\x80-\xff]')


def is_harmless(text, nr_lines):
    """@nr_lines lines of plain ASCII: what is not shown is a question mark."""
    is_(len(text.splitlines()), nr_lines, text)
    if CONTROL.search(text):
        raise AssertionError(text)


def shell(b, script, *args):
    """Run @script with the program as $0; what it prints by other ways than its own."""
    return subprocess.run(['sh', '-c', script, b.statplane, *args], capture_output=True,
                          timeout=LIMIT_S)


def on_terminal(b, *args):
    """What a terminal gets from the standard output of a command."""
    master, slave = test_cli.terminal(80)
    p = subprocess.Popen([b.statplane, *args], stdout=slave, stderr=subprocess.DEVNULL)
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
    is_(p.wait(LIMIT_S), 0)
    os.close(master)
    return out.replace(b'\r\n', b'\n')


# names

def a_name_of_a_capture_does_not_reach_the_terminal(b):
    path = os.path.join(b.folder.encode(), EVIL)
    with open(path, 'wb') as f:
        f.write(b.bytes()[:100])
    r = b.run('-r', path, '--json')
    is_(r.returncode, 1)
    is_harmless(r.stderr, 1)
    has(r.stderr, 'a?b?[31m?2J?2J?.pcap: ends inside packet 2')
    if re.search(rb'[\0-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]', r.stdout):
        raise AssertionError('controls in JSON')
    name = os.path.join(b.folder, EVIL.decode(errors='replace'))
    is_(json.loads(r.stdout)['captures'], [name])


def an_argument_does_not_reach_the_terminal(b):
    for args in ((EVIL,), ('run', '-r', 'x', '--local', EVIL), ('run', '-r', 'x', '--mac', EVIL),
                 ('run', '-r', 'x', b'-\xc2\x9b'), ('run', '-r', 'x', b'--\033[2J'),
                 ('run', '-r', 'x', '--iface', b'a\xc2\x9bb'),
                 ('run', '-r', 'x', '--netns', b'a\xc2\x9bb'), ('ls', EVIL), ('show', 'a', EVIL)):
        r = b.call(*args)
        is_(r.returncode, 2, args)
        is_harmless(r.stderr, 2)


def a_name_of_a_plane_does_not_reach_the_terminal(b):
    name = b.plane('evil').encode() + EVIL
    b.planes.append(os.fsdecode(name))
    b.planes.append(os.fsdecode(name) + '2')
    is_(b.run('-r', b.capture, '--segment', name).returncode, 0)
    row = [line for line in b.call('ls').stdout.splitlines() if b'-evil' in line]
    is_(len(row), 1)
    is_harmless(row[0], 1)
    r = b.call('info', '--segment', name)
    is_harmless(r.stdout, len(b.call('info', '--segment', b.planes[-2]).stdout.splitlines()))
    is_(b.run('-r', b.capture, '--segment', name + b'2').returncode, 0)
    r = b.call('info')  # several planes: their names are listed
    is_(r.returncode, 1)
    is_harmless(r.stderr, len(r.stderr.splitlines()))
    has(r.stderr, '-evila?b?[31m')


def what_a_plane_holds_does_not_reach_the_terminal(b):
    """Names and help texts come from whoever wrote the plane."""
    path = b.path('texts')
    is_(b.run('-r', b.capture, '--segment', path).returncode, 0)
    with open(path, 'rb') as f:
        head = f.read(32 << 20)
    with open(path, 'r+b') as f:
        for old, new in ((b'host\0', b'\xc2\x9b1m\0'), (b'eth0\0', b'\xc2\x9b2J\0'),
                         (b'Received ', b'\033[2JXxxxx')):
            at = head.find(old)
            if at < 0:
                raise AssertionError('no %r in the plane' % old)
            while at >= 0:
                f.seek(at)
                f.write(new)
                at = head.find(old, at + 1)
    shown = b''
    for args in (('metrics',), ('dev',), ('--list',), ('snmp', '--json'), ('dev', '--json')):
        is_(b.call('show', *args, '--segment', path).returncode, 0)
        shown += on_terminal(b, 'show', *args, '--segment', path)
    has(shown, '?1m')
    has(shown, '?2J')
    has(shown, '?[2JX')
    if CONTROL.search(shown):
        raise AssertionError(CONTROL.search(shown))
    # but a program gets what is there
    has(b.call('show', 'metrics', '--segment', path).stdout, '\033[2JX')


def an_empty_argument_is_wrong_usage(b):
    for args in (('run', '-r', ''), ('run', '-r', b.capture, ''), ('show', ''),
                 ('show', 'snmp', '--segment', ''), ('show', 'snmp', '--netns', ''),
                 ('info', '--segment', ''), ('run', '-r', 'x', '--segment', ''),
                 ('run', '-r', 'x', '--proc-dir', ''), ('run', '-r', 'x', '--netns', ''),
                 ('run', '-r', 'x', '--max-sockets', ''), ('run', '-r', 'x', '--reasm-bytes', '')):
        r = b.call(*args)
        is_(r.returncode, 2, args)
        is_(len(r.stderr.splitlines()), 2, args)


def a_path_that_is_too_long_is_not_cut(b):
    long = b.folder + '/' + './' * 2040 + 'x'
    cut = long[:4095]
    for args in (('run', '-r', b.capture, *b.host()), ('show', 'snmp'), ('info',)):
        fails(b.call(*args, '--segment', long), 1, 'too long')
    is_(os.path.exists(cut) and not os.path.isdir(cut), False)
    is_([n for n in os.listdir(b.folder) if n == 'x'], [])


# descriptors

def a_closed_descriptor_is_not_taken_for_a_file(b):
    host = ' '.join(b.host())
    r = shell(b, '"$0" run -r - %s <&-' % host)
    fails(r, 1, 'standard input', 'Bad file descriptor')
    r = shell(b, '"$0" run -r - "$1" %s <&-' % host, b.capture)
    fails(r, 1, 'standard input', 'Bad file descriptor')
    has(r.stdout, 'Packets  %d with' % b.nr_packets)
    want = b.json('run', '-r', b.capture, *b.host())
    for closed in ('>&-', '2>&-', '<&- >&-', '<&- >&- 2>&-'):
        name = b.plane('closed')
        r = shell(b, '"$0" run -r "$1" --segment "$2" %s %s' % (host, closed), b.capture, name)
        if '2>' not in closed:
            fails(r, 1, 'cannot write to standard output: Bad file descriptor')
        is_(r.returncode, int('>&-' in closed.replace('2>&-', '')), closed)
        got = b.json('show', 'dev', '--segment', name)['devices']['eth0']
        is_(got['rx_packets'], want['devices']['eth0']['rx_packets'], closed)
        is_(b.json('info', '--segment', name)['state'], 'clean', closed)


# planes

def what_is_no_plane_is_not_replaced(b):
    for name, make in (('text', lambda p: b.path(p, b'hello')), ('empty', lambda p: b.path(p, b'')),
                       ('fifo', lambda p: os.mkfifo(b.path(p))),
                       ('folder', lambda p: os.mkdir(b.path(p))),
                       ('link', lambda p: os.symlink('text', b.path(p))),
                       ('dangling', lambda p: os.symlink('nowhere', b.path(p)))):
        make(name)
        before = os.lstat(b.path(name))
        fails(b.run('-r', b.capture, '--segment', b.path(name)), 1, name, 'is no plane')
        is_(os.lstat(b.path(name)).st_ino, before.st_ino)
        r = b.call('show', 'snmp', '--segment', b.path(name))
        is_(r.returncode, 1, name)


def a_plane_that_loses_its_memory_is_an_error(b):
    """A copy with holes on a file system that fills up has no memory for them."""
    plane, disk = b.path('holes'), b.path('small')
    is_(b.run('-r', b.capture, '--segment', plane).returncode, 0)
    os.mkdir(disk)
    r = private_mount('mount -t tmpfs -o size=512k tmpfs "$1" || exit 99; '
                      'cp --sparse=always "$2" "$1/plane" || exit 98; '
                      'cat /dev/zero >"$1/rest" 2>/dev/null; '
                      '"$0" show metrics --segment "$1/plane"; echo "status $?"',
                      b.statplane, disk, plane)
    if r.returncode == 99:
        raise Skip('cannot mount a tmpfs')
    is_(r.stdout.decode().splitlines()[-1:], ['status 1'], r.stderr.decode())
    has(r.stderr, 'plane: the file was truncated while it was in use, or its file system is full')
    is_(len(r.stderr.splitlines()), 1)


# the tree

def one_run_at_a_time_writes_a_tree(b):
    tree = b.path('shared')
    is_(b.run('-r', b.capture, '--proc-dir', tree).returncode, 0)
    before = os.stat(tree + '/net/snmp').st_ino
    fd = os.open(tree, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    p = b.start('run', '-r', b.capture, *b.host(), '--proc-dir', tree)

    def waits():
        with open('/proc/%d/wchan' % p.pid) as f:
            return 'nanosleep' in f.read()
    try:
        until(waits, 'it waits for the lock')
        is_(os.stat(tree + '/net/snmp').st_ino, before)
    finally:
        os.close(fd)
        p.communicate(timeout=LIMIT_S)
    is_(p.returncode, 0)
    is_(os.stat(tree + '/net/snmp').st_ino != before, True)


def what_a_killed_run_left_is_in_nobodys_way(b):
    tree, victim = b.path('left'), b.path('victim', b'precious')
    is_(b.run('-r', b.capture, '--proc-dir', tree).returncode, 0)
    for name in ('snmp', 'netstat', 'dev'):
        with open('%s/net/.%s.new' % (tree, name), 'w') as f:
            f.write('half')
    os.symlink(victim, tree + '/net/.snmp6.new')
    os.link(victim, tree + '/net/.sockstat.new')
    os.mkfifo(tree + '/net/.sockstat6.new')
    is_(b.run('-r', b.capture, '--proc-dir', tree).returncode, 0)
    is_([n for n in os.listdir(tree + '/net') if n.startswith('.')], [])
    with open(victim) as f:
        is_(f.read(), 'precious')
    for name in os.listdir(tree + '/net'):
        is_(os.path.islink(tree + '/net/' + name), False)


def a_place_that_is_taken_leaves_the_tree_as_it_was(b):
    tree = b.path('taken')
    is_(b.run('-r', b.capture, '--proc-dir', tree).returncode, 0)
    before = {n: os.stat(tree + '/net/' + n).st_ino for n in os.listdir(tree + '/net')}
    os.unlink(tree + '/net/snmp6')
    os.mkdir(tree + '/net/snmp6')
    fails(b.run('-r', b.capture, '--proc-dir', tree), 1, 'net/snmp6', 'Is a directory')
    before['snmp6'] = os.stat(tree + '/net/snmp6').st_ino
    is_({n: os.stat(tree + '/net/' + n).st_ino for n in os.listdir(tree + '/net')}, before)


# limits

ETHER = bytes(6) + b'\2\0\0\0\0\1'


def ipv4(src, dst, protocol, payload, ident=0, flags_off=0):
    head = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), ident, flags_off, 64, protocol,
                       0, src, dst)
    total = sum(struct.unpack('>10H', head))
    total = (total & 0xffff) + (total >> 16)
    return head[:10] + struct.pack('>H', 0xffff & ~(total + (total >> 16))) + head[12:] + payload


def capture_of(b, name, packets):
    out = struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    for i, packet in enumerate(packets):
        frame = ETHER + b'\x08\0' + packet
        out += struct.pack('<IIII', 1, i, len(frame), len(frame)) + frame
    return b.path(name, out)


def limits_are_options_and_counted(b):
    us, host = bytes((192, 0, 2, 1)), ('--local', '192.0.2.1/24')
    syns = capture_of(b, 'syns', [
        ipv4(us, struct.pack('>I', 0xc6336400 + i), 6,
             struct.pack('>HHIIBBHHH', 1024 + i, 80, i, 0, 0x50, 2, 1000, 0, 0))
        for i in range(2000)])
    parts = capture_of(b, 'parts', [
        ipv4(struct.pack('>I', 0xc6336400 + i), us, 17, bytes(64), i, 0x2000)
        for i in range(2000)])
    for path, option, member, line in (
            (syns, '--max-sockets', 'connections_evicted', 'connections evicted'),
            (parts, '--reasm-bytes', 'reassembly_evicted', 'reassembly full')):
        is_(b.json('run', '-r', path, *host)['observer'][member], 0)
        got = b.json('run', '-r', path, *host, option, '1')['observer'][member]
        if got < 1500:
            raise AssertionError('%s %d' % (option, got))
        r = b.call('run', '-r', path, *host, option, '1')
        is_(re.search('^  %s +([0-9]+)' % line, r.stdout.decode(), re.M)[1], str(got))
        is_(b.json('run', '-r', path, *host, option, '16000000')['observer'][member], 0)
        for bad in ('0', '-1', 'x', '1k', '99999999999', '1073741825'):
            r = b.call('run', '-r', path, option, bad)
            is_(r.returncode, 2, option + bad)
            has(r.stderr, option)
        has(b.call('run', '--help').stdout, option)


TESTS = (
    a_name_of_a_capture_does_not_reach_the_terminal,
    an_argument_does_not_reach_the_terminal,
    a_name_of_a_plane_does_not_reach_the_terminal,
    what_a_plane_holds_does_not_reach_the_terminal,
    an_empty_argument_is_wrong_usage,
    a_path_that_is_too_long_is_not_cut,
    a_closed_descriptor_is_not_taken_for_a_file,
    what_is_no_plane_is_not_replaced,
    a_plane_that_loses_its_memory_is_an_error,
    one_run_at_a_time_writes_a_tree,
    what_a_killed_run_left_is_in_nobodys_way,
    a_place_that_is_taken_leaves_the_tree_as_it_was,
    limits_are_options_and_counted,
)


if __name__ == '__main__':
    sys.exit(test_cli.main(TESTS, __doc__))
