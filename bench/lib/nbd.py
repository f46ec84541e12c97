"""A client of NBD that says exactly what it is told to: half a write, nothing at all, or a wish for TLS."""
import socket
import struct

READ, WRITE, FLUSH, FUA = 0, 1, 3, 1
STARTTLS, GO = 5, 7


class Refused(OSError):
    """The disk is not there for this client."""


class Disk:
    """A disk at a socket, chosen by its name."""

    def __init__(self, path, name, seconds=30):
        self.link = connect(path, seconds)
        try:
            self._exactly(18)
            self.link.sendall(struct.pack(">I", 3) + go(name))
            while True:
                _, _, kind, length = struct.unpack(">QIII", self._exactly(20))
                self._exactly(length)
                if kind >> 31:
                    raise Refused(name)
                if kind == 1:
                    return
        except BaseException:
            self.close()
            raise

    def _exactly(self, count):
        found = b""
        while len(found) < count:
            more = self.link.recv(count - len(found))
            if not more:
                raise Refused("the connection ended")
            found += more
        return found

    def send(self, kind, offset, length, payload=b"", flags=0, cookie=1):
        self.link.sendall(struct.pack(">IHHQQI", 0x25609513, flags, kind, cookie, offset, length) + payload)

    def ask(self, kind, offset, length, payload=b"", flags=0):
        """The bytes of a read, or nothing; an error of the disk is an OSError."""
        self.send(kind, offset, length, payload, flags)
        return self.take(length if kind == READ else 0)

    def take(self, length):
        """The next answer, which has so many bytes."""
        _, error, _ = struct.unpack(">IIQ", self._exactly(16))
        if error:
            raise OSError(error, "the disk says no")
        return self._exactly(length)

    def close(self):
        self.link.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def connect(path, seconds=30):
    """A path of a socket, or (host, port)."""
    link = socket.socket(socket.AF_UNIX if isinstance(path, str) else socket.AF_INET)
    link.settimeout(seconds)
    link.connect(path)
    return link


def option(number, data=b""):
    return b"IHAVEOPT" + struct.pack(">II", number, len(data)) + data


def go(name):
    return option(GO, struct.pack(">I", len(name)) + name.encode() + b"\0\0")
