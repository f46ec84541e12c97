"""A guard to be attacked: its log, its status, its descriptors."""
import http.client
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

from .configured import configured
from .process import ends_with_bench
from .proxy import free_port

START_S = 15


class NotStarted(Exception):
    """The guard ended, or did not listen; its last words."""


class Guard:
    """Up on entering, down and gone on leaving. `backend` is a port or an address, `settings` are keys of its file, `listen`
    a socket's path or nothing for a port of its own, `files` how many files it may open, `before` what the child does before
    it becomes the guard."""

    def __init__(self, binary, backend, settings=None, listen=None, files=None, before=None):
        self.binary, self.files, self.before = binary, files, before
        self.port, self.observed = free_port(), free_port()
        self.address = listen or self.port
        self.settings = {
            "listen": listen or f"127.0.0.1:{self.port}",
            "backend": f"127.0.0.1:{backend}" if isinstance(backend, int) else backend,
            "metrics": f"127.0.0.1:{self.observed}", **(settings or {})}
        self.process = None

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="evenkeel-bench-")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def write(self, **changed):
        """Writes its file; the words that name it."""
        return configured(os.path.join(self.home, "guard.toml"), self.settings | changed)

    def _start(self):
        after_fork = ends_with_bench()

        def before():
            after_fork()
            if self.files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, self.files))
            if self.before:
                self.before()
        with open(os.path.join(self.home, "log"), "w", encoding="utf-8") as log:
            command = [self.binary, "--home", self.home, "guard", *self.write()]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=before)
        deadline = time.monotonic() + START_S
        while not self._serves():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise NotStarted(f"the guard does not listen: {' '.join(self.log().split())[-300:]}")
            time.sleep(0.05)

    def _serves(self):
        """Whether it listens, and has something to show."""
        try:
            return "event=listening" in self.log() and self.status()
        except (OSError, ValueError):
            return False

    def log(self):
        with open(os.path.join(self.home, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def warnings(self, word="", since=0):
        """Warnings and errors in the log with a word, whatever its case, from a place in it."""
        return [line for line in self.log()[since:].splitlines()
                if ("level=warn" in line or "level=error" in line) and word in line.lower()]

    def get(self, path, seconds=5):
        """Status code and body of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.observed, timeout=seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def status(self):
        return json.loads(self.get("/status")[1])

    def busy(self):
        """Transactions that have a permit, lent ones included; older guards know fewer kinds of these."""
        status = self.status()
        return sum(status.get(kind, 0) for kind in ("running", "lent", "loans", "asleep"))

    def metric(self, name):
        """The sum of a metric over its labels."""
        pattern = re.compile(rf"^evenkeel_guard_{name}(?:\{{.*\}})? (\S+)$", re.M)
        return sum(map(float, pattern.findall(self.get("/metrics")[1])))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def lives(self):
        return self.process.poll() is None

    def stop(self):
        """SIGTERM, and the end; a guard that does not end is killed."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __exit__(self, *_):
        # Nobody waits for transactions of an attack.
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
