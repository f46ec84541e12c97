"""Builds what a bench runs: all of it before the bench measures anything."""
import os
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def binary():
    """Path of evenkeel, built for release."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-q", "-p", "evenkeel"], cwd=ROOT, check=True)
    return os.path.join(ROOT, "target", "release", "evenkeel")


def floor():
    """Path of the least open load in C (`floor/floor.c`); None without a C compiler."""
    if shutil.which("cc") is None:
        return None
    source = os.path.join(ROOT, "bench", "lib", "floor", "floor.c")
    path = os.path.join(ROOT, "target", "release", "bench-floor")
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
    """Paths of examples of the lab, built for release."""
    command = ["cargo", "build", "--release", "--locked", "-q", "-p", "evenkeel-lab"]
    for name in names:
        command += ["--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    return [os.path.join(ROOT, "target", "release", "examples", name) for name in names]


def gate_example(name):
    """Path of an example of the gate, built for release."""
    command = ["cargo", "build", "--release", "--locked", "-q", "-p", "evenkeel-gate", "--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    return os.path.join(ROOT, "target", "release", "examples", name)
