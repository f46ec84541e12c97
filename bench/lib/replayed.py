"""Private servers with the same rows, loads of which each is recorded three ways, and recordings that are sent again."""
import csv
import json
import os
import shutil
import socket
import subprocess
import time

from .process import end, ends_with_bench
from .why.bed import Bed

LOGS = ["--set", "general_log=ON", "--set", "slow_query_log=ON", "--set", "long_query_time=0", "--set", "log_output=FILE",
        "--set", "general_log_file=general.log", "--set", "slow_query_log_file=slow.log"]
ROWS = 10000


class Servers(Bed):
    """Servers with the same rows, and loads of which each is recorded three ways."""

    def up(self, name, *more):
        self.evenkeel("sandbox", "up", name, *more)
        self.made[name] = None

    def filled(self):
        self.up("origin")
        self.sql("origin", "CREATE DATABASE sbtest; CREATE DATABASE shop; USE shop;"
                 "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40) COLLATE utf8mb4_general_ci, price DECIMAL(8,2), kind INT, KEY (kind), KEY (name));"
                 f"INSERT INTO item SELECT seq, CONCAT(IF(seq % 2, 'Item', 'item'), seq % 500), seq % 977 / 7, seq % 250 FROM seq_1_to_{ROWS}")
        self.sysbench("origin", "oltp_read_write", "prepare")
        self.evenkeel("sandbox", "down", "origin")

    def copy(self, *more):
        self.count += 1
        name = f"r{self.count}"
        self.up(name, "--copy-of", "origin", *more)
        return name

    def sysbench(self, name, script, act, *more, port=None):
        record = self.record(name)
        command = ["sysbench", script, "--mysql-host=127.0.0.1", f"--mysql-port={port or record['port']}", "--mysql-user=evenkeel",
                   f"--mysql-password={record['password']}", "--mysql-db=sbtest", "--tables=2", f"--table-size={ROWS}", "--mysql-ssl=off", *more, act]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, preexec_fn=ends_with_bench())

    def file(self, name, log):
        return os.path.join(self.folder(name), "data", log)

    def recorded(self, act, seconds):
        """Paths of three recordings of what `act(server, port)` does, by kind, and the server that it was done to."""
        name = self.copy(*LOGS)
        folder = os.path.join(self.home, f"capture-{name}")
        guard, port = self.guard(name, "--capture", folder)
        try:
            act(name, port, seconds)
        finally:
            end(guard, 20)
        logs = {"capture": folder}
        for kind in ("general", "slow"):
            logs[kind] = os.path.join(self.home, f"{kind}-{name}.log")
            shutil.copy(self.file(name, f"{kind}.log"), logs[kind])
        logs["checksums"] = self.checksums(name)
        self.drop(name)
        return logs

    def checksums(self, name):
        return self.sql(name, "CHECKSUM TABLE sbtest.sbtest1, sbtest.sbtest2").splitlines()

    def guard(self, name, *more):
        """A guard that limits nothing in front of a server, and its port."""
        port = free_port()
        guard = subprocess.Popen([self.binary, "--home", self.home, "--quiet", "guard", "--listen", f"127.0.0.1:{port}", "--backend",
                                  f"127.0.0.1:{self.record(name)['port']}", "--dry-run", *more],
                                 stderr=subprocess.DEVNULL, preexec_fn=ends_with_bench())
        wait_for(port)
        return guard, port

    def replay(self, log, *targets_and_flags):
        """The result of a replay, and its lines."""
        lines = os.path.join(self.home, "lines.csv")
        done = subprocess.run([self.binary, "--home", self.home, "--quiet", "replay", log, *targets_and_flags, "--csv", lines, "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=ends_with_bench())
        if done.returncode > 1:
            raise RuntimeError(f"replay of {log} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        with open(lines) as file:
            return json.loads(done.stdout), list(csv.DictReader(file))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")
