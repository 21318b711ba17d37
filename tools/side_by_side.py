#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""side_by_side - the kernel's own figures beside statplane's.

usage: side_by_side.py RECORDING PROC_DIR

RECORDING holds delta.tsv (what the observed host's kernel counted) and
PROC_DIR/net what statplane wrote for the same capture. Prints a row for each
counter that either of them moved, then how many of the counters that follow
from a capture are equal. Exit status 1 if one of those differs.
"""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, '..', 'tests', 'oracle')


def load(path):
    """The module in a program without .py, and without a cache file beside it."""
    loader = importlib.machinery.SourceFileLoader('compare', path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('compare', loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


compare = load(os.path.join(ORACLE, 'compare'))


def main():
    if len(sys.argv) != 3:
        print(__doc__.split('\n\n')[1], file=sys.stderr)
        return 2
    folder, proc = sys.argv[1:]
    meta, kernel = compare.read_meta(folder), compare.read_delta(folder)
    product = compare.read_net(os.path.join(proc, 'net'), meta)
    exact = compare.patterns(os.path.join(ORACLE, 'exact.txt'))
    pending = compare.patterns(os.path.join(ORACLE, 'pending.txt'))
    wanted = [n for n in kernel
              if compare.matches(n, exact) and not compare.matches(n, pending)]
    rows = [(n, kernel[n], product.get(n, 0)) for n in wanted
            if kernel[n] or product.get(n, 0)]
    print('%-32s %14s %14s %12s' % ('counter', 'kernel', 'statplane', 'difference'))
    for name, k, p in rows:
        print('%-32s %14d %14d %12s' % (name, k, p, '0' if k == p else '%+d' % (p - k)))
    equal = sum(kernel[n] == product.get(n, 0) for n in wanted)
    print('\n%d of %d counters equal to the kernel\'s own; rows with 0 in both are not shown'
          % (equal, len(wanted)))
    return 0 if equal == len(wanted) else 1


if __name__ == '__main__':
    sys.exit(main())
