# SPDX-License-Identifier: MIT
"""many - hundreds of connections in mixed states.
"""
import socket
import time

from lab.packets import A4, B4, SYN
from lab.recording import scenario
from lab.tools import Peer, life_pair_in, life_pair_out, rst_close


@scenario('many', '300 connections from and to B, left in mixed states; TIME_WAIT that expires',
          listen='tcp:5201 tcp:5202 tcp:5203 tcp:5301', tail=.5)
def many(x):
    t0 = time.monotonic()
    la, la6 = x.A.listen(80, 512), x.A.listen(80, 512, v6=True)
    for i in range(12):                         # gone when the end comes
        a, b = life_pair_in(x)
        b.close()
        if i & 1:
            a.close()                           # TIME_WAIT, else FIN_WAIT2
        else:
            x.hold(a)
    time.sleep(max(0, t0 + 47 - time.monotonic()))
    for i in range(50):                         # ESTABLISHED
        x.hold(*life_pair_in(x, 5201 + i % 3))
    for i in range(40):
        x.hold(*life_pair_out(x, la))
    for i in range(20):
        x.hold(*(life_pair_in(x, v6=True) if i & 1 else life_pair_out(x, la6, True)))
    for i in range(30):                         # TIME_WAIT
        a, b = life_pair_in(x) if i % 3 else life_pair_out(x, la)
        b.close()
        a.close()
    for i in range(30):                         # A closes first: nothing stays
        a, b = life_pair_in(x) if i % 3 else life_pair_out(x, la)
        a.close()
        b.close()
    for i in range(10):
        a, b = life_pair_in(x, v6=True)
        b.close()
        a.close()
    for i in range(30):                         # CLOSE_WAIT
        a, b = life_pair_in(x) if i & 1 else life_pair_out(x, la)
        a.sendall(b'bye')
        a.close()
        x.hold(b)
    for i in range(20):                         # FIN_WAIT2 with and without owner
        a, b = life_pair_in(x, 5202) if i & 1 else life_pair_out(x, la)
        x.hold(a)
        if i & 2:
            b.close()
        else:
            b.shutdown(socket.SHUT_WR)
            x.hold(b)
    for i in range(20):
        x.B.try_connect(A4, 1000 + i)
        x.A.try_connect(B4, 1000 + i)
    for i in range(15):                         # resets
        a, b = life_pair_in(x)
        rst_close(a if i & 1 else b)
        (b if i & 1 else a).close()
    hole, hole6 = Peer(x, '10.231.0.99'), Peer(x, 'fd31::99')
    time.sleep(max(0, t0 + 58.5 - time.monotonic()))
    for i in range(20):                         # SYN_SENT
        x.hold(x.B.start_connect(hole6.ip if i % 5 == 0 else hole.ip, 100 + i))
    for i in range(6):                          # SYN_RECV
        p = Peer(x, '10.231.0.%d' % (100 + i))
        for j in range(5):
            p.rawtcp(3000 + j, 5301, iss=1000 * i + j).tx(SYN)
    time.sleep(max(0, t0 + 62.5 - time.monotonic()))
