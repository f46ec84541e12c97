"""Servers of a bench: a private mariadbd or mysqld in a directory of its own, and a mariadbd on folders that are there."""
import os
import shutil
import subprocess
import tempfile
import time

from .process import PATH, end, ends_with_bench, free_port

PATIENCE_S = 120
# Of a database on mounts. The disk is what is measured: nothing is cached beside the buffer pool, which starts empty.
DISK = ["--innodb-flush-method=O_DIRECT", "--innodb-buffer-pool-load-at-startup=OFF",
        "--innodb-buffer-pool-dump-at-shutdown=OFF", "--innodb-read-io-threads=16", "--max-connections=300",
        "--performance-schema=OFF"]


class Server:
    """Up on entering, down and gone on leaving."""

    def __init__(self, cpu=None, settings=(), memory_mb=None, environment=None, copy_of=None, place=None):
        """`copy_of` is a data folder of a server that is down, whose databases this one has; its own folder is made in `place`."""
        self.cpu, self.copy_of, self.place = cpu, copy_of, place
        self.settings = settings
        self.memory_mb = memory_mb
        self.environment = environment or {}
        self.group = None
        self.process = None

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="evenkeel-bench-", dir=self.place)
        self.socket = os.path.join(self.home, "s")
        self.port = free_port()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        data = os.path.join(self.home, "data")
        log = open(os.path.join(self.home, "log"), "w")
        common = ["--no-defaults", f"--datadir={data}"] + (["--user=root"] if os.getuid() == 0 else [])
        # A server that starts removes the temporary tables that it finds, also those of another that runs beside it.
        own = os.path.join(self.home, "tmp")
        os.mkdir(own)
        environment = {**os.environ, "PATH": PATH, "TMPDIR": own, **self.environment}
        if self.copy_of:
            subprocess.run(["cp", "-a", self.copy_of, data], check=True)
        else:
            subprocess.run(["mariadb-install-db", *common, "--auth-root-authentication-method=normal"], check=True,
                           stdout=log, stderr=log, env=environment)
        if self.memory_mb:
            self.group = memory_group(self.memory_mb)
        command = [shutil.which("mariadbd", path=PATH), *common, f"--socket={self.socket}", f"--port={self.port}",
                   "--bind-address=127.0.0.1", f"--pid-file={self.home}/pid", "--skip-name-resolve",
                   "--innodb-buffer-pool-size=256M", "--innodb-log-file-size=64M", "--max-connections=500",
                   "--innodb-flush-log-at-trx-commit=2", "--performance-schema=OFF", *self.settings]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment,
                                        preexec_fn=self._confine(ends_with_bench(self.cpu)))
        deadline = time.monotonic() + 60
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(open(os.path.join(self.home, "log")).read()[-2000:])
            time.sleep(0.1)

    def _confine(self, before):
        """What the child does before the server runs: its CPU, its end, its memory."""
        def confined():
            before()
            if self.group:
                with open(os.path.join(self.group, "cgroup.procs"), "w") as file:
                    file.write(str(os.getpid()))
        return confined

    def answers(self):
        return self.sql("SELECT 1").returncode == 0

    def sql(self, text):
        command = ["mariadb", "--no-defaults", "-uroot", f"--socket={self.socket}", "-e", text]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def sysbench(self, transport):
        """Options by which sysbench finds the server."""
        if transport == "unix":
            return [f"--mysql-socket={self.socket}", "--mysql-user=root"]
        return ["--mysql-host=127.0.0.1", f"--mysql-port={self.port}", "--mysql-user=root"]

    def prepare(self, rows):
        """The table of sysbench's point select."""
        self.sql("CREATE DATABASE sbtest")
        subprocess.run(["sysbench", "oltp_point_select", *self.sysbench("unix"), "--tables=1", f"--table-size={rows}",
                        "prepare"], check=True, stdout=subprocess.DEVNULL)

    def __exit__(self, *_):
        if self.process is not None:
            end(self.process, 30)
        if self.group and os.path.isdir(self.group):
            os.rmdir(self.group)
        shutil.rmtree(self.home, ignore_errors=True)


def memory_group(megabytes):
    """A control group that may have so much memory; needs root."""
    old = os.path.isdir("/sys/fs/cgroup/memory")
    group = f"/sys/fs/cgroup/{'memory/' if old else ''}evenkeel-bench-{os.getpid()}"
    os.makedirs(group, exist_ok=True)
    limit = "memory.limit_in_bytes" if old else "memory.max"
    with open(os.path.join(group, limit), "w") as file:
        file.write(str(megabytes << 20))
    return group


class Mysql(Server):
    """A private mysqld: MySQL itself, whose accounts authenticate by caching_sha2_password."""

    def __init__(self, program):
        super().__init__()
        self.program = program

    def _start(self):
        log = open(os.path.join(self.home, "log"), "w", encoding="utf-8")
        common = [self.program, f"--datadir={self.home}/data", "--performance-schema=OFF"]
        subprocess.run([*common, "--initialize-insecure"], check=True, stdout=log, stderr=log)
        command = [*common, f"--socket={self.socket}", f"--port={self.port}", "--bind-address=127.0.0.1", "--mysqlx=OFF",
                   f"--pid-file={self.home}/pid", "--innodb-buffer-pool-size=128M", "--max-allowed-packet=64M", "--secure-file-priv=", "--skip-name-resolve"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self.home, "log"), encoding="utf-8") as text:
                    raise RuntimeError(text.read()[-2000:])
            time.sleep(0.2)


class Database:
    """A mariadbd on folders that are there, on mounts, say. Up on making, down on `stop`. `where` are the options that say where its files are, `settings` all others; socket and
    log are in `place`. Where `make` is set its system tables are made first."""

    def __init__(self, place, where, settings, make=False):
        self.socket, errors = os.path.join(place, "s"), os.path.join(place, "errors")
        common = ["--no-defaults", *where, "--user=root"]
        log, environment = open(errors, "a"), {**os.environ, "PATH": PATH}
        if make:
            subprocess.run(["mariadb-install-db", *common, "--auth-root-authentication-method=normal"], check=True,
                           stdout=log, stderr=log, env=environment)
        command = [shutil.which("mariadbd", path=PATH), *common, f"--socket={self.socket}", f"--pid-file={place}/pid",
                   *DISK, *settings]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment,
                                        preexec_fn=ends_with_bench())
        deadline = time.monotonic() + PATIENCE_S
        while self.sql("SELECT 1").returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(open(errors).read()[-2000:])
            time.sleep(0.2)

    def sql(self, text):
        command = ["mariadb", "--no-defaults", "-uroot", f"--socket={self.socket}", "-e", text]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        end(self.process, PATIENCE_S)
