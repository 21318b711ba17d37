# SPDX-License-Identifier: MIT
"""hosts - network namespaces and the sockets that live in them.

One process owns the sockets of all hosts (setns before socket()), so events
happen in program order.
"""
import ctypes
import errno
import os
import socket
import subprocess
import time

libc = ctypes.CDLL(None, use_errno=True)
ROOT_NS = os.open('/proc/self/ns/net', os.O_RDONLY)


def setns(fd):
    if libc.setns(fd, 0x40000000):
        raise OSError(ctypes.get_errno(), 'setns')


def run(*cmd, check=True, **kw):
    r = subprocess.run(cmd, capture_output=True, text=True, **kw)
    if check and r.returncode:
        raise RuntimeError('%s: %s' % (' '.join(cmd), r.stderr.strip()))
    return r.stdout


def calm():
    """Let the other end take what was sent. Without this a frame that arrives
    while B sits inside a system call on the same socket is captured now and
    processed later, and the capture no longer tells the order of events."""
    time.sleep(.0002)


class Sock(socket.socket):
    """A socket that is calm after each call that makes it send a little."""

    def accept(self):
        fd, addr = self._accept()
        return Sock(self.family, self.type, self.proto, fileno=fd), addr

    def close(self):
        was_open = self.fileno() >= 0
        super().close()
        if was_open:
            calm()

    def shutdown(self, how):
        super().shutdown(how)
        calm()

    def sendall(self, data):
        super().sendall(data)
        calm()

    def sendto(self, *args):
        n = super().sendto(*args)
        calm()
        return n


class Host:
    """A network namespace; sockets made here stay in it."""

    def __init__(self, lab, letter):
        self.lab, self.letter = lab, letter
        self.name = 'sporacle%d%s' % (os.getpid(), letter)
        run('ip', 'netns', 'add', self.name)
        self.fd = os.open('/run/netns/' + self.name, os.O_RDONLY)
        self.udps = []          # UDP sockets, drained before the snapshot
        self.keep = []          # everything that must live until 'after'
        self.ifname = None

    def __enter__(self):
        setns(self.fd)
        return self

    def __exit__(self, *a):
        setns(ROOT_NS)

    def ip(self, *args):
        return run('ip', '-n', self.name, *args)

    def exec(self, *args, **kw):
        return run('ip', 'netns', 'exec', self.name, *args, **kw)

    def sysctl(self, **kw):
        """Set sysctls; a double underscore stands for a slash. Missing ones
        (older kernels) are passed over."""
        with self:
            for k, v in kw.items():
                try:
                    with open('/proc/sys/net/' + k.replace('__', '/'), 'w') as f:
                        f.write(str(v))
                except OSError:
                    pass

    def read(self, path):
        with self:
            with open('/proc/thread-self/net/' + path) as f:
                return f.read()

    def listdir(self, path):
        with self:
            return sorted(os.listdir('/proc/thread-self/net/' + path))

    def socket(self, family, type, proto=0):
        with self:
            s = Sock(family, type, proto)
        self.keep.append(s)
        return s

    def raw(self, proto, v6=False):
        return self.socket(socket.AF_INET6 if v6 else socket.AF_INET,
                           socket.SOCK_RAW, proto)

    def listen(self, port, backlog=128, v6=False, ip=None, opts=()):
        s = self.socket(socket.AF_INET6 if v6 else socket.AF_INET,
                        socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if v6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        for o in opts:
            s.setsockopt(*o)
        s.bind((ip or ('::' if v6 else '0.0.0.0'), port))
        s.listen(backlog)
        return s

    def udplite(self, port=0, v6=False):
        return self.udp(port, v6, proto=socket.IPPROTO_UDPLITE)

    def udp(self, port=0, v6=False, ip=None, proto=0):
        s = self.socket(socket.AF_INET6 if v6 else socket.AF_INET,
                        socket.SOCK_DGRAM, proto)
        if v6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        else:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)    # SO_RCVBUFFORCE: nothing is lost
        s.bind((ip or ('::' if v6 else '0.0.0.0'), port))
        s.settimeout(5)
        self.udps.append(s)
        return s

    def tcp(self, v6=False, opts=(), sport=0, ip=None):
        s = self.socket(socket.AF_INET6 if v6 else socket.AF_INET,
                        socket.SOCK_STREAM)
        for o in opts:
            s.setsockopt(*o)
        if sport:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((ip or ('::' if v6 else '0.0.0.0'), sport))
        return s

    def connect(self, ip, port, timeout=8, **kw):
        s = self.tcp(v6=':' in ip, **kw)
        s.settimeout(timeout)
        s.connect((ip, port))
        return s

    def try_connect(self, ip, port, timeout=3, **kw):
        """Connect that is expected to fail; the errno, 0 when it worked."""
        s = self.tcp(v6=':' in ip, **kw)
        s.settimeout(timeout)
        try:
            s.connect((ip, port))
            return 0
        except OSError as e:
            return e.errno or errno.ETIMEDOUT

    def start_connect(self, ip, port, **kw):
        """Non-blocking connect: the SYN is on the wire on return."""
        s = self.tcp(v6=':' in ip, **kw)
        s.setblocking(False)
        try:
            s.connect((ip, port))
        except BlockingIOError:
            pass
        return s

    def drain(self):
        for s in self.udps:
            if s.fileno() < 0:
                continue
            s.setblocking(False)
            try:
                while True:
                    try:
                        s.recvfrom(65536)
                    except BlockingIOError:
                        break
                    except OSError:      # a queued ICMP error: read on
                        continue
            finally:
                s.settimeout(5)

    def close_all(self):
        for s in self.keep:
            s.close()
        self.keep, self.udps = [], []
