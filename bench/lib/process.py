"""Processes that end with the bench, and whose CPU time and context switches are counted."""
import ctypes
import glob
import os
import signal
import subprocess
from dataclasses import dataclass


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def ends_with_bench(cpu=None):
    """What a child does before it becomes its program: it ends when the bench does, however that happens, and stays
    on one CPU where one is given."""
    bench = os.getpid()

    def before():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != bench:
            os._exit(143)
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
    return before


def cpu_ns(pid):
    """CPU time of all threads of a process so far, as the scheduler counts it: in nanoseconds, not in ticks."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path) as file:
            total += int(file.read().split()[0])
    return total


def resident_mb(pid):
    """Resident memory of a process in MB of 1,000,000 bytes."""
    with open(f"/proc/{pid}/status") as file:
        kilobytes = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    return kilobytes * 1024 / 1e6


@dataclass
class Usage:
    """What a process and all its threads used from start to end."""
    cpu_us: float
    switches: int
    output: str


def measured(command, cpu=None, codes=(0,)):
    """Runs a command, on one CPU where one is given, and counts what it used; `codes` are those that are no failure."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_bench(cpu))
    try:
        output = process.stdout.read()
    except BaseException:
        process.kill()
        process.wait()
        raise
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {output}")
    cpu_us = (usage.ru_utime + usage.ru_stime) * 1e6
    return Usage(cpu_us, usage.ru_nvcsw + usage.ru_nivcsw, output)
