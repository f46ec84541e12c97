"""Logins without a client library: connections that only have to be there."""
import socket
import struct

# CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_TRANSACTIONS, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
CAPABILITIES = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000
UTF8MB4 = 45


def packet(link):
    """The payload of the next packet."""
    def exactly(count):
        data = b""
        while len(data) < count:
            more = link.recv(count - len(data))
            if not more:
                raise ConnectionError("the server ended the login")
            data += more
        return data
    header = exactly(4)
    return exactly(int.from_bytes(header[:3], "little"))


def login(port, user=b"root"):
    """A session of an account without a password."""
    link = socket.create_connection(("127.0.0.1", port), timeout=60)
    packet(link)
    answer = (struct.pack("<IIB23x", CAPABILITIES, 1 << 24, UTF8MB4) + user + b"\0\0" + b"mysql_native_password\0")
    link.sendall(len(answer).to_bytes(3, "little") + b"\x01" + answer)
    verdict = packet(link)
    if verdict[:1] != b"\0":
        link.close()
        raise ConnectionError(f"the login was refused: {verdict[9:].decode(errors='replace')}")
    return link


def ping(link):
    """Whether the session still answers."""
    link.sendall(b"\x01\0\0\0\x0e")
    return packet(link)[:1] == b"\0"
