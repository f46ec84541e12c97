"""Losses and doubles that are planted in loaded tables, and loads that have none."""
import json
import os

from .scene import URL, Scene

AT_ONCE = 10


def planted(desk, records, plants, random):
    """How many of the plants an audit names by their place, and how much it names that was not planted.

    Ten come at a time, losses and doubles in turn, and each audit has to name all that were planted so far.
    """
    desk.clear()
    scene = Scene(desk, records, seed=3)
    remove(scene.rejects)
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
    """What the audits at the end of clean loads, each of another file with dirt, find in all of them together; the tables are those
    of the loads before, so that rows of other files are there."""
    desk.clear()
    found = 0
    for number in range(loads):
        path, rejects = desk.path("clean"), desk.path("clean.rejects")
        first = 1 + number * 10 * records
        desk.ours("cdr", "generate", path, "--records", str(records), "--dirt", "all", "--seed", str(100 + number), "--first", str(first))
        os.replace(path, desk.path(f"clean-{number}"))
        scene_words = ["cdr", "load", URL, desk.path(f"clean-{number}"), "--layout", desk.path("calls.toml"), "--table", "calls"]
        said = json.loads(desk.ours(*scene_words, "--rejects", rejects, "--json", codes=(0, 1)))
        found += said["audit"]["found"]
    return found


def remove(path):
    if os.path.exists(path):
        os.remove(path)
