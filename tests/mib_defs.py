#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mib_defs - hold src/mib/kernel/*.def against the sample files of each layout.

usage: mib_defs.py [ROOT]

For every group: names are unique and every item has a unit and a help text;
in every layout the positions are 1..N, each once. Then the files of
tests/data/layouts are built again from the .def files and compared byte for
byte, and the recordings of tests/oracle must show the names of layout 6.18.

Prints each failure and, last, "N passed, N failed, N skipped". Exit status 1
on a failure.
"""
import os
import re
import sys

LAYOUTS = ['5.15', '6.1', '6.12', '6.18']
KINDS = ['COUNTER', 'GAUGE', 'CONSTANT']

# file -> group that it must state, items printed per layout
GROUPS = {
    'ip.def': ('Ip', [19, 19, 20, 20]),
    'icmp.def': ('Icmp', [27, 29, 29, 29]),
    'tcp.def': ('Tcp', [15, 15, 15, 15]),
    'udp.def': ('Udp', [9, 9, 9, 9]),
    'udplite.def': ('UdpLite', [9, 9, 9, 9]),
    'tcpext.def': ('TcpExt', [125, 125, 131, 135]),
    'ipext.def': ('IpExt', [18, 18, 18, 18]),
    'mptcpext.def': ('MPTcpExt', [44, 56, 75, 76]),
    'ip6.def': ('Ip6', [32, 32, 33, 33]),
    'icmp6.def': ('Icmp6', [5, 6, 6, 6]),
    'udp6.def': ('Udp6', [9, 9, 9, 9]),
    'udplite6.def': ('UdpLite6', [8, 8, 8, 8]),
    'netdev.def': ('Dev', [16, 16, 16, 16]),
    'softnet.def': ('Softnet', [13, 13, 15, 15]),
    'sockstat.def': ('Sockstat', [18, 18, 18, 18]),
}

# What an empty namespace prints for the items that are not zero.
CONSTANTS = {
    'Ip': {'Forwarding': 2, 'DefaultTTL': 64},
    'Tcp': {'RtoAlgorithm': 1, 'RtoMin': 200, 'RtoMax': 120000, 'MaxConn': -1},
}

# net/dev_snmp6/DEVICE leaves this out where net/snmp6 prints it.
NOT_PER_DEVICE = {'6.18': ['OutRateLimitHost']}

DEV_ROW = ('{:>6}: {:7} {:7} {:4} {:4} {:4} {:5} {:10} {:9} '
           '{:8} {:7} {:4} {:4} {:4} {:5} {:7} {:10}\n')
DEV_HEAD = ('Inter-|   Receive                            '
            '                    |  Transmit\n'
            ' face |bytes    packets errs drop fifo frame compressed multicast'
            '|bytes    packets errs drop fifo colls carrier compressed\n')
HELP = r'"((?:[^"\\]|\\.)*)"'
POS = r'(\d+), (\d+), (\d+), (\d+)'
ITEM = re.compile(r'SP_ITEM\((\w+), (\w+), (\w+), "(\w*)", %s, %s\)' % (POS, HELP))
ICMP = re.compile(r'SP_ICMP_TYPE\((\w+), (IN|OUT), (\d+), %s, %s\)' % (POS, HELP))
ICMP6 = re.compile(r'SP_ICMP6_TYPE\((\w+), (IN|OUT), (\d+), %s\)' % HELP)


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print('FAIL ' + what)

    def skip(self, why):
        self.skipped += 1
        print('skip ' + why)


class Item:
    def __init__(self, group, name, kind, unit, positions, text):
        self.group, self.name, self.kind, self.unit = group, name, kind, unit
        self.positions = [int(p) for p in positions]
        self.text = text


def statements(path):
    """The lines of a .def file that are not comment, and its comment."""
    with open(path, encoding='ascii') as f:
        source = f.read()
    code = re.sub(r'/\*.*?\*/', '', source, flags=re.S)
    return source, [line for line in code.split('\n') if line.strip()]


def read_group(t, path, group):
    source, lines = statements(path)
    name = os.path.basename(path)
    t.check(source.startswith('/* SPDX-License-Identifier: MIT */\n'),
            '%s: no SPDX line at the top' % name)
    items = []
    for line in lines:
        m = ITEM.fullmatch(line)
        if m:
            items.append(Item(m[1], m[2], m[3], m[4], m.groups()[4:8], m[9]))
            continue
        m = ICMP.fullmatch(line) if group == 'Icmp' else None
        if not m:
            t.check(False, '%s: cannot read: %s' % (name, line))
            continue
        items.append(Item('Icmp', m[1], 'COUNTER', 'messages',
                          m.groups()[3:7], m[8]))
        t.check(m[1].startswith(m[2].title()) and int(m[3]) < 256,
                '%s: %s: name, direction or type do not fit' % (name, m[1]))
    return items


def check_group(t, name, group, items, counts):
    names = [i.name for i in items]
    t.check(len(names) == len(set(names)), '%s: a name stands twice' % name)
    for i in items:
        t.check(i.group == group, '%s: %s: group is not %s' % (name, i.name, group))
        t.check(i.kind in KINDS, '%s: %s: kind %s' % (name, i.name, i.kind))
        t.check(i.unit != '', '%s: %s: no unit' % (name, i.name))
        t.check(len(i.text.strip()) > 9, '%s: %s: no help' % (name, i.name))
        t.check(any(i.positions), '%s: %s: no layout prints it' % (name, i.name))
    for v, layout in enumerate(LAYOUTS):
        used = sorted(i.positions[v] for i in items if i.positions[v])
        t.check(used == list(range(1, counts[v] + 1)),
                '%s: positions in %s are not 1..%d, each once'
                % (name, layout, counts[v]))


def read_types(t, path):
    """[(name, direction, type)] in the order in which they are printed."""
    types = []
    for line in statements(path)[1]:
        m = ICMP6.fullmatch(line)
        t.check(bool(m), 'icmp6type.def: cannot read: %s' % line)
        if m:
            t.check(m[1].startswith(m[2].title()) and len(m[4]) > 9,
                    'icmp6type.def: %s: name, direction or help' % m[1])
            types.append((m[1], m[2], int(m[3])))
    keys = [(d == 'OUT', n) for _, d, n in types]
    t.check(keys == sorted(set(keys)),
            'icmp6type.def: not in order of direction and type, each once')
    t.check(len({n for n, _, _ in types}) == len(types) == 30,
            'icmp6type.def: not 30 different names')
    return [n for n, _, _ in types]


def in_order(items, v):
    return [i.name for i in sorted(items, key=lambda i: i.positions[v])
            if i.positions[v]]


def line_pair(group, names):
    values = [str(CONSTANTS.get(group, {}).get(n, 0)) for n in names]
    return '%s: %s\n%s: %s\n' % (group, ' '.join(names), group, ' '.join(values))


def column(prefix, names, value=0):
    return ''.join('%-32s\t%u\n' % (prefix + n, value) for n in names)


def sockstat(names, v6):
    """TCP_inuse and so on: word: item value item value, a line a word."""
    lines = {}
    for word, _, item in (n.partition('_') for n in names):
        if word.endswith('6') == v6:
            lines.setdefault(word, []).append('%s 0' % item)
    return ''.join('%s: %s\n' % (w, ' '.join(i)) for w, i in lines.items())


def build(groups, types, v):
    """The files of layout v as an empty namespace prints them."""
    names = {g: in_order(items, v) for g, items in groups.items()}
    hidden = NOT_PER_DEVICE.get(LAYOUTS[v], [])
    per_device = [n for n in names['Icmp6'] if n not in hidden]
    columns = len(names['Softnet'])
    return {
        'snmp': ''.join(line_pair(g, names[g])
                        for g in ['Ip', 'Icmp', 'Tcp', 'Udp', 'UdpLite']),
        'netstat': ''.join(line_pair(g, names[g])
                           for g in ['TcpExt', 'IpExt', 'MPTcpExt']),
        'snmp6': (column('Ip6', names['Ip6']) + column('Icmp6', names['Icmp6'])
                  + column('Icmp6', types) + column('Udp6', names['Udp6'])
                  + column('UdpLite6', names['UdpLite6'])),
        'dev_snmp6/lo': (column('', ['ifIndex'], 1)
                         + column('Ip6', names['Ip6'])
                         + column('Icmp6', per_device) + column('Icmp6', types)),
        'dev': DEV_HEAD + DEV_ROW.format('lo', *[0] * len(names['Dev'])),
        'softnet_columns': '%d\n' % columns,
        'softnet_stat': ' '.join(['%08x' % 0] * columns) + '\n',
        'sockstat': sockstat(names['Sockstat'], False),
        'sockstat6': sockstat(names['Sockstat'], True),
    }


def compare(t, root, groups, types):
    for v, layout in enumerate(LAYOUTS):
        for name, text in build(groups, types, v).items():
            path = os.path.join(root, 'tests/data/layouts', layout, name)
            with open(path, encoding='ascii', newline='') as f:
                t.check(f.read() == text,
                        'layouts/%s/%s differs from the .def files'
                        % (layout, name))


def recorded_names(path):
    with open(path, encoding='ascii') as f:
        lines = f.read().split('\n')
    pairs = {}
    for line in lines[0::2]:
        prefix, _, names = line.partition(':')
        pairs.setdefault(prefix, names.split())
    return pairs


def compare_recordings(t, root, groups):
    folder = os.path.join(root, 'tests/oracle/recordings')
    if not os.path.isdir(folder):
        t.skip('no tests/oracle/recordings')
        return
    for recording in sorted(os.listdir(folder)):
        for name, lines in [('snmp', ['Ip', 'Icmp', 'Tcp', 'Udp', 'UdpLite']),
                            ('netstat', ['TcpExt', 'IpExt', 'MPTcpExt'])]:
            path = os.path.join(folder, recording, 'after/net', name)
            if not os.path.exists(path):
                t.skip('%s: no %s' % (recording, name))
                continue
            seen = recorded_names(path)
            for g in lines:
                t.check(seen.get(g) == in_order(groups[g], 3),
                        'recording %s: line %s has other names' % (recording, g))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), '..')
    defs = os.path.join(root, 'src/mib/kernel')
    t = Tally()
    groups = {}
    for name, (group, counts) in GROUPS.items():
        items = read_group(t, os.path.join(defs, name), group)
        check_group(t, name, group, items, counts)
        groups[group] = items
    types = read_types(t, os.path.join(defs, 'icmp6type.def'))
    known = set(GROUPS) | {'icmp6type.def'}
    found = {f for f in os.listdir(defs) if f.endswith('.def')}
    t.check(found == known, 'files without a check: %s' % sorted(found ^ known))
    compare(t, root, groups, types)
    compare_recordings(t, root, groups)
    print('%d passed, %d failed, %d skipped' % (t.passed, t.failed, t.skipped))
    return 1 if t.failed else 0


if __name__ == '__main__':
    sys.exit(main())
