"""Seconds of loading, ours beside LOAD DATA LOCAL by hand, and the chain from a file to day tables beside gawk, mariadb and
INSERT ... SELECT.
"""
import json
import os
import subprocess
import time

from .scene import URL

LOAD = "LOAD DATA LOCAL INFILE '{}' INTO TABLE {} CHARACTER SET latin1 FIELDS TERMINATED BY ';' ESCAPED BY '\\\\'"
UNCHECKED = "SET SESSION unique_checks = 0, foreign_key_checks = 0; "
# Settings that a LOAD DATA by hand is tried with.
SETTINGS = {"": "", ", unchecked": UNCHECKED}
COLUMNS = ("rectype, seq, calling, called, imsi, imei, start, answer, `end`, seconds, cell, msc, trunk_in, trunk_out, cause, service, "
           "amount, roaming")
# The same trimming, checks and search for duplicates as the layout asks for, as one would write them by hand.
GAWK = r"""BEGIN { FIELDWIDTHS = "2 10 15 15 15 15 14 14 14 6 10 12 7 7 3 2 10 1 27"; OFS = ";" }
function refuse(why) { print FILENAME "\t" FNR "\t" why "\t" $0 > REJECTS }
{ if (length($0) != 199) { refuse("length"); next }
  if ($0 ~ /[^ -~]/) { refuse("not ASCII"); next }
  record = $0
  for (i = 1; i <= 18; i++) gsub(/^ +| +$/, "", $i)
  if ($1 != "01") { refuse("type"); next }
  if ($2 !~ /^[0-9]+$/ || $3 == "") { refuse("key"); next }
  if ($7 !~ /^[0-9]{14}$/ || $8 !~ /^([0-9]{14})?$/ || $9 !~ /^([0-9]{14})?$/) { refuse("time"); next }
  if ($10 !~ /^[0-9]*$/ || $10 + 0 > 14400 || $15 !~ /^[0-9]*$/ || $16 !~ /^[0-9]*$/) { refuse("integer"); next }
  if ($17 !~ /^([0-9]+(\.[0-9]+)?)?$/ || $18 !~ /^[01]$/) { refuse("amount"); next }
  if (($2, $7) in seen) { refuse("duplicate"); next }
  seen[$2, $7]
  if (record ~ /[;\\]/) for (i = 1; i <= 18; i++) gsub(/[;\\]/, "\\\\&", $i)
  if ($8 == "") $8 = "\\N"; if ($9 == "") $9 = "\\N"; if ($10 == "") $10 = "\\N"; if ($15 == "") $15 = "\\N"
  if ($16 == "") $16 = "\\N"; if ($17 == "") $17 = "\\N"
  print $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18 }"""


def loads(desk, scene, rounds, tried=SETTINGS):
    """Seconds, a list for each way of loading; they take turns. The files of LOAD DATA are converted before."""
    lines = desk.path("csv", "calls.csv")
    create = desk.ours("cdr", "load", "--layout", scene.layout, "--table", "calls", "--print-table")
    whole, halves = [by_hand(lines)], [by_hand(part) for part in halved(lines)]
    ways = {"ours over 2": lambda: desk.ours(*plain(scene), "--connections", "2", "--no-audit"),
            "ours, audited": lambda: desk.ours(*plain(scene))}
    for name, settings in tried.items():
        ways[f"LOAD DATA{name}"] = lambda settings=settings: at_once(desk, [settings + sql for sql in whole])
        ways[f"LOAD DATA{name} over 2"] = lambda settings=settings: at_once(desk, [settings + sql for sql in halves])
    seconds, cpu, rows = {name: [] for name in ways}, {name: [] for name in ways}, set()
    for number in range(rounds):
        names = list(ways)
        for name in names[number % len(names):] + names[:number % len(names)]:
            desk.clear()
            desk.sql(create)
            if os.path.exists(scene.rejects):
                os.remove(scene.rejects)
            desk.settle()
            before, begin = desk.cpu_s(), time.monotonic()
            ways[name]()
            seconds[name].append(time.monotonic() - begin)
            desk.settle()
            cpu[name].append(desk.cpu_s() - before)
            rows.add(desk.sql("SELECT COUNT(*) FROM calls"))
    for name, found in seconds.items():
        print(f"{name:27} s: {' '.join(f'{each:.2f}' for each in found)}; CPU s of the server: {' '.join(f'{each:.2f}' for each in cpu[name])}")
    if len(rows) > 1:
        raise RuntimeError(f"not all ways load as many rows: {rows}")
    return seconds


def by_hand(lines):
    return LOAD.format(lines, "calls") + f" ({COLUMNS})"


def at_once(desk, statements):
    """Runs each in a client of its own."""
    clients = [subprocess.Popen(desk.client("-e", sql)) for sql in statements]
    codes = [client.wait() for client in clients]
    if any(codes):
        raise RuntimeError(f"LOAD DATA ended with {codes}")


def halved(path):
    """Two files, each with half of the lines of one."""
    parts = [f"{path}.{part}" for part in (1, 2)]
    with open(path, "rb") as file:
        left = os.path.getsize(path) // 2
        for part in parts:
            with open(part, "wb") as out:
                while left > 0 and (piece := file.read(min(left, 1 << 20))):
                    out.write(piece)
                    left -= len(piece)
                out.write(file.readline())
            left = os.path.getsize(path)
    return parts


def plain(scene):
    return ["cdr", "load", URL, scene.file, "--layout", scene.layout, "--table", "calls", "--rejects", scene.rejects]


class Chain:
    """From a file with late records and duplicates to indexed day tables, both ways."""

    def __init__(self, desk, records):
        self.desk, self.records = desk, records
        self.file, self.layout, self.script = desk.path("chain"), desk.path("chain.toml"), desk.path("chain.awk")
        self.by_day = desk.path("day.awk")
        desk.ours("cdr", "generate", self.file, "--records", str(records), "--dirt", "late=0.01,duplicate=0.001", "--seed", "2")
        layout = desk.ours("cdr", "generate", "--print-layout").replace('key = ["seq"]', 'key = ["seq", "start"]')
        to_day = 'print $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18 > (DAY day) }'
        by_day = GAWK.replace("seen[$2, $7]\n", "seen[$2, $7]; day = substr($7, 1, 8)\n")
        by_day = by_day[:by_day.rindex("print $1")] + to_day
        for path, text in ((self.layout, layout), (self.script, GAWK), (self.by_day, by_day)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.table = desk.ours("cdr", "load", "--layout", self.layout, "--table", "calls", "--index", "calling,start",
                               "--print-table").strip().rstrip(";")

    def run(self, rounds):
        """Seconds of each, and whether their day tables are the same."""
        ways = {"gawk": self.peer, "gawk, by day": self.peer_by_day, "ours": lambda: self.ours(False), "ours, audited": lambda: self.ours(True)}
        seconds, tables = {name: [] for name in ways}, {}
        for _ in range(rounds):
            for name, way in ways.items():
                self.desk.clear()
                self.desk.settle()
                begin = time.monotonic()
                way()
                seconds[name].append(time.monotonic() - begin)
                tables.setdefault(name, self.sums())
        for name, found in seconds.items():
            print(f"chain, {name:13} s: {' '.join(f'{each:.1f}' for each in found)}")
        same = all(found == tables["gawk"] for found in tables.values()) and tables["gawk"] != {}
        if not same:
            print(json.dumps(tables))
        return seconds, same

    def ours(self, audited):
        flags = [] if audited else ["--no-audit"]
        self.desk.sql(self.table)
        self.desk.ours("cdr", "load", URL, self.file, "--layout", self.layout, "--table", "calls", "--rejects", self.desk.path("chain.rejects"),
                       "--connections", "2", *flags)
        self.desk.ours("cdr", "dispatch", URL, "--table", "calls", "--by", "start", *flags)

    def peer(self):
        """gawk into a file, which is loaded into a table without indexes, and from there into the tables of its days."""
        desk, lines = self.desk, self.desk.path("chain.csv")
        with open(lines, "wb") as file:
            subprocess.run(["gawk", "-b", "-v", f"REJECTS={desk.path('gawk.rejects')}", "-f", self.script, self.file], stdout=file,
                           check=True)
        # The further index has the name of its first column.
        desk.sql(f"{self.table}; CREATE TABLE raw LIKE calls; ALTER TABLE raw DROP PRIMARY KEY, DROP KEY calling")
        desk.sql(UNCHECKED + LOAD.format(lines, "raw") + f" ({COLUMNS})")
        for day in desk.sql("SELECT DISTINCT DATE(start) FROM raw").split():
            table = f"calls_{day.replace('-', '')}"
            desk.sql(f"{UNCHECKED} CREATE TABLE {table} LIKE calls; INSERT INTO {table} SELECT * FROM raw "
                     f"WHERE start >= '{day}' AND start < '{day}' + INTERVAL 1 DAY")
        desk.sql("DROP TABLE raw")

    def peer_by_day(self):
        """gawk into a file for each day, each of which is loaded into the day's table, whose further index is made of its rows at once."""
        desk = self.desk
        desk.sql(self.table)
        subprocess.run(["gawk", "-b", "-v", f"REJECTS={desk.path('gawk.rejects')}", "-v", f"DAY={desk.path('chain.day.')}", "-f",
                        self.by_day, self.file], check=True)
        prefix = "chain.day."
        for name in sorted(name for name in os.listdir(desk.home) if name.startswith(prefix)):
            table, lines = f"calls_{name.removeprefix(prefix)}", desk.path(name)
            desk.sql(f"{UNCHECKED} CREATE TABLE {table} LIKE calls; ALTER TABLE {table} DROP KEY calling; "
                     f"{LOAD.format(lines, table)} ({COLUMNS}); ALTER TABLE {table} ADD KEY calling (calling, start)")
            os.remove(lines)

    def sums(self):
        """Rows of each day table, a sum over all of their columns, and its indexes."""
        desk, found = self.desk, {}
        for table in desk.tables("calls\\_2%"):
            rows = desk.sql(f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {COLUMNS}))), "
                            f"SUM((answer IS NULL) + 2 * (seconds IS NULL) + 4 * (cause IS NULL)) FROM {table}")
            keys = desk.sql(f"SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY INDEX_NAME, SEQ_IN_INDEX) FROM information_schema.STATISTICS "
                            f"WHERE TABLE_SCHEMA = 'cdr' AND TABLE_NAME = '{table}'")
            if not rows.startswith("0\t"):
                found[table] = f"{rows}\t{keys}"
        return found
