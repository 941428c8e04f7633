#!/usr/bin/env python3
"""Runs each set in memory, on disk with little memory, and as stages in several processes: all results must be equal.

    tests/shards.py                     a short form for CI: some sets, stages in three processes
    tests/shards.py --full              all sets with all options, stages in 1, 3 and 8 processes
    tests/shards.py --only poems        the sets whose name contains this word
    tests/shards.py --seed 7            another order of the processes, and other kills

A set is divided into 24 files. The options (--keep, --pairs, --against, --mode) change from run to run, so that every value
occurs. For the stages, the processes `shard STAGE --task I/N` start in a random order, two at a time. Two processes of each run
are killed (SIGKILL) while they work, and the same commands are given again. The result is written by `dedup --on-disk`, from
the stages.

Compared are all files byte for byte, and the JSON report without the figures of the run itself. Needs the binary (TWINPRINT),
and zstd for the labelled sets."""

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corpora

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
STAGES = ["analyse", "classes", "items", "against", "parameters", "join", "candidates", "verify", "lead", "groups", "recall"]
STAGES += ["winnow", "shared", "passages", "parts"]
FILES = 24
# The smallest memory limit that the stages accept, with a margin.
MEMORY = "160MiB"
# The sets of the short form.
FEW = ["revisions-en", "headlines-zh", "webpages-zh"]
# The options of the runs, in turn. With --hamming, fingerprints choose the candidates also in small sets.
OPTIONS = [
    ["--hamming", "12"],
    ["--keep", "longest", "--pairs=all", "--hamming", "20"],
    ["--keep", "newest", "--keep-key", "rank", "--pairs=distinct"],
    ["--keep", "shortest", "--against", "seen", "--hamming", "16"],
    ["--mode", "annotate", "--clusters", "both"],
    ["--keep", "longest", "--parts=0.2"],
    ["--keep", "longest", "--against", "seen", "--pairs=all"],
    ["--no-verify", "--hamming", "3"],
]
# The numbers of processes that share the stages.
PROCESSES = (1, 3, 8)
# The number of processes of a run that are killed, the share of the others that may be, and the longest time after its start at
# which a process is killed, in seconds.
KILLS = 2
MAY_BE_KILLED = 0.4
KILL_WITHIN = 0.04


def sets():
    """The names of all sets that exist here."""
    if corpora.MEASURED:
        return sorted(path.name.split(".")[0] for path in (corpora.SHARED / "data").glob("*.docs.jsonl.zst"))
    return sorted(corpora.GENERATORS)


def divide(name, folder):
    """Writes the documents of a set to files, and a collection of every seventh one of the last file."""
    documents = corpora.rows(corpora.corpus(name).docs)
    ranks = random.Random(name)
    for document in documents:
        # Many documents have the same rank.
        document["rank"] = ranks.randrange(100)
    source = folder / "in"
    source.mkdir()
    for number in range(FILES):
        part = documents[number * len(documents) // FILES : (number + 1) * len(documents) // FILES]
        lines = "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in part)
        (source / f"{number:02}.jsonl").write_text(lines, encoding="utf-8")
    collect(folder, documents[-max(len(documents) // FILES, 7) :: 7])
    return len(documents)


def collect(folder, documents):
    """Makes the collection `seen` of documents, under other ids."""
    known = [{"id": f"known-{row['id']}", "text": row["text"]} for row in documents]
    seen = folder / "known.jsonl"
    seen.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in known), encoding="utf-8")
    for command in (["create", "seen"], ["add", "seen", "known.jsonl", "--quiet"]):
        subprocess.run([BINARY, "collection", *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


class Runs:
    """The runs over one set with the same options, each compared with the run in memory."""

    def __init__(self, folder, options, draw):
        self.folder, self.options, self.draw = folder, ["--text-key", "text", *options], draw
        self.kills = 0
        self.dedup("whole")
        self.expected = self.result("whole")
        shutil.rmtree(folder / "whole")

    def dedup(self, out, *options):
        command = [BINARY, "dedup", "in", "-o", out, *self.options, *options, "--quiet"]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")

    def on_disk(self):
        self.dedup("disk", "--on-disk", "--memory", MEMORY)
        return self.differences("disk")

    def staged(self, processes):
        """Runs each stage in several processes, two at a time."""
        left = KILLS
        for stage in STAGES:
            tasks = list(range(processes))
            self.draw.shuffle(tasks)
            for pair in itertools.zip_longest(tasks[::2], tasks[1::2]):
                started = {task: self.shard(stage, task, processes) for task in pair if task is not None}
                if left > 0 and self.draw.random() < MAY_BE_KILLED:
                    task = self.draw.choice(list(started))
                    if self.kill(started[task]):
                        left -= 1
                        started[task] = self.shard(stage, task, processes)
                for task, process in started.items():
                    complaint = process.communicate()[1].decode(errors="replace")
                    if process.returncode != 0:
                        sys.exit(f"shard {stage} --task {task + 1}/{processes}: {complaint}")
        self.dedup("staged", "--on-disk", "--memory", MEMORY)
        return self.differences("staged")

    def shard(self, stage, task, processes):
        share = ["--task", f"{task + 1}/{processes}", "--memory", MEMORY, "--quiet"]
        command = [BINARY, "shard", stage, "in", "-o", "staged", *self.options, *share]
        return subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE)

    def kill(self, process):
        """Kills a process after a random time. Returns whether it was still at work."""
        time.sleep(self.draw.uniform(0, KILL_WITHIN))
        works = process.poll() is None
        if works:
            process.kill()
            process.communicate()
            self.kills += 1
        return works

    def differences(self, out):
        """The names of the files that differ from those of the run in memory. Deletes the result."""
        found = self.result(out)
        if (self.folder / f"{out}.stages").exists():
            found["the folder of the stages"] = ""
        shutil.rmtree(self.folder / out)
        return sorted(name for name in found.keys() | self.expected.keys() if found.get(name) != self.expected.get(name))

    def result(self, out):
        """The files of a result by name, without what tells of the run itself."""
        folder, files = self.folder / out, {}
        for path in folder.rglob("*"):
            name = str(path.relative_to(folder))
            if name == "report.json":
                files[name] = json.dumps(compared(json.loads(path.read_text(encoding="utf-8"))), indent=1)
            elif name == "config.toml":
                lines = path.read_text(encoding="utf-8").splitlines()
                files[name] = [line for line in lines if not line.startswith(("memory", "on_disk"))]
            elif path.is_file() and not name.startswith(("report.", ".twinprint")):
                files[name] = path.read_bytes()
        return files


def compared(report):
    """The part of a JSON report that is the same in memory and on disk."""
    del report["run"]
    # A run on disk verifies all candidates.
    for count in ("verified", "duplicates"):
        report["search"].pop(count, None)
    # The parameters of a run on disk are stored as decimal numbers, so the last bit may differ.
    if report["radius"].get("expected_recall") is not None:
        report["radius"]["expected_recall"] = round(report["radius"]["expected_recall"], 12)
    return report


def check(name, turn, arguments, draw):
    """Compares the runs over a set. Returns the number of differing results, and the number of kills."""
    with tempfile.TemporaryDirectory(prefix="twinprint-shards-") as place:
        folder = Path(place)
        documents = divide(name, folder)
        wrong, kills = 0, 0
        count = len(OPTIONS) if arguments.full else 2
        for number in range(count):
            options = OPTIONS[(turn * count + turn + number) % len(OPTIONS)]
            runs = Runs(folder, options, draw)
            found = {"on disk": runs.on_disk()}
            # With --full the first options have all numbers of processes, and the others one number in turn.
            numbers = (PROCESSES if number == 0 else PROCESSES[number % 3 :][:1]) if arguments.full else PROCESSES[1:2]
            for processes in numbers:
                found[f"{processes} processes"] = runs.staged(processes)
            result = "; ".join(f"{way}: {', '.join(names)} differ" for way, names in found.items() if names) or "equal"
            print(f"{name}, {documents} documents, {' '.join(options)}: {result}; {runs.kills} killed", flush=True)
            wrong += sum(map(bool, found.values()))
            kills += runs.kills
    return wrong, kills


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    corpora.require("shards.py")
    names = [name for name in (sets() if arguments.full or arguments.only else FEW) if arguments.only in name]
    draw = random.Random(arguments.seed)
    results = [check(name, turn, arguments, draw) for turn, name in enumerate(names)]
    wrong, kills = map(sum, zip(*results, strict=True))
    print(f"{len(results)} sets, {kills} processes killed, {wrong} results differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
