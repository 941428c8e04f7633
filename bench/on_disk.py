#!/usr/bin/env python3
"""Compares a run in memory with one on disk over a generated corpus: time, anonymous memory, disk, and what a dry run foretold.

    bench/on_disk.py WORK [--documents 10000000] [--memory 1GiB] [--seed 1] [-- OPTIONS]

The corpus is that of bench/kills.py, documents of about 400 bytes. The files of both results must be equal, except for the
report and config.toml. Memory (RssAnon) is looked at every 50 ms, and disk (the temporary files and the result) every second.

Needs the binary (TWINPRINT)."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import kills

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))


def anonymous(process):
    """The anonymous memory of a process in bytes."""
    try:
        return int(Path(f"/proc/{process.pid}/status").read_text().split("RssAnon:")[1].split()[0]) << 10
    except (OSError, IndexError):
        return 0


def disk(folder):
    """The bytes that a folder has on disk. A file that is deleted meanwhile counts nothing."""
    found = subprocess.run(["du", "-s", "-B1", folder], capture_output=True, text=True, check=False)
    return int(found.stdout.split()[0]) if found.stdout else 0


def run(command, folder):
    """Runs a command. Returns its seconds, CPU seconds, and the largest memory and disk in bytes."""
    before, started, memory, most_disk, looked = disk(folder), time.monotonic(), 0, 0, 0.0
    cpu_before = os.times()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            memory = max(memory, anonymous(process))
            if time.monotonic() - looked > 1:
                looked = time.monotonic()
                most_disk = max(most_disk, disk(folder) - before)
            time.sleep(0.05)
    seconds = time.monotonic() - started
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    cpu = os.times()
    processor = cpu.children_user + cpu.children_system - cpu_before.children_user - cpu_before.children_system
    return seconds, processor, memory, max(most_disk, disk(folder) - before)


def foretold(command, folder):
    """The lines of a dry run about memory, disk and time."""
    text = subprocess.run([*command, "--dry-run"], cwd=folder, capture_output=True, text=True, check=True).stdout
    return "; ".join(re.sub(r"\s+", " ", line.strip()) for line in text.splitlines() if "~" in line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--seed", type=int, default=1)
    given, options = sys.argv[1:], []
    if "--" in given:
        options = given[given.index("--") + 1 :]
        given = given[: given.index("--")]
    arguments = parser.parse_args(given)
    folder = arguments.work.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    kills.write_corpus(folder / "in", arguments.documents, arguments.seed)
    print(f"{arguments.documents} documents, {disk(folder) / 1e9:.2f} GB, {' '.join(options)}", flush=True)
    ways = {"memory": [], "disk": ["--on-disk", "--memory", arguments.memory]}
    for way, given in ways.items():
        command = [BINARY, "dedup", "in", "-o", way, *options, *given]
        print(f"{way}, foretold: {foretold(command, folder)}", flush=True)
        seconds, processor, memory, most = run([*command, "--quiet"], folder)
        print(
            f"{way}: {seconds:.1f} s, {processor:.1f} CPU s, {memory / 1e6:.0f} MB ({memory >> 20} MiB) of memory, "
            f"{disk(folder / way) / 1e6:.0f} MB of results, {most / 1e6:.0f} MB of disk in all"
        )
        report = json.loads((folder / way / "report.json").read_text())
        for stage in report["run"]["stages"]:
            moved = [(stage[key] or 0) / 1e9 for key in ("read_bytes", "written_bytes")]
            print(
                f"  {stage['name']}: {stage['seconds']:.1f} s, {stage['cpu_seconds'] or 0:.1f} CPU s, "
                f"{moved[0]:.2f} GB read, {moved[1]:.2f} GB written",
                flush=True,
            )
        print(f"  recall: {json.dumps(report.get('recall'))}; records: {json.dumps(report['records'])}", flush=True)
    # config.toml has the options, in which the runs differ.
    different = [name for name in kills.differences(*(folder / way for way in ways)) if str(name) != "config.toml"]
    print(f"{', '.join(map(str, different))} differ" if different else "all files are equal")
    shutil.rmtree(folder)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
