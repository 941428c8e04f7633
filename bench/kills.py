#!/usr/bin/env python3
"""Kills a run on disk at random moments and starts it again: the result must be that of one undisturbed run.

    bench/kills.py TWINPRINT WORK [--documents 1000000] [--kills 50] [--seed 1] [--memory 256MiB] [--input PATH]
        [-- OPTION…]

Makes a corpus in WORK, unless --input names one: documents of about 400 bytes, of which a fifth are near copies of
earlier ones. Runs `dedup --on-disk --memory MEMORY OPTION…` once to the end. Then it starts the same command again and
again, and kills the process (SIGKILL) at a random moment within half the time of the undisturbed run, so one run to the
end takes several kills. A run that was killed twice after its last task, while it wrote the result, continues to its end.
Then the result is deleted and the next run starts over, until KILLS processes were killed.

A run that has written the result deletes its tasks before the result gets its place. If it is killed then, it makes the
deleted ones again.

Two things are checked. A task that had ended is never made again: while processes run, the folder of each task that was
once whole must have the same inode and its files the same inodes and times. And each result equals the first one, byte
for byte: kept and removed records, clusters, pairs, rejects and the configuration, but not the report, which has times.
Needs only the standard library.
"""

import argparse
import filecmp
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

FILES = 16
# The seconds between two looks at the folder of the stages.
LOOK = 0.25
# The number of kills of one run while it writes the result.
LATE_KILLS = 2


def write_corpus(folder, documents, seed, phrases_each=7):
    """Writes documents of phrases of eight words. A fifth are an earlier document with one word exchanged."""
    draw = random.Random(seed)
    phrases = [" ".join(f"w{draw.randrange(50_000)}" for _ in range(8)) for _ in range(400_000)]
    recent = []
    folder.mkdir(parents=True)
    for file in range(FILES):
        with open(folder / f"{file:02}.jsonl", "w", encoding="utf-8") as lines:
            for number in range(file, documents, FILES):
                if recent and draw.random() < 0.2:
                    words = draw.choice(recent).split()
                    words[draw.randrange(len(words))] = "exchanged"
                    text = " ".join(words)
                else:
                    text = " ".join(draw.choices(phrases, k=phrases_each))
                if len(recent) < 50_000:
                    recent.append(text)
                else:
                    recent[draw.randrange(len(recent))] = text
                lines.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
            lines.write("no record\n")


class Tasks:
    """The tasks that were seen whole, with the inodes and times of their files."""

    def __init__(self, folder):
        self.folder, self.seen, self.again = folder, {}, set()

    def look(self):
        """Looks at the folder, and notes the tasks that were made again."""
        for stage in entries(self.folder):
            if stage.name.startswith(".") or not stage.is_dir():
                continue
            for task in entries(stage.path):
                # Names with a dot are those of tasks that are not whole.
                if task.name.startswith("."):
                    continue
                key, state = f"{stage.name}/{task.name}", {}
                try:
                    state[""] = (os.stat(task.path).st_ino, 0)
                    for file in os.scandir(task.path):
                        # A task may still have its lock at this moment.
                        if file.name != "lock":
                            status = file.stat()
                            state[file.name] = (status.st_ino, status.st_mtime_ns)
                except FileNotFoundError:
                    # The run has ended and deletes the folder.
                    continue
                before = self.seen.setdefault(key, state)
                if any(before.get(name, now) != now for name, now in state.items()):
                    self.again.add(key)

    def forget_deleted(self):
        """Forgets the tasks that are gone. Returns those that went before the result was written."""
        gone = [key for key in self.seen if not (self.folder / key).exists()]
        ended = any(stage_of(key).endswith("-groups") for key in self.seen)
        for key in gone:
            del self.seen[key]
        return [] if ended else gone


def stage_of(task):
    return task.split("/")[0]


def entries(folder):
    try:
        return list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def files_of(folder):
    """The files of a result that do not tell of the run itself."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.name.startswith(("report.", ".twinprint")))


def differences(one, other):
    """The files that differ between two results."""
    names = [files_of(one), files_of(other)]
    if names[0] != names[1]:
        return [f"the files differ: {names}"]
    return [str(name) for name in names[0] if not filecmp.cmp(one / name, other / name, shallow=False)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("twinprint", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--input", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", default="256MiB")
    given, _, options = "\0".join(sys.argv[1:]).partition("\0--\0")
    arguments = parser.parse_args(given.split("\0"))
    options = options.split("\0") if options else []
    arguments.work.mkdir(parents=True, exist_ok=True)
    work = arguments.work.resolve()
    source = arguments.input
    if source is None:
        source = work / f"corpus-{arguments.documents}-{arguments.seed}"
        if not source.exists():
            making = work / "corpus.new"
            shutil.rmtree(making, ignore_errors=True)
            write_corpus(making, arguments.documents, arguments.seed)
            making.rename(source)
    reference, out = work / "reference", work / "killed"
    folder = work / "killed.stages"
    for path in (reference, work / "reference.stages", out, folder):
        shutil.rmtree(path, ignore_errors=True)

    def command(to):
        return [str(arguments.twinprint.resolve()), "dedup", str(source.resolve()), "-o", str(to), "--on-disk",
                "--memory", arguments.memory, "--quiet", *options]

    began = time.monotonic()
    subprocess.run(command(reference), check=True)
    whole = time.monotonic() - began
    print(f"undisturbed: {whole:.1f} s, {len(files_of(reference))} files", flush=True)
    draw = random.Random(arguments.seed)
    kills, runs, wrong, kept = 0, 0, [], 0
    tasks, stages, late = Tasks(folder), {}, 0
    while kills < arguments.kills or tasks.seen or folder.exists():
        delay = draw.uniform(0, whole / 2)
        if kills == arguments.kills or late == LATE_KILLS:
            delay = float("inf")
        before = set(tasks.seen)
        process = subprocess.Popen(command(out), stderr=subprocess.PIPE)
        began = time.monotonic()
        while process.poll() is None and time.monotonic() - began < delay:
            time.sleep(max(0.0, min(LOOK, began + delay - time.monotonic())))
            tasks.look()
        was_killed = process.poll() is None
        if was_killed:
            process.kill()
            kills += 1
        complaint = process.communicate()[1].decode(errors="replace").strip()
        kept += len(before)
        if was_killed:
            tasks.look()
            wrong += [f"kill {kills}: the task {key} is gone" for key in tasks.forget_deleted()]
            at = max(map(stage_of, tasks.seen), key=lambda name: int(name.split("-")[0]), default="none")
            stages[at] = stages.get(at, 0) + 1
            late += at.endswith(("-groups", "-recall", "-passages", "-parts"))
            print(f"kill {kills}: after {delay:.1f} s, {len(tasks.seen)} tasks were whole, the last in {at}", flush=True)
            # A kill may come after the result is whole, before the process has ended.
            if folder.exists() or not (out / "report.json").exists() or (out / ".twinprint-unfinished").exists():
                continue
        elif process.returncode != 0:
            wrong.append(f"exit code {process.returncode}: {complaint}")
            print(wrong[-1], flush=True)
            break
        runs += 1
        wrong += [f"task made again: {key}" for key in sorted(tasks.again)]
        wrong += [f"run {runs}: {name} differs" for name in differences(reference, out)]
        print(f"run {runs} ended after {kills} kills in all; {len(wrong)} wrong", flush=True)
        shutil.rmtree(out)
        if folder.exists():
            wrong.append("the folder of the stages was not deleted")
            shutil.rmtree(folder)
        tasks, late = Tasks(folder), 0
    print(f"{kills} kills, {runs} runs to the end, {kept} whole tasks at restarts, {len(wrong)} wrong")
    print("kills after the stage:", ", ".join(f"{name} {count}" for name, count in sorted(stages.items())))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
