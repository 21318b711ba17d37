# SPDX-License-Identifier: MIT
"""vlan - the observed host sits on a VLAN of a trunk.
"""
import socket
import time

from lab.packets import A4, A6, B4, B6, ip4, ip6, udp
from lab.recording import scenario
from lab.tools import accept, small_mix, transfer


@scenario('vlan', 'the small mix on a VLAN: the capture is the tagged trunk, with other VLANs '
          'on it', topo='vlan', listen='tcp:5201 udp:7',
          note='the kernel here has no 802.1Q: a wire tags; dev is the trunk, the rest is B')
def vlan(x):
    small_mix(x)
    small_mix(x, v6=True)
    # frames of another VLAN, priority-tagged ones and untagged ones: not B's
    trunk = x.lab.hosts['R'].socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    trunk.bind(('t0', 0))
    for tag in (20, 20 | 3 << 13, 1):
        trunk.send(x.lab.frame(ip4(17, udp(1, 7, b'other', src=A4, dst=B4)), tag=tag))
        trunk.send(x.lab.frame(ip6(17, udp(1, 7, b'other', src=A6, dst=B6)), tag=tag))
    # VLAN 10 with a priority is B's
    trunk.send(x.lab.frame(ip4(17, udp(1, 7, b'mine')), tag=10 | 5 << 13))
    c = x.A.connect(B4, 5201)
    s = accept(x.tcp[5201])
    transfer([(c, s, 50000), (s, c, 50000)])
    x.hold(c, s)
    time.sleep(.3)
