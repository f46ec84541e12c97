"""Builds what a bench runs: all of it before the bench measures anything.

Where EVENKEEL_RELEASE names a folder of what is built for release already (`target/release`), that is run and nothing is built.
"""
import json
import os
import re
import shlex
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = os.environ.get("EVENKEEL_RELEASE") or os.path.join(ROOT, "target", "release")
STANDS = "EVENKEEL_RELEASE" in os.environ


def cargo(*what):
    """Builds for release, unless it is said to stand there."""
    if not STANDS:
        subprocess.run(["cargo", "build", "--release", "--locked", "-q", *what], cwd=ROOT, check=True)


def binary():
    """Path of evenkeel, built for release."""
    cargo("-p", "evenkeel")
    return os.path.join(RELEASE, "evenkeel")


def floor():
    """Path of the least open load in C (`floor/floor.c`); None without a C compiler."""
    if shutil.which("cc") is None:
        return None
    source = os.path.join(ROOT, "bench", "lib", "floor", "floor.c")
    path = os.path.join(RELEASE, "bench-floor")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", path, source, "-lm"], check=True)
    return path


def commit():
    """The commit of the sources, with -dirty where they are not as it has them; None where git does not know them."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=True).stdout.strip()
    try:
        return git("rev-parse", "--short", "HEAD") + ("-dirty" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def example(*names):
    """Paths of examples of dev, which play or judge what has no server, built for release."""
    cargo("-p", "evenkeel-dev", "--no-default-features", *(word for name in names for word in ("--example", name)))
    return [os.path.join(RELEASE, "examples", name) for name in names]


def simulated(*words):
    """The lines of JSON that evenkeel-dev prints, which is built for release: simulations whose truth is known."""
    cargo("-p", "evenkeel-dev", "--bin", "evenkeel-dev")
    done = subprocess.run([os.path.join(RELEASE, "evenkeel-dev"), *words], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def demo_command(within=None):
    """Arguments of the command of `make demo`, without the program; with another time where one is given."""
    with open(os.path.join(ROOT, "Makefile")) as file:
        recipe = re.search(r"(?m)^demo:.*\n((?:\t.*\n)+)", file.read())
    lines = [shlex.split(line) for line in recipe[1].splitlines()] if recipe else []
    if len(lines) != 1 or os.path.basename(lines[0][0]) != "evenkeel":
        raise SystemExit("the recipe of `demo` in the Makefile is not one command of evenkeel any more")
    # What make itself fills in is empty unless somebody asks for another server.
    words = [word for word in lines[0][1:] if "$(" not in word]
    if within:
        words[words.index("--within") + 1] = within
    return words
