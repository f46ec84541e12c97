"""Of `bench/mixed`: long work that occupies a server or only its connections, and the short work beside it."""
import contextlib
import random
import socket
import statistics
import threading
import time
from dataclasses import dataclass

from . import wire
from .inside import PASSWORD, USER

DATABASE = "mixed"
TABLES = f"""CREATE DATABASE {DATABASE}; USE {DATABASE};
CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO {USER}@'%';
CREATE TABLE small (id INT PRIMARY KEY, words VARCHAR(100));
INSERT INTO small SELECT seq, MD5(seq) FROM seq_1_to_8000;
CREATE TABLE big (id INT PRIMARY KEY, words VARCHAR(100));
INSERT INTO big SELECT seq, MD5(seq) FROM seq_1_to_400000;
CREATE TABLE other (id INT PRIMARY KEY, words VARCHAR(100));
INSERT INTO other SELECT seq, MD5(seq) FROM seq_1_to_200000;
CREATE TABLE held (id INT PRIMARY KEY, v INT);
INSERT INTO held VALUES (1, 1);"""
HERE = "SELECT TID, QUERY_ID, STATE FROM information_schema.processlist"
SORT = "SELECT MD5(CONCAT(id, words)) AS k, COUNT(*) FROM big{} GROUP BY k ORDER BY k LIMIT 10"
HOLD = "UPDATE held SET v = v + 1 WHERE id = 1"
KINDS = {
    "sleep": "SELECT SLEEP(60)",
    "sorts": SORT.format(" WHERE id < 60000"),
    "big sort": SORT.format(""),
    "dump": "SELECT REPEAT('x', 8000) FROM seq_1_to_200000",
    "alter": "ALTER TABLE other FORCE, ALGORITHM=COPY",
    "held": HOLD,
}
# The others use no CPU to speak of.
WORKING = ("sorts", "big sort", "alter")
# A slow reader takes at most so many bytes, so often.
SIP, SIP_S = 4096, 0.05
# From one look at the server to the next, how long a limit that came down is allowed for, and how long a killed session may stay.
LOOK_S, LIMIT_S, ENDING_S = 0.1, 1.0, 20
# States of statements that are not let in yet, or have given their place back.
OUTSIDE = ("waiting for a place (evenkeel)", "", "NULL", "starting", "Init", "Freeing items", "Updating status", "cleaning up",
           "Reset for next command")


class Clients:
    """So many closed clients through a port, each with one statement after the other: at work on entering, gone on leaving. `home`
    is the port of the server itself; slow ones take their time to read a result."""

    def __init__(self, home, port, count, statement, seed=0, slow=False):
        self.home, self.port, self.count, self.statement = home, port, count, statement
        self.seed, self.slow = seed, slow
        self.sessions, self.threads, self.ended = [], [], False
        # When each statement began and ended; when those began that are under way, by client; bytes read; what failed.
        self.done, self.begun, self.bytes, self.failed = [], {}, 0, []

    def __enter__(self):
        try:
            for number in range(self.count):
                session = login(self.port)
                self.sessions.append(session)
                self.threads.append(threading.Thread(target=self._work, args=(number, session), daemon=True))
            for thread in self.threads:
                thread.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _work(self, number, session):
        draw = random.Random(self.seed * 1000 + number)
        try:
            while not self.ended:
                self.begun[number] = time.monotonic()
                if self.slow:
                    self._sip(session, self.statement(draw))
                else:
                    session.query(self.statement(draw))
                self.done.append((self.begun.pop(number), time.monotonic()))
        except (OSError, wire.SqlError) as error:
            # At the end the connections are cut under them.
            if not self.ended:
                self.failed.append(str(error))

    def _sip(self, session, text):
        session.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SIP)
        session.ask(text)
        while not self.ended:
            time.sleep(SIP_S)
            if not (found := session.link.recv(SIP)):
                raise ConnectionError("the connection was ended")
            self.bytes += len(found)

    def during(self, seconds, look=lambda: None):
        """Statements per second from now on for so long, the median of their response times, and the longest, which may have begun
        before and not have ended; both in seconds."""
        begin = time.monotonic()
        while (left := begin + seconds - time.monotonic()) > 0:
            look()
            time.sleep(min(left, LOOK_S))
        end = time.monotonic()
        times = [ended - began for began, ended in list(self.done) if begin <= ended < end]
        still = [end - began for began in list(self.begun.values())]
        middle = statistics.median(times) if times else float("inf")
        return len(times) / (end - begin), middle, max(times + still, default=0.0)

    def ours(self):
        return ", ".join(str(session.thread) for session in self.sessions)

    def __exit__(self, *_):
        """Ends them at the server, which does not notice that the client of a sleeper has left."""
        self.ended = True
        try:
            # Of its own: other sessions may have been left amid an answer.
            with wire.Session(self.home, b"root") as admin:
                self._end(admin)
        finally:
            for session in self.sessions:
                with contextlib.suppress(OSError):
                    session.link.shutdown(socket.SHUT_RDWR)
            for thread in self.threads:
                if thread.ident:
                    thread.join()
            for session in self.sessions:
                session.link.close()

    def _end(self, admin):
        deadline = time.monotonic() + ENDING_S
        for session in self.sessions:
            # It may have ended meanwhile.
            with contextlib.suppress(wire.SqlError):
                admin.query(f"KILL {session.thread}")
        while self.sessions and (left := admin.query(f"{HERE} WHERE ID IN ({self.ours()})")):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(left)} sessions do not end in {ENDING_S} s")
            time.sleep(0.05)


def login(port):
    session = wire.Session(port, USER.encode(), PASSWORD.encode(), seconds=None)
    session.write(bytes([wire.INIT_DB]) + DATABASE.encode())
    session.result()
    return session


@contextlib.contextmanager
def occupied(home, port, kind, count):
    """Long work of a kind, under way."""
    with contextlib.ExitStack() as stack:
        if kind == "held":
            holder = stack.enter_context(login(port))
            holder.query("BEGIN")
            holder.query(HOLD)
        yield stack.enter_context(Clients(home, port, count, lambda _: KINDS[kind], slow=kind == "dump"))


@dataclass
class Tally:
    """How many looks there were, and how many statements at the server at all of them together; the most, at any look, that were
    let in beyond a limit, and that were beyond it together with those that had begun before."""
    looks: int = 0
    there: int = 0
    over: int = 0
    over_with_old: int = 0


class Watch:
    """Looks at the long work of a kind in the server's process list, from its making on. `limit` tells the limit of the long lane,
    if there is one to tell; `aside_max` is the bound of those that wait inside."""

    def __init__(self, admin, pid, clients, kind, limit, aside_max):
        self.admin, self.pid, self.clients, self.kind = admin, pid, clients, kind
        self.limit, self.aside_max = limit, aside_max
        self.tally, self.limits, self.known = Tally(), [], None
        self.begun, self.bytes, self.cpu = time.monotonic(), clients.bytes, self._cpu_s()
        self.look()

    def look(self):
        rows = self.admin.query(f"{HERE} WHERE ID IN ({self.clients.ours()}) AND COMMAND = 'Query'")
        there = {query: state for _, query, state in rows if (state or "") not in OUTSIDE}
        self.tally.looks += 1
        self.tally.there += len(there)
        aside = [query for query, state in there.items() if self.kind not in WORKING or state.startswith("Waiting for")]
        now, limit = time.monotonic(), self.limit()
        if limit is not None:
            self.limits = [(at, most) for at, most in self.limits if at > now - LIMIT_S] + [(now, limit)]
            beyond = max(0, len(there) - len(aside) - max(most for _, most in self.limits), len(aside) - self.aside_max)
            # Who was there before it was known as long, or before the limit came down, may end what it does.
            new = there.keys() - (there.keys() if self.known is None else self.known)
            self.tally.over = max(self.tally.over, min(len(new), beyond))
            self.tally.over_with_old = max(self.tally.over_with_old, beyond)
        self.known = set(there)

    def progress(self):
        """What long work has got so far, as a figure and in words: CPU time per second where it works, bytes per second where it
        reads, else how many were at the server in the mean."""
        seconds = time.monotonic() - self.begun
        ended = sum(at > self.begun for _, at in list(self.clients.done))
        there = self.tally.there / self.tally.looks
        words = f"{there:.1f} of {self.clients.count} at the server, {ended} ended"
        if self.kind in WORKING:
            share = (self._cpu_s() - self.cpu) / seconds
            return share, f"{share:.2f} s of CPU per second, {words}"
        if self.kind == "dump":
            rate = (self.clients.bytes - self.bytes) / seconds
            return rate, f"{rate / 1e6:.2f} MB/s, {words}"
        return there, words

    def _cpu_s(self):
        """CPU time of the server's threads that serve it, which stay the same from login to end."""
        total = 0
        for thread, *_ in self.admin.query(f"{HERE} WHERE ID IN ({self.clients.ours()})"):
            with open(f"/proc/{self.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e9
