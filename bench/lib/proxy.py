"""What stands between clients and server: HAProxy, or the guard."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

from .configured import configured
from .process import ends_with_bench

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


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


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
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
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
