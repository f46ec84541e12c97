"""Attacks by way of hosts: one that vanishes, one that takes another's place, clients of this one and of others."""
import contextlib
import ctypes
import os
import shutil
import subprocess
import time

from ..process import LIBC
from ..server import PATH, Server
from ..wire import Session
from .scene import BIG, NotRun, fixed, prepare, seconds, select, together, until

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
VANISH_S = 40
# What a guard may add to what a client needs that connects by itself at the same instant; who waits for a lost permit, and
# for the liveness rule in the end, waits a second.
ADDED_S = 0.5


class Elsewhere(Server):
    """A server on a host of its own: a network namespace behind a pair of virtual cables."""

    def __init__(self, name, port, address):
        super().__init__(settings=[f"--bind-address={address}", f"--port={port}", "--skip-ssl"])
        self.name = name

    def _confine(self, before):
        confined = super()._confine(before)
        path = f"/run/netns/{self.name}".encode()

        def moved():
            confined()
            place = os.open(path, os.O_RDONLY)
            if LIBC.setns(place, CLONE_NEWNET) != 0:
                os._exit(1)
            os.close(place)
        return moved


def ip(*words):
    done = subprocess.run([shutil.which("ip", path=PATH) or "ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotRun(f"ip {' '.join(words)}: {done.stderr.strip()}")


def quietly(*words):
    """At the end, when what is to go may be gone already."""
    with contextlib.suppress(NotRun):
        ip(*words)


def network(stack):
    """A namespace with a cable to it: its name, the near and the far address, and the name of its end."""
    number = os.getpid() % 60_000
    name, near, far = f"evenkeel{number}", f"ek{number}a", f"ek{number}b"
    net = f"10.{200 + number % 50}.{number // 50 % 250}"
    ip("netns", "add", name)
    stack.callback(quietly, "netns", "del", name)
    ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
    stack.callback(quietly, "link", "del", near)
    ip("addr", "add", f"{net}.1/30", "dev", near)
    ip("link", "set", near, "up")
    ip("-n", name, "addr", "add", f"{net}.2/30", "dev", far)
    ip("-n", name, "link", "set", far, "up")
    ip("-n", name, "link", "set", "lo", "up")
    return name, f"{net}.2", far


def with_hosts(path):
    """What a child does to have a hosts file of its own, that nobody else sees."""
    source = path.encode()

    def before():
        private, bound = ctypes.c_ulong(MS_REC | MS_PRIVATE), ctypes.c_ulong(MS_BIND)
        if LIBC.unshare(CLONE_NEWNS) or LIBC.mount(b"none", b"/", None, private, None) \
                or LIBC.mount(source, b"/etc/hosts", None, bound, None):
            os._exit(1)
    return before


def a_backend_host_that_vanishes(scene):
    if os.geteuid() != 0:
        raise NotRun("it needs root, for network namespaces")
    near = scene.site.server
    name, address, cable = network(scene.stack)
    far = scene.stack.enter_context(Elsewhere(name, near.port, address))
    prepare(far)
    scene.clear(near)
    hosts = os.path.join(far.home, "hosts")

    def point(to):
        # The same file: it is mounted.
        with open(hosts, "w", encoding="utf-8") as file:
            file.write(f"127.0.0.1 localhost\n{to} database.example\n")
    point(address)
    # As short as it may be where nobody has time.
    hurry = {"backend_silence": "6s"} if scene.quick else {}
    by_name = scene.guard(f"database.example:{near.port}", fixed(2), before=with_hosts(hosts))
    by_address = scene.guard(f"{address}:{near.port}", fixed(2) | hurry)
    for row, guard in enumerate((by_name, by_address), 1):
        occupy(scene, guard, row)
    failover(scene, by_name, point, near)
    ip("-n", name, "link", "set", cable, "down")
    begun = time.monotonic()
    until(lambda: by_address.busy() == 0, VANISH_S, 0.5)
    left, waited = by_address.busy(), time.monotonic() - begun
    scene.judge(left == 0, f"the host vanished: {left} permits out after {waited:.0f} s")
    for turn in range(1 if scene.quick else 4):
        if turn:
            # So that the network is asked again where the host is.
            ip("-n", name, "link", "set", cable, "down")
            time.sleep(3 + 0.3 * turn)
        returned(scene, by_address, (address, near.port), lambda: ip("-n", name, "link", "set", cable, "up"))


def occupy(scene, guard, row):
    """Fills a limit of 2 with statements that sleep or wait for a row, results that nobody reads, an open transaction."""
    clients = scene.sessions(9, guard.address, seconds=60)
    for client in clients[:4]:
        client.ask("SELECT SLEEP(200) FROM (SELECT 1) AS row")
    for client in clients[4:6]:
        client.ask(BIG)
    clients[6].query("BEGIN")
    clients[6].query(f"SELECT * FROM shop.t WHERE id = {row} FOR UPDATE")
    for client in clients[7:]:
        client.ask(f"UPDATE shop.t SET v = v + 1 WHERE id = {row}")
    if not until(lambda: guard.busy() >= 2, 5):
        raise NotRun("no statement runs at the server that is to vanish")


def returned(scene, guard, host, bring_back):
    """The host is back. Nobody reaches it before the network has found it again: the kernel asks for it once a second, and
    says meanwhile that there is no way, or lets a client wait. What a client beside the guard needs from the same instant on,
    trying again and again, is no fault of the guard."""
    ways = (host, guard.address)

    def reach(number):
        begun = time.monotonic()
        return until(lambda: select(ways[number], seconds=15), 15, 0.02) and time.monotonic() - begun
    bring_back()
    direct, guarded = together(2, reach)
    if direct is None:
        return scene.unknown("the host that came back does not answer direct")
    scene.judge(guarded is not None and guarded < direct + ADDED_S,
                f"and when it is back SELECT 1 in {seconds(guarded)}, direct in {seconds(direct)}")
    later = [select(guard.address, seconds=15) or 99 for _ in range(5)]
    return scene.judge(max(later) < ADDED_S, f"then in {seconds(max(later))} at most")


def failover(scene, guard, point, successor):
    """The name leads to another server while the old one still works on what fills the limit."""
    point("127.0.0.1")

    def arrived():
        with contextlib.suppress(Exception):
            with Session(guard.address, seconds=10) as session:
                begun = time.monotonic()
                if session.query("SELECT @@hostname, @@port, @@socket")[0][2] == successor.socket:
                    return time.monotonic() - begun
        return None
    if not until(arrived, 50, 1):
        return scene.unknown("the guard did not follow the server's name")
    times = sorted(until(arrived, 5) or 99 for _ in range(3 if scene.quick else 15))
    # Statements that sleep stand aside anyway: the guard has to know that this is another server.
    known = guard.metric("failovers_total")
    scene.judge(known, f"the guard {'knows' if known else 'does not know'} of the failover")
    middle = times[len(times) // 2]
    scene.judge(middle < 0.5, f"after a failover a statement at the new server takes {middle:.2f} s"
                + ("" if middle < 0.5 else ": it waits for permits of the old one"))
    return None


def host_based_accounts(scene):
    """Accounts of this host, through a guard on it."""
    server = scene.site.server
    server.sql("CREATE USER IF NOT EXISTS near@'127.0.0.1', far@'127.0.0.2'; GRANT ALL ON shop.* TO near@'127.0.0.1'")
    scene.stack.callback(server.sql, "DROP USER near@'127.0.0.1', far@'127.0.0.2'")
    if select(server.port, user=b"near") is None or select(server.port, user=b"near", source="127.0.0.2") is not None:
        raise NotRun("the server does not tell hosts apart")
    guard = scene.guard(server.port, {"control.monitor": f"mysql://watcher@127.0.0.1:{server.port}"})
    said = until(lambda: guard.warnings("near"), 8)
    scene.judge(said, "the start warns" if said else "the start says nothing of them")
    guard = scene.guard(server.port, {"refuse_host_accounts": True})
    near, app = (select(guard.address, user=user) for user in (b"near", b"app"))
    scene.judge(near is None and app is not None,
                f"refuse_host_accounts: near@127.0.0.1 {seconds(near)}, app@% {seconds(app)}")
    proxied(scene, server)


def proxied(scene, server):
    """Who the server takes a client for that comes from 127.0.0.2."""
    asked = "SELECT USER()"
    with Session(server.port, b"app", source="127.0.0.2") as direct:
        if direct.query(asked) != [["app@127.0.0.2"]]:
            raise NotRun("the server does not see the address of a client")
    with Session(server.port, b"app", first=b"PROXY TCP4 127.0.0.2 127.0.0.1 4000 3306\r\n") as told:
        if told.query(asked) != [["app@127.0.0.2"]]:
            raise NotRun("the server does not take the PROXY protocol from this host")
    guard = scene.guard(server.port, {"proxy_protocol": True})
    with Session(guard.address, b"app", source="127.0.0.2") as client:
        ((who,),) = client.query(asked)
    scene.judge(who == "app@127.0.0.2", f"proxy_protocol: a client of 127.0.0.2 is {who}")
    stranger, far = (select(guard.address, user=user, source="127.0.0.2") for user in (b"near", b"far"))
    scene.judge(stranger is None and far is not None,
                f"it logs in as near@127.0.0.1: {seconds(stranger)}, as far@127.0.0.2: {seconds(far)}")
