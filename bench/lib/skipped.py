"""A bench that this machine has no way to run: nothing was measured, and that must not look like a result."""
import json
import shutil

from .ending import UNTOLD


def skipped(keys, why):
    """Prints the last line of such a bench, every key null but the one that says why; the exit code."""
    print(json.dumps({**dict.fromkeys(keys), "skipped": why}))
    return UNTOLD


def need(*programs):
    """Ends a bench that runs programs which are not installed."""
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        raise SystemExit(skipped((), f"not installed: {', '.join(absent)}"))
