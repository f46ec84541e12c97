"""Whether a kill met records on their way: some had begun to move, and not all had.

That not all had is told by the manifest of a load, what is left in the source of a dispatch, and the hidden name of a conversion; that some had,
by what is stored more than before this attempt, or by a statement of ours that writes at the moment of the kill.
"""
import os
from dataclasses import dataclass


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
