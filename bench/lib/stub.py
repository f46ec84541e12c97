"""The stub server of dev's examples, and what its stamps say of a run of `evenkeel load`."""
import csv
import io
import json
import os
import struct
import subprocess
import tempfile

from .process import ends_with_bench

# 0 done, 3 requests were sent late: how late is what is asked here.
CODES = (0, 3)


def run(stub, points, sessions, seconds, arrivals, stub_cpu=1, cpu=0):
    """One run of `evenkeel load` against a stub on the other core: its result and a row for each request.

    `points` are point selects as a workload (`lib/points.py`), `arrivals` the flags that say how they come. A row is
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
        return result, rows(result, path["stamps"], path["requests"])


def rows(result, stamps, requests):
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
