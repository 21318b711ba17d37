#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check - build statplane in every way and run every test.

usage: ./check [--only BUILD]... [--list] [--keep-going]

A build is one way to compile, with the suites that it runs:

  plain      warnings are errors; all suites
  sanitize   AddressSanitizer and UndefinedBehaviorSanitizer
  thread     ThreadSanitizer, on the portable add path
  memory     MemorySanitizer: the fuzz corpora and the unit tests
  valgrind   the plain build's unit tests below valgrind
  aarch64    cross-compiled, the unit tests below qemu

Build trees and logs stay in build-check/BUILD. The last line is
"N passed, N failed, N skipped", counted in test cases where a test program
reports its own, otherwise in programs. Exit status 1 if anything failed, 2 for
wrong usage.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, 'build-check')
ALL = ('static unit litmus stress fault fuzz-replay oracle system').split()


class Build:
    """One way to compile, and what runs in it."""

    def __init__(self, name, options, suites, compiler=None, wrap=None, tree=None,
                 env=None, timeout=1):
        self.name, self.options, self.suites = name, options, suites
        self.compiler, self.wrap, self.env = compiler, wrap, env or {}
        self.tree = os.path.join(OUT, tree or name)
        self.timeout = timeout

    def environment(self):
        env = dict(os.environ, **self.env)
        if self.compiler:
            env['CC'] = self.compiler
        return env

    def setup(self):
        if os.path.exists(os.path.join(self.tree, 'build.ninja')):
            return True
        return run(['meson', 'setup', self.tree, ROOT, *self.options],
                   self.tree + '.setup.log', self.environment())

    def compile(self):
        return run(['ninja', '-C', self.tree], self.tree + '.build.log',
                   self.environment())

    def test(self):
        cmd = ['meson', 'test', '-C', self.tree, '--no-rebuild', '--print-errorlogs',
               '--timeout-multiplier', str(self.timeout)]
        for suite in self.suites:
            cmd += ['--suite', suite]
        name = 'testlog'
        if self.wrap:
            cmd += ['--wrapper', self.wrap]
            name += '-' + self.wrap.split()[0]
        run(cmd, self.tree + '.test.log', self.environment())
        return os.path.join(self.tree, 'meson-logs', name + '.json')


DEBUG = ['--buildtype=debugoptimized', '-Dwerror=true']
BUILDS = [
    Build('plain', DEBUG, ALL),
    Build('valgrind', DEBUG, ['unit'], tree='plain', timeout=10,
          wrap='valgrind --quiet --error-exitcode=99 --leak-check=full '
               '--errors-for-leak-kinds=definite'),
    Build('sanitize', DEBUG + ['-Db_sanitize=address,undefined', '-Db_lundef=false'],
          ['unit', 'litmus', 'fault', 'fuzz-replay', 'oracle', 'system'], timeout=4,
          env={'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1',
               'ASAN_OPTIONS': 'detect_leaks=1'}),
    Build('thread', DEBUG + ['-Db_sanitize=thread', '-Db_lundef=false',
                             '-Dc_args=-DSP_PERCPU_PORTABLE', '-Dprogram=false'],
          ['unit', 'litmus', 'stress'], timeout=6,
          env={'TSAN_OPTIONS': 'halt_on_error=1'}),
    Build('memory', DEBUG + ['-Db_sanitize=memory', '-Db_lundef=false',
                             '-Dprogram=false'],
          ['unit', 'fuzz-replay'], compiler='clang', timeout=6),
    Build('aarch64', DEBUG + ['--cross-file',
                              os.path.join(OUT, 'aarch64-sysroot/cross.ini'),
                              '-Dprogram=false'],
          ['unit'], timeout=10),
]


def run(cmd, log, env):
    """Run @cmd, its output to @log; show the tail of it on failure."""
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, 'w') as f:
        status = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=f,
                                stderr=subprocess.STDOUT, env=env, cwd=ROOT).returncode
    if status:
        with open(log, errors='replace') as f:
            lines = [l for l in f.read().splitlines() if not re.match(r'\[\d+/\d+\] ', l)]
        print('\n'.join('    ' + l for l in lines[-60:]))
        print('    (%s exited with %d; whole output: %s)'
              % (cmd[0], status, os.path.relpath(log, ROOT)))
    return status == 0


def cases(entry):
    """(passed, failed, skipped) cases of one entry of meson's log."""
    text = (entry.get('stdout') or '') + (entry.get('stderr') or '')
    result = entry['result']
    closing = re.findall(r'^(\d+) passed, (\d+) failed, (\d+) skipped$', text, re.M)
    if closing:
        p, f, s = map(int, closing[-1])
    else:
        count = [sum(map(int, re.findall(r'\[  %s *\] (\d+) test' % word, text)))
                 for word in ('PASSED', 'FAILED', 'SKIPPED')]
        p, f, s = count
        if not p + f + s:
            p, f, s = (result == 'OK'), 0, (result == 'SKIP')
    if result not in ('OK', 'SKIP', 'EXPECTEDFAIL') and not f:
        f = 1
    return p, f, s


def read_log(path):
    """The entries of a log of meson, one JSON object a line."""
    try:
        with open(path, errors='replace') as f:
            return [json.loads(line) for line in f if line.strip()]
    except OSError:
        return []


def check(build):
    """(passed, failed, skipped) of one build."""
    start = time.time()
    print('== %s' % build.name, flush=True)
    if not build.setup() or not build.compile():
        print('   %s does not build' % build.name)
        return 0, 1, 0
    log = build.test()
    total = [0, 0, 0]
    entries = read_log(log)
    for entry in entries:
        counts = cases(entry)
        total = [a + b for a, b in zip(total, counts)]
        mark = {'OK': 'ok', 'SKIP': 'skip'}.get(entry['result'], entry['result'])
        print('   %-5s %-52s %4d %s' % (mark, entry['name'].split(' / ')[-1][:52], counts[0],
                                        'passed' + (', %d failed' % counts[1] if counts[1] else '')
                                        + (', %d skipped' % counts[2] if counts[2] else '')))
    if not entries:
        print('   no test ran')
        total[1] += 1
    print('   %s: %d passed, %d failed, %d skipped in %.0f s'
          % (build.name, *total, time.time() - start), flush=True)
    return total


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1][7:], add_help=False)
    parser.add_argument('--only', action='append', default=[])
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--fresh', action='store_true', help='remove build trees first')
    parser.add_argument('--help', action='store_true')
    arg = parser.parse_args()
    if arg.help:
        print(__doc__.strip())
        return 0
    names = [b.name for b in BUILDS]
    if arg.list:
        print('\n'.join(names))
        return 0
    for name in arg.only:
        if name not in names:
            print('check: no build "%s"; there are: %s' % (name, ' '.join(names)),
                  file=sys.stderr)
            return 2
    if arg.fresh:
        shutil.rmtree(OUT, ignore_errors=True)
    total = [0, 0, 0]
    for build in BUILDS:
        if not arg.only or build.name in arg.only:
            total = [a + b for a, b in zip(total, check(build))]
    print('%d passed, %d failed, %d skipped' % tuple(total))
    return 1 if total[1] else 0


if __name__ == '__main__':
    sys.exit(main())
