"""Closed clients of one short statement, by hand: they are there before anything else begins, and whenever somebody asks."""
import contextlib
import random
import socket
import statistics
import threading
import time

from . import wire


class Shorts:
    """So many clients through a port, each with one statement after the other; gone on leaving."""

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
