"""Long work that occupies a server, or only its connections: sessions by hand, beside which others want to be served."""
import contextlib
import json
import socket
import threading
import time

from . import wire

LONG = "/* long */"
SLEEP = f"SELECT {LONG} SLEEP(60)"
# 160 MB: more than all buffers between a server and a client that does not read.
ENDLESS = f"SELECT {LONG} REPEAT('x', 8000) FROM seq_1_to_20000"
SORT = f"SELECT {LONG} MD5(CONCAT(id, words)) AS k, COUNT(*) FROM big GROUP BY k ORDER BY k LIMIT 10"
# The snapshot is what shows the transaction at the server. Both come in one write: the session is never idle.
HALF = (wire.packet(bytes([wire.QUERY]) + b"START TRANSACTION WITH CONSISTENT SNAPSHOT")
        + wire.packet(bytes([wire.QUERY]) + b"UPDATE small SET words = 'never' WHERE id = 1")[:20])
OTHERS = "ID <> CONNECTION_ID() AND USER = 'root'"
PATIENCE_S = 5
# Who asks for open transactions more often than every 100 ms is told what he was told before.
LOOK_S = 0.15
# So many looks without a change.
LOOKS = 3


def sleepers(sessions):
    """Statements that take their time and nothing else."""
    for session in sessions:
        session.ask(SLEEP)


def stalled(sessions):
    """Clients that want a large result and read nothing of it."""
    for session in sessions:
        session.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        session.ask(ENDLESS)


def halves(sessions):
    """Open transactions whose client has sent half a command."""
    for session in sessions:
        session.link.sendall(HALF)


def sorts(sessions):
    """Large sorts, one after the other in each session until it ends."""
    def work(session):
        session.link.settimeout(None)
        with contextlib.suppress(OSError, wire.SqlError):
            while True:
                session.query(SORT)
    for session in sessions:
        threading.Thread(target=work, args=(session,), daemon=True).start()


KINDS = {"sleepers": sleepers, "stalled readers": stalled, "half packets": halves, "sorts": sorts}


class Occupants:
    """So many sessions of a kind through a port; there on entering, gone on leaving. `admin` is a session beside them, on
    the server itself; `guard` the guard that they go through, if any."""

    def __init__(self, admin, port, kind, count, database, guard=None):
        self.admin, self.port, self.kind, self.count, self.database = admin, port, kind, count, database
        self.guard, self.sessions, self.seen = guard, [], "nobody"

    def __enter__(self):
        try:
            for _ in range(self.count):
                session = wire.Session(self.port, b"root")
                self.sessions.append(session)
                session.write(bytes([wire.INIT_DB]) + self.database.encode())
                session.result()
            if self.count:
                KINDS[self.kind](self.sessions)
                self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self):
        """Until all are seen, at the server or in the guard's queue."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            there, waiting = self._there(), self._waiting()
            self.seen = f"{there} of {self.count} at the server" + (f", {waiting} of all in the queue" if self.guard else "")
            if there + waiting >= self.count:
                return self._fill(deadline)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.kind}: {self.seen}")
            time.sleep(LOOK_S)

    def _fill(self, deadline):
        """Until nobody sends to clients that do not read: until then all buffers are filled, which takes a server's time."""
        sent, still = self._sent(), 0 if self.kind == "stalled readers" else LOOKS
        while still < LOOKS and time.monotonic() < deadline + PATIENCE_S:
            time.sleep(LOOK_S)
            before, sent = sent, self._sent()
            still = still + 1 if sent - before < 1_000_000 else 0

    def _sent(self):
        return int(self.admin.query("SHOW GLOBAL STATUS LIKE 'Bytes_sent'")[0][1])

    def _waiting(self):
        """How many wait at the guard; before its controller's first tick it does not say."""
        code, text = self.guard.get("/status") if self.guard else (0, "")
        return json.loads(text)["waiting"] if code == 200 else 0

    def _there(self):
        """How many the server runs; of half commands it knows the open transaction."""
        query = f"SELECT COUNT(*) FROM information_schema.processlist WHERE {OTHERS} AND INFO LIKE '%{LONG}%'"
        if self.kind == "half packets":
            ours = ", ".join(str(session.thread) for session in self.sessions)
            query = f"SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id IN ({ours})"
        return int(self.admin.query(query)[0][0])

    def __exit__(self, *_):
        """Ends all sessions at the server but that of the administrator, the short ones too: it does not notice that the
        client of a sleeper has left."""
        deadline = time.monotonic() + 4 * PATIENCE_S
        while left := self.admin.query(f"SELECT ID FROM information_schema.processlist WHERE {OTHERS}"):
            for (number,) in left:
                # It may have ended meanwhile.
                with contextlib.suppress(wire.SqlError):
                    self.admin.query(f"KILL {number}")
            for session in self.sessions:
                with contextlib.suppress(OSError):
                    session.link.shutdown(socket.SHUT_RDWR)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(left)} sessions do not end")
            time.sleep(0.05)
        for session in self.sessions:
            session.link.close()

