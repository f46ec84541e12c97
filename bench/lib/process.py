"""Processes that end with the bench, and whose CPU time and context switches are counted; the files and ports that they are given."""
import ctypes
import glob
import json
import os
import signal
import socket
import subprocess
from dataclasses import dataclass

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
# How long a command that is told to end may take to stop its server.
ENDING_S = 60
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


def end(process, seconds):
    """SIGTERM, and the end of a process that has not ended; one that takes longer is killed."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run(*command):
    """Output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": PATH})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


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


def stolen_s():
    """CPU time that the hypervisor has taken from this machine so far."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


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


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def configured(path, settings, *disks):
    """Writes the file of a guard, or of a host of disks: settings by key, as `{"control.max_limit": 8}`, and those of each disk; the words that name the file."""
    def lines(table):
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(lines(settings) + "".join("[[disk]]\n" + lines(disk) for disk in disks))
    return ["--config", path]
