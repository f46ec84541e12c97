"""Whether a kill met records on their way: some had begun to move, and not all had.

What is open is told by the manifest of a load, the journal of a dispatch, and the hidden name of a conversion; that this attempt itself was
moving records, by what is stored more than before it, or by a statement of ours that writes at the moment of the kill.
"""
import os
from dataclasses import dataclass


@dataclass
class State:
    """How far a chain is."""
    # Whether it was begun and is not done.
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
    if not desk.tables("evenkeel_dispatches"):
        return State()
    moved = sum(int(desk.sql(f"SELECT COUNT(*) FROM `{table}`")) for table in desk.tables("calls\\_2%"))
    left = desk.sql("SELECT EXISTS (SELECT 1 FROM calls)")
    begun = desk.sql("SELECT COUNT(*) FROM evenkeel_dispatches")
    return State(begun != "0" and left == "1", moved)
