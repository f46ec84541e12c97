"""Drivers and programs that speak to a server: how each is had, and how it runs the common script."""
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "drivers")
INSTALL_S, RUN_S = 900, 300
# What the command line client prints of this is compared.
SCRIPT = """SELECT 1; SELECT NULL, '', 1.50, _binary 0x0001FF, 'dråpe 雨 🌧';
DROP TABLE IF EXISTS types;
CREATE TABLE types (id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(30,10), t DATETIME(6), j JSON, b BLOB, s VARCHAR(200)
  CHARACTER SET utf8mb4, f DOUBLE, u BIGINT UNSIGNED, e ENUM('a','b'));
INSERT INTO types (d, t, j, b, s, f, u, e) VALUES (12345678901234567890.0123456789, '2026-02-28 23:59:59.999999',
  '{"a": [1, null]}', 0x000102FEFF, 'dråpe 雨 🌧', -0.1, 18446744073709551615, 'b'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM types;
CALL report(5);
SELEC;
SELECT * FROM nowhere;
INSERT INTO types (id) VALUES (1);
BEGIN; DELETE FROM types; ROLLBACK; SELECT COUNT(*) FROM types;
PREPARE s FROM 'SELECT ? + 1'; SET @a = 4; EXECUTE s USING @a; DEALLOCATE PREPARE s;
SELECT REPEAT('x', 20000000);
SELECT 1/0; SHOW WARNINGS;
SET autocommit = 0; UPDATE counter SET n = 7; ROLLBACK; SET autocommit = 1; SELECT n FROM counter;
LOCK TABLES types WRITE; UPDATE types SET f = 3; UNLOCK TABLES;
SELECT GET_LOCK('a', 1), RELEASE_LOCK('a');
USE mysql
USE shop
SELECT DATABASE();
"""


class Absent(Exception):
    """The client cannot be had here; the reason."""


class Failed(Exception):
    """The client ran and did not succeed; what it said."""


def run(command, seconds=RUN_S, **more):
    """Output of a command that must succeed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="backslashreplace", timeout=seconds,
                              check=False, stdin=more.pop("stdin", subprocess.DEVNULL), **more)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[0]} did not end within {seconds} s") from error
    if done.returncode != 0:
        raise Failed(f"{os.path.basename(command[0])} ended with {done.returncode}: {(done.stderr or done.stdout)[-600:]}")
    return done.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Absent(f"no {program}")


def install(command, **more):
    """A step of an installation; what fails means that the client is absent."""
    try:
        return run(command, INSTALL_S, **more)
    except (Failed, OSError) as error:
        raise Absent(" ".join(str(error).split())[-200:]) from error


def copy(home, name):
    """A folder of its own with one of our programs in it."""
    folder = os.path.join(home, name.replace(".", "-"))
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(HERE, name), folder)
    return folder


def package(home, name):
    """A package of the distribution, unpacked into the home: nothing is installed."""
    need("apt-get", "dpkg")
    folder = os.path.join(home, "packages", name)
    os.makedirs(folder, exist_ok=True)
    install(["apt-get", "-o", "APT::Sandbox::User=root", "download", name], cwd=folder)
    install(["dpkg", "-x", *glob.glob(os.path.join(folder, "*.deb")), folder])
    return folder


def cli(home):
    need("mariadb")

    def act(port, tls, file):
        command = ["mariadb", "--no-defaults", *options(port, tls), "--force", "--table", "--show-warnings",
                   "--max-allowed-packet=64M", "--local-infile=1", "--default-character-set=utf8mb4", "shop"]
        load = f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE copy FIELDS TERMINATED BY ','; SELECT COUNT(*), " \
               "SUM(CRC32(words)) FROM copy; DELETE FROM copy; SHOW SESSION STATUS LIKE 'Ssl_version';"
        done = subprocess.run(command, input=(SCRIPT + load).encode(), capture_output=True, timeout=RUN_S, check=False)
        if b"Ssl_version" not in done.stdout:
            raise Failed(done.stderr.decode()[-400:])
        return repr((done.stdout, done.stderr))
    return run(["mariadb", "--version"]).strip(), act


def options(port, tls):
    return ["-h127.0.0.1", f"-P{port}", "-uapp", "-psecret", "--ssl" if tls else "--skip-ssl"]


def dump(home):
    program = shutil.which("mariadb-dump") or os.path.join(package(home, "mariadb-client"), "usr", "bin", "mariadb-dump")

    def act(port, tls, _file):
        def whole(database):
            return run([program, "--no-defaults", *options(port, tls), "--skip-dump-date", "--routines", "--hex-blob",
                        "--single-transaction", "--max-allowed-packet=64M", database])
        text = whole("shop")
        restore = ["mariadb", "--no-defaults", *options(port, tls), "--max-allowed-packet=64M", "restored"]
        done = subprocess.run(restore, input=text, capture_output=True, text=True, timeout=RUN_S, check=False)
        if done.returncode != 0:
            raise Failed(done.stderr[-400:])
        return text + whole("restored")
    return run([program, "--version"]).strip(), act


# What sysbench fills tables with is not the same twice, whatever the seed; what it then does is.
SAME_ROWS = ";".join(f"UPDATE sbtest{table} SET k = CRC32(id) % 500, c = MD5(id), pad = SHA1(id)" for table in (1, 2))


def sysbench(_home):
    need("sysbench")
    tests = ["oltp_delete", "oltp_insert", "oltp_point_select", "oltp_read_only", "oltp_read_write",
             "oltp_update_index", "oltp_update_non_index", "oltp_write_only"]

    def act(port, tls, _file):
        if tls:
            raise Absent("its TLS wants certificates in the current folder")
        login = ["--mysql-host=127.0.0.1", f"--mysql-port={port}", "--mysql-user=app", "--mysql-password=secret",
                 "--mysql-db=bench", "--tables=2", "--table-size=500", "--rand-seed=7"]
        shown = []
        for test in tests:
            for mode in ("auto", "disable"):
                run(["sysbench", test, *login, "prepare"])
                run(["mariadb", "--no-defaults", *options(port, tls), "bench", "-e", SAME_ROWS])
                for threads, events in ((1, 200), (8, 400)):
                    text = run(["sysbench", test, *login, "--time=0", f"--events={events}", f"--threads={threads}",
                                f"--db-ps-mode={mode}", "--mysql-ignore-errors=1213,1062,1205", "run"])
                    kept = ("read:", "write:", "other:", "transactions:", "reconnects:", "ignored errors:")
                    wanted = [re.sub(r"\(.*", "", line).strip() for line in text.splitlines()
                              if line.strip().startswith(kept if threads == 1 else kept[-2:-1])]
                    shown.append((test, mode, threads, wanted))
                    if threads == 1:
                        shown.append(run(["mariadb", "--no-defaults", *options(port, tls), "-N", "bench", "-e",
                                          "CHECKSUM TABLE sbtest1, sbtest2"]))
                run(["sysbench", test, *login, "cleanup"])
        return "\n".join(map(str, shown))
    return run(["sysbench", "--version"]).strip(), act


def python(home, requirement, module, environment=None):
    folder = os.path.join(home, "venv-" + requirement.split("=")[0])
    interpreter = os.path.join(folder, "bin", "python")
    if not os.path.exists(interpreter):
        install([sys.executable, "-m", "venv", folder])
        install([interpreter, "-m", "pip", "install", "-q", "--no-cache-dir", requirement, "cryptography"],
                env={**os.environ, **(environment or {})})
    name = requirement.split("=")[0]
    version = install([interpreter, "-c", f"import importlib.metadata as m; print(m.version('{name}'))"]).strip()
    program = os.path.join(copy(home, "dbapi.py"), "dbapi.py")

    def act(port, tls, file):
        return run([interpreter, program, module, "127.0.0.1", str(port), "tls" if tls else "plain", file],
                   env={**os.environ, **(environment or {})})
    return f"{name} {version}", act


def mysqlclient(home):
    if shutil.which("mariadb_config") or shutil.which("mysql_config"):
        return python(home, "mysqlclient", "MySQLdb")
    headers = os.path.join(package(home, "libmariadb-dev"), "usr", "include", "mariadb")
    libraries = glob.glob("/usr/lib/*/libmariadb.so.3")
    if not libraries:
        raise Absent("no libmariadb")
    return python(home, "mysqlclient", "MySQLdb", {"MYSQLCLIENT_CFLAGS": f"-I{headers} -I{headers}/mysql",
                                                   "MYSQLCLIENT_LDFLAGS": libraries[0]})


def node(home):
    need("node", "npm")
    folder = copy(home, "mysql2.js")
    install(["npm", "install", "--no-audit", "--no-fund", "--silent", "--cache", os.path.join(home, "npm"), "mysql2"],
            cwd=folder)
    version = install(["node", "-p", "require('mysql2/package.json').version"], cwd=folder).strip()

    def act(port, tls, file):
        return run(["node", "mysql2.js", "127.0.0.1", str(port), "tls" if tls else "plain", file], cwd=folder)
    return f"mysql2 {version} (node {run(['node', '--version']).strip()})", act


def go(home):
    program = shutil.which("go", path=os.environ["PATH"] + ":/usr/local/go/bin")
    if not program:
        raise Absent("no go")
    folder = copy(home, "main.go")
    environment = {**os.environ, "GOPATH": os.path.join(home, "go"), "GOFLAGS": "-modcacherw",
                   "GOCACHE": os.path.join(home, "go-cache")}
    install([program, "mod", "init", "check"], cwd=folder, env=environment)
    install([program, "get", "github.com/go-sql-driver/mysql"], cwd=folder, env=environment)
    install([program, "build", "-o", "check", "."], cwd=folder, env=environment)
    listed = install([program, "list", "-m", "github.com/go-sql-driver/mysql"], cwd=folder, env=environment).split()

    def act(port, tls, file):
        return run([os.path.join(folder, "check"), "127.0.0.1", str(port), "tls" if tls else "plain", file])
    return f"go-sql-driver {listed[-1]}", act


def java(home, artifact, url):
    need("java", "mvn")
    folder = copy(home, "Check.java")
    group, name = artifact.split(":")
    jars = os.path.join(folder, name)
    install(["mvn", "-q", "-B", f"-Dmaven.repo.local={home}/maven", "dependency:copy",
             f"-Dartifact={artifact}:LATEST", f"-DoutputDirectory={jars}"], cwd=folder)
    (jar,) = glob.glob(os.path.join(jars, "*.jar"))

    def act(port, tls, file):
        return run(["java", "-cp", jar, os.path.join(folder, "Check.java"), url(port, tls), file])
    return os.path.basename(jar).removesuffix(".jar"), act


def connector_j(home):
    return java(home, "com.mysql:mysql-connector-j", lambda port, tls:
                f"jdbc:mysql://127.0.0.1:{port}/shop?allowMultiQueries=true&allowLoadLocalInfile=true&maxAllowedPacket="
                "67108864&useServerPrepStmts=true&useCursorFetch=true&allowPublicKeyRetrieval=true&sslMode="
                + ("REQUIRED" if tls else "DISABLED"))


def mariadb_connector_j(home):
    return java(home, "org.mariadb.jdbc:mariadb-java-client", lambda port, tls:
                f"jdbc:mariadb://127.0.0.1:{port}/shop?allowMultiQueries=true&allowLocalInfile=true&maxAllowedPacket="
                "67108864&useServerPrepStmts=true&useBulkStmts=true&allowPublicKeyRetrieval=true&sslMode="
                + ("trust" if tls else "disable"))


MANIFEST = """\
[package]
name = "check"
version = "0.0.0"
edition = "2024"
[[bin]]
name = "check"
path = "main.rs"
[dependencies]
mysql_async = { version = "0.37", default-features = false, features = ["minimal-rust", "rustls-tls", "ring", "tls12"] }
tokio = { version = "1", features = ["rt", "macros"] }
[workspace]
"""


def mysql_async(home):
    need("cargo")
    folder = copy(home, "main.rs")
    with open(os.path.join(folder, "Cargo.toml"), "w", encoding="utf-8") as file:
        file.write(MANIFEST)
    install(["cargo", "build", "-q"], cwd=folder, env={**os.environ, "CARGO_TARGET_DIR": os.path.join(folder, "target")})
    with open(os.path.join(folder, "Cargo.lock"), encoding="utf-8") as file:
        version = re.search(r'name = "mysql_async"\nversion = "(.*)"', file.read())[1]

    def act(port, tls, file):
        return run([os.path.join(folder, "target", "debug", "check"), "127.0.0.1", str(port), "tls" if tls else "plain", file])
    return f"mysql_async {version}", act


# Later wheels come without the extension in C.
CONNECTOR = "mysql-connector-python==9.7.0"

CLIENTS = {
    "mariadb": cli,
    "mariadb-dump": dump,
    "sysbench": sysbench,
    "PyMySQL": lambda home: python(home, "PyMySQL", "pymysql"),
    "mysqlclient": mysqlclient,
    "mysql-connector-python pure": lambda home: python(home, CONNECTOR, "mysql.connector.pure"),
    "mysql-connector-python C": lambda home: python(home, CONNECTOR, "mysql.connector.c"),
    "mysql2": node,
    "mysql_async": mysql_async,
    "go-sql-driver": go,
    "Connector/J": connector_j,
    "MariaDB Connector/J": mariadb_connector_j,
}
