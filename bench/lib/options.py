"""How a bench begins and ends: the options that its usage line names, and no others; its last line, and the exit code that says the same.

A bench runs for minutes or hours, so a misspelt option must not start it with another meaning.
"""
import json
import re
import shutil
import sys

# Every target is met; one is missed; the command line is wrong; this machine cannot tell.
MET, MISSED, WRONG_USE, UNTOLD = range(4)


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


def refuse(text):
    """Ends a bench whose command line is wrong."""
    print(f"error: {text}", file=sys.stderr)
    raise SystemExit(WRONG_USE)


def ended(outcome, missed=(), untold=()):
    """Prints what is missed and what is not known, a sentence each, and the last line; the exit code.

    What is missed weighs more. Where nothing is missed and something that the verdict needs is not known, the last line says so by
    the key `skipped`, so that nobody takes it for a result.
    """
    for text in missed:
        print(f"missed: {text}")
    for text in untold:
        print(f"not known: {text}")
    if untold and not missed:
        outcome = {**outcome, "skipped": "; ".join(untold)}
    print(json.dumps(outcome))
    return MISSED if missed else UNTOLD if untold else MET


def skipped(keys, why):
    """Prints the last line of such a bench, every key null but the one that says why; the exit code."""
    print(json.dumps({**dict.fromkeys(keys), "skipped": why}))
    return UNTOLD


def need(*programs):
    """Ends a bench that runs programs which are not installed."""
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        raise SystemExit(skipped((), f"not installed: {', '.join(absent)}"))
