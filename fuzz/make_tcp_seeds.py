#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_tcp_seeds.py - write conversations for fuzz_tcp into a folder.

usage: make_tcp_seeds.py FOLDER
"""
import os
import struct
import sys

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
NONE, SYN_OPTIONS, STAMP, SACK, SACK2, BOTH = range(6)
US, MS, SECOND, MINUTE = range(4)


def segment(sender, flags, seq=0, ack=0, data=0, window=100, options=NONE, say=(0, 0, 0, 0),
            step=MS, which=0):
    return struct.pack('<BBhhBB4B', sender | which << 1 | step << 3 | options << 5, flags, seq,
                       ack, data, window, *say)


def opened(options=SYN_OPTIONS, which=0):
    a = which >= 2
    say = (180, 2, 0, 0)
    return [segment(a, SYN, options=options, say=say, which=which),
            segment(not a, SYN | ACK, options=options, say=say, which=which),
            segment(a, ACK, which=which)]


def conversations():
    data = [segment(0, ACK | PSH, data=100), segment(1, ACK)]
    yield 'plain', opened() + data * 3 + [segment(0, FIN | ACK), segment(1, FIN | ACK),
                                          segment(0, ACK, step=MINUTE), segment(0, ACK)]
    yield 'passive', opened(which=2) + [segment(1, ACK, data=50, which=2),
                                        segment(0, RST, which=2)]
    yield 'refused', [segment(0, SYN), segment(1, RST | ACK)]
    yield 'crossed', [segment(0, SYN), segment(1, SYN), segment(0, SYN | ACK, seq=-1),
                      segment(1, SYN | ACK, seq=-1), segment(0, ACK)]
    yield 'lost', opened() + [segment(0, ACK, data=100)] * 5 + [
        segment(1, ACK, ack=-500, options=SACK, say=(200, 200, 0, 0)),
        segment(0, ACK, seq=-500, data=200), segment(1, ACK, ack=-300),
        segment(0, ACK, seq=-300, data=100),
        segment(1, ACK, options=SACK, say=(156, 100, 0, 0)), segment(1, ACK)]
    yield 'early', opened() + [segment(0, ACK, seq=100, data=100),
                               segment(0, ACK, seq=-50, data=20),
                               segment(0, FIN | ACK, seq=0, data=50),
                               segment(0, ACK, seq=-251, data=200), segment(1, ACK)]
    yield 'stamps', opened(BOTH) + [
        segment(0, ACK, data=10, options=STAMP, say=(v, 0, 0, 0)) for v in (200, 100, 199, 201)]
    yield 'windows', opened() + [segment(1, ACK, window=0), segment(0, ACK, seq=-1),
                                 segment(0, ACK, data=1), segment(1, ACK, window=5)]
    yield 'middle', [segment(0, ACK, data=10), segment(1, ACK, data=20), segment(0, FIN | ACK),
                     segment(1, ACK), segment(1, FIN | ACK), segment(0, ACK)]
    yield 'waits', opened() + [segment(0, FIN | ACK), segment(1, FIN | ACK), segment(0, ACK),
                               segment(0, SYN, seq=1000), segment(1, SYN | ACK),
                               segment(0, ACK), segment(0, ACK, step=MINUTE)]
    yield 'many', [s for w in range(4) for s in opened(which=w)] + [
        segment(0, SYN, seq=i * 100, which=i % 4, step=SECOND) for i in range(20)]


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, segments in conversations():
        with open(os.path.join(sys.argv[1], name), 'wb') as f:
            f.write(b''.join(segments))


if __name__ == '__main__':
    main()
