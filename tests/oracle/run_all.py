#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_all.py - let statplane count every recording and compare with the kernel.

usage: run_all.py [--all] STATPLANE_BINARY [RECORDINGS_DIR | RECORDING]...

Without a folder: recordings/ beside this file, and samples/. A folder that
holds a meta.env is one recording, any other is searched for recordings one
level down. Prints
one line for each, the counters that differ below it, and last
"N passed, N failed, N skipped". The counters of pending.txt are left out,
except with --all. Exit status: 1 when any recording failed, 2 when there was
nothing to run.
"""
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = [os.path.join(HERE, 'recordings'), os.path.normpath(os.path.join(HERE, '../../samples'))]
TIMEOUT_S = 120


def recordings(folders):
    """Folders of recordings, sorted by name below each of @folders."""
    for f in folders:
        if os.path.exists(os.path.join(f, 'meta.env')):
            yield f
        else:
            for name in sorted(os.listdir(f)):
                if os.path.isdir(os.path.join(f, name)):
                    yield os.path.join(f, name)


def read_meta(folder):
    with open(os.path.join(folder, 'meta.env')) as f:
        pairs = (l.rstrip('\n').partition('=') for l in f if '=' in l)
        return {k: (shlex.split(v) or [''])[0] for k, _, v in pairs}


def options(folder, meta, out):
    """The command line that tells statplane what meta.env tells."""
    opts = ['run', '-r', os.path.join(folder, 'capture.pcap'), '--mac', meta['MAC']]
    for option, key in (('--local', 'LOCAL'), ('--listen', 'LISTEN'), ('--mcast', 'MCAST'),
                        ('--vlan', 'VLAN')):
        for value in meta.get(key, '').split():
            opts += [option, value]
    if meta.get('FORWARD') == '1':
        opts.append('--forward')
    return opts + ['--iface', meta['IFACE'], '--proc-dir', out]


def call(cmd):
    """(exit status, standard output, what went wrong)."""
    try:
        r = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, errors='replace',
                           timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return -1, '', 'no end after %d s' % TIMEOUT_S
    except OSError as e:
        return -1, '', str(e)
    return r.returncode, r.stdout, r.stderr.strip()


def check(binary, folder, everything):
    """(passed, one line about it, lines with details)."""
    meta = read_meta(folder)
    with tempfile.TemporaryDirectory(prefix='statplane-oracle-') as out:
        status, _, err = call([binary] + options(folder, meta, out))
        if status:
            return False, 'statplane ended with status %d' % status, err.splitlines()[-5:]
        cmd = [sys.executable, os.path.join(HERE, 'compare'), folder, out]
        if not everything:
            cmd += ['--except', os.path.join(HERE, 'pending.txt')]
        status, text, err = call(cmd)
    lines = text.splitlines()
    if status not in (0, 1) or not lines:
        return False, 'compare ended with status %d' % status, err.splitlines()[-5:]
    return status == 0, lines[-1], [l for l in lines if '\t' in l]


def main(argv):
    args = [a for a in argv[1:] if a != '--all']
    if not args or args[0].startswith('-'):
        print(__doc__)
        return 2
    binary = os.path.abspath(args[0])
    if not os.access(binary, os.X_OK):
        print('run_all.py: cannot run ' + args[0], file=sys.stderr)
        return 2
    passed = failed = skipped = 0
    for folder in recordings(args[1:] or DEFAULT):
        name = os.path.basename(os.path.abspath(folder))
        missing = [f for f in ('meta.env', 'capture.pcap', 'delta.tsv')
                   if not os.path.exists(os.path.join(folder, f))]
        if missing:
            skipped += 1
            print('skip %s: no %s' % (name, missing[0]), flush=True)
            continue
        good, line, details = check(binary, folder, '--all' in argv)
        passed += good
        failed += not good
        print('%s %s: %s' % ('ok' if good else 'FAIL', name, line), flush=True)
        for d in [] if good else details:
            print('    ' + d.expandtabs(8), flush=True)
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed else 0 if passed else 2


if __name__ == '__main__':
    sys.exit(main(sys.argv))
