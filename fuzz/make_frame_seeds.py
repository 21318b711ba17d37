#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_frame_seeds.py - cut classic captures into inputs for fuzz_frame.

usage: make_frame_seeds.py OUT_DIR CAPTURE...

Writes OUT_DIR/CAPTURE-NNN for every run of frames of a capture (little-endian,
Ethernet), in the format that fuzz_frame.c describes, of at most 4096 octets.
"""
import os
import struct
import sys

MAX_LEN = 4096


def frames(path):
    """(time in seconds, missing octets, captured octets) of each frame."""
    with open(path, 'rb') as f:
        head = f.read(24)
        magic, = struct.unpack('<I', head[:4])
        if magic not in (0xa1b2c3d4, 0xa1b23c4d):
            sys.exit('%s: no little-endian classic capture' % path)
        if struct.unpack('<I', head[20:])[0] != 1:
            sys.exit('%s: not Ethernet' % path)
        while len(rec := f.read(16)) == 16:
            sec, _, cap_len, length = struct.unpack('<IIII', rec)
            yield sec, length - cap_len, f.read(cap_len)


def records(path):
    last = None
    for sec, missing, data in frames(path):
        step = 0 if last is None else min(max(sec - last, 0), 255)
        last = sec
        yield struct.pack('<BBH', step, min(missing, 255), len(data)) + data


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out = sys.argv[1]
    for path in sys.argv[2:]:
        name = os.path.basename(os.path.dirname(os.path.abspath(path)))
        chunks, chunk = [], b'\0'
        for rec in records(path):
            if len(chunk) + len(rec) > MAX_LEN and len(chunk) > 1:
                chunks.append(chunk)
                chunk = b'\0'
            chunk += rec
        chunks.append(chunk)
        for i, chunk in enumerate(chunks):
            with open(os.path.join(out, '%s-%03d' % (name, i)), 'wb') as f:
                f.write(chunk)


main()
