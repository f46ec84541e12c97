"""Attacks by sessions that are logged in."""
import contextlib
import socket
import struct
import subprocess
import threading
import time

from ..process import ends_with_bench
from ..wire import Session, SqlError
from .scene import BIG, NotRun, fixed, seconds, select, together, until

# Work that uses a processor and nothing else: about half a second.
WORK = "BENCHMARK(1500000, MD5('a'))"
LITTLE_WORK = "BENCHMARK(200000, MD5('a'))"


def a_client_that_dies_in_the_middle_of_a_result(scene):
    server = scene.site.server
    scene.clear(server)
    ways = [("kill -9", killed, 10), ("a reset", reset, 10)]
    if not scene.quick:
        ways += [("kill -9", killed, 40), ("a reset", reset, 200)]
    for how, die, count in ways:
        guard = scene.guard(server.port, fixed(2))
        before = guard.descriptors()
        clients = die(scene, guard, count)
        # The queue and its liveness rule let the others follow.
        until(lambda: guard.busy() >= 10, 6)
        most = guard.busy()
        if most < 2:
            raise NotRun(f"only {most} results were under way")
        clients()
        until(lambda: guard.busy() == 0 and guard.descriptors() <= before, 15)
        # Before the next client, whose own descriptors take a moment to go.
        left, opened = guard.busy(), guard.descriptors() - before
        times = [select(guard.address) or 99 for _ in range(5)]
        answer = max(times)
        scene.judge(left == 0 and opened <= 1, f"{count} clients ended by {how} with {most} running: {left} run on, "
                    f"{max(opened, 0)} descriptors stay")
        scene.judge(answer < 0.7, f"then SELECT 1 in {seconds(answer)} at most")
        begun = time.monotonic()
        guard.stop()
        drained = time.monotonic() - begun
        scene.judge(drained < 5, f"and a drain of {drained:.1f} s")


def killed(scene, guard, count):
    """Readers into a pipe that nobody reads; what ends them."""
    command = ["mariadb", "--no-defaults", "--quick", "--skip-ssl", "-h127.0.0.1", f"-P{guard.port}", "-uapp", "-e",
               BIG]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=ends_with_bench())
               for _ in range(count)]

    def end():
        for reader in readers:
            reader.kill()
            reader.wait()
            reader.stdout.close()
    scene.stack.callback(end)
    return end


def reset(scene, guard, count):
    clients = scene.sessions(count, guard.address)
    for client in clients:
        client.ask(BIG)

    def end():
        for client in clients:
            client.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.link.close()
    return end


# By number: what a replica would send.
STREAMS = {
    0x12: b"\x12" + struct.pack("<IHI", 4, 0, 77) + b"log.000001",
    0x13: b"\x13\x04shop\x01t",
    0x1e: b"\x1e" + struct.pack("<HII", 0, 77, 0) + struct.pack("<QI", 4, 8) + bytes(8),
    0x20: b"\x20",
    0x21: b"\x21" + bytes(8),
}


def a_stream_command_that_the_server_refuses(scene):
    server = scene.site.server
    scene.clear(server)
    for number, payload in STREAMS.items():
        with Session(server.port, b"low") as client:
            client.write(payload)
            if client.read()[:1] != b"\xff" or not client.ping():
                raise NotRun(f"the server itself does not refuse {number:#x} and go on")
    free = []
    for number, payload in STREAMS.items():
        for behind in (False, True):
            uncounted, most, count = unwatched(scene, server, payload, behind)
            # As many as in the short lane may be in the long one, and one that the liveness rule let in.
            if uncounted or most > 5:
                where = "in the same write" if behind else "after it"
                free.append(f"{number:#x}, {count} statements {where}: {uncounted} uncounted, {most} at once, limit 2")
    scene.judge(not free, f"{len(free)} of {2 * len(STREAMS)} ways leave the session unwatched: {free[0]}" if free else
                "after 0x12, 0x13, 0x1e, 0x20, 0x21 all is counted and waits, pipelined or not")


def unwatched(scene, server, payload, behind):
    """How many statements behind a refused command were not counted, how many ran at once, and how many there were."""
    statement, count = f"SELECT {LITTLE_WORK}", 12 if scene.quick else 40
    with contextlib.ExitStack() as stack:
        guard = scene.guard(server.port, fixed(2))
        clients = [stack.enter_context(Session(guard.address, b"low", seconds=60)) for _ in range(count)]
        before = guard.metric("commands_total")
        for client in clients:
            client.write(payload)
            if behind:
                client.ask(statement)
            if client.read()[:1] != b"\xff":
                raise NotRun("a stream command was not refused through the guard")
        if not behind:
            for client in clients:
                client.ask(statement)
        most = peak(server, statement, clients)
        until(lambda: guard.metric("commands_total") - before >= 2 * count, 1)
        uncounted = 2 * count - int(guard.metric("commands_total") - before)
        guard.__exit__()
    return max(uncounted, 0), most, count


def peak(server, like, clients):
    """Most of these statements that the server ran at once, watched until all have their answers."""
    most, done = 0, threading.Event()

    def read():
        for client in clients:
            with contextlib.suppress(OSError, SqlError):
                client.result()
        done.set()
    threading.Thread(target=read, daemon=True).start()
    begun = time.monotonic()
    with Session(server.port, b"watcher") as watcher:
        while not done.wait(0.05) and time.monotonic() - begun < 60:
            ((count,),) = watcher.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user <> 'watcher' AND "
                                        f"info LIKE '{like[:12]}%'")
            most = max(most, int(count))
    return most


# What HikariCP throws a connection away for, beside every state of class 08.
EVICTING_STATES = {"0A000", "57P01", "57P02", "57P03", "01002", "JZ0C0", "JZ0C1"}
EVICTING_CODES = {500150, 2399, 1105}


def refusals_carry_1040(scene):
    server = scene.site.server
    scene.clear(server)
    for key, bound in (("queue.length", 1), ("queue.wait", "200ms")):
        guard = scene.guard(server.port, {**fixed(1), key: bound})
        clients = scene.sessions(10, guard.address, seconds=60)

        def flood(number):
            try:
                clients[number].query(f"SELECT {WORK}")
                return None
            except SqlError as error:
                return error
        refused = [(clients[number], error) for number, error in enumerate(together(len(clients), flood))
                   if isinstance(error, SqlError)]
        if not refused:
            raise NotRun(f"{key} = {bound} refused nobody")
        error = refused[0][1]
        evicts = error.state.startswith("08") or error.state in EVICTING_STATES or error.code in EVICTING_CODES
        scene.judge(not evicts, f"{key} = {bound}: {error.code} ({error.state})"
                    + (", for which pools throw connections away" if evicts else ""))
        goes_on = 0
        for client, _ in refused:
            with contextlib.suppress(OSError, SqlError):
                goes_on += client.query("SELECT 1") == [["1"]]
        scene.judge(goes_on == len(refused), f"{goes_on} of {len(refused)} refused sessions go on")
