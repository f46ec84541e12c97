"""Conversions, loads and dispatches that are killed at random moments, run again until they are done, and held against the truth.

A kill counts where it met records on their way: some had begun to move, and not all had. That not all had is told by the manifest of a load,
what is left in the source of a dispatch, and the hidden name of a conversion; that some had, by what is stored more than before this attempt, or
by a statement of ours that writes at the moment of the kill. What is killed audits nothing, so that no kill falls into an audit; the
last rerun audits what it brings, and `cdr audit` reads all of it again.
"""
import os
import shutil
import subprocess
import time
from dataclasses import dataclass

from .truth import of_lines, of_tables

# What is killed, with its share of the kills.
CHAINS = (("convert", "ours", 4), ("load", "ours", 5), ("load", "server", 4), ("dispatch", "both", 7))
SHORTEST_S = 0.05
# So often is a chain begun anew until all of its kills counted.
ATTEMPTS = 30


class Kills:
    """Kills of all chains over one file."""

    def __init__(self, desk, scene, random):
        self.desk, self.scene, self.random = desk, scene, random
        self.landed, self.verdicts = 0, []

    def run(self, kills):
        shares = sum(share for *_, share in CHAINS)
        left = kills
        for number, (what, whom, share) in enumerate(CHAINS):
            last = number + 1 == len(CHAINS)
            count = left if last else min(left, max(1, round(kills * share / shares)) if kills >= len(CHAINS) else number % 2)
            left -= count
            if count:
                self.chain(what, whom, count)

    def chain(self, what, whom, kills):
        """One chain with so many kills, anew where it was done before all of them came."""
        done, whole = 0, self.scene.whole_s[what]
        for attempt in range(ATTEMPTS):
            self.prepare(what)
            words = self.words(what, killed=True)
            for number in range(2 * (kills - done)):
                server = whom == "server" or (whom == "both" and (done + attempt) % 2 == 1)
                # Together they take about the whole, so that the last still finds work.
                after = whole * self.random.uniform(0.05, 1.0) / (kills - done)
                took, landed = self.kill(what, words, after, server)
                done += landed
                if took is not None and number == 0:
                    # It is faster than when it was timed: its files are in the page cache by now.
                    whole = max(min(whole, 1.1 * took), SHORTEST_S)
                if took is not None or done == kills:
                    break
            self.judge(what, whom, done)
            if done == kills:
                break
        self.landed += done

    def judge(self, what, whom, done):
        """Runs it a last time, after which all has to be done, and holds what is there against the truth."""
        code = self.desk.code(*self.words(what))
        verdict = self.verdict(what)
        verdict.unfinished = int(code != 0)
        self.verdicts.append(verdict)
        if what != "convert":
            self.scene.audits.append(sum(self.scene.audit("calls*")["found"].values()))
        print(f"{what}, {whom}: {done} kills so far, the last rerun ended with {code}; lost {verdict.lost}, doubled {verdict.doubled}, "
              f"refused {verdict.refused}, unknown {verdict.unknown}, misplaced {verdict.misplaced}, stayed {verdict.stayed} "
              f"{'; '.join(verdict.named)}")

    def kill(self, what, words, after, server):
        """The seconds after which there was nobody to kill any more, or None; and whether records were on their way."""
        earlier, begin = before(self.desk, what), time.monotonic()
        child = self.desk.started(*words)
        try:
            child.wait(after)
            return time.monotonic() - begin, False
        except subprocess.TimeoutExpired:
            writes = what != "convert" and self.desk.writes()
        alive = child.poll() is None
        if alive and server:
            self.desk.kill()
        elif alive:
            child.kill()
        child.wait(300)
        if alive and server:
            self.desk.up()
        self.desk.alone()
        return None if alive else after, alive and Moment(earlier, before(self.desk, what), writes).counts()

    def prepare(self, what):
        scene, desk = self.scene, self.desk
        desk.clear()
        if what == "convert":
            shutil.rmtree(desk.path("csv"), ignore_errors=True)
            return
        if os.path.exists(scene.rejects):
            os.remove(scene.rejects)
        if what == "dispatch":
            desk.ours(*scene.load("--no-audit"))

    def words(self, what, killed=False):
        scene, flags = self.scene, ["--no-audit"] if killed else []
        if what == "convert":
            return scene.convert()
        return scene.load(*flags) if what == "load" else scene.dispatch(*flags)

    def verdict(self, what):
        scene, desk = self.scene, self.desk
        if what == "convert":
            rejects = desk.path("csv", "calls.rejects")
            return scene.truth.hold(of_lines(desk.path("csv", "calls.csv")), rejects if os.path.exists(rejects) else None)
        desk.alone()
        return scene.truth.hold(of_tables(desk, desk.tables("calls%")), scene.rejects, dispatched=what == "dispatch")


@dataclass
class State:
    """How far a chain is."""
    # Whether it is not done.
    open: bool = False
    # Rows in day tables, rows of parts that are in, or bytes of a file that is not whole: what grows.
    moved: int = 0


@dataclass
class Moment:
    """A kill: what there was before its attempt and after it."""
    earlier: State
    later: State
    # Whether a statement that writes was under way.
    writes: bool

    def counts(self):
        return self.later.open and (self.writes or self.later.moved > self.earlier.moved)


def before(desk, what):
    """How far it is now."""
    if what == "convert":
        return converted(desk)
    return loaded(desk) if what == "load" else dispatched(desk)


def converted(desk):
    hidden, whole = desk.path("csv", ".calls.csv.part"), desk.path("csv", "calls.csv")
    size = os.path.getsize(hidden) if os.path.exists(hidden) else 0
    return State(not os.path.exists(whole) and size > 0, size)


def loaded(desk):
    if not desk.tables("evenkeel_load%"):
        return State()
    is_open = desk.sql("SELECT COUNT(*) FROM evenkeel_loads WHERE state = 'begun'")
    rows = desk.sql("SELECT COALESCE(SUM(rows_stored), 0) FROM evenkeel_load_parts")
    return State(is_open != "0", int(rows))


def dispatched(desk):
    moved = sum(int(desk.sql(f"SELECT COUNT(*) FROM `{table}`")) for table in desk.tables("calls\\_2%"))
    return State(desk.sql("SELECT EXISTS (SELECT 1 FROM calls)") == "1", moved)
