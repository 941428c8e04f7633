#!/usr/bin/env python3
"""Measures the drivers of Spark, Sail and Ray beside the command, on one machine with two workers.

    bench/on_engines.py dedup spark TWINPRINT WORK [--documents 1000000] [--phrases 7] [--machines 1] [--hamming 12]
                    [--look 0.02]
    bench/on_engines.py query spark TWINPRINT WORK [--stored 100000000] [--queries 1000000]

`dedup` makes a corpus of documents of about 400 bytes, of which a fifth are near copies, as 16 Parquet files. It runs the
driver once over a table of these files, and `dedup` in memory and on disk over the records that the engine wrote. The
results must be equal, byte for byte. For each stage it prints the seconds, the CPU seconds of the workers, the bytes that
the workers read and wrote, the bytes in the folder, and the largest memory of a worker (RssAnon, looked at every 20 ms). The
looks take about a third of a core, so compare times with `--look 1`. What a worker used after the last look before its end is lost.
The engine itself has started before, so its start is not in the times. The workers of Sail are parts of its server, which
has no processes to look at.

Without `--hamming`, the set join finds all pairs of these documents, and the stage `join` is empty. With `--machines`, each
worker of Spark is taken for a machine with one core: no task has more than one thread. Then `dedup` on disk runs on one core,
too. A document has `--phrases` of about 57 bytes.

`query` makes stored fingerprints, uniform random numbers of 64 bits, and a batch of which half have a stored neighbour at
3 bits. It runs the driver, and `index query --scan` over an index of the same fingerprints. The matches must be equal.

Run it with the Python that has the engine and the package, see tests/engines.py.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import engine_kinds
import engines
import kills

TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Usage:
    """What a process has used so far: CPU seconds and bytes read and written."""

    cpu: float = 0.0
    read: int = 0
    written: int = 0


@dataclass
class Measured:
    """What a stage has used."""

    seconds: float = 0.0
    cpu: float = 0.0
    read: int = 0
    written: int = 0
    folder: int = 0
    memory: int = 0


def fields_of(process):
    """The fields of /proc/PID/stat after the name, or None if the process has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def cpu_of_tree():
    """The CPU seconds of all processes of this machine that descend from this one, and of their ended children."""
    parents, times = {}, {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        if fields := fields_of(process):
            parents[int(process)] = int(fields[1])
            times[int(process)] = sum(map(int, fields[11:15])) / TICK

    def is_ours(process):
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return sum(seconds for process, seconds in times.items() if is_ours(process))


class Watch(threading.Thread):
    """Looks at the workers again and again, and adds up what they use in each stage."""

    def __init__(self, workers, pause):
        super().__init__(daemon=True)
        self.workers, self.pause, self.stage, self.stages = workers, pause, None, {}
        self.ended, self.lock, self.last = threading.Event(), threading.Lock(), {}

    def run(self):
        while not self.ended.wait(self.pause):
            self.look()

    def look(self):
        with self.lock:
            for process in engine_kinds.listed_processes(self.workers) if self.workers else []:
                try:
                    status = Path(f"/proc/{process}/status").read_text()
                    counts = dict(line.split(": ") for line in Path(f"/proc/{process}/io").read_text().splitlines())
                    fields = fields_of(process)
                    memory = int(status.split("RssAnon:")[1].split()[0]) << 10
                except (OSError, IndexError, ValueError):
                    continue
                if fields is None:
                    continue
                now = Usage(sum(map(int, fields[11:13])) / TICK, int(counts["rchar"]), int(counts["wchar"]))
                before = self.last.get(process, Usage())
                self.last[process] = now
                if (found := self.stages.get(self.stage)) is not None:
                    found.cpu += now.cpu - before.cpu
                    found.read += now.read - before.read
                    found.written += now.written - before.written
                    found.memory = max(found.memory, memory)

    @contextmanager
    def of(self, stage, folder):
        """Adds what is used inside the block to a stage, whose files are in a folder with its name."""
        self.look()
        started = time.monotonic()
        self.stages[stage] = found = Measured()
        self.stage = stage
        try:
            yield
        finally:
            self.look()
            self.stage = None
            found.seconds = time.monotonic() - started
            place = next(iter(folder.glob(f"*/[0-9]*-{stage}")), None) or next(iter(folder.glob(f"[0-9]*-{stage}")), None)
            if place is not None:
                found.folder = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def make_corpus(folder, documents, phrases):
    """Writes the corpus as Parquet files, unless it is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if folder.exists():
        return
    partial = folder.with_suffix(".partial")
    lines = folder.with_suffix(".jsonl")
    for place in (partial, lines):
        shutil.rmtree(place, ignore_errors=True)
    kills.write_corpus(lines, documents, 1, phrases)
    partial.mkdir()
    for file in sorted(lines.iterdir()):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
        pq.write_table(pa.Table.from_pylist(rows), partial / f"{file.stem}.parquet")
    shutil.rmtree(lines)
    partial.rename(folder)


def command(*arguments, cores=None):
    """Runs a command to its end, on some of the cores. Returns the seconds and the CPU seconds."""

    def limit():
        if cores is not None:
            os.sched_setaffinity(0, cores)

    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(it) for it in arguments], check=True, stdout=subprocess.DEVNULL, preexec_fn=limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - started, cpu


def measure_dedup(engine, arguments):
    work = arguments.work
    corpus = work / f"corpus-{arguments.documents}-{arguments.phrases}"
    make_corpus(corpus, arguments.documents, arguments.phrases)
    shutil.rmtree(work / "run", ignore_errors=True)
    watch = Watch(engine.workers, arguments.look)
    watch.start()
    # The workers have started, and have the package.
    engine.dedup(engine.table(engines.documents("crowd", 40), 2), work / "run/first", {})
    started, cpu = time.monotonic(), cpu_of_tree()
    options = {"blocks": arguments.blocks} if arguments.blocks else {}
    if arguments.machines:
        options["threads"] = 1
    radius = []
    if arguments.hamming:
        options["hamming"], radius = arguments.hamming, ["--hamming", arguments.hamming]
    folder = work / "run/work/result.stages"
    with engines.around_stages(engine, lambda stage: watch.of(stage, folder)):
        found = engine.dedup(engine.read(corpus), work / "run/work", options)
    seconds, cpu = time.monotonic() - started, cpu_of_tree() - cpu
    watch.ended.set()
    report = found.report["records"]
    counts = engine.counts(found)
    texts = sum(path.stat().st_size for path in corpus.iterdir())
    written = sum(path.stat().st_size for path in (work / "run/work/input").iterdir())
    print(f"{arguments.engine}, {arguments.documents} documents, {texts / 1e6:.0f} MB of Parquet, {written / 1e6:.0f} MB")
    print(f"written by the engine; kept {report['kept']}, removed {report['removed']}, {counts} rows in the tables\n")
    print("| stage | s | CPU s | read MB | written MB | in the folder MB | memory MiB |\n|---|---|---|---|---|---|---|")
    for stage, it in watch.stages.items():
        figures = [it.read / 1e6, it.written / 1e6, it.folder / 1e6]
        print(f"| {stage} | {it.seconds:.1f} | {it.cpu:.1f} | {' | '.join(f'{n:.1f}' for n in figures)} | {it.memory >> 20} |")
    ours = engines.files(work / "run/work/result")
    print(f"\n| run | s | CPU s | files |\n|---|---|---|---|\n| {arguments.engine} | {seconds:.1f} | {cpu:.1f} | |")
    wrong = False
    on_disk = ["--on-disk", "--memory", "1GiB"]
    runs = [("in memory", [], None), ("on disk, 1 GiB", on_disk, None)]
    if arguments.machines:
        runs.append(("on disk, 1 GiB, one core", on_disk, {0}))
    for name, options, cores in runs:
        out = work / "run/expected"
        shutil.rmtree(out, ignore_errors=True)
        run = [arguments.twinprint, "dedup", work / "run/work/input", "-o", out, "--quiet", *options, *radius]
        used = command(*run, "--text-key", "text", "--id-key", "id", cores=cores)
        differs = engines.files(out) != ours
        wrong |= differs
        print(f"| dedup, {name} | {used[0]:.1f} | {used[1]:.1f} | {'differ' if differs else 'equal'} |")
    shutil.rmtree(work / "run")
    return wrong


def make_fingerprints(arguments):
    """Writes the stored fingerprints and the batch as Parquet files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(7)
    stored, batch = arguments.work / f"stored-{arguments.stored}", arguments.work / f"batch-{arguments.queries}"
    shutil.rmtree(stored, ignore_errors=True)
    shutil.rmtree(batch, ignore_errors=True)
    stored.mkdir()
    batch.mkdir()
    planted = []
    files = 16
    for file in range(files):
        ids = np.arange(file * arguments.stored // files, (file + 1) * arguments.stored // files, dtype=np.int64)
        bits = draw.integers(0, 2**64, len(ids), dtype=np.uint64)
        planted.append(bits[: arguments.queries // 2 // files])
        pq.write_table(pa.table({"id": ids, "fingerprint": bits.view(np.int64)}), stored / f"{file:02}.parquet")
    planted = np.concatenate(planted)
    flips = np.zeros(len(planted), dtype=np.uint64)
    for _ in range(3):
        flips |= np.uint64(1) << draw.integers(0, 64, len(planted), dtype=np.uint64)
    others = draw.integers(0, 2**64, arguments.queries - len(planted), dtype=np.uint64)
    bits = draw.permutation(np.concatenate([planted ^ flips, others]))
    table = pa.table({"id": np.arange(len(bits), dtype=np.int64), "fingerprint": bits.view(np.int64)})
    pq.write_table(table, batch / "00.parquet")
    return stored, batch


def measure_query(engine, arguments):
    import twinprint.spark

    stored, batch = make_fingerprints(arguments)
    started, cpu = time.monotonic(), cpu_of_tree()
    found = twinprint.spark.query(engine.read(batch), engine.read(stored), 3).toArrow()
    seconds, cpu = time.monotonic() - started, cpu_of_tree() - cpu
    print(f"{arguments.engine}: {arguments.queries} queries, {arguments.stored} stored, {found.num_rows} matches\n")
    print("| run | s | CPU s | stored a second | stored a CPU second |\n|---|---|---|---|---|")

    def row(name, seconds, cpu):
        print(f"| {name} | {seconds:.1f} | {cpu:.1f} | {arguments.stored / seconds:,.0f} | {arguments.stored / cpu:,.0f} |")

    row(f"{arguments.engine}, two workers", seconds, cpu)
    index = arguments.work / "index"
    shutil.rmtree(index, ignore_errors=True)
    row("index build", *command(arguments.twinprint, "index", "build", "-o", index, *sorted(stored.iterdir()), "--quiet"))
    matches = arguments.work / "matches.csv"
    query = [arguments.twinprint, "index", "query", index, "--queries", batch / "00.parquet", "-k", "3", "--scan"]
    row("index query --scan", *command(*query, "-o", matches, "--quiet"))
    columns = [found.column(name).to_numpy() for name in ("query", "id", "hamming")]
    ours = sorted(zip(*(column.tolist() for column in columns), strict=True))
    theirs = []
    with open(matches, encoding="utf-8") as lines:
        for line in lines:
            if line[0].isdigit():
                theirs.append(tuple(map(int, line.split(","))))
    wrong = ours != sorted(theirs)
    print(f"\nthe matches are {'NOT ' if wrong else ''}equal")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["dedup", "query"])
    parser.add_argument("engine", choices=["spark", "sail", "ray"])
    parser.add_argument("twinprint", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--phrases", type=int, default=7)
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--machines", type=int)
    parser.add_argument("--hamming", type=int)
    parser.add_argument("--look", type=float, default=0.02)
    parser.add_argument("--stored", type=int, default=100_000_000)
    parser.add_argument("--queries", type=int, default=1_000_000)
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if arguments.machines:
        engine_kinds.Spark.machines = arguments.machines
    with tempfile.TemporaryDirectory(prefix="twinprint-engine-") as place:
        engine = getattr(engine_kinds, arguments.engine.capitalize())(Path(place))
        try:
            wrong = {"dedup": measure_dedup, "query": measure_query}[arguments.what](engine, arguments)
        finally:
            engine.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
