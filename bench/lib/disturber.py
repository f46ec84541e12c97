"""What disturbs tests: busy loops beside them, and standing still at any moment.

Only processes below the one that calls this are stopped, by their numbers. Processes that lose their parent become
children of this one, so that none is out of sight.
"""
import os
import random
import signal
import time

from .process import LIBC, PR_SET_PDEATHSIG

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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


def end_all_but(kept, patience):
    """Waits until nothing is left below this process but what is kept; what has not ended in time, in seconds, is killed.
    Names of what was."""
    end, names = time.monotonic() + patience, []
    while left := [child for child in below(os.getpid()) if child[0] not in kept]:
        if time.monotonic() > end:
            for pid, _, name in left:
                names.append(name)
                send(pid, signal.SIGKILL)
        time.sleep(0.02)
        reap(None)
    return names


class Disturber:
    """Stops busy loops and tests at random for a while, until it is left. Without loops it leaves all in peace."""

    def __init__(self, loops, seed, pauses=(0.05, 0.5)):
        self.random = random.Random(seed)
        self.loops = [started() for _ in range(loops)]
        self.pauses = pauses
        self.stopped = []
        # How often tests were stopped.
        self.count = 0
        self.next = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_on()
        for pid in self.loops:
            send(pid, signal.SIGKILL)
        while self.loops and below(os.getpid()):
            reap(None)

    def step(self, test):
        """To be called often: stops somebody, or lets him go on, when that is due."""
        if not self.loops or time.monotonic() < self.next:
            return
        if self.stopped:
            self.go_on()
        else:
            self.stop(test)
        self.next = time.monotonic() + self.random.uniform(*self.pauses)

    def stop(self, test):
        """One of the loops, the tests alone, or the tests with all that they have started."""
        whom = self.random.choice([*self.loops, test, None])
        self.count += whom not in self.loops
        self.halt(whom or test)
        if whom is None:
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
