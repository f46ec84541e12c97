"""Private servers with the same rows, loads of which each is recorded three ways, and recordings that are sent again."""
import csv
import itertools
import json
import os
import shutil
import socket
import subprocess
import time

from .process import end, ends_with_bench, free_port
from .why.bed import Bed

LOGS = ["--set", "general_log=ON", "--set", "slow_query_log=ON", "--set", "long_query_time=0", "--set", "log_output=FILE",
        "--set", "general_log_file=general.log", "--set", "slow_query_log_file=slow.log"]
ROWS = 10000


class Servers(Bed):
    """Servers with the same rows, and loads of which each is recorded three ways."""
    # Copies are made by several threads.
    numbers = itertools.count(1)

    def up(self, name, *more):
        self.evenkeel("sandbox", "up", name, *more)
        self.made[name] = None

    def shop(self, *more):
        """Fills the server whose copies all others are with one table, and with what `more` do."""
        self.up("origin")
        self.sql("origin", "CREATE DATABASE shop; USE shop;"
                 "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40) COLLATE utf8mb4_general_ci, price DECIMAL(8,2), kind INT, stock INT, "
                 "KEY (kind), KEY (name));"
                 f"INSERT INTO item SELECT seq, CONCAT(IF(seq % 2, 'Item', 'item'), seq % 500), seq % 977 / 7, seq % 250, seq % 13 FROM seq_1_to_{ROWS}")
        for fill in more:
            fill()
        self.evenkeel("sandbox", "down", "origin")

    def filled(self):
        """The same with the tables of sysbench and of the DVD store."""
        def fill():
            self.sql("origin", "CREATE DATABASE sbtest")
            self.sysbench("origin", "oltp_read_write", "prepare")
            self.evenkeel("data", "fill", "sandbox:origin", "--workload", "dvdstore", "--size", "1MB")
        self.shop(fill)

    def copy(self, *more):
        name = f"r{next(self.numbers)}"
        self.up(name, "--copy-of", "origin", *more)
        return name

    def sysbench(self, name, script, act, *more, port=None):
        record = self.record(name)
        command = ["sysbench", script, "--mysql-host=127.0.0.1", f"--mysql-port={port or record['port']}", "--mysql-user=evenkeel",
                   f"--mysql-password={record['password']}", "--mysql-db=sbtest", "--tables=2", f"--table-size={ROWS}", "--mysql-ssl=off", *more, act]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, preexec_fn=ends_with_bench())

    def orders(self, name, port, seconds):
        """Orders of the DVD store, 20 a second."""
        self.evenkeel("load", self.url(name, port, "dvdstore"), "--workload", "dvdstore", "--rate", "20", "--duration", f"{seconds}s", "--warm-up", "0s")

    def file(self, name, log):
        return os.path.join(self.folder(name), "data", log)

    def fresh_logs(self, name):
        """Begins the general log and the slow log of a server anew."""
        for kind in ("general", "slow"):
            os.remove(self.file(name, f"{kind}.log"))
        self.sql(name, "FLUSH GENERAL LOGS; FLUSH SLOW LOGS")

    def recorded(self, act, seconds, server=None):
        """Paths of three recordings of what `act(server, port, seconds)` does to a server, a new one unless one is given that has served nothing,
        by kind, and its tables after it."""
        name = server or self.copy(*LOGS)
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
        logs["tables"] = self.tables(name)
        if not server:
            self.drop(name)
        return logs

    def tables(self, name):
        """What a load leaves in every table that it may change: CHECKSUM TABLE, and one of the rows without their numbers (AUTO_INCREMENT)."""
        one = "IF(EXTRA = 'auto_increment', NULL, CONCAT('QUOTE(', COLUMN_NAME, ')'))"
        columns = self.sql(name, f"SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), IFNULL(GROUP_CONCAT({one} ORDER BY ORDINAL_POSITION), 0) "
                           "FROM information_schema.COLUMNS JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME) "
                           "WHERE TABLE_SCHEMA IN ('sbtest', 'dvdstore') AND TABLE_TYPE = 'BASE TABLE' GROUP BY 1 ORDER BY 1")
        columns = dict(line.split("\t") for line in columns.splitlines())
        sums = "; ".join(f"CHECKSUM TABLE {table}; SELECT COUNT(*), SUM(CAST(CONV(LEFT(MD5(CONCAT_WS(',', {listed})), 15), 16, 10) AS UNSIGNED)) FROM {table}"
                         for table, listed in columns.items())
        lines = self.sql(name, sums).splitlines()
        return dict(zip(columns, zip(lines[::2], lines[1::2]), strict=True))

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
        lines = os.path.join(self.home, f"lines-{next(self.numbers)}.csv")
        done = subprocess.run([self.binary, "--home", self.home, "--quiet", "replay", log, *targets_and_flags, "--csv", lines, "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=ends_with_bench())
        if done.returncode > 1:
            raise RuntimeError(f"replay of {log} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        with open(lines) as file:
            sent = list(csv.DictReader(file))
        os.remove(lines)
        return json.loads(done.stdout), sent


def is_finding(line):
    """Whether another result, or a response time that is worse, is said of a kind of statement."""
    differs = any(difference["kind"] != "warnings" for difference in line["differences"])
    return differs or (line["timing"] or {}).get("speed") == "worse"


def wait_for(port):
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")
