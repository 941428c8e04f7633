#!/usr/bin/env python3
"""Runs a large generated corpus in memory, on disk with little memory, and as stages in 1, 3 and 8 processes.

    bench/shards_at_size.py WORK [--documents 1000000] [--memory 160MiB] [--seed 1]

All results must be equal, as in tests/shards.py, whose comparison this is: files byte for byte, and the JSON report without
the figures of the run itself. The processes of a stage start in a random order, two at a time, and two of each run are killed
(SIGKILL) at a random moment of their first seconds; the same commands are given again. The corpus is that of bench/kills.py,
documents of about 400 bytes; a collection for `--against` has every thousandth of them.

Needs the binary (TWINPRINT)."""

import argparse
import json
import random
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import kills
import shards

# The longest time after its start at which a process is killed, in seconds.
KILL_WITHIN = 0.5
KNOWN = 1000
OPTIONS = [[], ["--keep", "longest", "--against", "seen", "--hamming", "12"]]


def timed(function, *arguments):
    started = time.monotonic()
    result = function(*arguments)
    return result, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--memory", default=shards.MEMORY)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    shards.KILL_WITHIN, shards.MEMORY = KILL_WITHIN, arguments.memory
    folder = arguments.work.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    kills.write_corpus(folder / "in", arguments.documents, arguments.seed)
    documents = []
    for path in sorted((folder / "in").iterdir()):
        lines = path.read_text(encoding="utf-8").splitlines()
        documents += [json.loads(line) for line in lines[: arguments.documents // kills.FILES : KNOWN]]
    shards.collect(folder, documents)
    draw = random.Random(arguments.seed)
    wrong = 0
    for options in OPTIONS:
        print(f"{arguments.documents} documents, memory {arguments.memory}, {' '.join(options) or 'no options'}", flush=True)
        runs, seconds = timed(shards.Runs, folder, options, draw)
        print(f"  in memory: {seconds:.1f} s", flush=True)
        ways = [("on disk", runs.on_disk, ())]
        ways += [(f"{count} processes", runs.staged, (count,)) for count in shards.PROCESSES]
        for way, run, given in ways:
            before = runs.kills
            names, seconds = timed(run, *given)
            result = f"{', '.join(names)} differ" if names else "equal"
            print(f"  {way}: {result}; {runs.kills - before} killed; {seconds:.1f} s", flush=True)
            wrong += bool(names)
    shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
