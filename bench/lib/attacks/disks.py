"""Attacks of clients of disks on each other, and on what a disk has promised."""
import contextlib
import os
import re
import stat
import struct
import subprocess
import tempfile
import threading
import time

from ..nbd import FLUSH, FUA, READ, STARTTLS, WRITE, Disk, Refused, connect, go, option
from ..process import end, ends_with_bench
from .scene import NotRun, certify, seconds, took, until

START_S = 20
MIB = 1 << 20
PAGE = 4096
# What clients may hold if nothing else is said.
MEMORY = 64 * MIB
# What an honest client bears.
SOON_S = 3
# The same while patience with those who hold all memory runs out.
PATIENT_S = 15
# The same of answers that are taken in sips: those who wait have what comes back first.
SIPS_S = 10
NOBODY = 65534


class Host:
    """`evenkeel share disk` with what stands in its file."""

    def __init__(self, scene, configuration, folder=None):
        self.folder = folder or scene.stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-"))
        # Others have to come near the sockets: whether they may connect is what is tried.
        os.chmod(self.folder, 0o755)
        with open(self.path("share.toml"), "w", encoding="utf-8") as file:
            file.write(configuration.replace("FOLDER", self.folder))
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([scene.site.binary, "share", "disk", "--config", self.path("share.toml")],
                                        stdout=subprocess.DEVNULL, stderr=self.log, preexec_fn=ends_with_bench())
        scene.stack.callback(self.end)

    def path(self, name):
        return os.path.join(self.folder, name)

    def said(self):
        with open(self.log.name, encoding="utf-8") as file:
            return file.read()

    def serves(self):
        """Whether it does, once it has begun or ended."""
        return until(lambda: "event=serving" in self.said() or self.process.poll() is not None, START_S) \
            and self.process.poll() is None

    def port(self):
        return int(re.search(r"nbd=[^ ]*?127\.0\.0\.1:(\d+)", self.said()).group(1))

    def end(self):
        end(self.process, 15)
        self.log.close()


def text(*disks, head=""):
    """A configuration with disks of (name, lines)."""
    window = "[window]\nlaw = 'fixed'\ninitial_window = 64.0\nperiod = '200ms'\n"
    found = [f"[[disk]]\nname = '{name}'\nbacking = 'FOLDER/{name}.img'\nsize = '64M'\n{lines}\n" for name, lines in disks]
    return f"name = 'bench'\nnbd = 'FOLDER/all.sock'\n{head}\n{window}{''.join(found)}"


def host(scene, configuration, folder=None):
    made = Host(scene, configuration, folder)
    if not made.serves():
        raise NotRun(f"the disks do not begin: {made.said().strip()[-300:]}")
    return made


def honest(disks, size=65536, patience=12):
    """Seconds until a client that does as it should has read, or None."""
    def read():
        with Disk(disks.path("all.sock"), "one", patience) as disk:
            disk.ask(READ, 0, size)
    return took(read)


def half_and_stopped(scene):
    disks = host(scene, text(("one", "")))
    if honest(disks) is None:
        raise NotRun("the disk is not served before the attack")

    def half(disk):
        disk.send(WRITE, 0, 32 * MIB, bytes(4096))

    def stopped(disk):
        for cookie in range(4):
            disk.send(READ, 0, 32 * MIB, cookie=cookie)
    for way, act in (("send half of a write of 32 MiB", half), ("take no answers of 32 MiB", stopped)):
        for count in (2, 8):
            with contextlib.ExitStack() as held:
                for _ in range(count):
                    act(held.enter_context(Disk(disks.path("all.sock"), "one")))
                time.sleep(0.5)
                answer = honest(disks)
                scene.judge(answer is not None and answer < SOON_S, f"{count} that {way}: {seconds(answer)}")
    with Disk(disks.path("all.sock"), "one", 60) as held:
        half(held)
        ended = took(lambda: held.link.recv(1))
        scene.judge(ended is not None, f"half a write is ended after {seconds(ended)}")


def all_memory():
    """Sizes of writes that take all memory: one that goes beyond it, then a third of what is left, again and again."""
    left = MEMORY
    yield 32 * MIB
    while (size := left // 3 // PAGE * PAGE) > 0:
        # Small ones are counted as the next power of two.
        size = size if size > MIB else 1 << size.bit_length() - 1
        left -= size
        yield size


class Trickle:
    """Writes that all go on a little, and anew when they are whole."""

    def __init__(self, scene, disks, rate):
        self.due, self.ended, self.over = {}, [], threading.Event()
        self.piece = rate // 5
        for size in all_memory():
            disk = scene.stack.enter_context(Disk(disks.path("all.sock"), "one"))
            self._begin(disk, size)
        thread = threading.Thread(target=self._feed, daemon=True)
        thread.start()
        scene.stack.callback(thread.join)
        scene.stack.callback(self.over.set)

    def _begin(self, disk, size):
        disk.send(WRITE, 0, size)
        disk.link.settimeout(0)
        self.due[disk] = size, size

    def _feed(self):
        while not self.over.wait(0.2):
            for disk, (size, left) in list(self.due.items()):
                try:
                    if left == 0:
                        self._begin(disk, size)
                    else:
                        self.due[disk] = size, left - disk.link.send(bytes(min(self.piece, left)))
                except BlockingIOError:
                    continue  # It waits for memory itself.
                except OSError:
                    self.ended.append(size)
                    del self.due[disk]


def trickling(scene):
    for rate in (100_000, 60_000):
        disks = host(scene, text(("one", "")))
        if honest(disks, MIB) is None:
            raise NotRun("the disk is not served before the attack")
        attack = Trickle(scene, disks, rate)
        time.sleep(1)
        answers = [honest(disks, MIB, 60) for _ in range(3)]
        worst = None if None in answers else max(answers)
        what = f"1 MiB beside {len(attack.due) + len(attack.ended)} writes that trickle at {rate // 1000} KB/s: {seconds(worst)}"
        scene.judge(worst is not None and worst < PATIENT_S, what)
        # A client sees that it is ended when it sends on.
        ended = until(lambda: 32 * MIB in attack.ended, 2)
        scene.judge(ended, f"{len(attack.ended)} of them are ended")


class Sip:
    """Answers that many clients take a little at a time."""

    def __init__(self, scene, disks, rate, clients=32, each=31):
        self.piece, self.clients, self.over = rate // 10, clients, threading.Event()
        asked = [scene.stack.enter_context(Disk(disks.path("all.sock"), "one")) for _ in range(clients)]
        for disk in asked:
            for cookie in range(each):
                disk.send(READ, 0, MIB, cookie=cookie)
            disk.link.settimeout(0)
        links = [disk.link for disk in asked]
        thread = threading.Thread(target=self._take, args=(links,), daemon=True)
        thread.start()
        scene.stack.callback(thread.join)
        scene.stack.callback(self.over.set)

    def _take(self, links):
        while not self.over.wait(0.1):
            for link in list(links):
                try:
                    taken = len(link.recv(self.piece))
                except BlockingIOError:
                    continue  # It waits for memory itself.
                except OSError:
                    taken = 0
                if taken == 0:
                    links.remove(link)


def sipping(scene):
    for rate in (600_000, 100_000):
        disks = host(scene, text(("one", "")))
        if honest(disks, MIB) is None:
            raise NotRun("the disk is not served before the attack")
        attack = Sip(scene, disks, rate)
        time.sleep(1)
        answers = [honest(disks, MIB, 60) for _ in range(3)]
        worst = None if None in answers else max(answers)
        what = f"1 MiB beside {attack.clients} clients that take answers at {rate // 1000} KB/s: {seconds(worst)}"
        scene.judge(worst is not None and worst < SIPS_S, what)


class Demand:
    """A client that asks for the same again and again, so many at a time, until it is over."""

    def __init__(self, scene, disks, size, depth=1):
        self.size, self.ended = size, 0
        self.disk = scene.stack.enter_context(Disk(disks.path("all.sock"), "one", 60))
        for _ in range(depth):
            self.disk.send(READ, 0, size)
        threading.Thread(target=self._go_on, daemon=True).start()

    def _go_on(self):
        with contextlib.suppress(OSError, Refused):
            while True:
                self.disk.take(self.size)
                self.ended += 1
                self.disk.send(READ, 0, self.size)

    def rate(self, seconds_long):
        """How many end per second."""
        before = self.ended
        time.sleep(seconds_long)
        return (self.ended - before) / seconds_long


def demanding(scene):
    """Two writes within the rules, and a large read that waits for the memory that they hold."""
    array = os.path.join(scene.stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-")), "array")
    made = [scene.site.binary, "-q", "share", "array", array, "--spindles", "8", "--service", "20ms"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    disks = host(scene, text(("one", f"simulated = '{array}'")))
    many = Demand(scene, disks, PAGE, 16)
    quiet = many.rate(4)
    for size in (32 * MIB, 6 * MIB):
        slow = scene.stack.enter_context(Disk(disks.path("all.sock"), "one", 60))
        slow.send(WRITE, 0, size)
        threading.Thread(target=feed, args=(slow, size), daemon=True).start()
    time.sleep(1)
    Demand(scene, disks, 20 * MIB)
    time.sleep(1)
    beside = many.rate(8)
    what = f"16 reads of 4 KB at a time: {quiet:.0f}/s, {beside:.0f}/s beside a read of 20 MiB and two slow writes"
    scene.judge(quiet > 0 and beside > quiet / 3, what)


def feed(disk, size):
    """Sends the bytes of a write, again and again, at a little more than a client has to."""
    with contextlib.suppress(OSError):
        while True:
            for _ in range(size // (120 * 1024)):
                disk.link.sendall(bytes(120 * 1024))
                time.sleep(0.1)
            disk.link.sendall(bytes(size % (120 * 1024)))
            disk.send(WRITE, 0, size)


def silent(scene):
    disks = host(scene, text(("one", "")))
    with contextlib.ExitStack() as held:
        served = held.enter_context(Disk(disks.path("all.sock"), "one", 12))
        links = [held.enter_context(contextlib.closing(connect(disks.path("all.sock")))) for _ in range(1100)]
        answers = [honest(disks) for _ in range(5)]
        worst = None if None in answers else max(answers)
        scene.judge(worst is not None and worst < SOON_S, f"a newcomer among 1,100 silent clients: {seconds(worst)}")
        newest = links[-1]
        newest.settimeout(40)
        ended = took(lambda: (newest.recv(18), newest.recv(1)))
        scene.judge(ended is not None, f"a handshake that does not end is ended after {seconds(ended)}")
        stays = took(lambda: served.ask(READ, 0, 512))
        scene.judge(stays is not None, f"a client that was served before is {'still' if stays is not None else 'not'} served")


def another_disk(scene):
    own = [(name, f"nbd = 'FOLDER/{name}.sock'\nsocket_mode = '{mode}'") for name, mode in (("one", "0666"), ("two", "0600"))]
    disks = Host(scene, text(*own))
    if not disks.serves():
        return scene.through("no socket for each disk")
    for name in ("one", "two"):
        with Disk(disks.path(f"{name}.sock"), name) as disk:
            disk.ask(READ, 0, 512)
    for name, other in (("one", "two"), ("two", "one")):
        try:
            with Disk(disks.path(f"{name}.sock"), other):
                scene.through(f"{other} is there at the socket of {name}")
        except Refused:
            scene.held(f"{other} is not there at the socket of {name}")
    mode = stat.S_IMODE(os.stat(disks.path("two.sock")).st_mode)
    scene.judge(mode == 0o600, f"a socket of mode 0600 has {mode:04o}")
    if os.geteuid() != 0:
        return scene.unknown("another user: not root")
    program = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]); s.recv(18)"
    for name, may in (("one", True), ("two", False)):
        asked = subprocess.run(["python3", "-c", program, disks.path(f"{name}.sock")], user=NOBODY, group=NOBODY,
                               extra_groups=[], capture_output=True, check=False, cwd="/")
        scene.judge((asked.returncode == 0) == may, f"nobody {'may' if may else 'may not'} come to {name}: {asked.returncode}")


def without_tls(scene):
    folder = scene.stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-"))
    certify(folder, "localhost")
    tls = f"certificate = '{folder}/server.pem'\nkey = '{folder}/server.key'\nclients = '{folder}/ca.pem'"
    disks = Host(scene, text(("one", ""), head="").replace("'FOLDER/all.sock'", "'127.0.0.1:0'")
                 .replace("[window]", f"[tls]\n{tls}\n[window]"))
    if not disks.serves():
        return scene.through("no TLS for disks")
    place = ("127.0.0.1", disks.port())
    try:
        with Disk(place, "one"):
            scene.through("a disk is there without TLS")
    except Refused:
        scene.held("no disk without TLS")
    with contextlib.closing(connect(place)) as link:
        link.recv(18)
        link.sendall(struct.pack(">I", 3) + option(STARTTLS) + go("one"))
        said = b""
        with contextlib.suppress(OSError):
            while more := link.recv(4096):
                said += more
        scene.judge(struct.pack(">Q", 64 * MIB) not in said, "words in front of TLS are not heard")
    uri = f"nbds://localhost:{place[1]}/one?tls-certificates={folder}"
    os.link(f"{folder}/ca.pem", f"{folder}/ca-cert.pem")
    try:
        alone = subprocess.run(["nbdinfo", "--size", uri], capture_output=True, check=False, timeout=30)
        scene.judge(alone.returncode != 0, "a client without a certificate is refused")
        os.link(f"{folder}/server.pem", f"{folder}/client-cert.pem")
        os.link(f"{folder}/server.key", f"{folder}/client-key.pem")
        known = subprocess.run(["nbdinfo", "--size", uri], capture_output=True, check=False, timeout=30)
    except FileNotFoundError:
        return scene.unknown("there is no nbdinfo")
    if known.returncode != 0:
        raise NotRun(f"with a certificate it is refused too: {known.stderr.decode().strip()}")


def no_space(scene):
    folder = scene.stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-"))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "none", folder], capture_output=True, check=False)
    if mounted.returncode != 0:
        raise NotRun("no file system can be mounted")
    scene.stack.callback(subprocess.run, ["umount", folder], check=False)
    disks = host(scene, text(("one", "")), folder)
    with Disk(disks.path("all.sock"), "one") as disk:
        disk.ask(WRITE, 0, 4096, b"a" * 4096, FUA)
        refused = took(lambda: disk.ask(WRITE, MIB, 8 * MIB, bytes(8 * MIB), FUA))
        if refused is not None:
            raise NotRun("there is space for all of it")
        flushed = took(lambda: disk.ask(FLUSH, 0, 0))
        scene.judge(flushed is not None, f"a flush after a durable write without space {'is done' if flushed else 'fails'}")


def cut(scene):
    disks = host(scene, text(("one", "")))
    with Disk(disks.path("all.sock"), "one") as disk:
        disk.ask(WRITE, 0, MIB, b"a" * MIB, FUA)
        os.truncate(disks.path("one.img"), 4096)
        took(lambda: disk.ask(WRITE, 32 * MIB, 4096, b"b" * 4096))
        try:
            found = disk.ask(READ, 65536, 4096)
            scene.through("what was written reads as " + ("zeroes" if not any(found) else "something else"))
        except OSError:
            scene.held("what was cut off is an error")
        flushed = took(lambda: disk.ask(FLUSH, 0, 0))
        scene.judge(flushed is None, f"a flush {'fails' if flushed is None else 'says that all is there'}")
    told = until(lambda: "event=lost" in disks.said(), 5)
    scene.judge(told, f"the log {'says so' if told else 'says nothing'}")


ATTACKS = [
    ("Two clients of a disk freeze the others", half_and_stopped),
    ("Writes that trickle in hold all memory of a disk", trickling),
    ("Answers that are taken in sips hold all memory of a disk", sipping),
    ("A large read that waits for memory keeps small ones waiting", demanding),
    ("A thousand silent clients lock newcomers out of a disk", silent),
    ("One machine opens the disk of another", another_disk),
    ("Disks over TCP without TLS", without_tls),
    ("One durable write without space ends all flushes", no_space),
    ("A file that is cut reads as zeroes", cut),
]
