#!/usr/bin/env python3
"""Measures an index whose ids are names: build, open, look up, add, delete.

    bench/names.py TWINPRINT WORK ROWS...

WORK is a directory for the files, about 120 bytes for each row. Prints CPU seconds, wall seconds and the peak memory of
each command: all of it, which includes mapped pages of files, and the part that is not of files. Needs pyarrow and numpy.
"""

import os
import shutil
import subprocess
import sys
import time

import numpy
import pyarrow
import pyarrow.parquet

ADDED = 1000


def table(path, first, rows, seed):
    """Writes random fingerprints of 64 bits with names of 37 bytes."""
    names = [f"https://site.example/page/{i:011}" for i in range(first, first + rows)]
    fingerprints = numpy.random.default_rng(seed).integers(0, 2**64, size=rows, dtype=numpy.uint64)
    pyarrow.parquet.write_table(pyarrow.table({"id": names, "fingerprint": fingerprints}), path)


def memory(pid):
    """The memory of a process in MiB: without files, and all of it."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return [int(fields[key].split()[0]) / 1024 for key in ("RssAnon", "VmRSS")]
    except (OSError, KeyError):
        return [0, 0]


def run(*command):
    """Runs a command, and prints what it took."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = [0, 0]
    while True:
        peak = [max(pair) for pair in zip(peak, memory(process.pid))]
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.005)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    cpu = usage.ru_utime + usage.ru_stime
    name = " ".join(command[1:3])
    print(f"| {name} | {cpu:.2f} | {time.monotonic() - start:.2f} | {peak[0]:.0f} | {peak[1]:.0f} |", flush=True)


def main():
    twinprint, work, *counts = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    os.chdir(work)
    for rows in map(int, counts):
        table("rows.parquet", 0, rows, 1)
        table("added.parquet", rows, ADDED, 2)
        table("query.parquet", 0, 1, 3)
        shutil.rmtree("index", ignore_errors=True)
        print(f"\n{rows:,} names\n\n| command | CPU s | wall s | anonymous MiB | resident MiB |\n|---|---|---|---|---|")
        run(twinprint, "index", "build", "rows.parquet", "-o", "index", "-q")
        run(twinprint, "index", "stat", "index")
        run(twinprint, "index", "query", "index", "--queries", "query.parquet", "-q")
        run(twinprint, "index", "add", "index", "added.parquet", "-q")
        run(twinprint, "index", "delete", "index", "none")
        size = sum(entry.stat().st_size for entry in os.scandir("index") if entry.name.endswith(".names"))
        print(f"\nThe file of names has {size / 2**20:.0f} MiB.")


if __name__ == "__main__":
    main()
