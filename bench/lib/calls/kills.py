"""Conversions, loads and dispatches that are killed at random moments, run again until they are done, and held against the truth.

A kill counts where it met records on their way: `moment.py` says when. What is killed audits nothing, so that no kill falls into an audit; the
last rerun audits what it brings, and `cdr audit` reads all of it again.
"""
import os
import shutil
import subprocess
import time

from .moment import Moment, before
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
