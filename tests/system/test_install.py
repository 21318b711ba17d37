#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_install - a program outside the tree builds against the installed library.

usage: test_install.py BUILD_DIR SOURCE_ROOT

Installs into a scratch directory, then builds and runs the examples with what
pkg-config says, against the shared and the static library, as C and as C++.
Closing line: "N passed, N failed, N skipped".
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 120


def run(*cmd, **env):
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=LIMIT_S,
                       env=dict(os.environ, **env))
    if r.returncode:
        raise AssertionError('%s\nexit status %d: %s%s'
                             % (' '.join(cmd), r.returncode, r.stdout[-500:], r.stderr[-1500:]))
    return r.stdout


class Installed:
    """The library below a scratch prefix."""

    def __init__(self, build, scratch):
        run('meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', scratch)
        config = glob.glob(scratch + '/**/statplane.pc', recursive=True)
        assert len(config) == 1, 'statplane.pc: %r' % config
        self.scratch = scratch
        self.libdir = os.path.dirname(os.path.dirname(config[0]))
        self.env = {'PKG_CONFIG_PATH': os.path.dirname(config[0]),
                    'PKG_CONFIG_SYSROOT_DIR': scratch}

    def flags(self, *args):
        return run('pkg-config', *args, 'statplane', **self.env).split()

    def program(self, source, *how):
        """Build @source by the compiler command @how, run it, return what it prints."""
        out = os.path.join(self.scratch, 'program')
        run(*how, source, '-o', out, *self.flags('--cflags', '--libs'), '-pthread')
        return run(out, os.path.join(self.scratch, 'plane'), LD_LIBRARY_PATH=self.libdir)


def shared_library_serves_c(installed, root):
    out = installed.program(root + '/examples/counters.c', 'cc', '-Wall', '-Werror')
    assert out.startswith('RxFrames '), out


def static_library_serves_c(installed, root):
    shared = glob.glob(installed.libdir + '/libstatplane.so*')
    for path in shared:
        os.rename(path, path + '.away')
    try:
        out = installed.program(root + '/examples/counters.c', 'cc', '-O2')
    finally:
        for path in shared:
            os.rename(path + '.away', path)
    assert out.startswith('RxFrames '), out


def the_program_in_the_readme_counts(installed, root):
    with open(root + '/README.md') as f:
        text = re.search(r'^```c\n(.*?)^```', f.read(), re.M | re.S)[1]
    plane = os.path.join(installed.scratch, 'readme-plane')
    assert '/dev/shm/statplane-mydaemon' in text
    source = os.path.join(installed.scratch, 'mydaemon.c')
    with open(source, 'w') as f:
        f.write(text.replace('/dev/shm/statplane-mydaemon', plane))
    installed.program(source, 'cc', '-Wall', '-Wextra', '-Werror')
    shown = run(glob.glob(installed.scratch + '/**/bin/statplane', recursive=True)[0], 'show',
                'metrics', '--segment', plane, LD_LIBRARY_PATH=installed.libdir)
    for line in ('ring_Ring_RxDrop_total{mib="ring0"} 1', 'ring_Ring_RxSize_sum{mib="ring0"} 1500'):
        assert line + '\n' in shown, line


def headers_serve_cplusplus(installed, _):
    if not shutil.which('g++'):
        return 'no g++'
    source = os.path.join(installed.scratch, 'plus.cpp')
    with open(source, 'w') as f:
        f.write('''#include <cstdio>
#include <statplane/net.h>
#include <statplane/observe.h>
#include <statplane/render.h>
int main(int, char **argv)
{
	struct sp_plane_opts opts = {};
	struct sp_plane *plane;
	struct sp_net *net;
	opts.sz = sizeof(opts);
	opts.path = argv[1];
	if (sp_plane_create(&opts, &plane) || sp_net_create(plane, "n", nullptr, &net))
		return 1;
	sp_percpu_t off = sp_net_off(net) + SP_NET_CELL(ip, InReceives);
	for (int i = 0; i < 7; i++)
		sp_percpu_add(sp_plane_percpu(plane), off, 1);
	std::printf("%d\\n", (int)sp_percpu_read(plane, off));
	sp_plane_close(plane);
}
''')
    out = installed.program(source, 'g++', '-Wall', '-Wextra', '-Werror', '-std=c++17')
    assert out == '7\n', out


def only_the_contract_is_exported(installed, _):
    out = run('nm', '-D', '--defined-only', installed.libdir + '/libstatplane.so')
    names = [line.split()[-1] for line in out.splitlines()]
    foreign = [n for n in names if not n.startswith('sp_')]
    assert names and not foreign, 'exported: %r' % foreign


def library_stays_loaded(installed, _):
    """The kernel may hold the address of a sequence of a thread: no unloading."""
    out = run('readelf', '-d', installed.libdir + '/libstatplane.so')
    assert 'NODELETE' in out, out


TESTS = (shared_library_serves_c, static_library_serves_c, the_program_in_the_readme_counts,
         headers_serve_cplusplus, only_the_contract_is_exported, library_stays_loaded)


def main():
    if len(sys.argv) != 3:
        print(__doc__.split('\n\n')[1], file=sys.stderr)
        return 2
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as scratch:
        installed = Installed(sys.argv[1], scratch)
        for test in TESTS:
            try:
                reason = test(installed, sys.argv[2])
                if reason:
                    print('skip %s: %s' % (test.__name__, reason))
                    skipped += 1
                else:
                    print('ok   ' + test.__name__)
                    passed += 1
            except (AssertionError, OSError, subprocess.TimeoutExpired) as fault:
                print('FAIL %s: %s' % (test.__name__, fault))
                failed += 1
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
