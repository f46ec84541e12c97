"""Long work that occupies a server, or only its connections, and the short work beside it that wants to be served: sessions by hand."""
import contextlib
import json
import random
import socket
import statistics
import threading
import time
from dataclasses import dataclass

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


@dataclass
class Look:
    """How far long work was at an instant: how many of it were at the server, what CPU time the server had given to it,
    and how many of its statements had ended."""
    at: float
    there: int
    cpu_s: float
    done: int


def sleepers(sessions, _):
    """Statements that take their time and nothing else."""
    for session in sessions:
        session.ask(SLEEP)


def stalled(sessions, _):
    """Clients that want a large result and read nothing of it."""
    for session in sessions:
        session.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        session.ask(ENDLESS)


def halves(sessions, _):
    """Open transactions whose client has sent half a command."""
    for session in sessions:
        session.link.sendall(HALF)


def sorts(sessions, ended):
    """Large sorts, one after the other in each session until it ends; each that ended is noted, and an error too."""
    def work(session):
        session.link.settimeout(None)
        try:
            while True:
                session.query(SORT)
                ended.append(None)
        except (OSError, wire.SqlError) as error:
            ended.append(error)
    for session in sessions:
        threading.Thread(target=work, args=(session,), daemon=True).start()


KINDS = {"sleepers": sleepers, "stalled readers": stalled, "half packets": halves, "sorts": sorts}


class Occupants:
    """So many sessions of a kind through a port; there on entering, gone on leaving. `admin` is a session beside them, on
    the server itself, whose process is `pid`; `guard` the guard that they go through, if any."""

    def __init__(self, admin, pid, port, kind, count, database, guard=None):
        self.admin, self.pid, self.port = admin, pid, port
        self.kind, self.count, self.database = kind, count, database
        self.guard, self.sessions, self.ended, self.seen = guard, [], [], "nobody"

    def __enter__(self):
        try:
            for _ in range(self.count):
                session = wire.Session(self.port, b"root")
                self.sessions.append(session)
                session.write(bytes([wire.INIT_DB]) + self.database.encode())
                session.result()
            if self.count:
                KINDS[self.kind](self.sessions, self.ended)
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

    def look(self):
        """How far it is. Fails where it is not under way as a whole, at the server or in the guard's queue: beside work that
        was refused or has ended, nobody's short statements have anything to stand."""
        there, waiting = self._there(), self._waiting()
        gone = [failure for failure in map(failed, self.sessions) if failure] if self.kind != "sorts" else []
        gone += [str(error) for error in self.ended if error]
        # A sort that ends makes room for the next, which may be on its way.
        if gone or there + waiting < self.count and self.kind != "sorts":
            raise RuntimeError(f"{self.count} {self.kind}: {there} at the server, {waiting} in the queue, {len(gone)} gone"
                               f"{': ' + gone[0] if gone else ''}")
        return Look(time.monotonic(), there, self._cpu_s(), self.ended.count(None))

    def progress(self, before, after):
        """What it got from one look to another, as a figure and in words: CPU time per second where it works, and presence
        at the server where it only idles."""
        if self.kind != "sorts":
            return (before.there + after.there) / 2, f"{before.there} to {after.there} of {self.count} at the server"
        share = (after.cpu_s - before.cpu_s) / (after.at - before.at)
        return share, f"{share:.2f} s of CPU per second, {after.done - before.done} ended"

    def _cpu_s(self):
        """CPU time of the server's threads that serve it, which stay the same from login to end."""
        ours = ", ".join(str(session.thread) for session in self.sessions)
        total = 0
        for (thread,) in self.admin.query(f"SELECT TID FROM information_schema.processlist WHERE ID IN ({ours})"):
            with open(f"/proc/{self.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e9

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


def failed(session):
    """What became of a session whose answer nobody reads, where that is an error or the end; it stays unread."""
    session.link.setblocking(False)
    try:
        first = session.link.recv(5, socket.MSG_PEEK)
    except BlockingIOError:
        return None
    except OSError as error:
        return str(error)
    return "the connection was ended" if not first else "an error in place of an answer" if first[4:] == b"\xff" else None


class Shorts:
    """So many closed clients through a port, each with one short statement after the other: there before anything else begins; gone on leaving."""

    def __init__(self, port, count, database, statement, seed):
        self.port, self.count, self.database, self.statement, self.seed = port, count, database, statement, seed
        self.sessions, self.threads, self.ended = [], [], False
        # When each statement began and ended; when those began that are under way, by client; those that failed.
        self.done, self.begun, self.failed = [], {}, []

    def __enter__(self):
        try:
            for number in range(self.count):
                session = wire.Session(self.port, b"root", seconds=None)
                self.sessions.append(session)
                session.write(bytes([wire.INIT_DB]) + self.database.encode())
                session.result()
                self.threads.append(threading.Thread(target=self._work, args=(number, session), daemon=True))
        except BaseException:
            self.__exit__()
            raise
        for thread in self.threads:
            thread.start()
        return self

    def _work(self, number, session):
        draw = random.Random(self.seed * 1000 + number)
        try:
            while not self.ended:
                self.begun[number] = time.monotonic()
                session.query(self.statement(draw))
                self.done.append((self.begun.pop(number), time.monotonic()))
        except (OSError, wire.SqlError) as error:
            # At the end the connections are cut under them.
            if not self.ended:
                self.failed.append(str(error))

    def during(self, seconds):
        """Statements per second from now on for so long, with the median of their response times and the longest wait,
        which may not have ended; both in ms."""
        begin = time.monotonic()
        time.sleep(seconds)
        end = time.monotonic()
        times = [ended - began for began, ended in list(self.done) if begin <= ended < end]
        still = [end - began for began in list(self.begun.values())]
        return (len(times) / (end - begin), 1e3 * statistics.median(times) if times else float("inf"),
                1e3 * max(times + still, default=0))

    def __exit__(self, *_):
        self.ended = True
        for session in self.sessions:
            with contextlib.suppress(OSError):
                session.link.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            if thread.ident:
                thread.join()
        for session in self.sessions:
            session.link.close()
