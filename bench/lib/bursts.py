"""A neighbour that takes a share of one CPU at random, before anything else that runs there."""
import os
import random
import signal
import time

from .process import ends_with_bench

# The CPU that it takes, and for how long it works at a time in the mean.
CPU = 0
BURST_S = 0.1
# It is asked how much it took only where it had time enough to show it.
JUDGED_AFTER_S = 60


class Bursts:
    """Takes a share of the CPU, with real-time priority, while it is entered: it works for a negative exponential time and
    rests for one."""

    def __init__(self, share, seed):
        self.share, self.seed, self.pid = share, seed, None

    def __enter__(self):
        parent, prepare, self.began = os.getpid(), ends_with_bench(CPU), time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                prepare()
                go_first()
                self.disturb(parent)
            finally:
                os._exit(1)
        return self

    def disturb(self, parent):
        draw = random.Random(self.seed)
        while os.getppid() == parent:
            end = time.monotonic() + draw.expovariate(1 / BURST_S)
            while time.monotonic() < end:
                pass
            time.sleep(draw.expovariate(1 / (BURST_S * (1 - self.share) / self.share)))

    def __exit__(self, failure, *_):
        os.kill(self.pid, signal.SIGKILL)
        _, _, usage = os.wait4(self.pid, 0)
        elapsed = time.monotonic() - self.began
        taken = (usage.ru_utime + usage.ru_stime) / elapsed
        # A disturber that does not disturb would make every bound look good.
        if failure is None and elapsed > JUDGED_AFTER_S and not 0.5 * self.share < taken < 2 * self.share:
            raise RuntimeError(f"the disturber was to take {self.share:.0%} of its CPU and took {taken:.1%}")


def go_first():
    """Gives this process real-time priority."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def why_impossible():
    """Why this machine has no room for a disturber beside a server and its generator; None where it has."""
    if not {CPU, CPU + 1} <= os.sched_getaffinity(0):
        return f"CPUs {CPU} and {CPU + 1} are needed, one for the server and its disturber and one for the generator"
    child = os.fork()
    if child == 0:
        try:
            go_first()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        return "the disturber needs real-time priority, which this user does not have (root has)"
    return None
