# SPDX-License-Identifier: MIT
"""tcp_life - TCP connections: every way to begin, to live and to end.
"""
import socket
import time

from lab.packets import A4, A6, ACK, B4, B6, FIN, PSH, RST, SYN, mss_opt, sack_opt, ts_opt
from lab.recording import scenario
from lab.tools import (Peer, accept, echo_tcp, life_pair_in, life_pair_out, payload, recv_all,
                       rst_close, transfer)


@scenario('tcp-life', 'resets, half closes, keepalives, zero windows, odd segments, '
          'connections left open in every state',
          listen='tcp:5201 tcp:5202', tail=.5)
def tcp_life(x):
    la, la6 = x.A.listen(80), x.A.listen(80, v6=True)
    for _ in range(3):
        x.B.try_connect(A4, 81)
    for _ in range(2):
        x.A.try_connect(B4, 5999)
    x.B.try_connect(A6, 81)
    x.A.try_connect(B6, 5999)

    # resets, closes and half closes, opened from either side
    for pair in (lambda: life_pair_in(x), lambda: life_pair_out(x, la),
                 lambda: life_pair_in(x, v6=True),
                 lambda: life_pair_out(x, la6, True)):
        a, b = pair()                       # B resets
        echo_tcp(a, b, 10, 20)
        rst_close(b)
        a.close()
        a, b = pair()                       # A resets
        echo_tcp(a, b, 10, 20)
        rst_close(a)
        b.close()
        a, b = pair()                       # B closes with data unread
        a.sendall(b'unread')
        b.close()
        a.close()
        a, b = pair()                       # A closes with data unread
        b.sendall(b'unread')
        a.close()
        b.close()
        a, b = pair()                       # B resets in CLOSE_WAIT
        a.shutdown(socket.SHUT_WR)
        rst_close(b)
        a.close()
        a, b = pair()                       # A resets while B is in CLOSE_WAIT
        a.shutdown(socket.SHUT_WR)
        rst_close(a)
        b.close()
        a, b = pair()                       # A resets while B is in FIN_WAIT2
        b.shutdown(socket.SHUT_WR)
        rst_close(a)
        b.close()
        a, b = pair()                       # B resets in FIN_WAIT2
        b.shutdown(socket.SHUT_WR)
        rst_close(b)
        a.close()
        a, b = pair()                       # half close by A
        a.shutdown(socket.SHUT_WR)
        transfer([(b, a, 10000)])
        b.close()
        a.close()
        a, b = pair()                       # half close by B
        b.shutdown(socket.SHUT_WR)
        transfer([(a, b, 10000)])
        a.close()
        b.close()
        a, b = pair()                       # both send at once
        transfer([(a, b, 30000), (b, a, 20000)])
        b.close()
        a.close()
        a, b = pair()                       # data for a socket that is closed
        b.close()
        try:
            a.sendall(b'late')
        except ConnectionError:
            pass
        a.close()
        a, b = pair()                       # the same from B
        a.close()
        try:
            b.sendall(b'late')
        except ConnectionError:
            pass
        b.close()

    # keepalives from B and from A, 1 s apart
    ka = []
    for end in (0, 1, 0, 1):
        p = life_pair_in(x) if len(ka) < 2 else life_pair_out(x, la)
        s = p[end]
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        ka.append(p)

    # zero windows: one end does not read for a while, small buffers
    for l in (x.tcp[5202], x.tcp6[5202]):
        l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    lz = x.A.listen(82, opts=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)])
    zw = []
    zw.append(life_pair_in(x, 5202))
    zw.append(life_pair_in(x, 5202, v6=True))
    b = x.B.connect(A4, 82)
    zw.append((b, accept(lz)))
    sent = []
    for snd, rcv in zw:
        snd.setblocking(False)
        n = 0
        try:
            while n < 60000:
                n += snd.send(payload(4000))
        except BlockingIOError:
            pass
        sent.append(n)
    time.sleep(2.2)
    for (snd, rcv), n in zip(zw, sent):
        recv_all(rcv, n)
        time.sleep(.3)
    for snd, rcv in zw:                     # and once more, without a probe
        n = 0
        try:
            while n < 60000:
                n += snd.send(payload(4000))
        except BlockingIOError:
            pass
        recv_all(rcv, n)
        snd.settimeout(5)
        snd.close()
        rcv.close()
    time.sleep(1.2)
    for a, b in ka:
        a.close()
        b.close()

    # hand-made segments for an established connection
    p = Peer(x, '10.231.0.70')
    t = p.rawtcp(7000, 5201).open()
    b = accept(x.tcp[5201])
    t.tx(PSH | ACK, b'first')
    t.tx(PSH | ACK, b'first', seq=t.seq - 5)            # old duplicate
    t.tx(SYN, seq=t.seq + 100, ack=0)                   # SYN in the window
    t.expect(ACK)
    t.tx(RST, seq=t.seq + 50)                           # RST in the window, not next
    t.tx(RST, seq=t.seq + 70000)                        # RST outside
    t.tx(ACK, ack=t.ack + 5000)                         # ACK of the future
    t.tx(PSH | ACK, b'far', seq=t.seq + 900000)         # outside the window
    t.tx(PSH | ACK, b'gap', seq=t.seq + 10)             # out of order
    t.tx(PSH | ACK, b'gap', seq=t.seq + 10)             # the same again
    t.tx(PSH | ACK, b'x' * 10)                          # closes the hole
    t.seq += 3
    t.tx(PSH | ACK, b'y', bad=True, advance=False)      # bad checksum
    t.tx(RST, seq=t.seq)                                # accepted
    b.close()
    # the same with SACK and timestamps: DSACKs, overlaps, PAWS
    for dp, v in ((5201, 0), (5201, 1)):
        t = p.rawtcp(7050 + v, dp, iss=90000)
        t.opts = ts_opt(5000)
        t.open(opts=mss_opt(1400) + b'\4\2' + ts_opt(5000))
        b = accept(x.tcp[5201])
        t.tx(PSH | ACK, payload(100))
        for seq, n in ((-100, 100), (-50, 20), (-30, 60)):  # old, old, half old
            t.tx(PSH | ACK, payload(n), seq=t.seq + seq)
        t.seq += 30
        for seq, n in ((100, 50), (200, 50), (100, 50), (120, 10), (130, 60), (180, 30),
                       (90, 70), (300, 20), (80, 200)):     # out of order, overlapping
            t.tx(PSH | ACK, payload(n), seq=t.seq + seq)
        if v:
            t.tx(PSH | ACK, payload(90))                    # closes the first hole
            t.seq += 190
            t.tx(FIN | ACK, payload(10), seq=t.seq + 40)    # the end, out of order
            t.tx(PSH | ACK, payload(40))
            t.seq += 11
            b.close()
            t.expect(FIN, 1)
            t.tx(ACK)
        else:
            t.tx(PSH | ACK, b'old stamp', opts=ts_opt(100), advance=False)
            t.tx(ACK, opts=ts_opt(100))
            t.tx(RST, seq=t.seq + 280, opts=b'')            # right edge of the last SACK block
            b.close()
    # small segments of B, unanswered: the repetition collapses them; then
    # duplicate ACKs without SACK
    for i, opts in enumerate((b'', b'\4\2\1\1')):
        t = p.rawtcp(7060 + i, 5201, iss=200).open(opts=opts)
        b = accept(x.tcp[5201])
        b.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        first = t.ack
        for j in range(5):
            b.sendall(payload(20 + j))
        time.sleep(.6)
        x.lab.sniff_flush()
        t.tx(ACK, ack=first + 110)
        for j in range(6):
            b.sendall(payload(40))
        for j in range(3):
            sack = sack_opt((first + 150, first + 190 + 40 * j))
            t.tx(ACK, ack=first + 110, opts=sack if i else b'')
        t.tx(ACK, ack=first + 190)
        t.tx(ACK, ack=first + 350)
        t.ack = first + 350
        t.tx(FIN | ACK)
        b.close()
        t.expect(FIN)
        t.tx(ACK)
    # crossed FINs: CLOSING
    t = p.rawtcp(7001, 5201, iss=5000).open()
    b = accept(x.tcp[5201])
    b.close()
    t.tx(FIN | ACK)                                     # does not ack B's FIN
    t.ack += 1
    t.tx(ACK)
    # RST while SYN_RECV, and a SYN-ACK that is answered by RST
    for i in range(3):
        t = p.rawtcp(7010 + i, 5201)
        t.tx(SYN)
        t.expect(SYN | ACK)
        t.tx(RST, ack=0)
    # retransmitted SYN while SYN_RECV, then the ACK
    t = p.rawtcp(7020, 5201)
    t.tx(SYN)
    t.expect(SYN | ACK)
    t.tx(SYN, seq=t.seq - 1, ack=0)
    t.tx(ACK)
    accept(x.tcp[5201]).close()
    t.tx(RST | ACK)
    # RST for a SYN of B
    for flags, da in ((RST | ACK, 0), (RST | ACK, 5)):
        s = x.B.start_connect('10.231.0.70', 9000)
        t = p.rawtcp(0, 9000)
        t.expect(SYN)
        t.tx(flags, ack=t.ack + da)                     # the second is ignored
        x.hold(s)

    # left open
    hole = Peer(x, '10.231.0.99')
    x.hold(*[x.B.start_connect(hole.ip, 80 + i) for i in range(3)])
    for i in range(2):
        p.rawtcp(7100 + i, 5201).tx(SYN)                # SYN_RECV
    t = p.rawtcp(7110, 5201).open()                     # FIN_WAIT1
    accept(x.tcp[5201]).close()
    t = p.rawtcp(7111, 5201).open()                     # LAST_ACK
    b = accept(x.tcp[5201])
    t.tx(FIN | ACK)
    b.close()
    t = p.rawtcp(7112, 5201).open()                     # CLOSING
    accept(x.tcp[5201]).close()
    t.tx(FIN | ACK)
    for i in range(3):                                  # ESTABLISHED
        x.hold(*life_pair_in(x), *life_pair_out(x, la))
    for i in range(2):                                  # CLOSE_WAIT
        a, b = life_pair_in(x)
        a.close()
        x.hold(b)
        a, b = life_pair_in(x, v6=True)
        a.shutdown(socket.SHUT_WR)
        x.hold(a, b)
    for i in range(2):                                  # FIN_WAIT2, with and without owner
        a, b = life_pair_out(x, la)
        b.shutdown(socket.SHUT_WR)
        x.hold(a, b)
        a, b = life_pair_out(x, la6, True)
        b.close()
        x.hold(a)
    time.sleep(3.3)
