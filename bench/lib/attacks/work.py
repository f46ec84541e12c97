"""Attacks on the limit itself: work without a permit, and permits without work."""
import contextlib
import selectors
import threading
import time

from ..wire import LOCAL_FILES, QUERY, Session, SqlError, connect, hello, packet
from .scene import BIG, NotRun, fixed, together, until

RELEASES = [
    "UPDATE shop.t SET v = v + 1 WHERE RELEASE_ALL_LOCKS() = 0",
    "INSERT INTO shop.v VALUES (RELEASE_ALL_LOCKS())",
    "DELETE FROM shop.v WHERE RELEASE_LOCK('a') = 0",
    "DO RELEASE_ALL_LOCKS(), BENCHMARK(1000, MD5('a'))",
    "/*!40000 DO RELEASE_ALL_LOCKS(), BENCHMARK(1000, MD5('a')) */",
    "SELECT RELEASE_ALL_LOCKS(), BENCHMARK(1000, MD5('a'))",
    "SELECT RELEASE_LOCK('a') FROM shop.seq_1_to_1000",
    "SELECT RELEASE_LOCK((SELECT COUNT(*) FROM shop.t))",
    "SELECT RELEASE_ALL_LOCKS() UNION SELECT BENCHMARK(1000, MD5('a'))",
    "KILL QUERY BENCHMARK(1000, MD5('a'))",
    "KILL 4000000000 + BENCHMARK(1000, MD5('a'))",
]
BARE = ["SELECT RELEASE_LOCK('a')", "SELECT RELEASE_ALL_LOCKS()", "DO RELEASE_LOCK('a')", "KILL QUERY 4000000000"]

# What is looked at for this long has been counted anew several times: tenants are every half second.
COUNTED_S, TIMES = 2, 8
PAUSE_S = 0.01
SHORTS, LONGS = 4, 12
# What any client may have, or seem to have, in all of its sessions at once.
CHEAP = {
    "a lock of their own": ["SELECT GET_LOCK('own{}', 0)"],
    "BACKUP LOCK": ["BACKUP LOCK shop.t"],
    "a lock that stands in a comment": ["/*!999999 FLUSH TABLES WITH READ LOCK; */ SELECT 1{}"],
    "an XA transaction that stands in a comment": ["/*!999999 XA PREPARE 'own'; */ SELECT 1{}"],
}


def work_passes_as_release(scene):
    server = scene.site.server
    server.sql("CREATE TABLE IF NOT EXISTS shop.v (v BIGINT)")
    guard = scene.guard(server.port, fixed(1))
    client = scene.session(guard.address)

    def admitted(act, text):
        """Permits that a statement took each time that it ran, on the average; nothing for what the server does not know."""
        before = guard.metric("tenant_admitted_total")
        for _ in range(TIMES):
            try:
                act(text)
            except SqlError as error:
                if error.code == 1064:
                    return None
        wanted = before + TIMES
        until(lambda: guard.metric("tenant_admitted_total") >= wanted, COUNTED_S)
        return (guard.metric("tenant_admitted_total") - before) / TIMES
    if (admitted(client.query, "UPDATE shop.v SET v = v") or 0) < 1:
        raise NotRun("the guard does not count the permits of an UPDATE")
    queued = [text for text in BARE if admitted(client.query, text)]
    scene.judge(not queued, f"{len(queued)} of {len(BARE)} bare releases need a permit")
    permits = {text: admitted(client.query, text) for text in RELEASES}
    permits |= {"prepared " + text: admitted(client.execute, text) for text in RELEASES[:2]}
    known = {text: permit for text, permit in permits.items() if permit is not None}
    if len(known) < 8:
        raise NotRun(f"the server knows only {len(known)} of these statements")
    free = [text for text, permit in known.items() if permit < 1]
    scene.judge(not free, f"{len(free)} of {len(known)} statements that work need no permit"
                + (f": {free[0]}" if free else ""))
    guard.__exit__()
    crowd(scene, server)
    for how, takes in CHEAP.items():
        holders(scene, server, how, takes)


def crowd(scene, server):
    """Many clients at a limit of 2 with work that calls itself a release, over and over."""
    guard = scene.guard(server.port, fixed(2))
    clients = scene.sessions(40, guard.address, seconds=60)
    texts = [text.replace("1000,", "20000,") for text in RELEASES if "BENCHMARK(1000," in text]
    with Loop(clients, lambda number: texts[number % len(texts)]) as loop:
        most = watched(server, "BENCHMARK", 3 if scene.quick else 15)
    if loop.done < 40:
        raise NotRun(f"only {loop.done} statements of 40 clients ended")
    # Besides the limit there may be as many in the long lane, and one that the liveness rule let in.
    scene.judge(most <= 5, f"40 clients with work in the guise of releases: {most} run at once at limit 2")
    guard.__exit__()


def watched(server, like, span):
    """Most statements of the attack that the server ran at once, seen for so long."""
    most, end = 0, time.monotonic() + span
    with Session(server.port, b"watcher", seconds=60) as watcher:
        while time.monotonic() < end:
            ((count,),) = watcher.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app' AND "
                                        f"info LIKE '%{like}%'")
            most = max(most, int(count))
            time.sleep(0.05)
    return most


class Loop:
    """Clients, each with one statement after the other, until it is left; one thread for all."""

    def __init__(self, clients, text):
        self.clients, self.text, self.done, self.left = clients, text, 0, False
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def _run(self):
        with selectors.DefaultSelector() as waiting:
            for number, client in enumerate(self.clients):
                client.ask(self.text(number))
                waiting.register(client.link, selectors.EVENT_READ, (number, client))
            while not self.left:
                for key, _ in waiting.select(0.1):
                    number, client = key.data
                    with contextlib.suppress(SqlError):
                        client.result()
                    client.ask(self.text(number))
                    self.done += 1

    def __exit__(self, *_):
        self.left = True
        self.thread.join()


def holders(scene, server, how, takes):
    """200 sessions of a tenant, each with what costs it nothing, at a limit of 2; and a client of another tenant beside them."""
    scene.clear(server)
    guard = scene.guard(server.port, fixed(2))
    clients = scene.sessions(200, guard.address, seconds=60)
    for number, client in enumerate(clients):
        for text in takes:
            try:
                given = client.query(text.format(number)) != [["0"]]
            except SqlError as error:
                raise NotRun(f"{how} was not given: {error}") from None
            if not given:
                raise NotRun(f"{how} was not given")
    span, served = 5 if scene.quick else 20, []

    def other():
        """How often somebody else is served, who pauses in between."""
        with contextlib.suppress(OSError, SqlError), Session(guard.address, b"low", seconds=span) as client:
            end = time.monotonic() + span
            while time.monotonic() < end:
                client.query("SELECT 1")
                served.append(None)
                time.sleep(PAUSE_S)
    neighbour = threading.Thread(target=other, daemon=True)
    # About 2 ms of a CPU: many beside each other are not long.
    with Loop(clients, lambda _: "SELECT BENCHMARK(10000, MD5('a'))") as loop:
        neighbour.start()
        most = watched(server, "BENCHMARK", span)
    neighbour.join()
    if most < 2 or loop.done < 200:
        raise NotRun(f"only {loop.done} statements ended, {most} at once")
    # The limit, four who hold locks and pass the queue, two in the long lane, and one that the liveness rule let in.
    scene.judge(most <= 9, f"200 holders of {how}: {most} run at once at limit 2")
    scene.judge(len(served) >= span, f"beside them another tenant is served {len(served) / span:.1f} times a second")
    guard.__exit__()


def sleepers(address):
    client = Session(address, seconds=60)
    client.ask("SELECT SLEEP(60)")
    return client


def stalled(address):
    client = Session(address, seconds=60)
    client.ask(BIG)
    return client


def half_packets(address):
    client = Session(address, seconds=60)
    client.query("BEGIN")
    client.query("SELECT * FROM shop.t")
    client.link.sendall(packet(bytes([QUERY]) + b"SELECT 1 -- " + b" " * 300)[:100])
    return client


def as_many_long_statements_as_the_limit(scene):
    server = scene.site.server
    scene.clear(server)
    span = 2 if scene.quick else 8
    for name, long in (("sleepers", sleepers), ("stalled readers", stalled), ("half packets", half_packets)):
        for count in (LONGS,) if scene.quick else (LONGS, 64):
            beside_long(scene, server, f"{count} {name}", (long, count), span)


def beside_long(scene, server, name, work, span):
    """Short statements before and beside so many long ones, direct and through a guard."""
    rates = {}
    for way in ("direct", "guarded"):
        guard = scene.guard(server.port, fixed(8)) if way == "guarded" else None
        address = guard.address if guard else server.port
        alone = short_rate(address, span)
        clients = opened(address, *work)
        # A guard may take a moment to learn that statements do not end, not more.
        time.sleep(2)
        beside = short_rate(address, span)
        for client in clients:
            client.link.close()
        server.sql("KILL USER app")
        if guard:
            guard.__exit__()
        rates[way] = (alone, beside)
    (direct, direct_beside), (guarded, guarded_beside) = rates["direct"], rates["guarded"]
    if direct_beside < direct / 2:
        return scene.unknown(f"{name} starve the server itself: {direct:.0f}/s to {direct_beside:.0f}/s")
    kept = (guarded_beside / guarded) / (direct_beside / direct) if guarded else 0
    return scene.judge(kept >= 0.5, f"{name}: {guarded:.0f}/s to {guarded_beside:.0f}/s "
                       f"(direct {direct:.0f} to {direct_beside:.0f})")


def opened(address, long, count):
    """Long statements under way. Those of a guard that starves its clients come one by one: they are not waited for."""
    found = together(count, lambda _: long(address))
    clients = [client for client in found if isinstance(client, Session)]
    if len(clients) < count / 2:
        raise NotRun(f"{len(clients)} of {count} long statements could be sent: {found[0]}")
    return clients


def short_rate(address, span):
    """Short statements per second by a few clients that pause in between."""
    end = time.monotonic() + span

    def one(_):
        count = 0
        with Session(address, seconds=span + 20) as client:
            while time.monotonic() < end:
                client.query("SELECT 1")
                count += 1
                time.sleep(PAUSE_S)
        return count
    return sum(count for count in together(SHORTS, one) if isinstance(count, int)) / span


def commands_inside_a_file(scene):
    """A server that is sent a packet out of its order gives a file up, and takes what is in that packet for commands."""
    server = scene.site.server
    server.sql("SET GLOBAL local_infile = 1; CREATE TABLE IF NOT EXISTS shop.f (words VARCHAR(100))")
    guard = scene.guard(server.port, fixed(8))
    if not runs_out_of_a_file(server, server.port, "direct"):
        raise NotRun("the server itself runs no commands out of a file")
    scene.judge(not runs_out_of_a_file(server, guard.address, "guarded"), "a command in a packet of a file, out of its order")
    with Session(guard.address) as honest:
        honest.query("SELECT 1")


def runs_out_of_a_file(server, address, words):
    """Whether a statement was run that was sent as a part of a file."""
    hidden = packet(bytes([QUERY]) + f"INSERT INTO shop.f VALUES ('{words}')".encode())
    said = [packet(hello(b"app", more=LOCAL_FILES), 1),
            packet(bytes([QUERY]) + b"LOAD DATA LOCAL INFILE 'x' INTO TABLE shop.f"),
            # The head of an empty command is all that the server takes for a part of the file, and refuses.
            packet(b"\0\0\0\x4d" + hidden, 9)]
    with connect(address) as link, contextlib.suppress(OSError):
        for part in said:
            link.recv(1 << 16)
            link.sendall(part)
        link.recv(1 << 16)
        time.sleep(1)
    return "1" in server.sql(f"SELECT COUNT(*) FROM shop.f WHERE words = '{words}'").stdout
