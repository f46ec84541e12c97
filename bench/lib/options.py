"""The options of a bench: those that its usage line names, and no others.

A bench runs for minutes or hours, so a misspelt option must not start it with another meaning.
"""
import re
import sys

from .ending import refuse


def keep_to(doc):
    """Prints the help where it is asked for, and refuses options that the usage line of the help does not name."""
    words = sys.argv[1:]
    if "--help" in words or "-h" in words:
        print(doc.strip())
        raise SystemExit(0)
    usage = next(line for line in doc.splitlines() if line.startswith("Usage:"))
    takes_value = {name: bool(value) for name, value in re.findall(r"\[(--[a-z-]+)( [^\]]+)?\]", usage)}
    place = 0
    while place < len(words):
        name = words[place]
        if name not in takes_value:
            refuse(f"{name} is no option of this bench\n{usage}")
        if takes_value[name] and place + 1 == len(words):
            refuse(f"{name} needs a value\n{usage}")
        place += 2 if takes_value[name] else 1


def option(name, default):
    """The value behind an option, as text; `default` where the option is not given."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def whole_number(name, default, least):
    """The value behind an option as a whole number that is no less than `least`."""
    text = option(name, default)
    if not text.isdecimal() or int(text) < least:
        refuse(f"{name} {text}: a whole number of {least} or more is wanted")
    return int(text)


def given(name):
    """Whether an option without a value is given."""
    return name in sys.argv
