#!/usr/bin/env python3
"""Compares what a dry run foretells with what the run takes: time, memory, results and temporary files.

    bench/forecast.py WORK [--rounds 3] [--documents 300000 1000000] [--only NAME]

The inputs are the sets of labelled documents in ../shared/data, where they are present, and generated corpora of bench/kills.py
with the given numbers of documents; each in memory and on disk. Time is the median of the rounds. Nothing else should use the
machine. Needs the binary (TWINPRINT) and zstd."""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import corpora
import kills
import on_disk

SETS = ["newswire-en", "webpages-zh", "revisions-zh", "poems-zh", "revisions-en", "docs-mixed"]
DATA = corpora.SHARED / "data"
UNITS = {"B": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}
WAYS = {"in memory": [], "on disk": ["--on-disk"]}


def amounts(command, folder):
    """Seconds, and MB of memory, results and temporary files, as a dry run foretells them."""
    done = subprocess.run([*command, "--dry-run"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")

    def size(pattern):
        found = re.search(rf"~([\d.,]+) (\w+)\s+{pattern}", done.stdout)
        return float(found[1].replace(",", "")) * UNITS[found[2]]

    time = re.search(r"time\s+~([\d.]+) (\w+)", done.stdout)
    return float(time[1]) * {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}[time[2]], size("at peak"), size("of results"), size("of temporary")


def resident(folder):
    """The peak memory of a run by its report, in MB."""
    report = on_disk.json.loads((folder / "out" / "report.json").read_text())
    return max(stage["peak_memory_bytes"] or 0 for stage in report["run"]["stages"]) / 1e6


def compare(name, given, folder, rounds):
    command = [on_disk.BINARY, "dedup", "in", "-o", "out", "--text-key", "text", "--work-dir", "work", *given]
    (folder / "work").mkdir(exist_ok=True)
    expected = amounts(command, folder)
    seconds = []
    for _ in range(rounds):
        shutil.rmtree(folder / "out", ignore_errors=True)
        seconds.append(on_disk.run([*command, "--quiet"], folder)[0])
    found = [statistics.median(seconds), resident(folder), on_disk.disk(folder / "out") / 1e6]
    shown = [f"{a:.1f}, {b:.1f} ({a / b:.2f})" for a, b in zip(expected, found, strict=False)]
    print(f"| {name} | {' | '.join(shown)} | {expected[3]:.1f} |", flush=True)
    shutil.rmtree(folder / "out")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, nargs="*", default=[300_000, 1_000_000])
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    folder = arguments.work.resolve()
    print("| input | seconds: foretold, taken (ratio) | memory, MB | results, MB | temporary files foretold, MB |")
    print("|---|---|---|---|---|")
    for name in [*SETS, *arguments.documents]:
        if arguments.only not in str(name):
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if isinstance(name, int):
            kills.write_corpus(folder / "in", name, 1)
        elif (DATA / f"{name}.docs.jsonl.zst").exists():
            (folder / "in").mkdir()
            packed = DATA / f"{name}.docs.jsonl.zst"
            subprocess.run(["zstd", "-dq", packed, "-o", folder / "in" / "docs.jsonl"], check=True)
        else:
            print(f"{name} is not here and was skipped", flush=True)
            continue
        for way, options in WAYS.items():
            compare(f"{name}, {way}", options, folder, arguments.rounds)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
