"""A private server of `evenkeel sandbox`, in a home of its own, that can be killed and brought up again."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from ..process import ends_with_bench

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PATIENCE_S = 300


class Desk:
    """Up on entering, down and gone on leaving."""

    def __init__(self, product):
        self.product = product

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="evenkeel-cdr-")
        try:
            self.up()
            # An account without a password, so that none is in a list of processes.
            self.ours("sandbox", "shell", "a", "--", "-e", "CREATE USER bench@localhost; GRANT ALL ON *.* TO bench@localhost")
            self.sql("CREATE DATABASE cdr", database=None)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.ours("sandbox", "down", "a", codes=None)
        shutil.rmtree(self.home, ignore_errors=True)

    def up(self):
        said = self.ours("sandbox", "up", "a", "--set", "innodb_buffer_pool_size=512M", "--set", "innodb_log_file_size=256M")
        self.pid = int(re.search(r"process (\d+)", said).group(1))
        self.socket = re.search(r"socket=(\S+)", said).group(1)

    def path(self, *names):
        return os.path.join(self.home, *names)

    def words(self, *words):
        return [self.product, "-q", "--home", self.path("home"), *words]

    def ours(self, *words, codes=(0,)):
        """Runs evenkeel in the folder of the desk; what it printed."""
        done = subprocess.run(self.words(*words), cwd=self.home, capture_output=True, text=True, check=False)
        if codes is not None and done.returncode not in codes:
            raise RuntimeError(f"{words} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def code(self, *words):
        """Runs evenkeel as `ours` does; its exit code, and what it said where that is not 0."""
        done = subprocess.run(self.words(*words), cwd=self.home, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{' '.join(words)} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode

    def writes(self):
        """Whether a statement of evenkeel that writes rows is under way."""
        found = self.sql("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'evenkeel' "
                         "AND INFO REGEXP '^ *(LOAD DATA|INSERT|DELETE|ALTER TABLE|CALL evenkeel_|COMMIT)'")
        return found != "0"

    def started(self, *words):
        return subprocess.Popen(self.words(*words), cwd=self.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                preexec_fn=ends_with_bench())

    def client(self, *words, database="cdr"):
        return ["mariadb", "--no-defaults", "-ubench", f"--socket={self.socket}", "--local-infile=1",
                "--default-character-set=latin1", "-N", "-B", *words, *([database] if database else [])]

    def sql(self, text, database="cdr"):
        done = subprocess.run(self.client("-e", text, database=database), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{text[:500]}: {done.stderr}")
        return done.stdout.strip()

    def rows(self, text):
        """Lines of what a statement answers, as they come."""
        client = subprocess.Popen(self.client("--quick", "-e", text), stdout=subprocess.PIPE)
        with client.stdout:
            for line in client.stdout:
                yield line[:-1]
        if client.wait() != 0:
            raise RuntimeError(f"{text[:500]}: the client ended with {client.returncode}")

    def tables(self, pattern):
        return self.sql(f"SHOW TABLES LIKE '{pattern}'").split()

    def clear(self):
        """An empty database, without manifest and journal."""
        self.sql("DROP DATABASE cdr; CREATE DATABASE cdr", database=None)

    def kill(self):
        """As a crash: the server ends at once and is brought up again."""
        os.kill(self.pid, signal.SIGKILL)
        end = time.monotonic() + PATIENCE_S
        while os.path.exists(f"/proc/{self.pid}") and not is_zombie(self.pid) and time.monotonic() < end:
            time.sleep(0.05)

    def alone(self):
        """Waits until the server has noticed that a client is gone."""
        others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'evenkeel' AND ID <> CONNECTION_ID()"
        end = time.monotonic() + PATIENCE_S
        while self.sql(others) != "0" and time.monotonic() < end:
            time.sleep(0.2)

    def cpu_s(self):
        """CPU seconds of the server so far, of threads that have ended too."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S

    def settle(self, most_s=5):
        """Waits until the server has little to do any more."""
        end, before = time.monotonic() + most_s, self.cpu_s()
        while time.monotonic() < end:
            time.sleep(0.3)
            now = self.cpu_s()
            if now - before < 0.02:
                return
            before = now


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
