"""What disturbs tests and servers: busy loops beside them, standing still at any moment, and a neighbour that takes a share of one CPU at random.

Of tests only processes below the one that calls this are stopped, by their numbers. Processes that lose their parent become
children of this one, so that none is out of sight.
"""
import os
import random
import signal
import time

from .process import LIBC, PR_SET_PDEATHSIG, ends_with_bench

PR_SET_CHILD_SUBREAPER = 36
# The CPU that a neighbour takes, and for how long it works at a time in the mean.
CPU = 0
BURST_S = 0.1
# It is asked how much it took only where it had time enough to show it.
JUDGED_AFTER_S = 60


def adopt_orphans():
    """Makes this process the parent of those below it that lose theirs; it ends with its own parent."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def started(command=None, folder=None, environment=None, output=None):
    """Number of a child that becomes this program, or that turns in circles; it is killed when we end."""
    parent = os.getpid()
    if pid := os.fork():
        return pid
    try:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getppid() != parent:
            os._exit(143)
        while command is None:
            pass
        os.chdir(folder)
        for number, file in enumerate([os.open(os.devnull, os.O_RDONLY), output.fileno(), output.fileno()]):
            os.dup2(file, number)
        os.execve(command[0], command, environment)
    finally:
        os._exit(127)


def reap(child):
    """Waits for all that have ended; the exit code of this child if it is among them."""
    code = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
    except ChildProcessError:
        pass
    return code


def send(pid, number):
    """Sends a signal to a process of ours; one that has just ended needs none."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def below(root):
    """The processes below one that have not ended, those nearest to it first: number, state, name."""
    everybody = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", errors="replace") as file:
                head, _, rest = file.read().rpartition(") ")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        everybody.setdefault(int(parent), []).append((int(entry), state, head.partition("(")[2]))
    level, found = [root], []
    while level:
        children = [child for parent in level for child in everybody.get(parent, [])]
        found += [child for child in children if child[1] not in "ZX"]
        level = [pid for pid, *_ in children]
    return found


def end_all(patience):
    """Waits until nothing is left below this process; what has not ended in time, in seconds, is killed. Names of what was."""
    end, names = time.monotonic() + patience, []
    while left := below(os.getpid()):
        if time.monotonic() > end:
            for pid, _, name in left:
                names.append(name)
                send(pid, signal.SIGKILL)
        time.sleep(0.02)
        reap(None)
    return names


class Loops:
    """Busy loops, until it is left."""

    def __init__(self, count):
        self.pids = [started() for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            send(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class Disturber:
    """Stops a program of tests at random. Calm, it leaves all in peace."""

    def __init__(self, seed, calm=False, pauses=(0.05, 0.5)):
        self.random = random.Random(seed)
        self.calm = calm
        self.pauses = pauses
        self.stopped = []
        # How often tests were stopped.
        self.count = 0
        self.next = time.monotonic()

    def step(self, test):
        """To be called often: stops somebody, or lets him go on, when that is due."""
        if self.calm or time.monotonic() < self.next:
            return
        if self.stopped:
            self.go_on()
        else:
            self.stop(test)
        self.next = time.monotonic() + self.random.uniform(*self.pauses)

    def stop(self, test):
        """Half of the times nobody; otherwise the tests alone, or with all that they have started."""
        whom = self.random.choice(["nobody", "nobody", "tests", "all"])
        if whom == "nobody":
            return
        self.count += 1
        self.halt(test)
        if whom == "all":
            self.halt_all_below(test)

    def halt_all_below(self, test):
        """Tests stop servers themselves, and those have to stay so. Therefore the tests stand still first, then whatever
        carries a signal of theirs ends, and then what is stopped already is left alone."""
        while any(name == "kill" for *_, name in below(test)):
            time.sleep(0.001)
        for pid, state, _ in below(test):
            if state not in "Tt":
                self.halt(pid)

    def halt(self, pid):
        send(pid, signal.SIGSTOP)
        self.stopped.append(pid)

    def go_on(self):
        """The last first: tests see nothing of theirs stand still."""
        while self.stopped:
            send(self.stopped.pop(), signal.SIGCONT)


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
