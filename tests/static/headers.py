#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""headers - compile each public header alone, as C and as C++.

usage: headers.py ROOT

A program that includes one statplane header needs no other include before it,
whichever compiler it uses. Compilers that are not installed are skipped. The
inline bodies must also compile without optimisation and position-independent.
"""
import glob
import os
import shutil
import subprocess
import sys

WARN = '-Wall -Wextra -Wshadow -Wundef -Werror -Wno-unused-function'.split()
WAYS = [
    ('gcc', ['-x', 'c', '-std=gnu11', '-Wstrict-prototypes']),
    ('gcc', ['-x', 'c', '-std=gnu17', '-fPIC', '-O2']),
    ('g++', ['-x', 'c++', '-std=gnu++17']),
    ('g++', ['-x', 'c++', '-std=gnu++20', '-O2']),
    ('clang', ['-x', 'c', '-std=gnu11', '-Wstrict-prototypes']),
    ('clang++', ['-x', 'c++', '-std=gnu++17', '-O2']),
    ('aarch64-linux-gnu-gcc', ['-x', 'c', '-std=gnu11', '-O2']),
]


def main():
    include = os.path.join(sys.argv[1], 'include')
    headers = sorted(os.path.basename(p)
                     for p in glob.glob(include + '/statplane/*.h'))
    passed = failed = skipped = 0
    for compiler, args in WAYS:
        if not shutil.which(compiler):
            print('skip: no %s' % compiler)
            skipped += len(headers)
            continue
        for header in headers:
            text = '#include <statplane/%s>\n#include <statplane/%s>\n' \
                   'int header_is_not_empty;\n' % (header, header)
            run = subprocess.run(
                [compiler, *args, *WARN, '-I', include, '-c', '-o', '/dev/null', '-'],
                input=text, text=True, capture_output=True)
            if run.returncode:
                failed += 1
                print('FAIL %s %s %s\n%s' % (compiler, ' '.join(args), header,
                                              '\n'.join(run.stderr.splitlines()[:6])))
            else:
                passed += 1
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed or not headers else 0


if __name__ == '__main__':
    sys.exit(main())
