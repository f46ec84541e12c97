"""Attacks on those who run a guard: health, log, configuration, TLS on either side, the path of a socket."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

from ..process import free_port
from ..proxy import START_S
from ..wire import Session, SqlError
from .scene import NotRun, certify, seconds, select, took, until


def healthz_is_one_thread(scene):
    guard = scene.guard(scene.site.server.port)
    if took(lambda: guard.get("/healthz", 3)) is None:
        raise NotRun("/healthz does not answer before the attack")
    ways = {"say nothing": b"", "say half": b"GET /healthz HTTP/1.1\r\nHost: a\r\n",
            "do not read": b"GET /metrics HTTP/1.1\r\n\r\n"}
    for way, words in ways.items():
        slow = []
        count = 10 if scene.quick else 60
        for _ in range(count):
            link = socket.socket()
            if way == "do not read":
                link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            link.settimeout(5)
            link.connect(("127.0.0.1", guard.observed))
            link.sendall(words)
            slow.append(link)
        times = []
        for _ in range(5):
            times.append(took(lambda: guard.get("/healthz", 12)) or 99)
            time.sleep(0.3)
        scene.judge(max(times) < 3, f"{count} that {way}: /healthz in "
                    + ("more than 12 s" if max(times) == 99 else f"{max(times):.2f} s at most"))
        for link in slow:
            link.close()
        until(lambda: (took(lambda: guard.get("/healthz", 3)) or 9) < 1, 40)


RFC_3339 = re.compile(r"\btime=\"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def every_decision_says_why(scene):
    changes_are_told(scene)
    reload_says_what_needs_a_restart(scene)
    refused = refuses_itself(scene)
    scene.judge(refused, f"--listen equal to --backend is {'refused' if refused else 'taken'}")


def changes_are_told(scene):
    """Changes of the limit that were made, and those that the log accounts for."""
    server = scene.site.server
    guard = scene.guard(server.port)
    end = time.monotonic() + (10 if scene.quick else 40)

    def work(number):
        with Session(guard.address, seconds=30) as client:
            while time.monotonic() < end:
                try:
                    client.query(f"UPDATE shop.t SET v = v + 1 WHERE id = {1 + number % 2}")
                except SqlError:
                    pass
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(0.3)
    changes = int(guard.metric("limit_changes_total"))
    if changes < 3:
        raise NotRun(f"the limit changed only {changes} times under load")
    guard.stop()
    told = accounted(guard.log())
    scene.judge(told >= changes, f"{changes} changes of the limit, {told} in the log")
    lines = [line for line in guard.log().splitlines() if "event=" in line]
    readable = [line for line in lines if RFC_3339.search(line)]
    scene.judge(lines and len(readable) == len(lines), "times of the log can be read" if readable
                else f"times as {lines[0].split()[0]}")


def accounted(log):
    """Changes of the limit that a log accounts for: one a line, or as many as a line that gathers them says."""
    total = 0
    for line in log.splitlines():
        gathered = re.search(r"\bchanges=\"?(\d+)", line)
        if gathered:
            total += int(gathered[1])
        elif "event=limit " in line:
            total += 1
    return total


def reload_says_what_needs_a_restart(scene):
    guard = scene.guard(scene.site.server.port)
    guard.write(backend=f"127.0.0.1:{free_port()}")
    before = len(guard.log())
    guard.process.send_signal(signal.SIGHUP)
    said = until(lambda: guard.log()[before:].strip(), 5)
    if not said:
        raise NotRun("SIGHUP left no word in the log")
    time.sleep(0.5)
    said = guard.log()[before:]
    moved = select(guard.address) is None
    honest = "restart" in said or moved
    scene.judge(honest, "SIGHUP with another backend " + ("says that it needs a restart" if honest else
                f"says {re.search(r'event=[a-z_]+', said)[0]} and changes nothing"))


def refuses_itself(scene):
    """Whether a guard whose server would be itself ends at the start, and says which address it is about."""
    port = free_port()
    for backend in (f"127.0.0.1:{port}", f"localhost:{port}"):
        command = [scene.site.binary, "--home", scene.site.folder, "guard", "--listen", f"127.0.0.1:{port}",
                   "--backend", backend]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            process.wait(START_S / 5)
            if process.returncode == 0 or str(port) not in process.stderr.read():
                return False
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stderr.close()
    return True


def is_ciphered(port, user="app"):
    """Whether the command line client that asks for TLS has it, by its own words."""
    command = ["mariadb", "--no-defaults", "--protocol=tcp", "-h127.0.0.1", f"-P{port}", f"-u{user}", "--ssl",
               "--skip-ssl-verify-server-cert", "-e", "status"]
    return "Cipher in use" in subprocess.run(command, capture_output=True, text=True, check=False, timeout=30,
                                             stdin=subprocess.DEVNULL).stdout


def without_a_certificate(scene):
    server = scene.site.tls_server
    server.sql("CREATE USER IF NOT EXISTS strict@'%' REQUIRE SSL")
    if not is_ciphered(server.port) or not is_ciphered(server.port, "strict"):
        raise NotRun("the server itself has no TLS")
    guard = scene.guard(server.port)
    # Somebody has to be greeted where the guard learns from a greeting.
    with Session(guard.address):
        pass
    warned = until(lambda: guard.warnings("tls"), 5)
    scene.judge(warned, "the start warns" if warned
                else f"no word at the start, and --ssl goes {'under TLS' if is_ciphered(guard.port) else 'in clear'}")
    guard = scene.guard(server.port, {"client_tls.self_signed": True})
    ciphered, strict = is_ciphered(guard.port), is_ciphered(guard.port, "strict")
    scene.judge(ciphered and strict, f"self_signed: --ssl {'under TLS' if ciphered else 'in clear'}, "
                f"REQUIRE SSL {'works' if strict else 'fails'}")


def tls_to_the_backend(scene):
    server, folder = scene.site.tls_server, scene.site.folder
    authority = os.path.join(folder, "ca.pem")

    def served(backend, **more):
        authorities = {"backend_tls.authorities": authority}
        guard = scene.guard(f"localhost:{backend}", authorities | more)
        answer = select(guard.address)
        guard.__exit__()
        return answer
    if served(server.port) is None:
        raise NotRun("not even the right certificate is taken")
    certify(folder, "other.example")
    scene.stack.callback(server.sql, "FLUSH SSL")
    scene.stack.callback(certify, folder, "localhost")
    shown = subprocess.run(["openssl", "x509", "-in", "server.pem", "-noout", "-checkhost", "localhost"], cwd=folder,
                           capture_output=True, text=True, check=False).stdout
    if "NOT match" not in shown or server.sql("FLUSH SSL").returncode != 0:
        raise NotRun("the certificate for another name could not be made")
    ways = {"by default": {}, "verify-identity": {"backend_tls.mode": "verify-identity"}}
    for way, more in ways.items():
        answer = served(server.port, **more)
        scene.judge(answer is None, f"a certificate for another name, {way}: {'refused' if answer is None else 'taken'}")
    answer = served(scene.site.server.port)
    scene.judge(answer is None, "a server that offers no TLS where authorities are given: "
                + ("refused" if answer is None else "taken in clear"))


def a_successor_on_the_same_path(scene):
    folder = scene.stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-"))
    for how in ("moved", "unlinked"):
        path = os.path.join(folder, how)
        first = scene.guard(scene.site.server.port, listen=path)
        os.rename(path, path + ".old")
        if how == "unlinked":
            os.unlink(path + ".old")
        second = scene.guard(scene.site.server.port, listen=path)
        if select(path) is None:
            raise NotRun("the successor serves nobody while the old guard is there")
        first.stop()
        if first.lives() or not second.lives():
            raise NotRun("the old guard did not end, or its successor did")
        answer = select(path)
        scene.judge(os.path.exists(path) and answer is not None, f"old socket {how}, old guard ended: the successor's path "
                    + ("is gone" if not os.path.exists(path) else f"answers in {seconds(answer)}"))
