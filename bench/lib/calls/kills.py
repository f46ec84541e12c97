"""Conversions, loads and dispatches that are killed at random moments, run again until they are done, and held against the truth."""
import os
import shutil
import time

from .truth import of_lines, of_tables

# What is killed, with its share of the kills.
CHAINS = (("convert", "ours", 4), ("load", "ours", 5), ("load", "server", 4), ("insert", "both", 3), ("procedure", "both", 2),
          ("exchange", "both", 2))
ATTEMPTS = 10


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
        done = 0
        for attempt in range(ATTEMPTS):
            self.prepare(what)
            words, whole = self.words(what), self.scene.whole_s[what]
            for number in range(kills - done):
                server = whom == "server" or (whom == "both" and (done + attempt) % 2 == 1)
                # Together they take less than the whole, so that the last still finds work.
                after = whole * self.random.uniform(0.05, 1.0) / (kills - done) * 0.9
                if not self.kill(words, after, server):
                    break
                done += 1
            self.desk.ours(*words, codes=(0, 1))
            verdict = self.verdict(what)
            self.verdicts.append(verdict)
            print(f"{what}, {whom}: {done} kills so far; lost {verdict.lost}, doubled {verdict.doubled}, "
                  f"refused {verdict.refused}, unknown {verdict.unknown}")
            if done == kills:
                break
        self.landed += done

    def kill(self, words, after, server):
        """Whether there was somebody to kill."""
        child = self.desk.started(*words)
        time.sleep(after)
        alive = child.poll() is None
        if alive and server:
            self.desk.kill()
        elif alive:
            child.kill()
        child.wait(300)
        if alive and server:
            self.desk.up()
        self.desk.alone()
        return alive

    def prepare(self, what):
        scene, desk = self.scene, self.desk
        desk.clear()
        if what == "convert":
            shutil.rmtree(desk.path("csv"), ignore_errors=True)
            return
        if os.path.exists(scene.rejects):
            os.remove(scene.rejects)
        if what in ("insert", "procedure", "exchange"):
            desk.ours(*scene.load("--no-audit"))
        if what == "exchange":
            desk.sql("ALTER TABLE calls DROP PRIMARY KEY, ADD PRIMARY KEY (seq, start)")

    def words(self, what):
        scene = self.scene
        return {"convert": scene.convert, "load": scene.load}.get(what, lambda: scene.dispatch(what))()

    def verdict(self, what):
        scene, desk = self.scene, self.desk
        if what == "convert":
            rejects = desk.path("csv", "calls.rejects")
            return scene.truth.hold(of_lines(desk.path("csv", "calls.csv")), rejects if os.path.exists(rejects) else None)
        desk.alone()
        return scene.truth.hold(of_tables(desk, desk.tables("calls%")), scene.rejects)
