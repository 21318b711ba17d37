# SPDX-License-Identifier: MIT
"""small - a bit of everything, and bulk transfers.
"""
import time

from lab.packets import A4, A6, B4, B6
from lab.recording import scenario
from lab.tools import accept, small_mix, transfer


@scenario('basic', 'ping, UDP echo and NoPorts, TCP request/response, IPv4 and IPv6',
          listen='tcp:5201 udp:7', neigh='dynamic')
def basic(x):
    for dst in (B4, B6):
        x.A.exec('ping', '-n', '-c', '3', '-i', '0.2', dst)
    for dst in (A4, A6):
        x.B.exec('ping', '-n', '-c', '2', '-i', '0.2', '-s', '200', dst)
    small_mix(x)
    small_mix(x, v6=True)
    time.sleep(1)


@scenario('bulk', 'about 1 MB each way over TCP, 200 kB each way over TCP on IPv6',
          listen='tcp:5201')
def bulk(x):
    for src, n in ((x.A, 1000000), (x.B, 1000000)):
        c = x.A.connect(B4, 5201)
        s = accept(x.tcp[5201])
        transfer([(c, s, n) if src is x.A else (s, c, n)])
        c.close()
        s.close()
    la = x.A.listen(80, v6=True)
    c = x.B.connect(A6, 80)
    s = accept(la)
    transfer([(c, s, 200000), (s, c, 200000)])
    c.close()
    s.close()
