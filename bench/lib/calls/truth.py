"""Whether each record of a file is in the tables once or in the rejects once: told from the file itself, by nothing of ours.

Of each record, four fields (seq, calling, called, start) are cut out of its bytes here and held against the same columns of the rows.
"""
import re
from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

PLACES = ((2, 12), (12, 27), (27, 42), (72, 86))


@dataclass
class Verdict:
    """What became of the records of a file."""
    lost: int = 0
    doubled: int = 0
    refused: int = 0
    # Lines of the rejects that are of no record: where nothing stands, or other bytes.
    unknown: int = 0
    lines: list = field(default_factory=list)


class Truth:
    """The records of a file: where each begins, and a hash of its fields."""

    def __init__(self, path):
        self.offsets, self.hashes, self.records = array("Q"), array("q"), array("q")
        offset = 0
        with open(path, "rb") as file:
            for line in file:
                record = line.rstrip(b"\n").removesuffix(b"\r")
                self.offsets.append(offset)
                self.hashes.append(hash(tuple(record[begin:end].strip(b" ").lstrip(b"0") if begin == 2 else
                                              record[begin:end].strip(b" ") for begin, end in PLACES)))
                self.records.append(hash(record))
                offset += len(line)

    def __len__(self):
        return len(self.offsets)

    def at(self, offset):
        """The number of the record that begins there; None where none does."""
        place = bisect_left(self.offsets, offset)
        return place if place < len(self.offsets) and self.offsets[place] == offset else None

    def hold(self, rows, rejects):
        """`rows` are tuples of the four fields, `rejects` the path of the file of rejects, or None."""
        verdict, refused = Verdict(), Counter()
        for offset, record in listed(rejects):
            place = self.at(offset)
            if place is None or hash(record) != self.records[place]:
                verdict.unknown += 1
            else:
                refused[place] += 1
        verdict.refused = len(refused)
        verdict.doubled = sum(times - 1 for times in refused.values())
        wanted = Counter(value for place, value in enumerate(self.hashes) if place not in refused)
        for row in rows:
            wanted[hash(row)] -= 1
        verdict.lost = sum(count for count in wanted.values() if count > 0)
        verdict.doubled -= sum(count for count in wanted.values() if count < 0)
        return verdict


def listed(rejects):
    """Offset and record of each line of a file of rejects."""
    if rejects is None:
        return
    with open(rejects, "rb") as file:
        for line in file:
            _, offset, _, record = line.rstrip(b"\n").split(b"\t", 3)
            text = re.sub(rb"\\(\\|x[0-9a-f]{2})", lambda found: b"\\" if found[1] == b"\\" else bytes([int(found[1][1:], 16)]), record)
            yield int(offset), text.removesuffix(b"\r")


def of_tables(desk, tables):
    """The four fields of all rows of these tables."""
    for table in tables:
        sql = f"SELECT seq, HEX(calling), HEX(called), DATE_FORMAT(start, '%Y%m%d%H%i%s') FROM `{table}`"
        for line in desk.rows(sql):
            seq, calling, called, start = line.split(b"\t")
            yield seq, bytes.fromhex(calling.decode()), bytes.fromhex(called.decode()), start


def of_lines(path):
    """The same of converted lines."""
    with open(path, "rb") as file:
        for line in file:
            fields = line.rstrip(b"\n").split(b";") if b"\\" not in line else unescaped(line.rstrip(b"\n"))
            yield fields[1].lstrip(b"0"), fields[2], fields[3], fields[6]


def unescaped(line):
    fields, at = [b""], 0
    while at < len(line):
        byte = line[at:at + 1]
        if byte == b"\\" and line[at + 1:at + 2] != b"N":
            fields[-1] += line[at + 1:at + 2]
            at += 2
            continue
        if byte == b";":
            fields.append(b"")
        else:
            fields[-1] += byte
        at += 1
    return fields
