"""A file of call records with dirt, its truth, and the commands over it."""
import json
import time

from .truth import Truth, of_tables

# What of the dirt is refused; the rest is stored as it is.
REFUSED = ("duplicate", "contradiction", "nul", "non_ascii", "short")
URL = "sandbox:a/cdr"


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
