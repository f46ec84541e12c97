"""How a bench ends: its last line, and the exit code that says the same as the last line."""
import json
import sys

# Every target is met; one is missed; the command line is wrong; this machine cannot tell.
MET, MISSED, WRONG_USE, UNTOLD = range(4)


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
