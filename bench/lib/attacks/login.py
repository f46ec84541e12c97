"""Attacks by and around logins."""
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time

from ..server import Server
from ..wire import INIT_DB, PING, QUERY, Session, SqlError, change_user, connect, hello, packet
from .scene import NotRun, fixed, prepare, seconds, select, together, until

UNKNOWN_DATABASE = packet(bytes([INIT_DB]) + b"there_is_no_such_database")
JUNK = bytes(20)
PANICS = "panics_total"
# Many times what a login takes.
PATIENCE_S = 3


def root_by_a_pipelined_login(scene):
    """Accounts of a socket's system user, by a change of user behind another command."""
    server = scene.site.stack.enter_context(Server())
    prepare(server)
    owner = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    guard = scene.guard(server.socket, fixed(8))
    for how, kind in (("USING 'invalid' OR unix_socket", "the default root"), ("unix_socket", "a unix_socket root")):
        account = how if how == "unix_socket" else "mysql_native_password " + how
        server.sql(f"CREATE USER IF NOT EXISTS {owner}@localhost; GRANT ALL ON *.* TO {owner}@localhost; "
                   f"ALTER USER {owner}@localhost IDENTIFIED VIA {account}")
        proofs = [packet(JUNK, number) for number in (1, 2, 3)] + [b""]
        if True not in together(len(proofs), lambda number: taken(server.socket, owner, proofs[number])):
            raise NotRun(f"the server itself does not take {owner} for {kind} at its socket")
        fronts = {"an unknown database": UNKNOWN_DATABASE, "a PING": packet(bytes([PING])), "nothing": b""}
        # In one write, and torn at places that change.
        tries = [(proof, tear) for proof in proofs for tear in range(1 if scene.quick else 5)]
        for front, first in fronts.items():
            found = together(len(tries), lambda number: taken(guard.address, owner, *tries[number], first=first))
            told(scene, found, f"{kind} behind {front}")
        if True not in together(len(proofs), lambda number: taken_with_the_login(server.socket, owner, proofs[number])):
            raise NotRun(f"the server itself does not take {owner} for {kind} behind a login")
        found = together(len(tries), lambda number: taken_with_the_login(guard.address, owner, *tries[number]))
        told(scene, found, f"{kind} behind the login itself")
    # The guard must go on to serve those whom it may.
    with Session(guard.address, b"low") as honest:
        if honest.query("SELECT CURRENT_USER()") != [["low@%"]]:
            raise NotRun("an honest client of the same guard was not served")
    pipelined_over_tcp(scene)


def told(scene, found, how):
    """Every try has to have been made."""
    broken = [value for value in found if not isinstance(value, bool)]
    if broken:
        scene.unknown(f"{how}: {broken[0]}")
    scene.judge(True not in found, f"{how}: {'root' if True in found else 'refused'}")


def taken(address, owner, proof, tear=0, first=b""):
    """Whether a client without rights is the owner after a change of user in one write with what is before and behind."""
    with Session(address, b"low") as thief:
        try:
            write(thief.link, first + packet(change_user(owner.encode(), JUNK)) + proof, tear)
            return becomes(thief.link, owner)
        except OSError:
            return False


def taken_with_the_login(address, owner, proof, tear=0):
    """The same where all of it stands behind the client's answer to the greeting."""
    with connect(address) as link:
        try:
            link.recv(4096)
            write(link, packet(hello(b"low"), 1) + packet(change_user(owner.encode(), JUNK)) + proof, tear)
            return becomes(link, owner)
        except OSError:
            return False


def write(link, words, tear):
    """In one piece, or in two with a pause at a place that depends on `tear`."""
    at = tear * len(words) // 5
    link.sendall(words[:at])
    if at:
        time.sleep(0.02 * tear)
    link.sendall(words[at:])


def becomes(link, owner):
    """Asks again and again who he is, until the session is ended or it has been long enough for any login."""
    asked, heard = packet(bytes([QUERY]) + b"SELECT CURRENT_USER()"), b""
    link.settimeout(0.3)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            while more := link.recv(1 << 16):
                heard += more
                if f"{owner}@localhost".encode() in heard:
                    return True
            return False
        except TimeoutError:
            link.sendall(asked)
    return False


def pipelined_over_tcp(scene):
    """A change of user behind another command that the server answers with a switch, as direct."""
    server = scene.site.server
    guard = scene.guard(server.port, fixed(8))

    def changed(address):
        with Session(address, b"low") as client:
            client.link.sendall(UNKNOWN_DATABASE + packet(change_user(b"app", plugin=b"client_ed25519")))
            if client.read()[:1] != b"\xff":
                raise NotRun("the server knows an unknown database")
            client.judged()
            return client.query("SELECT CURRENT_USER()")
    direct = changed(server.port)
    try:
        through = changed(guard.address)
    except (OSError, SqlError) as error:
        through = str(error)
    scene.judge(through == direct, "an honest one over TCP behind an error: "
                + ("as direct" if through == direct else str(through)))


def any_logged_in_client_ends_the_whole_guard(scene):
    """60 KB behind each of two packets of a login in which the server switches the plugin."""
    server, rest = scene.site.server, packet(bytes([PING])) * 12_000
    guard = scene.guard(server.port, {"threads": 1})
    bystander, pauses = scene.session(guard.address), (0.0, 0.05, 0.2, 0.5) * (1 if scene.quick else 4)
    # Each beside others of its kind, and every other time with much more behind.
    found = together(4 * len(pauses), lambda number: overflow(guard.address, rest * (1, 4)[number % 2], pauses[number // 4]))
    switched = sum(value is True for value in found)
    if not switched:
        raise NotRun("the server never switched the plugin")
    time.sleep(0.3)
    try:
        lives = bystander.ping()
    except OSError:
        lives = False
    scene.judge(guard.lives(), "the guard goes on" if guard.lives() else f"the guard ended: {last_words(guard)}")
    scene.judge(lives, f"another session {'goes on' if lives else 'was ended'}")
    answer = select(guard.address, seconds=5)
    scene.judge(answer is not None, f"a new client: {seconds(answer)}")
    if guard.lives() and PANICS in guard.get("/metrics")[1]:
        panics = int(guard.metric(PANICS))
        scene.judge(panics == 0, f"{panics} sessions ended by a panic")


def overflow(address, rest, pause):
    """Whether the server switched the plugin of a login with so much behind each of its packets."""
    with connect(address, seconds=5) as link:
        link.recv(4096)
        switched = False
        try:
            link.sendall(packet(hello(b"low", plugin=b"client_ed25519"), 1) + rest)
            time.sleep(pause)
            switched = link.recv(4096)[4:5] == b"\xfe"
            link.sendall(packet(b"", 3) + rest)
            time.sleep(0.2)
            link.settimeout(0.2)
            while link.recv(1 << 16):
                pass
        except OSError:
            pass
        return switched


def last_words(guard):
    said = [line for line in guard.log().splitlines() if "event=" not in line]
    return said[-1][:120] if said else f"exit {guard.process.returncode}"


def logins_have_no_deadline(scene):
    silent_clients(scene)
    never_greeted(scene)
    burst(scene)


def silent_clients(scene):
    """Far more logins that are silent, half sent or go on byte by byte than the guard has descriptors for."""
    port = scene.site.server.port
    guard = scene.guard(port, {**fixed(8), "control.monitor": f"mysql://watcher@127.0.0.1:{port}"}, files=128)
    if (before := select(guard.address)) is None:
        raise NotRun("no client is served before the attack")
    silent, known, count = [], len(guard.log()), 200 if scene.quick else 600
    for number in range(count):
        link = connect(guard.address, seconds=5)
        scene.stack.callback(link.close)
        silent.append(link)
        if number % 3:
            # Whoever was turned away hears it later.
            with contextlib.suppress(OSError):
                link.sendall(b"\xf0\0\0\1half")
    few = until(lambda: guard.warnings("open files"), 5)
    scene.judge(few, f"the log {'names' if few else 'does not name'} open files when the first of them is turned away")
    begun = time.monotonic()
    healthy = all(answers(guard, page) for page in ("/healthz", "/metrics"))
    served = until(lambda: select(guard.address, seconds=3), 15, 0.5)
    waited = time.monotonic() - begun
    scene.judge(served, f"{count} silent logins at 128 descriptors: an honest client (before {seconds(before)}) "
                + (f"after {waited:.0f} s" if served else f"not within {waited:.0f} s"))
    scene.judge(healthy, f"/healthz and /metrics meanwhile {'answer' if healthy else 'do not answer'}")

    def all_ended():
        for link in silent[2::3]:
            # Words that bring a login no nearer to its end keep nobody in.
            with contextlib.suppress(OSError):
                link.sendall(b"x")
        return sum(map(is_ended, silent)) == len(silent)
    ended = until(all_ended, 30, 0.5)
    scene.judge(ended, "silent ones are ended" if ended
                else f"{sum(not is_ended(link) for link in silent)} silent ones stay for {time.monotonic() - begun:.0f} s")
    told = guard.warnings(since=known)
    scene.judge(told, f"the log says so in {len(told)} lines" if told else "no line in the log")


def answers(guard, page):
    try:
        return guard.get(page, 3)[0] == 200
    except (OSError, ValueError):
        return False


def is_ended(link):
    """Whether the other side has ended it; what it sent before is taken."""
    link.setblocking(False)
    try:
        while link.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def never_greeted(scene):
    """Clients that leave while the server says nothing, or does not even accept."""
    for accepts in (True, False):
        with socket.create_server(("127.0.0.1", 0), backlog=256 if accepts else 2) as mute:
            guard = scene.guard(mute.getsockname()[1])
            before, left = guard.descriptors(), []
            for _ in range(50):
                link = connect(guard.address, seconds=5)
                left.append(link)
            time.sleep(1)
            most = guard.descriptors()
            if most < before + 50:
                raise NotRun(f"a guard of a mute server took {most - before} descriptors for 50 clients")
            for link in left:
                link.close()
            until(lambda: guard.descriptors() <= before + 2, 20)
            leaked = guard.descriptors() - before
            scene.judge(leaked <= 2, f"50 clients left a server that {'greets nobody' if accepts else 'accepts nobody'}: "
                        f"{max(leaked, 0)} descriptors stay")
            guard.__exit__()


def burst(scene):
    """500 connections at once at a server with a short queue: as many served as direct. At its socket the server accepts
    nobody for a moment, so that the queue is full for certain; over TCP that would cost direct clients too."""
    server = scene.stack.enter_context(Server(settings=["--back-log=50", "--max-connections=700", "--skip-ssl",
                                                        "--connect-timeout=60"]))
    prepare(server)

    def one(address):
        def act(_):
            with Session(address, seconds=20) as session:
                return session.query("SELECT 1") == [["1"]]
        return act

    def count(address, stopped):
        if not stopped:
            return counted(together(500, one(address)))
        os.kill(server.process.pid, signal.SIGSTOP)
        again = threading.Timer(1.5, os.kill, (server.process.pid, signal.SIGCONT))
        again.start()
        try:
            return counted(together(500, one(address)))
        finally:
            again.join()

    def counted(found):
        errors = sorted({str(error)[:60] for error in found if isinstance(error, Exception)})
        return sum(value is True for value in found), errors
    for name, backend in (("TCP", server.port), ("a unix socket", server.socket)):
        for _ in range(3):
            direct, lost = count(backend, backend == server.socket)
            # A machine that is busy elsewhere loses some either way, where a full queue forgets who came in.
            if direct >= 450:
                break
        if direct < 450:
            scene.unknown(f"500 at once over {name}: only {direct} served direct ({lost[0]})")
            continue
        # Deadlines of logins are not what this is about, and a busy machine would meet them, on either way.
        guard = scene.guard(backend, {**fixed(500), "login_max": "60s"})
        served, errors = count(guard.address, backend == server.socket)
        healthy = answers(guard, "/healthz")
        scene.judge(500 - served <= 2 * (500 - direct) and healthy, f"500 at once over {name}: {served} served, direct {direct}"
                    + (f" ({errors[0]})" if errors else ""))
        guard.__exit__()
