"""A file of call records with dirt, its truth, and the commands over it; losses and doubles that are planted in its table."""
import json
import os
import time

from .truth import Truth, of_tables

# What of the dirt is refused; the rest is stored as it is.
REFUSED = ("duplicate", "contradiction", "nul", "non_ascii", "short")
URL = "sandbox:a/cdr"
# So many plants come between two audits.
AT_ONCE = 10


class Scene:
    """The file, generated from a seed."""

    def __init__(self, desk, records, seed=1):
        self.desk = desk
        self.file, self.layout, self.rejects = desk.path("calls"), desk.path("calls.toml"), desk.path("calls.rejects")
        said = desk.ours("cdr", "generate", self.file, "--overwrite", "--records", str(records), "--dirt", "all", "--seed", str(seed), "--json")
        self.planted = json.loads(said)["planted"]
        with open(self.layout, "w", encoding="utf-8") as file:
            file.write(desk.ours("cdr", "generate", "--print-layout"))
        self.truth, self.whole_s, self.audits = Truth(self.file), {}, []

    def refused(self):
        """How many records ought to be refused."""
        return sum(self.planted[kind] for kind in REFUSED)

    def convert(self):
        return ["cdr", "convert", self.file, "--layout", self.layout, "--into", self.desk.path("csv")]

    def load(self, *flags):
        return ["cdr", "load", URL, self.file, "--layout", self.layout, "--table", "calls", "--index", "calling,start",
                "--rejects", self.rejects, *flags]

    def dispatch(self, *flags):
        return ["cdr", "dispatch", URL, "--table", "calls", "--by", "start", "--batch", "200000", *flags]

    def audit(self, tables):
        """Everything that `evenkeel cdr audit` finds, by kind."""
        said = self.desk.ours("cdr", "audit", URL, self.file, "--layout", self.layout, "--rejects", self.rejects, "--table", tables,
                              "--json", codes=(0, 1))
        return json.loads(said)

    def timed(self, what, words):
        begin = time.monotonic()
        said = self.desk.ours(*words)
        self.whole_s[what] = time.monotonic() - begin
        return said

    def undisturbed(self):
        """All steps once and without a kill, as long as each takes; what the truth says of the day tables."""
        desk = self.desk
        self.timed("convert", self.convert())
        self.timed("load", self.load("--no-audit"))
        verdicts = [self.truth.hold(of_tables(desk, ["calls"]), self.rejects)]
        self.timed("dispatch", self.dispatch("--no-audit"))
        verdicts.append(self.truth.hold(of_tables(desk, desk.tables("calls%")), self.rejects, dispatched=True))
        for text in verdicts[-1].named:
            print(f"dispatch: {text}")
        self.audits.append(sum(self.audit("calls*")["found"].values()))
        for what, seconds in self.whole_s.items():
            print(f"{what:10} {seconds:6.1f} s without a kill")
        return verdicts


def planted(desk, records, plants, random):
    """How many of the plants an audit names by their place, and how much it names that was not planted.

    Ten come at a time, losses and doubles in turn, and each audit has to name all that were planted so far.
    """
    desk.clear()
    scene = Scene(desk, records, seed=3)
    if os.path.exists(scene.rejects):
        os.remove(scene.rejects)
    desk.ours(*scene.load("--no-audit"))
    # With the key a table takes no double.
    desk.sql("ALTER TABLE calls DROP PRIMARY KEY, ADD KEY by_seq (seq)")
    seqs = random.sample([int(seq) for seq in desk.sql("SELECT seq FROM calls").split()], plants)
    done, found, invented = {}, 0, 0
    for begin in range(0, plants, AT_ONCE):
        batch = {seq: "lost" if number % 2 == 0 else "doubled" for number, seq in enumerate(seqs[begin:begin + AT_ONCE])}
        for seq, kind in batch.items():
            desk.sql(f"DELETE FROM calls WHERE seq = {seq}" if kind == "lost" else
                     f"INSERT INTO calls SELECT * FROM calls WHERE seq = {seq}")
        done.update(batch)
        named = [(finding["kind"], place_of(scene, finding)) for finding in scene.audit("calls")["findings"]]
        wanted = {(kind, seq) for seq, kind in done.items()}
        found += sum((kind, seq) in named for seq, kind in batch.items())
        invented += sum(each not in wanted for each in named) + len(named) - len(set(named))
    return found, invented


def place_of(scene, finding):
    """The number that the record has which stands where the finding says."""
    if finding["offset"] is None:
        return None
    with open(scene.file, "rb") as file:
        file.seek(finding["offset"])
        return int(file.read(12)[2:])


def clean(desk, records, loads):
    """What the audits at the end of clean loads, each of another file with dirt, find in all of them together.

    Half of them have a table of their own, so that any row too many is a finding; the others share one, where rows of other files are no
    finding. At the end one audit holds all files against all of their tables.
    """
    desk.clear()
    # Loads into different tables refuse to share a file of rejects; in a folder each has that of its own file.
    found, files, rejects = 0, [], desk.path("clean.rejects")
    os.makedirs(rejects, exist_ok=True)
    for number in range(loads):
        path = desk.path(f"clean-{number}")
        desk.ours("cdr", "generate", path, "--records", str(records), "--dirt", "all", "--seed", str(100 + number), "--first",
                  str(1 + number * 10 * records))
        files.append(path)
        table = f"clean_{number}" if number % 2 == 0 else "clean_shared"
        said = desk.ours("cdr", "load", URL, path, "--layout", desk.path("calls.toml"), "--table", table, "--rejects",
                         os.path.join(rejects, f"clean-{number}.rejects"), "--json", codes=(0, 1))
        found += json.loads(said)["audit"]["found"]
    said = desk.ours("cdr", "audit", URL, *files, "--layout", desk.path("calls.toml"), "--rejects", rejects, "--table", "clean_*", "--json",
                     codes=(0, 1))
    return found + sum(json.loads(said)["found"].values())
