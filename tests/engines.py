#!/usr/bin/env python3
"""Runs the drivers of the Python package on real engines: results must equal those of the command, byte for byte.

    tests/engines.py spark              Spark: a standalone master with two workers on this machine
    tests/engines.py sail               Sail, a local cluster
    tests/engines.py ray                Ray, on this machine
    tests/engines.py datatrove          datatrove, its local executor
    tests/engines.py slurm              datatrove on Slurm: a controller and one machine
    tests/engines.py spark --full       all sets with all options
    tests/engines.py spark --kills 10   only kills: ten in each stage

A set is divided among the partitions of a table. The options change from run to run. Worker processes of Spark, Ray and
Slurm are killed (SIGKILL) while they run tasks, and so is a driver, whose work a second driver continues. A second run
starts from an incremental one. Compared are kept and removed records, groups, pairs and rejects, and the numbers of rows
of the tables that the drivers return.

Needs the package with the engine in this Python, for Spark also Java, for Slurm its daemons and munged, and the binary
(TWINPRINT). Where the engine is not installed, the test is skipped with a message.
"""

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import corpora
import engine_kinds
import shards

BINARY = shards.BINARY
# The package that each engine comes in.
MODULES = {"spark": "pyspark", "sail": "pysail", "ray": "ray", "datatrove": "datatrove", "slurm": "datatrove"}
# The sets of the short form, and the number of documents of each that it takes. "mixed" has texts in both languages in a
# random order, and "crowd" has hundreds of pages that differ in a few words.
FEW, MOST = ["mixed", "crowd"], 1200
# The numbers of partitions of the input, in turn.
PARTITIONS = [2, 7, 64]
# The options of the runs, in turn: those of the package, and the same of the command.
OPTIONS = [
    ({"blocks": 3, "hamming": 12}, ["--hamming", "12"]),
    (
        {"blocks": 7, "keep": "longest", "pairs": "all", "hamming": 20},
        ["--keep", "longest", "--pairs=all", "--hamming", "20"],
    ),
    ({"blocks": 1, "keep": "shortest", "against": "seen"}, ["--keep", "shortest", "--against", "seen"]),
    (
        {"keep": "newest", "sort": "rank", "pairs": "distinct"},
        ["--keep", "newest", "--keep-key", "rank", "--pairs=distinct"],
    ),
    ({"blocks": 2, "parts": 0.2, "keep": "longest"}, ["--parts=0.2", "--keep", "longest"]),
]
# The stages with several tasks, in which workers are killed.
KILLED_IN = ("analyse", "classes", "join", "verify", "recall")
# The longest time after the start of a stage at which a worker is killed, in seconds.
KILL_WITHIN = 0.7
# The number of documents of the runs with kills in all stages.
KILLS_DOCUMENTS = 6000


def sets():
    """The names of all sets that exist here."""
    return ["mixed", "crowd", *shards.sets()]


def texts(name, most, draw):
    """The texts of a set by their ids."""
    if name == "mixed":
        rows = [*texts("revisions-en", most // 2, draw), *texts("revisions-zh", most // 2, draw)]
        draw.shuffle(rows)
        return rows
    if name == "crowd":
        page = [f"word{draw.randrange(5000)}" for _ in range(80)]
        rows = []
        for number in range(min(most, 3000)):
            words = list(page)
            for _ in range(draw.randrange(4)):
                words[draw.randrange(80)] = f"word{draw.randrange(5000)}"
            rows.append((f"page-{number}", " ".join(words)))
        return rows
    return [(str(row["id"]), row["text"]) for row in corpora.rows(corpora.corpus(name).docs)[:most]]


def documents(name, most):
    """The documents of a set with ranks, of which many are equal, and some short texts."""
    draw = random.Random(name)
    rows = [{"id": id, "text": text, "rank": draw.randrange(100)} for id, text in texts(name, most, draw)]
    for number in range(0, len(rows), 40):
        rows.insert(number, {"id": f"short-{number}", "text": rows[number]["text"][:12], "rank": 0})
    return rows


def files(folder):
    """The files of a result by name that do not tell of the run itself."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(("report.", "config.", ".twinprint")):
            found[name] = path.read_bytes()
    return found


@contextmanager
def around_stages(engine, around):
    """Runs each stage of the driver, and the writing, inside the context manager that `around` returns for its name."""
    module = engine.module()
    original = module._run_stage, module._write

    def run_stage(*arguments):
        with around(next(it for it in arguments if isinstance(it, str))):
            original[0](*arguments)

    def write(*arguments):
        with around("write"):
            original[1](*arguments)

    module._run_stage, module._write = run_stage, write
    try:
        yield
    finally:
        module._run_stage, module._write = original


@contextmanager
def timing(engine):
    """Gives the seconds of each stage that runs while the block runs."""
    seconds = {}

    @contextmanager
    def around(stage):
        started = time.monotonic()
        yield
        seconds[stage] = time.monotonic() - started

    with around_stages(engine, around):
        yield seconds


@contextmanager
def killing(engine, draw, within):
    """Kills a worker in each stage of `within`, at a random moment within its seconds, while the block runs. Gives the
    list of the stages in which one was killed."""
    kills = []

    @contextmanager
    def around(stage):
        ended = threading.Event()
        delay = draw.uniform(0, within.get(stage, 0))

        def kill():
            ended.wait(delay)
            while not ended.is_set():
                if engine.kill(draw, stage):
                    kills.append(stage)
                    break
                ended.wait(0.01)

        if stage in within:
            threading.Thread(target=kill, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    with around_stages(engine, around):
        yield kills


def compare(folder, work, options, source=None):
    """The names of the files of the result in `work` that differ from those of the command over the same input, which is
    in `source` or in the work folder."""
    expected = folder / "expected"
    shutil.rmtree(expected, ignore_errors=True)
    command = [BINARY, "dedup", str(source or work / "input"), "-o", str(expected), "--text-key", "text", "--id-key", "id", *options]
    done = subprocess.run([*command, "--quiet"], cwd=folder, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    ours, theirs = files(work / "result"), files(expected)
    left = [work / "result.stages"] if (work / "result.stages").exists() else []
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)) + left


def check(engine, name, turn, arguments, draw):
    """Runs a set with some of the options. Returns the number of differing results, and the number of kills."""
    wrong = killed = 0
    rows = documents(name, 10**9 if arguments.full else MOST)
    with tempfile.TemporaryDirectory(prefix="twinprint-engines-") as place:
        folder = Path(place)
        shards.collect(folder, rows[::7])
        for number in range(arguments.options or (len(OPTIONS) if arguments.full else 2)):
            options, command = OPTIONS[(turn * 2 + number) % len(OPTIONS)]
            options = {**options, **({"against": folder / "seen"} if "against" in options else {})}
            partitions = PARTITIONS[(turn + number) % len(PARTITIONS)]
            work = folder / f"work-{number}"
            table = engine.table(rows, partitions)
            kills_now = engine.kills and number % 2 == 0
            started = time.monotonic()
            with killing(engine, draw, dict.fromkeys(KILLED_IN, KILL_WITHIN)) if kills_now else nullcontext([]) as kills:
                found = engine.dedup(table, work, options)
            seconds = time.monotonic() - started
            different = compare(folder, work, command)
            records = json.loads((work / "result/report.json").read_text(encoding="utf-8"))["records"]
            counts = engine.counts(found)
            if counts is not None and counts != {key: records[key] for key in counts}:
                different.append(f"{counts} rows")
            print(
                f"{name}, {len(rows)} documents, {partitions} partitions, {' '.join(command)}: "
                f"{', '.join(map(str, different)) + ' differ' if different else 'equal'}; "
                f"{records['removed']} removed, {len(kills)} killed, {seconds:.1f} s",
                flush=True,
            )
            wrong += bool(different)
            killed += len(kills)
    return wrong, killed


def check_driver(engine, arguments, draw):
    """Kills a driver while its stages run, and gives the same call again. Returns whether the results differ."""
    rows, options, command = documents("revisions-en", MOST), {"blocks": 3, "hamming": 12}, ["--hamming", "12"]
    with tempfile.TemporaryDirectory(prefix="twinprint-engines-") as place:
        work = Path(place) / "work"
        drive = [sys.executable, "-W", "ignore", __file__, arguments.engine, "--drive", str(work)]
        environment = {**os.environ, **engine.other_driver()}
        driver = subprocess.Popen(drive, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = draw.choice(["3-items", "6-join", "8-verify"])
        while driver.poll() is None and not (work / "result.stages" / wanted).exists():
            time.sleep(0.02)
        driver.kill()
        driver.wait()
        whole = {path.name for path in (work / "result.stages").iterdir() if path.name[0].isdigit()}
        engine.take_over()
        ran = []

        @contextmanager
        def around(stage):
            ran.append(stage)
            yield

        with around_stages(engine, around):
            found = engine.dedup(engine.table(rows, 3), work, options)
        different = compare(Path(place), work, command)
        if "analyse" in ran or len(ran) + len(whole) > 12:
            different.append(f"of the stages {sorted(whole)}, {ran} ran again")
        print(
            f"driver killed in {wanted}; the next one ran {', '.join(ran)}: "
            f"{', '.join(map(str, different)) + ' differ' if different else 'equal'}; {engine.counts(found)}",
            flush=True,
        )
    return bool(different)


def check_kills(engine, arguments):
    """Kills a worker in each stage, several times. Returns whether results differ."""
    draw = random.Random(arguments.seed)
    rows = documents("mixed", KILLS_DOCUMENTS)
    options = {"blocks": 3, "hamming": 12, "parts": 0.2, "pairs": "all"}
    command = ["--hamming", "12", "--parts=0.2", "--pairs=all"]
    with tempfile.TemporaryDirectory(prefix="twinprint-engines-") as place:
        folder = Path(place)
        shards.collect(folder, rows[::7])
        options["against"], command = folder / "seen", [*command, "--against", "seen"]
        if isinstance(engine, engine_kinds.Slurm):
            engine.kills_each, engine.draw = arguments.kills, draw
            engine.dedup(engine.table(rows, 5), folder / "work", options)
            killed, wrong = engine.killed, bool(compare(folder, folder / "work", command))
        else:
            with timing(engine) as within:
                engine.dedup(engine.table(rows, 5), folder / "work", options)
            killed, wrong = dict.fromkeys(within, 0), bool(compare(folder, folder / "work", command))
            runs = 0
            while min(killed.values()) < arguments.kills and runs < 3 * arguments.kills:
                runs += 1
                work = folder / f"work-{runs}"
                missing = {stage: within[stage] for stage in within if killed[stage] < arguments.kills}
                with killing(engine, draw, missing) as kills:
                    engine.dedup(engine.table(rows, 5), work, options)
                for stage in kills:
                    killed[stage] += 1
                different = compare(folder, work, command)
                wrong |= bool(different)
                least = min(killed, key=killed.get)
                print(
                    f"run {runs}: {len(kills)} killed, {', '.join(map(str, different)) or 'nothing'} differs; "
                    f"fewest kills: {least} {killed[least]}",
                    flush=True,
                )
                shutil.rmtree(work)
    print(
        f"{len(rows)} documents, kills: {', '.join(f'{stage} {count}' for stage, count in killed.items())}: "
        f"{'results differ' if wrong else 'all results equal'}",
        flush=True,
    )
    return wrong


def check_incremental(engine):
    """Runs over some files, then over these and more. Returns whether the result differs."""
    rows = documents("revisions-en", MOST)
    with tempfile.TemporaryDirectory(prefix="twinprint-engines-") as place:
        folder = Path(place)
        work = folder / "work"
        pages, analysed = folder / "pages", work / "result.stages/1-analyse"
        options = {"incremental": True, "hamming": 12, "parts": 0.2, "blocks": 2}

        def add(day, part):
            (pages / day).mkdir(parents=True)
            for file in range(3):
                lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part[file::3])
                (pages / day / f"{file}.jsonl").write_text(lines, encoding="utf-8")

        add("day=1", rows[: len(rows) // 2])
        engine.dedup(str(pages), work, options)
        before = {path.name: path.stat().st_ino for path in analysed.iterdir() if not path.name.startswith(".")}
        add("day=2", rows[len(rows) // 2 :])
        found = engine.dedup(str(pages), work, {**options, "overwrite": True})
        after = {path.name: path.stat().st_ino for path in analysed.iterdir()}
        made_again = [name for name, number in before.items() if after.get(name) != number]
        shutil.rmtree(work / "result.stages")
        different = compare(folder, work, ["--hamming", "12", "--parts=0.2"], pages)
        if made_again or not before:
            different.append(f"the tasks {made_again} of {list(before)} ran again")
        print(
            f"incremental: {', '.join(map(str, different)) + ' differ' if different else 'equal'}; {engine.counts(found)}",
            flush=True,
        )
    return bool(different)


def check_search(engine):
    """Compares `query` and `join` with an index. Returns whether the results differ."""
    import numpy as np

    import twinprint
    import twinprint.spark

    draw = np.random.default_rng(5)
    stored = draw.integers(0, 2**64, 20_000, dtype=np.uint64)
    flips = np.array([sum(1 << int(bit) for bit in draw.choice(64, 3)) for _ in range(500)], dtype=np.uint64)
    batch = np.concatenate([stored[:500] ^ flips, draw.integers(0, 2**64, 500, dtype=np.uint64)])
    stored = np.concatenate([stored, stored[:200] ^ flips[:200]])

    def table(values, first):
        rows = [(first + number, int(value)) for number, value in enumerate(values.view(np.int64))]
        return engine.session.createDataFrame(rows, "id long, fingerprint long")

    def rows_of(frame):
        return sorted(tuple(row) for row in frame.collect())

    with tempfile.TemporaryDirectory(prefix="twinprint-engines-") as place:
        index = twinprint.Index.build(Path(place) / "index", stored, k=3)
        matches = index.query(batch, 3)
        expected = sorted((int(q) + 10**6, int(i), int(d)) for q, i, d in zip(*matches, strict=True))
        different = []
        for name, source in (("scanned", table(stored, 0).repartition(5)), ("looked up", str(Path(place) / "index"))):
            found = twinprint.spark.query(table(batch, 10**6), source, 3)
            if rows_of(found) != expected:
                different.append(f"the matches {name}")
        pairs = index.join(3)
        expected = sorted((int(a), int(b), int(d)) for a, b, d in zip(*pairs, strict=True))
        # Groups of two blocks, and of equal parts of the fingerprint.
        for blocks in (1, 4, 5, 9):
            if rows_of(twinprint.spark.join(table(stored, 0), 3, blocks=blocks)) != expected:
                different.append(f"the pairs of {blocks} blocks")
        wide = draw.integers(0, 2**64, (2000, 2), dtype=np.uint64)
        wide[1000:1200] = wide[:200]
        wide[1000:1200, 1] ^= flips[:200]
        found = twinprint.join(wide, k=3)
        expected_wide = sorted(zip(found.a.tolist(), found.b.tolist(), found.hamming.tolist(), strict=True))
        rows = list(enumerate(map(bytearray, twinprint.as_bytes(wide))))
        frame = engine.session.createDataFrame(rows, "id long, fingerprint binary")
        for blocks in (3, 6):
            if rows_of(twinprint.spark.join(frame, 3, blocks=blocks)) != expected_wide:
                different.append(f"the pairs of 128 bits in {blocks} blocks")
        print(
            f"query: {len(matches.id)} matches, join: {len(expected)} and {len(expected_wide)} pairs: "
            f"{', '.join(different) + ' differ' if different else 'equal'}",
            flush=True,
        )
    return bool(different)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=MODULES)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--options", type=int, help="the number of runs with different options for each set")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", metavar="WORK", help="run one job in a work folder, to be killed")
    arguments = parser.parse_args()
    if importlib.util.find_spec(MODULES[arguments.engine]) is None:
        print(f"skipped: {MODULES[arguments.engine]} is not installed")
        return 0
    corpora.require("engines.py")
    names = [name for name in (sets() if arguments.full or arguments.only else FEW) if arguments.only in name]
    draw = random.Random(arguments.seed)
    if arguments.engine == "slurm" and not all(map(shutil.which, ("munged", "slurmctld", "slurmd"))):
        print("skipped: Slurm or munged is not installed")
        return 0
    kind = getattr(engine_kinds, arguments.engine.capitalize())
    with tempfile.TemporaryDirectory(prefix="twinprint-engine-") as place:
        engine = kind(Path(place))
        if arguments.drive:
            table = engine.table(documents("revisions-en", MOST), 3)
            engine.dedup(table, arguments.drive, {"blocks": 3, "hamming": 12})
            return 0
        try:
            if arguments.kills:
                return 1 if check_kills(engine, arguments) else 0
            wrong = check_search(engine) if isinstance(engine, engine_kinds.Spark) else 0
            if hasattr(engine, "read"):
                wrong += check_incremental(engine)
            if engine.kills:
                wrong += check_driver(engine, arguments, draw)
            results = [check(engine, name, turn, arguments, draw) for turn, name in enumerate(names)]
        finally:
            engine.stop()
    wrong, kills = wrong + sum(result[0] for result in results), sum(result[1] for result in results)
    print(f"{arguments.engine}: {len(results)} sets, {kills} workers killed, {wrong} results differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
