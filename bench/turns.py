#!/usr/bin/env python3
"""Compares the speed of two twinprint binaries by running them alternately.

    bench/turns.py OLD NEW [--data DIR] [--turns N] [--only NAME]

Each case is a command. A turn runs it with OLD and then with NEW. Other work on the machine slows both binaries alike and
only adds time, so the shortest times of N turns are compared. The script prints a row for each case: the CPU time and
the wall time of OLD in seconds, and those of NEW as ratios.

DIR is the directory of labelled sets (default: $TWINPRINT_SHARED/data, or ../shared/data next to the repository). The
script needs zstd. Fingerprints for `index` are random numbers and copies of them with up to three flipped bits, from a
fixed seed.
"""

import argparse
import array
import os
import random
import resource
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TWINPRINT_SHARED", ROOT.parent / "shared"))

FINGERPRINTS = 2_000_000
QUERIES = 200_000

# A name, the measured command, and a command before it that is not measured. DOCS are the documents of all sets.
CASES = [
    ("dedup", "dedup DOCS -o out --quiet", None),
    ("dedup, one thread", "dedup DOCS -o out --quiet --threads 1 --mode report", None),
    ("cluster", "cluster newswire-en.jsonl causes-en.jsonl --time-key none -o out -q", None),
    ("fingerprint", "fingerprint newswire-en.jsonl revisions-zh.jsonl -q", None),
    ("collection add", "collection add seen newswire-en.jsonl articles-en.jsonl -q", "collection create seen"),
    ("index build", "index build fingerprints.u64 -o out -q", None),
    ("index join", "index join seen -q", "index build fingerprints.u64 -o seen -q"),
    ("index query", "index query seen --queries queries.u64 -q", "index build fingerprints.u64 -o seen -q"),
    ("index query, 6 bits", "index query seen --queries queries.u64 -k 6 -q", "index build fingerprints.u64 -o seen -q -k 6"),
    ("eval", "eval --docs revisions-en.jsonl --pairs revisions-en.pairs.jsonl -q", None),
]


def write_inputs(data, directory):
    """Writes the decompressed sets, the fingerprints and the queries. Returns the names of the sets."""
    sets = []
    for path in sorted(data.glob("*.jsonl.zst")):
        name = path.name.removesuffix(".zst").replace(".docs.", ".")
        with open(directory / name, "wb") as out:
            subprocess.run(["zstd", "-dcq", path], stdout=out, check=True)
        if ".docs." in path.name:
            sets.append(name)
    numbers = random.Random(1)
    fingerprints = array.array("Q", (numbers.getrandbits(64) for _ in range(FINGERPRINTS)))
    for row in range(0, FINGERPRINTS, 5):
        for _ in range(numbers.randrange(4)):
            fingerprints[row] = fingerprints[row // 2] ^ (1 << numbers.randrange(64))
    (directory / "fingerprints.u64").write_bytes(fingerprints.tobytes())
    (directory / "queries.u64").write_bytes(fingerprints[::FINGERPRINTS // QUERIES].tobytes())
    return sets


def measure(binary, command, before, directory):
    """Runs a command. Returns its CPU time and its wall time in seconds."""
    for left in ("out", "seen"):
        shutil.rmtree(directory / left, ignore_errors=True)
    run = {"cwd": directory, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    if before:
        subprocess.run([binary, *shlex.split(before)], **run)
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([binary, *shlex.split(command)], **run)
    wall, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, wall


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("new", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--data", type=Path, default=SHARED / "data")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        sets = " ".join(write_inputs(arguments.data, directory))
        print(f"{'':22} {'CPU s':>8} {'new/old':>8} {'wall s':>8} {'new/old':>8}")
        for name, command, before in CASES:
            if arguments.only not in name:
                continue
            command = command.replace("DOCS", sets)
            turns = [
                [measure(binary, command, before, directory) for binary in (arguments.old, arguments.new)]
                for _ in range(arguments.turns)
            ]
            old, new = ([min(turn[side][i] for turn in turns) for i in range(2)] for side in range(2))
            print(f"{name:22} {old[0]:8.2f} {new[0] / old[0]:8.3f} {old[1]:8.2f} {new[1] / old[1]:8.3f}", flush=True)


if __name__ == "__main__":
    main()
