"""What an attack needs, and what it saw: servers, guards, clients, and a verdict for each of its parts."""
import contextlib
import functools
import os
import subprocess
import tempfile
import threading
import time

from ..proxy import Guard
from ..server import Server
from ..wire import Session

ACCOUNTS = """
DELETE FROM mysql.global_priv WHERE user = '';
FLUSH PRIVILEGES;
CREATE DATABASE IF NOT EXISTS shop;
CREATE TABLE IF NOT EXISTS shop.t (id INT PRIMARY KEY, v BIGINT) ENGINE=InnoDB;
INSERT IGNORE INTO shop.t VALUES (1, 0), (2, 0);
CREATE USER IF NOT EXISTS app@'%', low@'%', watcher@'%';
GRANT ALL ON shop.* TO app@'%';
GRANT PROCESS ON *.* TO watcher@'%';
GRANT SELECT ON mysql.* TO watcher@'%';
"""
# A result that no buffer takes.
BIG = "SELECT REPEAT('x', 1000) FROM shop.seq_1_to_1000000"


class NotRun(Exception):
    """What the attack needs is not there, so nothing is known."""


class Site:
    """What attacks share: the binary and the servers that one need not have to itself."""

    def __init__(self, binary, quick):
        self.binary, self.quick = binary, quick
        self.stack = contextlib.ExitStack()

    @functools.cached_property
    def folder(self):
        return self.stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-"))

    @functools.cached_property
    def server(self):
        """Without TLS; takes the PROXY protocol from this host, as from nobody else."""
        return self._prepared("--max-connections=1200", "--skip-ssl", "--proxy-protocol-networks=127.0.0.1,localhost")

    @functools.cached_property
    def tls_server(self):
        """With TLS; its certificate is for `localhost`, signed by the authority `ca.pem` of the folder."""
        certify(self.folder, "localhost")
        return self._prepared(*[f"--ssl-{kind}={self.folder}/{name}" for kind, name in
                                (("ca", "ca.pem"), ("cert", "server.pem"), ("key", "server.key"))])

    def _prepared(self, *settings):
        server = self.stack.enter_context(Server(settings=settings))
        prepare(server)
        return server


def fixed(limit):
    """Settings of a guard that keeps a limit."""
    return {"control.controller": "fixed", "control.initial_limit": limit}


def prepare(server):
    """Accounts and a table."""
    done = server.sql(ACCOUNTS)
    if done.returncode != 0:
        raise NotRun(f"the server takes no accounts: {done.stderr.strip()}")


def certify(folder, name):
    """An authority, made once, and a certificate of the server for this name."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    if not os.path.exists(os.path.join(folder, "ca.pem")):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=authority of a bench", "-keyout", "ca.key", "-out", "ca.pem")
    with open(os.path.join(folder, "names"), "w", encoding="utf-8") as file:
        file.write(f"subjectAltName=DNS:{name}")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
            "-keyout", "server.key", "-out", "server.csr")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.pem")


class Scene:
    """One attack: what it opened goes with it, and what it saw stays."""

    def __init__(self, site):
        self.site, self.quick = site, site.quick
        self.stack = contextlib.ExitStack()
        self.probes = []

    # What was seen of the parts of an attack.

    def held(self, what):
        self.probes.append((True, what))

    def through(self, what):
        self.probes.append((False, what))

    def judge(self, repelled, what):
        self.probes.append((bool(repelled), what))

    def unknown(self, why):
        self.probes.append((None, why))

    # What an attack needs.

    def guard(self, backend, settings=None, **more):
        return self.stack.enter_context(Guard(self.site.binary, backend, settings, **more))

    def session(self, address, *rest, **more):
        return self.stack.enter_context(Session(address, *rest, **more))

    def sessions(self, count, address, *rest, **more):
        return [self.session(address, *rest, **more) for _ in range(count)]

    def clear(self, server):
        """Ends what the clients of an attack left running at a server that is shared."""
        self.stack.callback(server.sql, "KILL USER app; KILL USER low")


def until(seen, seconds, pause=0.1):
    """Whether it was seen within so many seconds."""
    deadline = time.monotonic() + seconds
    while not (found := seen()):
        if time.monotonic() > deadline:
            return found
        time.sleep(pause)
    return found


def took(act):
    """Seconds that it took, or None where it failed."""
    begun = time.monotonic()
    try:
        act()
    except (OSError, ValueError):
        return None
    return time.monotonic() - begun


def select(address, **more):
    """Seconds from the connection to the answer of a short statement, or None where there was none."""
    def once():
        with Session(address, **more) as session:
            session.query("SELECT 1")
    try:
        return took(once)
    except Exception:  # An error of the server's is no answer either.
        return None


def seconds(value):
    return "no answer" if value is None else f"{value:.2f} s"


def together(count, act):
    """Results of `act(number)` in so many threads that begin at one instant; exceptions are results too."""
    found, barrier = [None] * count, threading.Barrier(count)

    def run(number):
        try:
            barrier.wait(30)
            found[number] = act(number)
        except Exception as error:  # Whatever a client meets is what it saw.
            found[number] = error
    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
