"""Point selects by `evenkeel load`, as a user would measure them."""
import csv
import io
import os
import subprocess
import tempfile

WORKLOAD = """name = "points"

[[statement]]
name = "point_select"
sql = "SELECT c FROM sbtest1 WHERE id = :id"
[statement.parameters]
id = {{ uniform = {{ min = 1, max = {rows} }} }}
"""


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
