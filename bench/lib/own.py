"""A profile of a schema of one's own, with writes, on a private server that is reached by URL."""
import glob
import json
import os
import re
import subprocess
import tempfile

from .process import ends_with_bench
from .server import Server

ROWS = 20_000
OBJECTIVE, WITHIN = "100ms", "200s"
# Of the lower bound: the rate of the objective, at least.
NEAR = 0.5
SHOP = f"""CREATE DATABASE shop; USE shop;
CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer INT NOT NULL, total INT NOT NULL, KEY (customer));
INSERT INTO orders (customer, total) SELECT seq % 20, seq FROM seq_1_to_{ROWS};"""
WORKLOAD = """name = "shop"
[[statement]]
name = "orders"
weight = 9
sql = "SELECT COUNT(*), SUM(total) FROM (SELECT total FROM orders WHERE id >= :first ORDER BY id LIMIT 1000) AS some"
parameters.first = { uniform = { min = 1, max = 19000 } }
[[statement]]
name = "order"
weight = 1
sql = "INSERT INTO orders (customer, total) VALUES (:customer, 7)"
parameters.customer = { uniform = { min = 0, max = 19 } }
"""


def own_server(binary):
    """1 where the objective is found, a run of a minute at its rate meets it, and the rows that were written are counted exactly, else 0."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as home, Server() as server:
        server.sql(SHOP)
        workload = os.path.join(home, "shop.toml")
        with open(workload, "w") as file:
            file.write(WORKLOAD)
        before = rows(server)
        profile = lambda *words: subprocess.run(
            [binary, "--home", home, "profile", f"mysql://root@127.0.0.1:{server.port}/shop", "--workload", workload, "--allow-writes", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, preexec_fn=ends_with_bench())
        done = profile("--objective", OBJECTIVE, "--within", WITHIN, "--duration", "8s", "--warm-up", "1s")
        more = rows(server) - before
        summaries = glob.glob(os.path.join(home, "runs", "*", "summary.json"))
        summary = json.load(open(summaries[0])) if summaries else {}
        found = re.search(rf"carries at least (\d+) .*?p95 stays below {OBJECTIVE[:-2]} ms up to (\d+) requests", done.stdout, re.DOTALL)
        p95 = minute(profile, home, found[2]) if found else float("inf")
    written = summary.get("written")
    # The rate of the objective lies near the end of what the server carries, since its statements take far less than the objective.
    found = found is not None and int(found[2]) >= NEAR * int(found[1]) and p95 <= float(OBJECTIVE[:-2])
    is_counted = written is not None and (written["inserted"], written["unanswered"], written["unknown_loads"]) == (more, 0, 0)
    print(f"own server: objective {'found' if found else 'not found'}, p95 of a minute there {p95:.3g} ms, written {written}, rows in the table {more}", flush=True)
    if not (found and is_counted):
        print(done.stdout[-3000:], flush=True)
    return int(done.returncode == 0 and found and more > 0 and is_counted)


def minute(profile, home, rate):
    """The 95th percentile, in ms, of a run of a minute at a rate."""
    profile("--rate", rate, "--repeats", "1", "--duration", "60s", "--output", os.path.join(home, "minute"))
    with open(glob.glob(os.path.join(home, "minute", "*", "summary.json"))[0]) as file:
        return json.load(file)["cells"][0]["p95_ms"]["mean"]


def rows(server):
    return int(server.sql("SELECT COUNT(*) FROM shop.orders").stdout.split()[-1])
