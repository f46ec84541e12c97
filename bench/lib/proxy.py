"""What stands between clients and server: HAProxy, or the guard; and a guard to be attacked, with its log, its status, its descriptors."""
import http.client
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time

from .process import configured, end, ends_with_bench, free_port

START_S = 15
HAPROXY = """
global
    maxconn 5000
    nbthread {threads}
defaults
    mode tcp{options}
    timeout connect 10s
    timeout client 10m
    timeout server 10m
    timeout queue 10m
frontend clients
    bind 127.0.0.1:{port}
    maxconn 4000
    default_backend servers
backend servers
    server one 127.0.0.1:{backend}{maxconn}
"""


class Proxy:
    """A process that listens on `port`; its own CPU time can be asked for."""

    def __init__(self, command_of):
        self.command_of = command_of

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="evenkeel-bench-")
        self.port = free_port()
        self.log = open(os.path.join(self.home, "log"), "w")
        self.process = subprocess.Popen(self.command_of(self.port, self.home), stdout=self.log, stderr=self.log,
                                        preexec_fn=ends_with_bench())
        deadline = time.monotonic() + 20
        while not self._listens():
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = open(os.path.join(self.home, "log")).read()[-2000:]
                self.__exit__()
                raise RuntimeError(f"the proxy does not listen: {text}")
            time.sleep(0.05)
        return self

    def _listens(self):
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def cpu_seconds(self):
        """User and system time of the process so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *_):
        end(self.process, 15)
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)


def haproxy(backend, maxconn=None, threads=1, options=()):
    """HAProxy in TCP mode, free or with a limit of connections that the server gets."""
    def command(port, home):
        limit = f" maxconn {maxconn}" if maxconn else ""
        path = os.path.join(home, "haproxy.cfg")
        with open(path, "w") as file:
            file.write(HAPROXY.format(port=port, backend=backend, maxconn=limit, threads=threads,
                                      options="".join(f"\n    option {name}" for name in options)))
        return ["haproxy", "-f", path, "-db"]
    return Proxy(command)


def guard(binary, backend, controller="evenkeel", limit=None, more=None, journal=False):
    """The guard with one of its controllers and more settings. Its journal is a file of its folder, which is also its home."""
    def command(port, folder):
        settings = {"listen": f"127.0.0.1:{port}", "backend": f"127.0.0.1:{backend}", "control.controller": controller,
                    **(more or {})}
        if limit:
            settings["control.initial_limit"] = limit
        if journal:
            settings["control.journal"] = os.path.join(folder, "journal")
        return [binary, "--home", folder, "guard", *configured(os.path.join(folder, "guard.toml"), settings)]
    return Proxy(command)


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
        """Transactions that have a permit; older guards know fewer kinds of these."""
        status = self.status()
        return sum(status.get(kind, 0) for kind in ("running", "long_running", "aside", "lent", "loans", "asleep"))

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
        if self.process is not None:
            end(self.process, 15)

    def __exit__(self, *_):
        # Nobody waits for transactions of an attack.
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
