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


def remove(path):
    if os.path.exists(path):
        os.remove(path)
