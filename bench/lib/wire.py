"""Sessions by hand: every packet is ours, so that it can be wrong, too early, half, or never come."""
import hashlib
import socket
import struct

# CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_TRANSACTIONS, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
CAPABILITIES = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000
UTF8MB4 = 45
CONNECT_WITH_DB, LOCAL_FILES = 0x8, 0x80
NATIVE = b"mysql_native_password"
QUIT, INIT_DB, QUERY, PING, CHANGE_USER, PREPARE, EXECUTE = 0x01, 0x02, 0x03, 0x0e, 0x11, 0x16, 0x17


class SqlError(Exception):
    """What the server, or the guard, answered in place of a result."""

    def __init__(self, payload):
        self.code = int.from_bytes(payload[1:3], "little")
        told = payload[3:4] == b"#"
        self.state = payload[4:9].decode() if told else ""
        self.text = payload[9 if told else 3:].decode(errors="replace")
        super().__init__(f"{self.code} ({self.state}): {self.text}")


def packet(payload, number=0):
    """A payload as it goes on the wire."""
    return len(payload).to_bytes(3, "little") + bytes([number & 0xff]) + payload


def connect(address, source=None, seconds=20):
    """A connection to a port of this host, to a host and port, or to the path of a socket."""
    if isinstance(address, str):
        link = socket.socket(socket.AF_UNIX)
        # One that does not block is turned away where a server's queue is full; this one waits its turn.
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, 0))
        link.connect(address)
        link.settimeout(seconds)
        return link
    address = address if isinstance(address, tuple) else ("127.0.0.1", address)
    link = socket.create_connection(address, timeout=seconds, source_address=(source, 0) if source else None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def proof(password, nonce):
    """The answer of mysql_native_password; nothing for no password."""
    if not password:
        return b""
    once = hashlib.sha1(password).digest()
    mask = hashlib.sha1(nonce + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, mask))


def hello(user, proven=b"", plugin=NATIVE, database=b"", more=0):
    """The client's answer to the greeting; `more` are capabilities beyond the usual ones."""
    flags = CAPABILITIES | more | (CONNECT_WITH_DB if database else 0)
    return (struct.pack("<IIB23x", flags, 1 << 24, UTF8MB4) + user + b"\0" + bytes([len(proven)]) + proven
            + (database + b"\0" if database else b"") + plugin + b"\0")


def change_user(user, proven=b"", plugin=NATIVE):
    """The payload of a change of user."""
    return (bytes([CHANGE_USER]) + user + b"\0" + bytes([len(proven)]) + proven + b"\0" + struct.pack("<H", UTF8MB4)
            + plugin + b"\0")


class Session:
    """A client that is logged in; `first` goes before everything, as a header of the PROXY protocol does."""

    def __init__(self, address, user=b"app", password=b"", source=None, seconds=20, plugin=NATIVE, first=b""):
        self.link, self.buffer, self.number = connect(address, source, seconds), b"", 0
        try:
            self.link.sendall(first)
            self._login(user, password, plugin)
        except BaseException:
            self.link.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def _login(self, user, password, plugin):
        greeting = self.read()
        if greeting[:1] == b"\xff":
            raise SqlError(greeting)
        rest = greeting[greeting.index(b"\0") + 1:]
        self.thread = int.from_bytes(rest[:4], "little")
        nonce = rest[4:12] + rest[31:43]
        self.write(hello(user, proof(password, nonce) if plugin == NATIVE else b"", plugin), self.number + 1)
        self.judged(password)

    def judged(self, password=b""):
        """Reads until the server has judged a login; a switch to mysql_native_password is followed."""
        while (answer := self.read())[:1] != b"\0":
            if answer[:1] == b"\xff":
                raise SqlError(answer)
            if answer[:1] == b"\xfe":
                asked, nonce = answer[1:].split(b"\0", 1)
                if asked != NATIVE:
                    raise ConnectionError(f"the server asks for {asked.decode(errors='replace')}")
                self.write(proof(password, nonce[:20]), self.number + 1)

    def write(self, payload, number=0):
        self.link.sendall(packet(payload, number))

    def _exactly(self, count):
        while len(self.buffer) < count:
            more = self.link.recv(1 << 16)
            if not more:
                raise ConnectionError("the connection was ended")
            self.buffer += more
        found, self.buffer = self.buffer[:count], self.buffer[count:]
        return found

    def read(self):
        """The payload of the next packet; a value of 16 MB would be several."""
        header = self._exactly(4)
        self.number = header[3]
        return self._exactly(int.from_bytes(header[:3], "little"))

    def drain(self, silence):
        """Everything that comes until nothing has for so long, or the end."""
        found, self.buffer = self.buffer, b""
        before = self.link.gettimeout()
        self.link.settimeout(silence)
        try:
            while more := self.link.recv(1 << 16):
                found += more
        except OSError:
            pass
        self.link.settimeout(before)
        return found

    def ask(self, text):
        """Sends a statement, and reads nothing."""
        self.write(bytes([QUERY]) + text.encode())

    def query(self, text):
        """Rows of a statement, each a list of texts."""
        self.ask(text)
        return self.result()

    def result(self):
        """Rows of the oldest statement that was asked."""
        first = self.read()
        if first[:1] == b"\xff":
            raise SqlError(first)
        if first[:1] == b"\0":
            return []
        for _ in range(first[0] + 1):
            self.read()
        rows = []
        while not ((row := self.read())[:1] == b"\xfe" and len(row) < 9):
            if row[:1] == b"\xff":
                raise SqlError(row)
            rows.append(fields(row))
        return rows

    def execute(self, text):
        """Prepares a statement without parameters and runs it."""
        self.write(bytes([PREPARE]) + text.encode())
        prepared = self.read()
        if prepared[:1] == b"\xff":
            raise SqlError(prepared)
        if columns := int.from_bytes(prepared[5:7], "little"):
            for _ in range(columns + 1):
                self.read()
        self.write(bytes([EXECUTE]) + prepared[1:5] + b"\0\1\0\0\0")
        first = self.read()
        if first[:1] == b"\xff":
            raise SqlError(first)
        ends = 0 if first[:1] == b"\0" else 2
        while ends:
            answer = self.read()
            ends -= answer[:1] == b"\xfe" and len(answer) < 9

    def ping(self):
        """Whether the session still answers."""
        self.write(bytes([PING]))
        return self.read()[:1] == b"\0"


def fields(row):
    """Values of a row of the text protocol; longer ones than 64 KB are not asked for here."""
    found, at = [], 0
    while at < len(row):
        length, at = row[at], at + 1
        if length == 0xfb:
            found.append(None)
            continue
        if length == 0xfc:
            length, at = int.from_bytes(row[at:at + 2], "little"), at + 2
        found.append(row[at:at + length].decode(errors="replace"))
        at += length
    return found
