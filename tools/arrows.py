#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""arrows - check that includes point one way.

usage: arrows.py [ROOT]

ALLOWED is the whole rule: a room may include its own headers, those of the
rooms named for it, and the public headers listed for the rooms that it may
reach. docs/architecture.md says why. Exit status 1 on a forbidden include.
"""
import os
import re
import sys

# room -> rooms whose headers it may include, nearest first
ALLOWED = {
    'base': [],
    'plane': ['base'],
    'percpu': ['plane', 'base'],
    'mib': ['percpu', 'plane', 'base'],
    'net': ['mib', 'percpu', 'plane', 'base'],
    'table': ['plane', 'base'],
    'packet': ['base'],
    'rule': ['packet', 'plane', 'base'],
    'conn': ['table', 'net', 'mib', 'percpu', 'plane', 'base'],
    'observe': ['packet', 'conn', 'table', 'net', 'mib', 'percpu', 'plane', 'base'],
    # a renderer sees a plane only through the reader interface
    'render': ['conn', 'net', 'mib', 'base'],
    # the program uses the library as anybody does
    'capture': ['packet'],
    'cli': ['capture'],
}

# public header -> the room that it speaks for
PUBLIC = {
    'export': 'base', 'plane': 'plane', 'percpu': 'percpu',
    'percpu_inline': 'percpu', 'mib': 'mib', 'reader': 'plane', 'net': 'net',
    'net_items': 'net', 'frame': 'packet', 'observe': 'observe',
    'render': 'render', 'table': 'table', 'conn': 'conn', 'rule': 'rule',
}

# Rooms of the program see every public header.
PROGRAM = ('capture', 'cli')
# reader.h speaks of MIB kinds, for whoever reads: plane/ implements it, and the
# percpu room gives it its fold; enum values only.
PUBLIC_EXCEPTIONS = {
    ('plane', 'mib'), ('plane', 'percpu'), ('plane', 'percpu_inline'),
    ('percpu', 'mib'),
}

# A bench sets the parts of the library side by side.
FILE_EXCEPTIONS = {('cli/bench_fold.c', 'percpu/fold.h')}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def faults(path, room, text):
    reach = set(ALLOWED[room]) | {room}
    for kind, name in INCLUDE.findall(text):
        if name.startswith('statplane/kernel/'):
            continue
        if name.startswith('statplane/'):
            header = name[len('statplane/'):-2]
            if header not in PUBLIC:
                yield '%s: unknown public header <%s>' % (path, name)
            elif room in PROGRAM:
                continue
            elif PUBLIC[header] not in reach and (room, header) not in PUBLIC_EXCEPTIONS \
                    and not (room == 'render' and PUBLIC[header] in ('plane', 'percpu')):
                yield '%s: %s/ may not include <%s>' % (path, room, name)
        elif kind == '"':
            other = name.split('/')[0]
            if '/' not in name:
                yield '%s: write "%s/%s"' % (path, room, name)
            elif any(path.endswith(file) and name == header
                     for file, header in FILE_EXCEPTIONS):
                continue
            elif other in ALLOWED and other not in reach:
                yield '%s: %s/ may not include "%s"' % (path, room, name)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), '..')
    src = os.path.join(root, 'src')
    found, nr_files = [], 0
    for room in sorted(os.listdir(src)):
        if room not in ALLOWED:
            found.append('src/%s: a room without a rule in tools/arrows.py' % room)
            continue
        for folder, _, files in os.walk(os.path.join(src, room)):
            for name in sorted(files):
                if name.endswith(('.c', '.h')):
                    path = os.path.join(folder, name)
                    with open(path) as f:
                        found += faults(os.path.relpath(path, root), room, f.read())
                    nr_files += 1
    for line in found:
        print(line)
    print('arrows: %d files, %d forbidden includes' % (nr_files, len(found)))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
