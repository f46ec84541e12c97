"""Point selects by `evenkeel load`, as a user would measure them, and against the stub server of dev's examples."""
import csv
import io
import json
import os
import struct
import subprocess
import tempfile

from .process import ends_with_bench

WORKLOAD = """name = "points"

[[statement]]
name = "point_select"
sql = "SELECT c FROM sbtest1 WHERE id = :id"
[statement.parameters]
id = {{ uniform = {{ min = 1, max = {rows} }} }}
"""
# Of a run against the stub: 0 done, 3 requests were sent late: how late is what is asked here.
CODES = (0, 3)


class Points:
    """The workload as a file while this is entered, and the command that loads a server with it."""

    def __init__(self, engine, rows):
        self.engine, self.rows = engine, rows

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-bench-")
        self.workload, self.log = (os.path.join(self.folder.name, name) for name in ("points.toml", "requests.csv.zst"))
        with open(self.workload, "w") as file:
            file.write(WORKLOAD.format(rows=self.rows))
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def command(self, server, transport, sessions, seconds, *more):
        """`more` says how requests arrive, and what else there is to say."""
        if transport == "unix":
            return self.of_socket(server.socket, sessions, seconds, *more)
        return self.of_url(f"mysql://root@127.0.0.1:{server.port}/sbtest", sessions, seconds, *more)

    def of_socket(self, path, sessions, seconds, *more):
        """Of whatever listens there."""
        return self.of_url(f"mysql://root@/sbtest?socket={path}", sessions, seconds, *more)

    def of_url(self, url, sessions, seconds, *more):
        return [self.engine, "-q", "--home", self.folder.name, "load", url, "--workload", self.workload, "--max-sessions",
                str(sessions), "--duration", f"{seconds}s", "--json", *more]

    def responses(self):
        """Response times of the last run with `--request-log` on `log`, in milliseconds, of what was answered."""
        text = subprocess.run(["zstd", "-dc", self.log], check=True, stdout=subprocess.PIPE, text=True).stdout
        rows = csv.DictReader(io.StringIO(text))
        return [(int(row["done_ns"]) - int(row["arrival_ns"])) / 1e6 for row in rows if row["done_ns"]]


def run_stub(stub, points, sessions, seconds, arrivals, stub_cpu=1, cpu=0):
    """One run of `evenkeel load` against a stub on the other core: its result and a row for each request.

    `points` are `Points`, `arrivals` the flags that say how they come. A row is
    (scheduled, received, answered, done) in nanoseconds on CLOCK_MONOTONIC. The stub does not know requests by name: both
    sides are sorted, so the k-th that was scheduled stands beside the k-th received.
    """
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as home:
        path = {name: os.path.join(home, name) for name in ("socket", "stamps", "requests")}
        server = subprocess.Popen(["taskset", "-c", str(stub_cpu), stub, "--socket", path["socket"], "--spin", "1",
                                   "--log", path["stamps"]], stdout=subprocess.PIPE, text=True,
                                  # A scheduler that shares by session would charge the spinning to the generator.
                                  start_new_session=True, preexec_fn=ends_with_bench())
        try:
            server.stdout.readline()
            command = points.of_socket(path["socket"], sessions, seconds, *arrivals, "--warm-up", "500ms", "--timeout",
                                       "30s", "--generator-cpus", str(cpu), "--request-log", path["requests"])
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
            if done.returncode not in CODES:
                raise RuntimeError(f"{command} ended by {done.returncode}")
            server.wait(30)
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
            server.stdout.close()
        result = json.loads(done.stdout)
        return result, stamped(result, path["stamps"], path["requests"])


def stamped(result, stamps, requests):
    with open(stamps, "rb") as file:
        stamps = list(struct.iter_unpack("<QQ", file.read()))
    text = subprocess.run(["zstd", "-dc", requests], check=True, stdout=subprocess.PIPE, text=True).stdout
    log = list(csv.DictReader(io.StringIO(text)))
    start = result["measure_start_monotonic_ns"]
    # Warm-up comes first and is not in the log of requests.
    stamps = stamps[len(stamps) - len(log):]
    column = lambda name: sorted(start + int(line[name]) for line in log)
    return list(zip(column("arrival_ns"), sorted(s[0] for s in stamps), sorted(s[1] for s in stamps),
                    column("done_ns")))
