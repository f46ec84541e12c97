"""Attacks on the limit itself: work without a permit, and permits without work."""
import contextlib
import time

from ..wire import QUERY, Session, SqlError, packet
from .scene import BIG, FIXED, NotRun, together, until

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


def work_passes_as_release(scene):
    server = scene.site.server
    server.sql("CREATE TABLE IF NOT EXISTS shop.v (v BIGINT)")
    guard = scene.guard(server.port, *FIXED, "1")
    client = scene.session(guard.address)

    def admitted(act, text):
        """Permits that a statement took."""
        before = guard.metric("tenant_admitted_total")
        try:
            act(text)
        except SqlError as error:
            if error.code == 1064:
                return None
        # Tenants are counted every half second.
        until(lambda: guard.metric("tenant_admitted_total") > before, 1.2)
        return guard.metric("tenant_admitted_total") - before
    if not admitted(client.query, "SELECT 1"):
        raise NotRun("the guard does not count the permit of a SELECT")
    queued = [text for text in BARE if admitted(client.query, text)]
    scene.judge(not queued, f"{len(queued)} of {len(BARE)} bare releases need a permit")
    permits = {text: admitted(client.query, text) for text in RELEASES}
    permits |= {"prepared " + text: admitted(client.execute, text) for text in RELEASES[:2]}
    known = {text: permit for text, permit in permits.items() if permit is not None}
    if len(known) < 8:
        raise NotRun(f"the server knows only {len(known)} of these statements")
    free = [text for text, permit in known.items() if permit == 0]
    scene.judge(not free, f"{len(free)} of {len(known)} statements that work need no permit"
                + (f": {free[0]}" if free else ""))
    named_locks(scene, server)


def named_locks(scene, server):
    """200 sessions, each with a lock of its own, wait for a row at a limit of 2."""
    scene.clear(server)
    guard = scene.guard(server.port, *FIXED, "2")
    clients = scene.sessions(200, guard.address, seconds=60)
    for number, client in enumerate(clients):
        if client.query(f"SELECT GET_LOCK('own{number}', 0)") != [["1"]]:
            raise NotRun("a named lock was not given")
    owner = scene.session(server.port)
    owner.query("BEGIN")
    owner.query("SELECT * FROM shop.t WHERE id = 1 FOR UPDATE")
    statement = "SELECT v FROM shop.t WHERE id = 1 FOR UPDATE"
    for client in clients:
        client.ask(statement)
    found, begun = [], time.monotonic()
    with Session(server.port, b"watcher") as watcher:
        while time.monotonic() - begun < 0.9:
            ((count,),) = watcher.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app' AND "
                                        "info LIKE 'SELECT v FROM%'")
            found.append(int(count))
            time.sleep(0.05)
    owner.query("COMMIT")
    if max(found) < 2:
        raise NotRun("no statement came to the server")
    scene.judge(max(found) <= 72, f"200 holders of locks of their own: {max(found)} run at once at limit 2")
    for client in clients:
        with contextlib.suppress(SqlError):
            client.result()


PAUSE_S, SHORTS, LONGS = 0.01, 4, 12


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
    span = 3 if scene.quick else 8
    for name, long in (("sleepers", sleepers), ("stalled readers", stalled), ("half packets", half_packets)):
        rates = {}
        for way in ("direct", "guarded"):
            guard = scene.guard(server.port, *FIXED, "8") if way == "guarded" else None
            address = guard.address if guard else server.port
            alone = short_rate(address, span)
            clients = threading_open(long, address)
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
            scene.unknown(f"{LONGS} {name} starve the server itself: {direct:.0f}/s to {direct_beside:.0f}/s")
            continue
        kept = (guarded_beside / guarded) / (direct_beside / direct) if guarded else 0
        scene.judge(kept >= 0.5, f"{LONGS} {name}: {guarded:.0f}/s to {guarded_beside:.0f}/s "
                    f"(direct {direct:.0f} to {direct_beside:.0f})")


def threading_open(long, address):
    """Long statements under way. Those of a guard that starves its clients come one by one: they are not waited for."""
    found = together(LONGS, lambda _: long(address))
    opened = [client for client in found if isinstance(client, Session)]
    if len(opened) < LONGS / 2:
        raise NotRun(f"{len(opened)} of {LONGS} long statements could be sent: {found[0]}")
    return opened


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
