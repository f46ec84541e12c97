"""A file with delimiters, quotes and line ends in values through loads that are killed: each record once, as it was written.

The bench writes the file with Python's csv and knows what of it is to be refused: times that no calendar has.
"""
import csv
import datetime
import time

from .truth import Verdict

LAYOUT = """charset = 'utf8'
key = ['id']
[delimited]
by = ','
header = 'id,at,who,note'
[[field]]
name = 'id'
type = 'integer'
[[field]]
name = 'at'
type = 'time'
time = 'dd/mm/yy hh:mmAM'
[[field]]
name = 'who'
[[field]]
name = 'note'
"""
NOTES = ("", "plain", "a,b", 'say "no"', "two\nlines", "back\\slash", "tab\t", "ü")
# One of so many records is refused.
BAD = 97


def chain(desk, records, kills, moments):
    """What became of the records, and how many kills came while some were stored and not all."""
    wanted = written(desk, records)
    words = ["cdr", "load", "sandbox:a/cdr", "delimited.csv", "--layout", "delimited.toml", "--table", "delimited", "--transaction", "1M"]
    begin = time.monotonic()
    desk.ours(*words, "--no-audit")
    whole_s, landed = time.monotonic() - begin, 0
    desk.clear()
    for _ in range(10 * kills):
        child = desk.started(*words, "--no-audit")
        time.sleep(whole_s * moments.uniform(0.1, 1.0) / kills)
        alive = child.poll() is None
        child.kill()
        child.wait()
        desk.alone()
        stored = int(desk.sql("SELECT COUNT(*) FROM delimited")) if desk.tables("delimited") else 0
        landed += alive and 0 < stored < len(wanted)
        if landed == kills:
            break
        if stored == len(wanted):
            desk.clear()
    code = desk.code(*words)
    there = {}
    for line in desk.rows("SELECT id, HEX(CONCAT_WS('|', DATE_FORMAT(at, '%Y%m%d%H%i'), CONVERT(who USING utf8mb4), CONVERT(note USING utf8mb4))) "
                          "FROM delimited"):
        number, text = line.decode().split("\t")
        there.setdefault(int(number), []).append(bytes.fromhex(text).decode())
    verdict = Verdict()
    verdict.lost = sum(there.get(number, [None])[0] != text for number, text in wanted.items())
    verdict.doubled = sum(len(texts) > 1 for texts in there.values()) + sum(number not in wanted for number in there)
    verdict.unfinished = int(code != 0)
    with open(desk.path("delimited.rejects"), "rb") as file:
        verdict.unknown = abs(sum(1 for _ in file) - (records - len(wanted)))
    print(f"delimited: {landed} kills, the last rerun ended with {code}; lost {verdict.lost}, doubled {verdict.doubled} of {len(wanted)}, "
          f"{verdict.unknown} rejects too many or too few")
    return verdict, landed


def written(desk, records):
    """Writes file and layout; the text of each record that is to be stored, by its number."""
    wanted, start = {}, datetime.datetime(2026, 1, 1)
    with open(desk.path("delimited.toml"), "w", encoding="utf-8") as file:
        file.write(LAYOUT)
    with open(desk.path("delimited.csv"), "w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        file.write("id,at,who,note\r\n")
        for number in range(records):
            at, note = start + datetime.timedelta(minutes=7 * number), NOTES[number % len(NOTES)]
            bad = number % BAD == 0
            shown = "31/02/26 01:00AM" if bad else at.strftime("%d/%m/%y %I:%M%p")
            lines.writerow([number, shown, f"+49{number}", note])
            if not bad:
                wanted[number] = f"{at:%Y%m%d%H%M}|+49{number}|{note.strip(' ')}"
    return wanted
