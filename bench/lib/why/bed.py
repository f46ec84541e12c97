"""Pairs of private servers that stay up, and the study that is asked why they differ."""
import json
import os
import shutil
import subprocess

from ..process import ends_with_bench

SMALL, LARGE = "9M", "192M"
# Requests per second of the read, a third of what a server carries at most; and of the write.
RATE = {SMALL: 3, LARGE: 20}
WRITES = 50
# Writes whose pages do not fit into the small pool.
FLUSHING = 100
# Rows that the write changes.
ROWS = 1000


class Bed:
    """The servers of one run of the bench, under one home."""

    def __init__(self, binary, home, quick):
        self.binary, self.home, self.quick = binary, home, quick
        self.data = ["--ebs", "1", "--items", "10000" if quick else "40000"]
        self.made, self.count = {}, 0
        self.write = self.workload("stock", "UPDATE item SET i_stock = i_stock + 1 WHERE i_id = :a", {"a": ROWS})
        rows = 10000 if quick else 40000
        self.scattered = self.workload("scattered", "UPDATE item SET i_stock = i_stock + 1 WHERE i_id = :a", {"a": rows})
        self.read = self.workload("items", "SELECT * FROM item WHERE i_id IN (:a, :b, :c, :d)", dict.fromkeys("abcd", rows))

    def workload(self, name, sql, parameters):
        """A file with one statement whose parameters are whole numbers up to these."""
        path = os.path.join(self.home, f"{name}.toml")
        drawn = "".join(f"{key} = {{ uniform = {{ min = 1, max = {largest} }} }}\n" for key, largest in parameters.items())
        with open(path, "w") as file:
            file.write(f'name = "{name}"\n[[statement]]\nname = "{name}"\nsql = "{sql}"\n[statement.parameters]\n{drawn}')
        return path

    def evenkeel(self, *arguments, environment=None):
        done = subprocess.run([self.binary, "--home", self.home, "--quiet", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False, preexec_fn=ends_with_bench(), env={**os.environ, **(environment or {})})
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def server(self, pool=LARGE, *more, via="load", seed=1):
        """The name of a new server with rows: a copy, page for page, of one that was filled this way."""
        original = f"{via}-{seed}"
        if original not in self.made:
            self.evenkeel("sandbox", "up", original, *self.data, "--via", via, "--data-seed", str(seed))
            self.evenkeel("sandbox", "down", original)
            self.made[original] = None
        self.count += 1
        name = f"s{self.count}"
        self.evenkeel("sandbox", "up", name, "--copy-of", original, "--set", f"innodb_buffer_pool_size={pool}",
                      "--set", "performance_schema=ON", *more)
        self.made[name] = pool
        return name

    def pair(self, pool=LARGE, **more):
        return self.server(pool, **more), self.server(pool, **more)

    def drop(self, *names):
        """Ends servers and takes their files away."""
        for name in names:
            self.evenkeel("sandbox", "down", name)
            shutil.rmtree(self.folder(name), ignore_errors=True)
            self.made.pop(name, None)

    def end(self):
        """Ends the servers, which stay up whatever becomes of the bench."""
        for name in sorted(self.made):
            subprocess.run([self.binary, "--home", self.home, "--quiet", "sandbox", "down", name], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)

    def folder(self, name):
        return os.path.join(self.home, "sandboxes", name)

    def sql(self, name, text):
        return self.evenkeel("sandbox", "shell", name, "--", "-N", "-e", text)

    def record(self, name):
        with open(os.path.join(self.folder(name), "sandbox.json")) as file:
            return json.load(file)

    def study(self, targets, rate, *more, seed=1, duet=True, seconds=3):
        """What a study of two servers finds. Where requests queue, runs have to be longer."""
        starts, seconds = (3, 2) if self.quick else (5, seconds)
        urls = [f"url={target if '/' in target else 'sandbox:' + target}" for target in targets]
        text = self.evenkeel("study", "variation", *urls, f"duet={'yes' if duet else 'no'}", f"rate={round(rate)}", f"starts={starts}",
                             "runs=2", f"duration={seconds}s", "warm-up=1s", f"seed={seed}", *more, "--json")
        return json.loads(text)

    def reads(self, names, seed, seconds=3):
        return self.study(names, RATE[self.made[names[0]]], seed=seed, seconds=seconds)

    def writes(self, names, seed):
        return self.study(names, WRITES, f"workload={self.write}", seed=seed)

    def url(self, name, port, database="tpcw"):
        """Its URL by this port; the password stands in an option file."""
        options = os.path.join(self.home, f"{name}.cnf")
        with open(options, "w") as file:
            os.chmod(options, 0o600)
            file.write(f"[client]\npassword={self.record(name)['password']}\n")
        return f"mysql://evenkeel@127.0.0.1:{port}/{database}?defaults-file={options}"

    def restart(self, name):
        command = [self.binary, "--home", self.home, "--quiet", "sandbox"]
        up = [*command, "up", name, "--port", str(self.record(name)["port"]), "--set", f"innodb_buffer_pool_size={self.made[name]}",
              "--set", "performance_schema=ON"]
        return " ".join([*command, "down", name, "&&", *up])


def figure(results, name):
    """Mean of a figure over the cells of a study."""
    means = [cell["figures"][name]["mean"] for cell in results["cells"] if name in cell["figures"]]
    return sum(means) / len(means)


def named(results):
    return {verdict["suspect"] for verdict in results["verdicts"] if verdict["verdict"] == "cause"}


def is_of_first(results):
    """Whether the first server is the slow one, or was refused."""
    return any(words in results["headline"] for words in ("a request to t1 takes", "refuses them"))
