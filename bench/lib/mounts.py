"""Images and disks as mounted file systems: loop devices, ext4."""
import os
import subprocess
import time


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def missing():
    """Why no disk can be mounted here as a file system, or None."""
    lacks = [] if os.geteuid() == 0 else ["root"]
    lacks += [path for path in ("/dev/fuse", "/dev/loop-control") if not os.path.exists(path)]
    return f"no mounts here without {' and '.join(lacks)}" if lacks else None


class Mount:
    """A file as a mounted ext4, past the page cache; unmounted and detached on leaving."""

    def __init__(self, file, at, make=False):
        self.at = at
        os.makedirs(at, exist_ok=True)
        self.device = run("losetup", "--find", "--show", "--direct-io=on", file)
        try:
            if make:
                run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", self.device)
            run("mount", "-o", "noatime", self.device, at)
        except BaseException:
            run("losetup", "--detach", self.device)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # What still writes back keeps it busy for a moment.
        for attempt in range(20):
            try:
                run("umount", self.at)
                break
            except RuntimeError:
                if attempt == 19:
                    raise
                time.sleep(0.5)
        run("losetup", "--detach", self.device)
