"""Causes that are planted, always on the first of two servers that are alike but for that. Each plant gives what the study found."""
import os
import shutil
import subprocess
import threading

from .. import disturber
from . import limited
from .bed import FLUSHING, LARGE, RATE, ROWS, SMALL, figure
from .relay import Relay

HERE = os.path.dirname(os.path.abspath(__file__))
# What a neighbour takes of its CPU.
SHARE = 0.4


def disk(bed, seed):
    """A limit of the reads per second that its process may make (blkio.throttle), at a pool of a fifth of the pages."""
    names = bed.pair(SMALL)
    reads = figure(bed.study(names, RATE[SMALL], seed=seed), "disk_reads_per_request@t1")
    # Half of what the limit lets through: a queue that settles.
    with limited.Limited(bed.folder(names[0]), round(2 * RATE[SMALL] * reads)):
        return names, bed.reads(names, seed, seconds=6)


def layout(bed, seed):
    """Its rows came in at random, at the same small pool."""
    names = bed.server(SMALL, via="shuffled"), bed.server(SMALL)
    return names, bed.reads(names, seed)


def layout_half_full(bed, seed):
    """Its tables were rebuilt with pages that are filled to 40 %, the other's with full ones."""
    names = bed.pair(SMALL)
    for name, fill in zip(names, (40, 100)):
        for table in ("item", "author"):
            bed.sql(name, f"SET GLOBAL innodb_fill_factor = {fill}; ALTER TABLE tpcw.{table} FORCE, ALGORITHM=INPLACE")
    return names, bed.reads(names, seed)


def network(bed, seed, delay_s=0.005):
    """It is reached through a relay that keeps each request for 5 ms."""
    through, direct = names = bed.pair()
    with Relay(bed.record(through)["port"], delay_s) as relay:
        # Both are reached the same way, but for the relay.
        urls = [bed.url(through, relay.port), bed.url(direct, bed.record(direct)["port"])]
        resets = [f"reset={url}={bed.restart(name)}" for url, name in zip(urls, names)]
        return names, bed.study(urls, RATE[LARGE], *resets, seed=seed)


def network_2ms(bed, seed):
    """The same with 2 ms."""
    return network(bed, seed, 0.002)


def neighbours(bed, seed):
    """Somebody with real-time priority takes 40 % of its CPU at random; each of both servers has a CPU of its own."""
    names = [bed.server(LARGE, "--at", f"cpus={cpu}") for cpu in (disturber.CPU, disturber.CPU + 1)]
    with disturber.Bursts(SHARE, seed):
        return names, bed.reads(names, seed, seconds=9)


def plan(bed, seed):
    """The index of item by subject is dropped on it."""
    names = bed.pair()
    indexes = bed.sql(names[0], "SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'tpcw' AND TABLE_NAME = 'item' "
                                "AND SEQ_IN_INDEX = 1 AND COLUMN_NAME = 'i_subject'").split()
    for index in indexes:
        bed.sql(names[0], f"ALTER TABLE tpcw.item DROP INDEX {index}")
    # Without the index a request takes many times as long: at this rate the server still keeps up.
    return names, bed.study(names, RATE[LARGE] / 5, seed=seed)


def delayed(bed, pool=LARGE, **delays):
    """A server whose syncs (SYNC_US), syncs of data files (DATA_SYNC_US) or reads (READ_US) take so many microseconds longer, and one whose do not."""
    library = os.path.join(bed.home, "delays.so")
    if not os.path.exists(library):
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "delays.c"), "-ldl"], check=True)
    program = os.path.join(bed.home, f"server-{bed.count}")
    server = shutil.which("mariadbd", path=os.environ["PATH"] + ":/usr/sbin")
    exported = " ".join(f"{name}={us}" for name, us in delays.items())
    with open(program, "w") as file:
        file.write(f'#!/bin/sh\nLD_PRELOAD={library} {exported} exec {server} "$@"\n')
    os.chmod(program, 0o755)
    return bed.server(pool, "--server-binary", program), bed.server(pool)


def syncs_5ms(bed, seed):
    """Each of its syncs takes 5 ms longer."""
    names = delayed(bed, SYNC_US=5000)
    return names, bed.writes(names, seed)


def syncs_500us(bed, seed):
    """Each of its syncs takes 0.5 ms longer."""
    names = delayed(bed, SYNC_US=500)
    return names, bed.writes(names, seed)


def data_syncs(bed, seed):
    """Each of its syncs of a data file takes 20 ms longer, and its pool has a fourth of the pages that the load writes."""
    names = delayed(bed, SMALL, DATA_SYNC_US=50000)
    return names, bed.study(names, FLUSHING, f"workload={bed.scattered}", seed=seed, seconds=6)


def disk_500us(bed, seed):
    """Each of its reads of a page takes 0.5 ms longer."""
    names = delayed(bed, SMALL, READ_US=500)
    return names, bed.reads(names, seed)


class Locker:
    """Locks the rows that the load writes for 60 ms, again and again, however often the server is restarted."""

    def __init__(self, bed, name):
        self.bed, self.name, self.over = bed, name, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        lock = f"BEGIN; SELECT COUNT(i_stock) FROM tpcw.item WHERE i_id <= {ROWS} FOR UPDATE; DO SLEEP(0.06); ROLLBACK"
        while not self.over.wait(0.05):
            try:
                self.bed.sql(self.name, lock)
            except RuntimeError:
                pass  # The server is being restarted.

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def locks(bed, seed):
    """Somebody locks its rows for 60 ms in a loop."""
    names = bed.pair()
    with Locker(bed, names[0]):
        return names, bed.writes(names, seed)


def trigger(bed, seed):
    """A trigger on it computes for a millisecond or two at each write."""
    names = bed.pair()
    bed.sql(names[0], "CREATE TRIGGER tpcw.busy BEFORE UPDATE ON tpcw.item FOR EACH ROW SET @busy = BENCHMARK(5000, MD5('busy'))")
    return names, bed.writes(names, seed)


def quota(bed, seed):
    """A quota lets it have little more of a CPU than it needs."""
    names = bed.server(LARGE, "--at", "quota=25%"), bed.server(LARGE)
    return names, bed.reads(names, seed, seconds=9)


def cold(bed, seed):
    """Its pool is empty after each start, the other loads what was in it before; read are four items by their numbers."""
    names = [bed.server(LARGE, "--set", f"innodb_buffer_pool_load_at_startup={load}", "--set", f"innodb_buffer_pool_dump_at_shutdown={load}",
                        "--set", "innodb_buffer_pool_dump_pct=100") for load in ("OFF", "ON")]
    bed.sql(names[1], "SELECT SUM(LENGTH(i_desc)) FROM tpcw.item")
    return names, bed.study(names, RATE[LARGE], f"workload={bed.read}", seed=seed)


def pooled(bed, seed):
    """Its requests queue for one worker of a thread pool behind somebody's report. (Invented by somebody who had not seen the code.) The study
    refuses servers whose settings differ this way and names the setting, which counts as named: no suspect stands for it."""
    pooled = [word for text in ("thread_handling=pool-of-threads", "thread_pool_size=1", "thread_pool_stall_limit=2000") for word in ("--set", text)]
    names = bed.server(LARGE, *pooled), bed.server(LARGE)
    try:
        return names, bed.reads(names, seed)
    except RuntimeError as refused:
        differs = "thread_handling is pool-of-threads at t1" in str(refused)
        verdict = {"suspect": "settings", "verdict": "cause" if differs else "undecided", "evidence": str(refused)}
        return names, {"headline": "The study refuses them.", "verdicts": [verdict]}


# Each with the suspect that is to be named, and no other.
ONCE = {layout_half_full: "layout", network_2ms: "network", syncs_5ms: "syncs", syncs_500us: "syncs", data_syncs: "data-syncs", disk_500us: "disk",
        locks: "locks", trigger: "cpu-work", quota: "cpu-wait", cold: "pool", pooled: "settings"}
TWICE = {disk: "disk", layout: "layout", network: "network", neighbours: "neighbours", plan: "plan"}


def why_impossible(plant):
    """Why it cannot be planted on this machine; None where it can."""
    if plant is neighbours:
        return disturber.why_impossible()
    if plant is disk:
        return limited.why_impossible()
    if plant in (syncs_5ms, syncs_500us, data_syncs, disk_500us) and shutil.which("cc") is None:
        return "there is no C compiler"
    return None
