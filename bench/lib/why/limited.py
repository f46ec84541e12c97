"""A disk that is slow: a limit of the reads per second that a server may make, by a control group of version 1."""
import os
import tempfile
import threading

BLKIO = "/sys/fs/cgroup/blkio"


def why_impossible():
    """Why reads cannot be limited on this machine; None where they can."""
    if not os.access(f"{BLKIO}/blkio.throttle.read_iops_device", os.W_OK):
        return "there is no control group that limits reads (blkio.throttle of version 1, as root)"
    return None if device(tempfile.gettempdir()) else "the folder for temporary files is on no block device"


def device(path):
    """Major and minor number of the whole disk that a path lies on; None where it lies on none."""
    number = os.stat(path).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(f"/sys/dev/block/{name}"):
        return None
    above = os.path.join(f"/sys/dev/block/{name}", "..", "dev")
    if os.path.exists(f"/sys/dev/block/{name}/partition"):
        with open(above) as file:
            return file.read().strip()
    return name


class Limited:
    """A limit of reads per second for the server whose folder this is, also after it was started anew."""

    def __init__(self, folder, limit):
        self.folder, self.limit = os.path.realpath(folder), limit
        self.group = f"{BLKIO}/evenkeel-why-{os.getpid()}"
        self.over, self.caught = threading.Event(), set()

    def __enter__(self):
        os.mkdir(self.group)
        with open(f"{self.group}/blkio.throttle.read_iops_device", "w") as file:
            file.write(f"{device(self.folder)} {self.limit}")
        self.thread = threading.Thread(target=self.catch)
        self.thread.start()
        return self

    def catch(self):
        while not self.over.wait(0.02):
            for pid in servers(self.folder) - self.caught:
                try:
                    with open(f"{self.group}/cgroup.procs", "w") as file:
                        file.write(str(pid))
                    self.caught.add(pid)
                except OSError:
                    pass  # It ended in this moment.

    def __exit__(self, failure, *_):
        self.over.set()
        self.thread.join()
        with open(f"{self.group}/cgroup.procs") as file:
            left = file.read().split()
        for pid in left:
            with open(f"{BLKIO}/cgroup.procs", "w") as file:
                file.write(pid)
        os.rmdir(self.group)
        # A limit that met nobody would make every verdict look wrong.
        if failure is None and not self.caught:
            raise RuntimeError(f"no server was found in {self.folder}")


def servers(folder):
    """Servers that run in a folder, by their numbers."""
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/comm") as file:
                is_server = file.read().startswith("maria")
            if is_server and os.path.realpath(f"/proc/{entry}/cwd") in (folder, os.path.join(folder, "data")):
                found.add(int(entry))
        except OSError:
            pass
    return found
