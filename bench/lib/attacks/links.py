"""Attacks on what stands between client, guard and server: TLS on either side, the path of a socket."""
import os
import subprocess
import tempfile

from ..wire import Session
from .scene import NotRun, certify, seconds, select, until


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
