#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peers - statplane run beside other programs that read captures.

usage: peers.py STATPLANE GEN_CAPTURE [--packets N] [--flows N] [--rounds N]
                [--snaplen N] [--json]

Makes a capture, brings it into the page cache, and runs every program in turn,
round after round, each as a whole process. Prints wall-clock and processor
seconds (min/median/max) and the ratios of the program's medians to those of
`statplane run --checksum off`: above 1, statplane is faster. Programs that are
not installed, or that fail or hang, are left out and named. pmacctd sleeps for
part of its run: go by its processor time. What they do differs: tcpdump prints
every packet, tshark sums up packets and octets, softflowd, pmacctd and nfpcapd
keep a table of flows, `tcpdump -w` only copies.
"""
import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PMACCT = '''daemonize: false
pcap_savefile: %(file)s
pcap_savefile_delay: 0
aggregate: src_host, dst_host, src_port, dst_port, proto
plugins: print[x]
print_output: csv
print_output_file: %(dir)s/pmacct.csv
print_refresh_time: 3600
print_cache_entries: 262144
plugin_buffer_size: 102400
plugin_pipe_size: 102400000
'''
LIMIT_S = 120


def commands(statplane, capture, folder):
    """(name, command) of every program."""
    conf = os.path.join(folder, 'pmacctd.conf')
    with open(conf, 'w') as f:
        f.write(PMACCT % {'file': capture, 'dir': folder})
    host = ['--mac', '02:00:00:00:00:01', '--local', '198.18.0.1/16',
            '--local', '2001:db8::1/64', '--listen', 'tcp:443', '--listen', 'udp:53']
    return [
        ('statplane, checksums off',
         [statplane, 'run', '-r', capture, *host, '--checksum', 'off']),
        ('statplane, checksums on',
         [statplane, 'run', '-r', capture, *host, '--checksum', 'on']),
        ('tcpdump -w /dev/null', ['tcpdump', '-r', capture, '-w', '/dev/null']),
        ('nfpcapd', ['nfpcapd', '-r', capture, '-w', folder]),
        ('softflowd', ['softflowd', '-d', '-r', capture, '-n', '127.0.0.1:9', '-v', '9',
                       '-m', '1000000', '-p', 'none', '-c', 'none']),
        ('pmacctd', ['pmacctd', '-f', conf]),
        ('tcpdump -n', ['tcpdump', '-nr', capture]),
        ('tshark -z io,stat,0', ['tshark', '-n', '-q', '-z', 'io,stat,0', '-r', capture]),
    ]


def measure(cmd):
    """(wall seconds, processor seconds) of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=LIMIT_S)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError('%s: exit status %d: %s' % (
            cmd[0], done.returncode, done.stderr.decode(errors='replace')[-300:]))
    return wall, (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def machine():
    model = 'unknown processor'
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    return '%s, %d CPUs, Linux %s' % (model, os.cpu_count(), platform.release())


def spread(values):
    return min(values), statistics.median(values), max(values)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1][7:])
    parser.add_argument('statplane')
    parser.add_argument('gen_capture')
    parser.add_argument('--packets', type=int, default=1000000)
    parser.add_argument('--flows', type=int, default=100000)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--snaplen', type=int, default=65535)
    parser.add_argument('--json', action='store_true')
    arg = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, 'capture.pcap')
        subprocess.run([arg.gen_capture, capture, str(arg.packets), str(arg.flows),
                        str(arg.snaplen)], check=True)
        programs = commands(os.path.abspath(arg.statplane), capture, folder)
        missing = [n for n, c in programs if not shutil.which(c[0])]
        programs = [(n, c) for n, c in programs if shutil.which(c[0])]
        results = {name: [] for name, _ in programs}
        for round_nr in range(-1, arg.rounds):
            for name, cmd in programs:
                if round_nr < 0 and not name.startswith('statplane'):
                    continue
                try:
                    result = measure(cmd)
                except (RuntimeError, subprocess.TimeoutExpired) as fault:
                    print('peers: %s' % fault, file=sys.stderr)
                    continue
                if round_nr >= 0:
                    results[name].append(result)
    if not results[programs[0][0]]:
        return 1
    results = {n: r for n, r in results.items() if r}
    ours = [statistics.median(x) for x in zip(*results[programs[0][0]])]
    if not arg.json:
        print('%d packets, %d flows, %d octets kept of each; %d rounds in turn; %s'
              % (arg.packets, arg.flows, arg.snaplen, arg.rounds, machine()))
        print('%-26s %23s %7s %23s %7s %8s' % (
            '', 'wall s, min/median/max', 'ratio', 'CPU s, min/median/max', 'ratio',
            'M pkt/s'))
    for name, runs in results.items():
        wall, cpu = spread([w for w, _ in runs]), spread([c for _, c in runs])
        if arg.json:
            print(json.dumps({'bench': 'peers', 'case': name, 'unit': 's',
                              'min': wall[0], 'median': wall[1], 'max': wall[2],
                              'cpu_median': cpu[1], 'ratio': wall[1] / ours[0],
                              'cpu_ratio': cpu[1] / ours[1], 'peer': programs[0][0]}))
        else:
            print('%-26s %23s %6.1fx %23s %6.1fx %8.2f' % (
                name, '%.3f/%.3f/%.3f' % wall, wall[1] / ours[0],
                '%.3f/%.3f/%.3f' % cpu, cpu[1] / ours[1], arg.packets / wall[1] / 1e6))
    for name in missing:
        print('not installed: %s' % name, file=sys.stderr)
    return 0


if __name__ == '__main__':
    sys.exit(main())
