"""Whether each record of a file is in the tables once or in the rejects once: told from the file itself, by nothing of ours.

All fields of each record are cut out of its bytes here, in the form in which a server prints a row, and held against all columns of the rows:
text is without the blanks around it, a number without zeroes in front, a decimal without those behind, and a blank time or number is NULL. A
client in batch mode escapes backslashes, and so does this. A dispatch has to leave its
source empty, and each row has to be in the table of the day of its `start`.
"""
import re
from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

DAY_TABLE = re.compile(r"_(\d{8})$")
# So many rows that are where they should not be are named.
NAMED = 3
# Where each field begins and ends, and what it is.
FIELDS = (("rectype", 0, 2, "text"), ("seq", 2, 12, "integer"), ("calling", 12, 27, "text"), ("called", 27, 42, "text"),
          ("imsi", 42, 57, "text"), ("imei", 57, 72, "text"), ("start", 72, 86, "time"), ("answer", 86, 100, "time"),
          ("end", 100, 114, "time"), ("seconds", 114, 120, "integer"), ("cell", 120, 130, "text"), ("msc", 130, 142, "text"),
          ("trunk_in", 142, 149, "text"), ("trunk_out", 149, 156, "text"), ("cause", 156, 159, "integer"),
          ("service", 159, 161, "integer"), ("amount", 161, 171, "decimal"), ("roaming", 171, 172, "text"))
NAMES = tuple(name for name, *_ in FIELDS)
START = NAMES.index("start")
AMOUNT = NAMES.index("amount")
NUMBERS = tuple(number for number, (*_, kind) in enumerate(FIELDS) if kind == "integer")


@dataclass
class Verdict:
    """What became of the records of a file."""
    lost: int = 0
    doubled: int = 0
    refused: int = 0
    # Lines of the rejects that are of no record: where nothing stands, or other bytes.
    unknown: int = 0
    # Rows in the table of another day, and rows that a dispatch left in its source.
    misplaced: int = 0
    stayed: int = 0
    # Whether the last rerun, after which all is to be done, ended otherwise than by 0.
    unfinished: int = 0
    # Some of the rows that are where they should not be.
    named: list = field(default_factory=list)


class Truth:
    """The records of a file: where each begins, and a hash of its fields."""

    def __init__(self, path):
        self.offsets, self.hashes, self.records = array("Q"), array("q"), array("q")
        offset = 0
        with open(path, "rb") as file:
            for line in file:
                text = line.rstrip(b"\n").removesuffix(b"\r")
                self.offsets.append(offset)
                self.hashes.append(hash(of_record(text)))
                self.records.append(hash(text))
                offset += len(line)

    def __len__(self):
        return len(self.offsets)

    def at(self, offset):
        """The number of the record that begins there; None where none does."""
        place = bisect_left(self.offsets, offset)
        return place if place < len(self.offsets) and self.offsets[place] == offset else None

    def hold(self, rows, rejects, dispatched=False):
        """`rows` are pairs of a table and a row as a client prints it, `rejects` the path of the file of rejects, or None."""
        verdict, refused = Verdict(), Counter()
        for offset, text in listed(rejects):
            place = self.at(offset)
            if place is None or hash(text) != self.records[place]:
                verdict.unknown += 1
            else:
                refused[place] += 1
        verdict.refused = len(refused)
        verdict.doubled = sum(times - 1 for times in refused.values())
        wanted = Counter(value for place, value in enumerate(self.hashes) if place not in refused)
        for table, row in rows:
            wanted[hash(row)] -= 1
            day = DAY_TABLE.search(table)
            if day and row.split(b"\t", START + 1)[START][:8] != day[1].encode():
                verdict.misplaced += 1
                name(verdict, table, row)
            elif dispatched and not day:
                verdict.stayed += 1
                name(verdict, table, row)
        verdict.lost = sum(count for count in wanted.values() if count > 0)
        verdict.doubled -= sum(count for count in wanted.values() if count < 0)
        return verdict


def name(verdict, table, row):
    if len(verdict.named) < NAMED:
        fields = row.decode("latin1").split("\t")
        verdict.named.append(f"seq {fields[1]} of {fields[START]} is in {table}")


def listed(rejects):
    """Offset and record of each line of a file of rejects."""
    if rejects is None:
        return
    with open(rejects, "rb") as file:
        for line in file:
            _, offset, _, text = line.rstrip(b"\n").split(b"\t", 3)
            text = re.sub(rb"\\(\\|x[0-9a-f]{2})", lambda found: b"\\" if found[1] == b"\\" else bytes([int(found[1][1:], 16)]), text)
            yield int(offset), text.removesuffix(b"\r")


def of_tables(desk, tables):
    """All rows of these tables, each with the name of its table."""
    for table in tables:
        for line in desk.rows(select(table)):
            yield table, line


def of_lines(path):
    """The same of converted lines."""
    with open(path, "rb") as file:
        for line in file:
            line = line.rstrip(b"\n")
            plain = b"\\;" not in line and b"\\\\" not in line
            yield path, of_fields(line.split(b";") if plain else unescaped(line))


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


def of_record(record):
    """The row of a record of fixed width."""
    return row([record[begin:end].strip(b" ") for _, begin, end, _ in FIELDS], [kind != "text" for *_, kind in FIELDS])


def of_fields(fields):
    """The row of a converted line; its NULL is \\N."""
    return row([b"" if field == b"\\N" else field for field in fields], [field == b"\\N" for field in fields])


def row(fields, nullable):
    for place in NUMBERS:
        fields[place] = fields[place] and (fields[place].lstrip(b"0") or b"0")
    whole, _, rest = fields[AMOUNT].partition(b".")
    fields[AMOUNT] = fields[AMOUNT] and (whole.lstrip(b"0") or b"0") + b"." + rest.rstrip(b"0")
    return b"\t".join([field if field or not null else b"NULL" for field, null in zip(fields, nullable)]).replace(b"\\", b"\\\\")


def select(table):
    """The statement whose answer a client prints in that form, with the day of `start` left to the reader."""
    def column(name, kind):
        if kind == "time":
            return f"DATE_FORMAT(`{name}`, '%Y%m%d%H%i%s')"
        return f"TRIM(TRAILING '0' FROM `{name}`)" if kind == "decimal" else f"`{name}`"
    return f"SELECT {', '.join(column(name, kind) for name, _, _, kind in FIELDS)} FROM `{table}`"
