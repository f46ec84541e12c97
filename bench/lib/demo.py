"""The command of `make demo`, as the Makefile has it, and how it is run."""
import os
import re
import shlex
import subprocess

from .build import ROOT
from .process import ends_with_bench

# How long a command that is told to end may take to stop its server.
ENDING_S = 60


def command(within=None):
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


def run_to_its_end(line):
    """Exit code and errors of a command. Where this bench is told to end before it, the command is told to end too, so that it
    stops its server itself."""
    process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=ends_with_bench())
    try:
        _, errors = process.communicate()
    except BaseException:
        process.terminate()
        try:
            process.communicate(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return process.returncode, errors
