# SPDX-License-Identifier: MIT
"""host - a small server on a small network: the sample that comes with statplane.

Real programs where there are any: ping, and Python's HTTP server and client,
each a process of its own. Names, discovery and traceroute are played by hand,
with the bytes that they have on real networks.
"""
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

from lab.packets import (A4, A6, B4, B6, BCAST4, LL_A, MAC_A, ext, icmp6, ip4, ip6, mac, tcp, udp,
                         SYN)
from lab.recording import scenario
from lab.tools import Peer, accept, echo_tcp, payload, ping, rst_close

MDNS4, MDNS6, SSDP = '224.0.0.251', 'ff02::fb', '239.255.255.250'
BC = 'ff:ff:ff:ff:ff:ff'

SERVER = '''
import http.server, sys
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
class Server(http.server.HTTPServer):
    address_family = 10 if ':' in sys.argv[1] else 2
s = Server((sys.argv[1], 8080), Quiet)
print('ready', flush=True)
s.serve_forever()
'''
CLIENT = '''
import http.client, sys
for path in sys.argv[2:]:
    c = http.client.HTTPConnection(sys.argv[1], 8080, timeout=5)
    c.request('POST' if path == '/post' else 'GET', path, body=b'form=1' if path == '/post' else None)
    r = c.getresponse()
    r.read()
    c.close()
'''


@scenario('host', 'a small server: HTTP, names, discovery, ping, traceroute, a port scan, fragments, '
          'both families', listen='tcp:22 udp:53 udp:1900 udp:5353', neigh='dynamic',
          mcast='%s %s %s' % (MDNS4, MDNS6, SSDP), folder='../../samples/host', tail=.6)
def host(x):
    web = []
    try:
        site = tempfile.mkdtemp()
        for name, n in (('index.html', 900), ('style.css', 12000), ('picture.jpg', 60000)):
            with open(os.path.join(site, name), 'wb') as f:
                f.write(payload(n))
        x.A.exec('ping', '-n', '-c', '2', '-i', '0.3', B4)
        web += [serve(h, ip, site) for h, ip in ((x.A, A4), (x.A, A6))]
        names(x)
        secure_shell(x)
        fetch(x.B, A4, '/', '/style.css')
        discovery(x)
        trouble(x)
        fetch(x.B, A6, '/', '/picture.jpg', '/missing')
        scan(x)
        routes(x)
        fetch(x.B, A4, '/picture.jpg', '/post')
        for h, dst in ((x.A, B4), (x.A, B6), (x.B, A4), (x.B, A6)):
            h.exec('ping', '-n', '-c', '3', '-i', '0.2', dst)
            h.exec('ping', '-n', '-c', '2', '-i', '0.2', '-s', '4000', dst)
        membership(x)
    finally:
        for p in web:
            p.terminate()
            p.wait()
        shutil.rmtree(site, ignore_errors=True)


def serve(host, ip, site):
    p = subprocess.Popen(['ip', 'netns', 'exec', host.name, sys.executable, '-c', SERVER, ip],
                         cwd=site, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if p.stdout.readline() != 'ready\n':
        raise RuntimeError('no HTTP server')
    return p


def fetch(host, ip, *paths):
    host.exec(sys.executable, '-c', CLIENT, ip, *paths)


def dns(id, name, type, answer=b''):
    """A question, or with @answer its answer."""
    q = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.')) + b'\0'
    h = struct.pack('!HHHHHH', id, 0x8180 if answer else 0x100, 1, bool(answer), 0, 0)
    rr = struct.pack('!HHHIH', 0xc00c, type, 1, 300, len(answer)) + answer if answer else b''
    return h + q + struct.pack('!HH', type, 1) + rr


def names(x):
    """B answers names, in both families, one answer too long for one frame."""
    for v6, dst in ((False, B4), (True, B6)):
        server, client = (x.udp6 if v6 else x.udp)[53], x.A.udp(v6=v6)
        for i, (name, type, answer) in enumerate((
                ('www.example.org', 1, b'\xc0\0\2\x0a'), ('www.example.org', 28, b'\x20\1' + b'\0' * 14),
                ('example.org', 15, b'\0\x0a\4mail\xc0\x0c'), ('big.example.org', 16, payload(3000)))):
            client.sendto(dns(i, name, type), (dst, 53))
            _, peer = server.recvfrom(4096)
            server.sendto(dns(i, name, type, answer), peer)
            client.recv(8192)
            time.sleep(.05)
        client.close()
    late = x.A.udp()                        # an answer for somebody who is gone
    late.sendto(dns(9, 'slow.example.org', 1), (B4, 53))
    _, peer = x.udp[53].recvfrom(4096)
    late.close()
    x.udp[53].sendto(dns(9, 'slow.example.org', 1, b'\xc0\0\2\x0b'), peer)
    time.sleep(.1)


def secure_shell(x):
    """Two sessions, one closed in order, one reset; one stays open."""
    for i, dst in enumerate((B4, B6, B4)):
        c = x.A.connect(dst, 22)
        s = accept((x.tcp6 if ':' in dst else x.tcp)[22])
        s.sendall(b'SSH-2.0-server\r\n')
        c.recv(100)
        for j in range(3):
            echo_tcp(c, s, 48 + 16 * j, 100 * j + 64)
            time.sleep(.02)
        if i == 0:
            c.close()
            s.close()
        elif i == 1:
            rst_close(c)
            s.close()
        else:
            x.hold(c, s)


def discovery(x):
    """What a network says to everybody."""
    x.inject(ip4(17, udp(68, 67, payload(300), src='0.0.0.0', dst='255.255.255.255'),
                 src='0.0.0.0', dst='255.255.255.255'), dst=BC)
    x.inject(ip4(17, udp(137, 137, payload(50), dst=BCAST4), dst=BCAST4), dst=BC)
    x.inject(ip6(58, icmp6(134, 0, b'\x40\0\7\x08', b'\0' * 8 + b'\1\1' + mac(MAC_A), src=LL_A,
                           dst='ff02::1'), src=LL_A, dst='ff02::1', hlim=255),
             dst='33:33:00:00:00:01')
    x.inject(b'\2\7' + mac(MAC_A) + payload(40), et=0x88cc, dst='01:80:c2:00:00:0e')
    a, a6_ = x.A.udp(5353), x.A.udp(5353, v6=True)
    q = dns(0, 'printer.local', 1)
    for sock, dst, port in ((a, MDNS4, 5353), (a, SSDP, 1900), (a6_, MDNS6, 5353),
                            (a, '239.1.1.1', 5000)):
        if ':' in dst:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, x.A.ifindex)
        else:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(A4))
        sock.sendto(q if port == 5353 else b'M-SEARCH * HTTP/1.1\r\n\r\n', (dst, port))
    time.sleep(.1)
    for s in (x.udp[5353], x.udp[1900], x.udp6[5353]):      # B answers who asked
        d, peer = s.recvfrom(2000)
        s.sendto(d + payload(60), peer)
    time.sleep(.1)


def trouble(x):
    """What also happens: spoilt, foreign and misguided packets."""
    x.inject(ip4(17, udp(4000, 53, payload(40), bad=True)))
    x.inject(ip4(6, tcp(4000, 22, 1, bad=True)))
    x.inject(ip4(17, udp(4000, 53, payload(40)), bad=True))
    x.inject(ip4(17, udp(4000, 53, payload(40), dst='10.231.0.200'), dst='10.231.0.200'))
    x.inject(ip4(17, udp(4000, 53, payload(40), dst='10.231.0.200'), dst='10.231.0.200'),
             dst='02:00:00:00:00:c8')
    x.inject(ip4(47, b'\0\0\x08\0' + payload(30)))
    x.inject(ip4(17, udp(4000, 53, payload(20), src='127.0.0.1'), src='127.0.0.1'))
    x.inject(ip6(60, ext(17, b'\x9e\2\0\0') + udp(4000, 53, b'x', src=A6, dst=B6)))
    x.inject(ip4(17, udp(4000, 53, payload(1000))[:800], id=7, flags='M'))     # half a datagram


def scan(x):
    """Ten TCP ports and three UDP ports that nobody opened, one half-open probe."""
    for port in (21, 23, 25, 80, 110, 143, 443, 3306, 5432, 8080):
        x.A.try_connect(B4, port)
    for port in (161, 500, 1194):
        u = x.A.udp()
        u.sendto(b'probe', (B4, port))
        u6 = x.A.udp(v6=True)
        u6.sendto(b'probe', (B6, port))
    x.inject(ip4(6, tcp(4001, 22, 77, 0, SYN)))             # A's kernel resets the answer
    time.sleep(.05)


def routes(x):
    """traceroute to B by UDP and ICMP, and from B."""
    p = Peer(x, '10.231.0.30')
    for ttl in (1, 2, 3):
        for i in range(2):
            p.udp(40000 + i, 33434 + 2 * ttl + i, payload(32), ttl=ttl)
        x.inject(ip6(17, udp(40000, 33440 + ttl, payload(32), src=A6, dst=B6), hlim=ttl))
    ping(x, x.A, B4, 3, tos=0x10)
    u = x.B.udp()
    for port in (33434, 33435):
        u.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, port - 33433)
        try:
            u.sendto(payload(32), (A4, port))
        except OSError:
            pass
        time.sleep(.05)


def membership(x):
    """B joins a group, gets data, and leaves it."""
    s, s6 = x.join(x.B, '239.2.3.4'), x.join(x.B, 'ff05::77')
    time.sleep(1.3)
    for i in range(3):
        x.inject(ip4(17, udp(5000, 5004, payload(400), dst='239.2.3.4'), dst='239.2.3.4'),
                 dst='01:00:5e:02:03:04')
        x.inject(ip6(17, udp(5000, 5004, payload(400), src=A6, dst='ff05::77'), dst='ff05::77'),
                 dst='33:33:00:00:00:77')
    s.close()
    s6.close()
    time.sleep(1.3)
    x.inject(ip4(17, udp(5000, 5004, payload(400), dst='239.2.3.4'), dst='239.2.3.4'),
             dst='01:00:5e:02:03:04')
