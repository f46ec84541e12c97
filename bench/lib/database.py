"""A mariadbd on folders that are there: on mounts, say."""
import os
import shutil
import subprocess
import time

from .process import ends_with_bench
from .server import PATH

PATIENCE_S = 120
# The disk is what is measured: nothing is cached beside the buffer pool, which starts empty.
DISK = ["--innodb-flush-method=O_DIRECT", "--innodb-buffer-pool-load-at-startup=OFF",
        "--innodb-buffer-pool-dump-at-shutdown=OFF", "--innodb-read-io-threads=16", "--max-connections=300",
        "--performance-schema=OFF"]


class Database:
    """Up on making, down on `stop`. `where` are the options that say where its files are, `settings` all others; socket and
    log are in `place`. Where `make` is set its system tables are made first."""

    def __init__(self, place, where, settings, make=False):
        self.socket, errors = os.path.join(place, "s"), os.path.join(place, "errors")
        common = ["--no-defaults", *where, "--user=root"]
        log, environment = open(errors, "a"), {**os.environ, "PATH": PATH}
        if make:
            subprocess.run(["mariadb-install-db", *common, "--auth-root-authentication-method=normal"], check=True,
                           stdout=log, stderr=log, env=environment)
        command = [shutil.which("mariadbd", path=PATH), *common, f"--socket={self.socket}", f"--pid-file={place}/pid",
                   *DISK, *settings]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment,
                                        preexec_fn=ends_with_bench())
        end = time.monotonic() + PATIENCE_S
        while self.sql("SELECT 1").returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(open(errors).read()[-2000:])
            time.sleep(0.2)

    def sql(self, text):
        command = ["mariadb", "--no-defaults", "-uroot", f"--socket={self.socket}", "-e", text]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
