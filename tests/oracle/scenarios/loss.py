# SPDX-License-Identifier: MIT
"""loss - TCP through a wire that drops and doubles packets.
"""
import time

from lab.packets import A4, B4
from lab.recording import scenario
from lab.tools import accept, read_eof, transfer
from lab.wires import Wire


def lossy(p, seed, delay=0.002, dup=0.0):
    """Drops a share @p of the IP packets each way. After 'dup' it also sends
    a share @dup of them twice, the copy a little later."""
    def policy(w, to_b, f, rng):
        if f[12:14] not in (b'\x08\0', b'\x86\xdd'):
            return [(w.delay, f)]
        if rng.random() < p:
            return []
        if w.mode == 'dup' and rng.random() < dup:
            return [(w.delay, f), (w.delay + rng.choice((0, .001, .004)), f)]
        return [(w.delay, f)]
    return lambda: Wire(policy, seed, delay)


@scenario('loss', 'TCP through a wire that drops 2 % of all packets each way; then also duplicates',
          topo='wire', listen='tcp:5201', wire=lossy(.02, 7, dup=.06), tail=.7)
def loss(x):
    for src, n in ((x.A, 500000), (x.B, 500000)):
        c = x.A.connect(B4, 5201, timeout=15)
        s = accept(x.tcp[5201], 15)
        transfer([(c, s, n) if src is x.A else (s, c, n)])
        c.close()
        read_eof(s)
        s.close()
    la = x.A.listen(80)
    for i in range(6):
        if i == 2:
            x.lab.wire('dup')
        c = x.B.connect(A4, 80, timeout=15)
        s = accept(la, 15)
        transfer([(c, s, 15000 * i + 100), (s, c, 60000)])
        c.close()
        read_eof(s)
        s.close()
    time.sleep(3)
