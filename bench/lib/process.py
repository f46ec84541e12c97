"""Processes whose CPU time and context switches are counted."""
import os
import subprocess
from dataclasses import dataclass


@dataclass
class Usage:
    """What a process and all its threads used from start to end."""
    cpu_us: float
    switches: int
    output: str


def measured(command, cpu=None):
    """Runs a command, on one CPU where one is given, and counts what it used."""
    pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=pin)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {output}")
    cpu_us = (usage.ru_utime + usage.ru_stime) * 1e6
    return Usage(cpu_us, usage.ru_nvcsw + usage.ru_nivcsw, output)
