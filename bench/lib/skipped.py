"""A bench that this machine has no way to run: nothing was measured, and that must not look like a result."""
import json

# Its exit code.
SKIPPED = 3


def skipped(keys, why):
    """Prints the last line of such a bench, every key null but the one that says why; the exit code."""
    print(json.dumps({**dict.fromkeys(keys), "skipped": why}))
    return SKIPPED
