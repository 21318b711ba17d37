# SPDX-License-Identifier: MIT
"""wires - a wire is a process that copies frames between packet sockets.

It may drop, delay, duplicate, reorder, rewrite or tag them. It stands for a
lossy router; netem and 802.1Q interfaces are then not needed from the kernel.
"""
import heapq
import os
import random
import select
import struct
import time

from lab.packets import ETH_VLAN, MAC_A, MAC_B, MAC_C, mac

class Wire:
    """Copies frames both ways. policy(self, to_b, frame, rng) returns a list
    of (delay in seconds, frame): empty drops, two entries duplicate."""

    def __init__(self, policy=None, seed=1, delay=0.0):
        self.policy = policy or (lambda w, to_b, f, rng: [(w.delay, f)])
        self.rng, self.delay, self.state, self.mode = random.Random(seed), delay, {}, ''

    def command(self, line):
        self.mode = line.strip()
        self.state['new'] = True

    def receive(self, s):
        return s.recv(65600)

    def transform(self, to_b, f):
        if self.mode == 'open':
            return [(0, f)]
        return self.policy(self, to_b, f, self.rng)

    def targets(self, i, f):
        """The ports to which a frame from port @i goes."""
        return [1 - i]

    def loop(self, socks, ctl):
        heap, n = [], 0
        while True:
            t = max(0, heap[0][0] - time.monotonic()) if heap else None
            ready = select.select(socks + [ctl], [], [], t)[0]
            if ctl in ready:
                data = os.read(ctl, 4096)
                if not data:
                    return
                for line in data.decode().splitlines():
                    self.command(line)
            for i, s in enumerate(socks):
                if s not in ready:
                    continue
                for _ in range(64):
                    try:
                        f = self.receive(s)
                    except BlockingIOError:
                        break
                    if f is None:
                        continue
                    for d, g in self.transform(i == 0, f):
                        for j in self.targets(i, g):
                            if d <= 0 and not heap:
                                self.emit(socks[j], g)
                            else:
                                n += 1
                                heapq.heappush(heap, (time.monotonic() + d, n, j, g))
            while heap and heap[0][0] <= time.monotonic():
                _, _, i, g = heapq.heappop(heap)
                self.emit(socks[i], g)

    def emit(self, s, f):
        try:
            s.send(f)
        except OSError:
            pass


class Hub(Wire):
    """Three ports in the order A, B, C; unicast frames go by their address."""

    def targets(self, i, f):
        for j, m in enumerate((MAC_A, MAC_B, MAC_C)):
            if f[:6] == mac(m):
                return [j] if j != i else []
        return [j for j in range(3) if j != i]


class Tagger(Wire):
    """First end untagged, second end a trunk: adds and strips one VLAN."""

    def __init__(self, vid):
        super().__init__()
        self.vid, self.trunk = vid, None

    def loop(self, socks, ctl):
        self.trunk = socks[1]
        super().loop(socks, ctl)

    def receive(self, s):
        f, anc, _, _ = s.recvmsg(65600, 64)
        if s is not self.trunk:
            return f[:12] + struct.pack('!HH', ETH_VLAN, self.vid) + f[12:]
        # the kernel takes the tag out of the frame and into the aux data
        for level, type, data in anc:
            if level == 263 and type == 8 and len(data) >= 20:
                status, _, _, _, _, tci, _ = struct.unpack('IIIHHHH', data[:20])
                if status & 0x10 and tci & 0xfff == self.vid:
                    return f
        if f[12:14] == b'\x81\0' and struct.unpack('!H', f[14:16])[0] & 0xfff == self.vid:
            return f[:12] + f[16:]
        return None
