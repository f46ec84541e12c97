"""Hosts that share a simulated array: `evenkeel share disk` processes, and fio as their clients; disks as mounted file systems."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

from .process import configured, cpu_ns, end, ends_with_bench, run

PATIENCE_S = 20


class Storage:
    """A folder with one simulated array, the slots of its hosts, and their files."""

    def __init__(self, engine, *flags):
        self.engine = engine
        self.folder = tempfile.mkdtemp(prefix="evenkeel-bench-")
        self.array = self.path("array.sim")
        subprocess.run([engine, "-q", "share", "array", self.array, *flags], check=True, stdout=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


class Host:
    """One host with one disk, reached by NBD over a unix socket; `more` are settings of the host, `disk` of the disk."""

    def __init__(self, storage, name, share, law, latency_ms, window, most, period_s, size="256M", more=None, disk=None):
        self.storage, self.name = storage, name
        self.socket = storage.path(f"{name}.sock")
        self.settings = {
            "name": name, "nbd": self.socket, "metrics": "127.0.0.1:0", "window.law": law, "window.latency": f"{latency_ms}ms",
            "window.initial_window": window, "window.max_window": most, "window.period": f"{period_s}s", **(more or {})}
        if law != "fixed":
            self.settings["bus.address"] = f"slot:{storage.path('slots')}"
        self.disk = {"name": name, "backing": storage.path(f"{name}.img"), "size": size, "simulated": storage.array,
                     **(disk or {})}
        command = [storage.engine, "-q", "share", "disk", *self.write(share)]
        self.errors = open(storage.path(f"{name}.log"), "w+")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.errors,
                                        preexec_fn=ends_with_bench())
        self.metrics = self.wait()

    def write(self, share):
        """Writes its file with this share of the disk; the words that name it."""
        self.share = share
        return configured(self.storage.path(f"{self.name}.toml"), self.settings, {**self.disk, "share": share})

    def wait(self):
        """Until it serves: the address of its metrics."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            told = self.log()
            found = re.search(r"metrics[^0-9]*(127\.0\.0\.1:\d+)", told)
            if os.path.exists(self.socket) and found:
                return found.group(1)
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended: {told}")
            time.sleep(0.02)
        raise RuntimeError(f"{self.name} does not serve: {self.log()}")

    def log(self):
        with open(self.errors.name) as file:
            return file.read()

    def figures(self):
        """Its metrics by name; of those with labels the sum."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        found = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                name = name.split("{")[0]
                found[name] = found.get(name, 0.0) + float(value)
        return found

    def cpu_ns(self):
        return cpu_ns(self.process.pid)

    def stop(self):
        end(self.process, 10)
        self.errors.close()


class Fio:
    """A client that keeps so many random I/Os outstanding for so many seconds."""

    def __init__(self, host, depth, seconds, size=16384, write_share=0.0, seed=1):
        kind = ["--rw=randread"] if write_share == 0 else ["--rw=randrw", f"--rwmixwrite={round(100 * write_share)}"]
        uri = f"nbd+unix:///{host.name}?socket={host.socket}"
        command = ["fio", "--name=client", "--ioengine=nbd", f"--uri={uri}", *kind, f"--bs={size}",
                   f"--iodepth={depth}", "--time_based=1", f"--runtime={seconds}", "--norandommap=1", f"--randseed={seed}",
                   "--output-format=json", "--thread=1"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=ends_with_bench(), cwd=host.storage.folder)

    def result(self):
        output, errors = self.process.communicate()
        if self.process.returncode != 0:
            raise RuntimeError(f"fio: {errors.strip() or output.strip()}")
        job = json.loads(output[output.index("{"):])["jobs"][0]
        return job


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
