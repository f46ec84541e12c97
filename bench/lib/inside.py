"""Of `bench/inside`: its loads, its servers, and the ways to them."""
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass

from . import proxy
from .build import ROOT
from .process import end, ends_with_bench
from .server import Server

USER, PASSWORD = "app", "x"
COLLAPSE = os.path.join(ROOT, "examples", "workloads", "collapse")
SETTINGS = ("--max-connections=700", "--back-log=700", "--max-prepared-stmt-count=200000", "--innodb-buffer-pool-size=512M",
            "--innodb-log-file-size=256M", "--innodb-flush-log-at-trx-commit=2", "--innodb-fast-shutdown=2")
DURABLE = ("--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--log-bin=bin", "--server-id=1")
POOLED = ("--thread-handling=pool-of-threads",)
LIMITS = ("4", "8", "16", "32", "64")
INSIDE = (*LIMITS, "auto")
DIRECT = ("direct", "direct again")
WAYS = ("direct", "pool", *LIMITS, "proxy", "auto", "direct again")
# These look for a limit, and have time to find it.
ADAPTIVE = ("auto", "proxy")
SETTLE_S = 6
TABLES = ["--tables=4", "--table-size=100000"]
# A transaction that has to be tried again: a deadlock, or what another has changed since the snapshot.
CONFLICTS = ("1213", "1020")
LOST = ("1927", "2006", "2013", "2055")
# Seconds after its time that a load, a question, sessions that were told to end, and a plugin that was uninstalled may take.
LATE_S, ANSWER_S, QUIET_S, GONE_S = 60, 20, 20, 5
READ_WRITE_WITHOUT_BEGIN = """require("oltp_read_write")
function begin() end
"""
FLASH_SALE_WITHOUT_BEGIN = """function thread_init() con = sysbench.sql.driver():connect() end
function thread_done() con:disconnect() end
function event()
  local uniform = sysbench.rand.uniform
  con:query("SELECT name FROM customer WHERE id = " .. uniform(1, 100000))
  for _ = 1, 5 do con:query("UPDATE item SET stock = stock - 1 WHERE id = " .. uniform(1, 200)) end
  con:query("INSERT INTO sale (customer, item, sold) VALUES (" .. uniform(1, 100000) .. ", " .. uniform(1, 200) .. ", NOW())")
  con:query("COMMIT")
end
"""
# Generator of values for a parameter of a statement of a mix.
NUMBER = "{{ uniform = {{ min = 1, max = {} }} }}"


class Stuck(Exception):
    """A server does not answer, or does not let go; it is of no use any more."""


@dataclass
class Load:
    """`script` is of sysbench, or a workload file of ours; `more` are its options."""
    name: str
    script: str
    more: tuple = ()
    database: str = "sbtest"
    durable: bool = False
    autocommit: bool = True
    judged: str = "transactions"

    def is_ours(self):
        return self.script.endswith(".toml")

    def command(self, engine, home, port, clients, settle, seconds, seed):
        if self.is_ours():
            url = f"mysql://{USER}:{PASSWORD}@127.0.0.1:{port}/{self.database}"
            return [engine, "-q", "--home", home, "load", url, "--workload", self.script, "--clients", str(clients),
                    "--max-sessions", str(clients), "--warm-up", f"{settle}s", "--duration", f"{seconds}s", "--timeout", "120s",
                    "--json", "--allow-writes", "--seed", str(seed), *self.more]
        return ["sysbench", self.script, "--mysql-host=127.0.0.1", f"--mysql-port={port}", f"--mysql-user={USER}",
                f"--mysql-password={PASSWORD}", f"--mysql-db={self.database}", f"--threads={clients}",
                f"--time={settle + seconds}", f"--report-checkpoints={settle}", f"--rand-seed={seed}",
                f"--mysql-ignore-errors={','.join(CONFLICTS)}", *self.more, "run"]

    def result(self, output, errors):
        """Commits per second, conflicts, connections lost, failures by code, and what else went wrong."""
        return of_ours(output, errors) if self.is_ours() else of_sysbench(output, errors)


def of_ours(output, errors):
    if not output.startswith("{"):
        return outcome(trouble=[f"no figures: {last_line(errors)}"])
    found = json.loads(output)
    failed = found["failed"] | {name: found[name] for name in ("timed_out", "unsent") if found[name]}
    lost = found["reconnects"] + sum(failed.pop(code, 0) for code in LOST)
    return outcome(found["throughput_per_s"] or 0.0, sum(failed.pop(code, 0) for code in CONFLICTS), lost, failed)


def of_sysbench(output, errors):
    failed, lost = {}, 0
    for code in re.findall(r"^FATAL: .*?(?:error |errno = )(\d+)", output + errors, re.M):
        if code in LOST:
            lost += 1
        else:
            failed[code] = failed.get(code, 0) + 1
    # At the end of the warm-up, and at the end.
    rates = re.findall(r"transactions:\s+\d+\s+\(([\d.]+) per sec", output)
    conflicts = re.findall(r"ignored errors:\s+(\d+)", output)
    if len(rates) != 2:
        why = re.findall(r"^FATAL: (.*)", output + errors, re.M)
        return outcome(lost=lost, failed=failed, trouble=[f"no figures: {why[0] if why else last_line(errors)}"])
    return outcome(float(rates[1]), int(conflicts[1]), lost, failed)


def outcome(rate=0.0, conflicts=0, lost=0, failed=(), trouble=()):
    return {"rate": round(rate, 1), "conflicts": conflicts, "lost": lost, "failed": dict(failed), "trouble": list(trouble)}


def last_line(text):
    return (text.strip().splitlines() or ["no word"])[-1][:300]


def loads(home, seed, mixes):
    """All by name; what is generated is written to a folder."""
    def written(name, text):
        path = os.path.join(home, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path
    ours = lambda name, **more: Load(name, os.path.join(COLLAPSE, f"{name.split('+')[0]}.toml"), ("--text",), "collapse", **more)
    read_write = lambda name, **more: Load(name, "oltp_read_write", (*TABLES,), **more)
    cpu = (*TABLES, "--point-selects=0", "--simple-ranges=0", "--range-size=1000")
    made = [
        ours("flash_sale"), ours("hot_rows"), read_write("read_write"), Load("cpu", "oltp_read_only", cpu),
        Load("points", "oltp_point_select", (*TABLES,), judged="points"),
        ours("flash_sale+durable", durable=True), read_write("read_write+durable", durable=True),
        Load("flash_sale+autocommit0", written("flash_sale.lua", FLASH_SALE_WITHOUT_BEGIN), (), "collapse", autocommit=False),
        Load("read_write+autocommit0", written("read_write.lua", READ_WRITE_WITHOUT_BEGIN), (*TABLES,), autocommit=False)]
    for index in range(1, mixes + 1):
        name = f"mix{index}"
        draw = random.Random(f"{seed}/{index}")
        how = ("--text",) if draw.random() < 0.5 else ()
        made.append(Load(name, written(f"{name}.toml", mix(name, draw)), how, "collapse", judged="unseen"))
    return {load.name: load for load in made}


def mix(name, draw):
    """A workload file: statements as sysbench has them, alone and in transactions, in shares that are drawn."""
    rows, hot, size = 100_000, round(100 ** draw.random()), round(10 ** (1 + 2 * draw.random()))
    between = f"WHERE id BETWEEN :first AND :first + {size - 1}"
    row, first = ("row", NUMBER.format(rows)), ("first", NUMBER.format(rows - size))
    text = ("text", "{ string = { min = 100, max = 120 } }")
    kinds = {
        "point": ("SELECT c FROM entry WHERE id = :row", row),
        "range": (f"SELECT c FROM entry {between}", first),
        "sum": (f"SELECT SUM(k) FROM entry {between}", first),
        "order": (f"SELECT c FROM entry {between} ORDER BY c", first),
        "distinct": (f"SELECT DISTINCT c FROM entry {between} ORDER BY c", first),
        "update_index": ("UPDATE entry SET k = k + 1 WHERE id = :row", row),
        "update_text": ("UPDATE entry SET c = :text WHERE id = :row", text, row),
        "hot": ("UPDATE hot SET n = n + 1 WHERE id = :row", ("row", NUMBER.format(hot))),
        "insert": ("INSERT INTO sale (customer, item, sold) VALUES (:row, 7, NOW())", row)}
    # Some kinds are left out; the others have shares from the flat distribution.
    share = {kind: draw.expovariate(1) * (draw.random() < 0.7) for kind in kinds}
    share["point"] += 0.05
    alone = {kind: weight for kind, weight in share.items() if weight and draw.random() < 0.6}
    of = lambda: draw.choices(list(share), list(share.values()), k=draw.randint(2, 12))
    transactions = [(f"transaction{number}", of(), draw.expovariate(1) + 0.1) for number in range(draw.randint(1, 3))]
    named = {kind for _, kinds_, _ in transactions for kind in kinds_}
    parts = [f'name = "{name}"\n# {hot} hot rows, ranges of {size}.\n']
    for kind in [kind for kind in kinds if kind in alone or kind in named]:
        sql, *parameters = kinds[kind]
        weight = f"weight = {alone[kind]:.4f}\n" if kind in alone else ""
        parts.append(f'[[statement]]\nname = "{kind}"\nsql = "{sql}"\n{weight}[statement.parameters]\n'
                     + "".join(f"{parameter} = {values}\n" for parameter, values in parameters))
    for transaction, kinds_, weight in transactions:
        parts.append(f'[[transaction]]\nname = "{transaction}"\nstatements = {json.dumps(kinds_)}\nweight = {weight:.4f}\n')
    return "\n".join(parts)


class Stage:
    """Servers with the same rows, each up from its first use to the end, and a folder that goes with them."""

    def __init__(self, engine, plugin, seed, mixes):
        self.engine, self.plugin, self.servers = engine, plugin, {}
        self.seed, self.mixes, self.rows = seed, mixes, None

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="evenkeel-bench-")
        try:
            self.plugins = os.path.join(self.home, "plugins")
            os.mkdir(self.plugins)
            shutil.copy(self.plugin, os.path.join(self.plugins, "evenkeel_guard.so"))
            self.loads = loads(self.home, self.seed, self.mixes)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for key in list(self.servers):
            self.drop(key)
        shutil.rmtree(self.home, ignore_errors=True)

    def fill(self):
        """The folder of a server that has all rows, and is down."""
        rows = os.path.join(self.home, "data")
        with Server(settings=(*SETTINGS, "--innodb-fast-shutdown=1")) as server:
            self.sql(server, f"CREATE DATABASE sbtest; CREATE DATABASE collapse; CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';"
                             f"GRANT ALL ON *.* TO {USER}@'%'")
            subprocess.run(["sysbench", "oltp_read_write", *server.sysbench("unix"), *TABLES, "--threads=2", "prepare"],
                           check=True, stdout=subprocess.DEVNULL, preexec_fn=ends_with_bench())
            with open(os.path.join(COLLAPSE, "schema.sql"), encoding="utf-8") as schema:
                subprocess.run(["mariadb", "--no-defaults", "-uroot", f"--socket={server.socket}", "collapse"], stdin=schema,
                               check=True)
            end(server.process, 120)
            shutil.move(os.path.join(server.home, "data"), rows)
        return rows

    def server(self, key):
        """Of a key: durable or not, with its thread pool or not."""
        if key in self.servers and self.servers[key].process.poll() is not None:
            self.drop(key)
        if key not in self.servers:
            self.rows = self.rows or self.fill()
            durable, pooled = key
            settings = (*SETTINGS, f"--plugin-dir={self.plugins}", *(DURABLE if durable else ()), *(POOLED if pooled else ()))
            self.servers[key] = Server(settings=settings, copy_of=self.rows).__enter__()
            self.sql(self.servers[key], "".join(f"SELECT SUM(LENGTH(c)) FROM sbtest.sbtest{table}; "
                                                f"SELECT SUM(k) FROM sbtest.sbtest{table};" for table in (1, 2, 3, 4)))
        return self.servers[key]

    def drop(self, key):
        self.servers.pop(key).__exit__()

    def sql(self, server, text):
        """Rows of an answer; a server that gives none in time is stuck."""
        command = ["mariadb", "--no-defaults", "-uroot", f"--socket={server.socket}", "-N", "-B", "-e", text]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER_S)
        except subprocess.TimeoutExpired:
            raise Stuck(f"no answer to {text[:60]} in {ANSWER_S} s") from None
        if done.returncode != 0:
            raise Stuck(f"{text[:60]}: {last_line(done.stderr)}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def quiet(self, server):
        """Waits until the last sessions are gone, also of administrators: a plugin stays until they are."""
        deadline = time.monotonic() + QUIET_S
        count = "SELECT COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command <> 'Daemon'"
        while (sessions := self.sql(server, count)[0][0]) != "0":
            if time.monotonic() > deadline:
                raise Stuck(f"{sessions} sessions stay for {QUIET_S} s after their clients have gone")
            time.sleep(0.05)

    def status(self, server):
        """The gate's status variables, without their prefix, and how many threads run."""
        rows = self.sql(server, "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'evenkeel%' OR Variable_name = 'Threads_running'")
        return {row[0].lower().removeprefix("evenkeel_"): row[-1] if len(row) > 1 else "" for row in rows}

    @contextlib.contextmanager
    def front(self, server, way):
        """The port by which a way reaches a server."""
        if way == "proxy":
            with proxy.guard(self.engine, server.port) as between:
                yield between.port
        elif way in INSIDE:
            self.sql(server, f"INSTALL SONAME 'evenkeel_guard'; SET GLOBAL evenkeel_mode = '{way}'")
            yield server.port
            self.sql(server, "UNINSTALL SONAME 'evenkeel_guard'")
            there, deadline = "SELECT 1 FROM information_schema.plugins WHERE plugin_library LIKE 'evenkeel%'", time.monotonic() + GONE_S
            # A session that has left the process list may not have let go of it yet.
            while self.sql(server, there):
                if time.monotonic() > deadline:
                    raise Stuck(f"the plugin stays for {GONE_S} s after UNINSTALL SONAME")
        else:
            yield server.port

    def run(self, load, clients, way, seconds, seed):
        """What came of one run. A server that has died or is stuck is not used again."""
        key, found = (load.durable, way == "pool"), outcome()
        server = self.server(key)
        try:
            if load.database == "collapse":
                self.sql(server, "TRUNCATE collapse.sale" + ("; RESET MASTER" if load.durable else ""))
            with self.front(server, way) as port:
                self.sql(server, f"SET GLOBAL autocommit = {int(load.autocommit)}")
                found = self.play(server, load, port, clients, way, seconds, seed)
                self.quiet(server)
                self.sql(server, "SET GLOBAL autocommit = 1")
                found["trouble"] += self.taken(server) if way in INSIDE else []
        except (Stuck, RuntimeError) as error:
            found["trouble"].append(str(error))
            log = os.path.join(server.home, "log")
            if server.process.poll() is not None:
                with open(log, encoding="utf-8", errors="replace") as file:
                    text = file.read()
                found["trouble"].append(f"the server died: {text[max(text.rfind('got signal'), 0):][:4000]}")
            self.drop(key)
        return found

    def play(self, server, load, port, clients, way, seconds, seed):
        # Hundreds of sessions take a second to log in; sysbench begins once all have.
        settle = 2 if load.is_ours() and clients > 64 else 1
        # With 8 clients both sides of the ratio settle as long: tables slow down by a percent or two as they grow.
        if way in ADAPTIVE or way in DIRECT and clients == 8:
            settle = SETTLE_S
        command = load.command(self.engine, self.home, port, clients, settle, seconds, seed)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=ends_with_bench())
        status, output, errors = {}, "", ""
        try:
            try:
                output, errors = process.communicate(timeout=settle + seconds - 0.3)
            except subprocess.TimeoutExpired:
                status = self.status(server)
                output, errors = process.communicate(timeout=LATE_S)
        except subprocess.TimeoutExpired:
            raise Stuck(f"{load.name} did not end within {LATE_S} s after its time; {short(status)}") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        return load.result(output, errors) | {"status": short(status), "limit": status.get("short_limit")}

    def taken(self, server):
        """Places that stay taken with no client left, in words."""
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            status = self.status(server)
            left = {name: value for name, value in status.items()
                    if name.endswith(("_running", "_waiting", "aside")) and name != "threads_running" and value != "0"}
            if not left:
                return []
            time.sleep(0.1)
        return [f"places stay taken with no session left: {left}"]


def short(status):
    """Of a moment near the end of a run, in words."""
    names = ("short_limit", "short_running", "short_waiting", "long_limit", "long_running", "long_waiting", "aside", "threads_running")
    words = [f"{name.replace('_', ' ')} {status[name]}" for name in names if status.get(name, "0") != "0"]
    return ", ".join(words) + (f" ({status['short_reason']})" if status.get("short_reason") else "")
