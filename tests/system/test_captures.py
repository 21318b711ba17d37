#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_captures - captures that were made to break programs do not break this one.

usage: test_captures.py STATPLANE CAPTURES_DIR

Runs every capture of CAPTURES_DIR, and a copy of each with a hundredth of its
bytes flipped (the same ones every time), in both ways in which statplane reads.
Each run must end by itself with status 0 or 1, with a message on status 1, and
without a word from a sanitizer. Closing line: "N passed, N failed, N skipped".
"""
import os
import random
import re
import subprocess
import sys
import tempfile

LIMIT_S = 60
REPORT = re.compile(r'Sanitizer|runtime error|==\d+==')


def flipped(data, seed):
    """@data with a hundredth of its bytes changed, the file header kept."""
    rng = random.Random(seed)
    out = bytearray(data)
    for _ in range(max(1, len(out) // 100)):
        if len(out) > 24:
            out[rng.randrange(24, len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def fault(statplane, path, stdin=None):
    """What is wrong with one run, or None."""
    cmd = [statplane, 'run', '-r', '-' if stdin else path, '--json']
    try:
        r = subprocess.run(cmd, stdin=stdin or subprocess.DEVNULL, capture_output=True,
                           timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return 'no end after %d s' % LIMIT_S
    err = r.stderr.decode(errors='replace')
    if r.returncode not in (0, 1):
        return 'exit status %d: %s' % (r.returncode, err[-400:])
    if REPORT.search(err):
        return err[-1500:]
    if r.returncode == 1 and not err.strip():
        return 'status 1 without a message'
    return None


def main():
    if len(sys.argv) != 3:
        print(__doc__.split('\n\n')[1], file=sys.stderr)
        return 2
    statplane, folder = sys.argv[1:]
    names = sorted(n for n in os.listdir(folder) if n.endswith(('.pcap', '.pcapng'))) \
        if os.path.isdir(folder) else []
    if not names:
        print('skip: no captures in %s; tools/tcpdump-captures fetches them' % folder)
        return 77
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, 'flipped.pcap')
        for name in names:
            path = os.path.join(folder, name)
            with open(path, 'rb') as f:
                data = f.read()
            with open(copy, 'wb') as f:
                f.write(flipped(data, name))
            with open(copy, 'rb') as stdin:
                runs = [(name, fault(statplane, path)),
                        (name + ', flipped', fault(statplane, copy)),
                        (name + ', flipped, standard input', fault(statplane, '-', stdin))]
            for what, problem in runs:
                if problem:
                    failed += 1
                    print('FAIL %s: %s' % (what, problem))
                else:
                    passed += 1
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
