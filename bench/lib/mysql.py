"""A private mysqld: MySQL itself, whose accounts authenticate by caching_sha2_password."""
import os
import subprocess
import time

from .server import Server


class Mysql(Server):
    """As the private MariaDB, started by the program given."""

    def __init__(self, program):
        super().__init__()
        self.program = program

    def _start(self):
        log = open(os.path.join(self.home, "log"), "w", encoding="utf-8")
        common = [self.program, f"--datadir={self.home}/data", "--performance-schema=OFF"]
        subprocess.run([*common, "--initialize-insecure"], check=True, stdout=log, stderr=log)
        command = [*common, f"--socket={self.socket}", f"--port={self.port}", "--bind-address=127.0.0.1", "--mysqlx=OFF",
                   f"--pid-file={self.home}/pid", "--innodb-buffer-pool-size=128M", "--max-allowed-packet=64M", "--secure-file-priv=", "--skip-name-resolve"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self.home, "log"), encoding="utf-8") as text:
                    raise RuntimeError(text.read()[-2000:])
            time.sleep(0.2)
