#!/usr/bin/env python3
"""Runs the drivers of the Python package on real engines: results must equal those of the command, byte for byte.

    tests/engines.py spark              Spark: a standalone master with two workers on this machine
    tests/engines.py sail               Sail, a local cluster
    tests/engines.py ray                Ray, on this machine
    tests/engines.py datatrove          datatrove, its local executor
    tests/engines.py spark --full       all sets with all options, and more kills

A set is divided among the partitions of a table. The options change from run to run. Worker processes of Spark and Ray are
killed (SIGKILL) while they run tasks, and so is a driver, whose work a second driver goes on with. Compared are kept and
removed records, groups, pairs and rejects, and the numbers of rows of the tables that the drivers return.

Needs the package with the engine in this Python, for Spark also Java, and the binary (TWINPRINT). Where the engine is not
installed, the test is skipped with a message.
"""

import argparse
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import corpora
import shards

BINARY = shards.BINARY
# The package that each engine comes in.
MODULES = {"spark": "pyspark", "sail": "pysail", "ray": "ray", "datatrove": "datatrove"}
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
]
# The stages with several tasks, in which workers are killed.
KILLED_IN = ("analyse", "classes", "join", "verify", "recall")
# The longest time after the start of a stage at which a worker is killed, in seconds.
KILL_WITHIN = 0.7


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


class Spark:
    """A standalone master with two workers, each with one core."""

    kills = True

    def __init__(self, folder):
        import pyspark

        if "TWINPRINT_MASTER" in os.environ:
            self.master, self.processes, self.log = os.environ["TWINPRINT_MASTER"], [], None
            self.session = self.connect()
            return
        self.home = Path(pyspark.__file__).parent
        python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        self.environment = {**os.environ, **python, "SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"}
        os.environ.update(python)
        port = random.randrange(20000, 30000)
        self.master = f"spark://127.0.0.1:{port}"
        self.log = open(folder / "spark.log", "wb")
        self.processes = [
            self.start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"),
        ]
        for worker in range(2):
            place = folder / f"worker-{worker}"
            options = ["--cores", "1", "--memory", "1500m", "--webui-port", "0", "--work-dir", str(place)]
            self.processes.append(self.start("worker.Worker", "--host", "127.0.0.1", *options, self.master))
        self.session = self.connect()

    def start(self, name, *options):
        command = [str(self.home / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *options]
        return subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)

    def connect(self):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(self.master).appName("twinprint")
        for key, value in {
            "spark.executor.memory": "1g",
            "spark.executor.cores": "1",
            "spark.task.maxFailures": "1000",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.deploy.maxExecutorRetries": "-1",
            "spark.excludeOnFailure.enabled": "false",
            "spark.sql.shuffle.partitions": "8",
        }.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        deadline = time.monotonic() + 60
        while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
            if time.monotonic() > deadline:
                raise TimeoutError("the workers of Spark have not started within a minute")
            time.sleep(0.2)
        return session

    def table(self, rows, partitions):
        share = -(-len(rows) // partitions)
        parts = [rows[start : start + share] for start in range(0, len(rows), share)]
        lists = self.session.sparkContext.parallelize(parts, len(parts)).flatMap(lambda part: part)
        return self.session.createDataFrame(lists, "id string, text string, rank long")

    def dedup(self, table, work, options):
        import twinprint.spark

        return twinprint.spark.dedup(table, work, session=self.session, id="id", **options)

    def counts(self, found):
        return {"kept": found.kept.count(), "removed": found.removed.count() if found.removed else 0}

    def module(self):
        import twinprint.spark

        return twinprint.spark

    def other_driver(self):
        """Leaves the workers to another driver, and returns its environment."""
        self.session.stop()
        return {"TWINPRINT_MASTER": self.master}

    def take_over(self):
        self.session = self.connect()

    def kill(self, draw):
        """Kills an executor. Returns whether there was one."""
        return kill_one(draw, "CoarseGrainedExecutorBackend")

    def stop(self):
        self.session.stop()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        self.log.close()


class Sail(Spark):
    """The server of Sail, with its workers in processes of their own."""

    kills = False

    def __init__(self, folder):
        os.environ.update(SAIL_MODE="local-cluster", RUST_LOG="error")
        from pysail.spark import SparkConnectServer
        from pyspark.sql import SparkSession

        self.server = SparkConnectServer()
        self.server.start()
        _, port = self.server.listening_address
        self.session = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()

    def table(self, rows, partitions):
        return self.session.createDataFrame([tuple(row.values()) for row in rows], "id string, text string, rank long")

    def stop(self):
        self.session.stop()
        self.server.stop()


class Ray:
    """Ray on this machine, with two workers."""

    kills = True

    def __init__(self, folder):
        import ray

        logging = {"log_to_driver": False, "logging_level": "error", "include_dashboard": False}
        ray.init(num_cpus=2, object_store_memory=200 << 20, _temp_dir=str(folder / "ray"), **logging)
        ray.data.DataContext.get_current().enable_progress_bars = False

    def table(self, rows, partitions):
        import ray

        return ray.data.from_items(rows, override_num_blocks=partitions)

    def dedup(self, table, work, options):
        import twinprint.ray

        return twinprint.ray.dedup(table, work, id="id", **options)

    def counts(self, found):
        return {"kept": found.kept.count(), "removed": found.removed.count() if found.removed else 0}

    def module(self):
        import twinprint.ray

        return twinprint.ray

    def other_driver(self):
        return {}

    def take_over(self):
        pass

    def kill(self, draw):
        """Kills a worker. Returns whether there was one."""
        return kill_one(draw, "ray::_run_task")

    def stop(self):
        import ray

        ray.shutdown()


class Datatrove:
    """The local executor of datatrove, with two workers."""

    kills = False

    def __init__(self, folder):
        pass

    def table(self, rows, partitions):
        return rows, partitions

    def dedup(self, table, work, options):
        from datatrove.executor import LocalPipelineExecutor

        import twinprint.datatrove

        rows, partitions = table
        folder = Path(work)
        (folder / "input").mkdir(parents=True)
        for number in range(partitions):
            lines = [json.dumps(row, ensure_ascii=False) for row in rows[number * len(rows) // partitions : (number + 1) * len(rows) // partitions]]
            (folder / f"input/{number:05}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        run = twinprint.StagedRun(folder / "input", folder / "result", id="id", **options)
        before = None
        for step in twinprint.datatrove.steps(run):
            logs = str(folder / "logs" / step.stage)
            before = LocalPipelineExecutor([step], tasks=step.tasks(3), workers=2, logging_dir=logs, depends=before)
        before.run()

    def counts(self, found):
        return None

    def stop(self):
        pass


def kill_one(draw, name):
    """Kills one of the processes whose command contains `name`."""
    listed = subprocess.run(["pgrep", "-f", name], stdout=subprocess.PIPE, text=True).stdout.split()
    if not listed:
        return False
    try:
        os.kill(int(draw.choice(listed)), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def around_stages(engine, around):
    """Runs each stage of the driver inside the context manager that `around` returns for its name, while the block runs."""
    module = engine.module()
    original = module._run_stage

    def run_stage(*arguments):
        with around(next(it for it in arguments if isinstance(it, str))):
            original(*arguments)

    module._run_stage = run_stage
    try:
        yield
    finally:
        module._run_stage = original


@contextmanager
def killing(engine, draw, stages):
    """Kills a worker at a random moment of each of the stages, while the block runs. Gives the list of kills."""
    kills = []

    @contextmanager
    def around(stage):
        ended = threading.Event()
        delay = draw.uniform(0, KILL_WITHIN)

        def kill():
            ended.wait(delay)
            while not ended.is_set():
                if engine.kill(draw):
                    kills.append(stage)
                    break
                ended.wait(0.01)

        if stage in stages:
            threading.Thread(target=kill, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    with around_stages(engine, around):
        yield kills


def compare(folder, work, options):
    """The names of the files of the result in `work` that differ from those of the command over the same input."""
    expected = folder / "expected"
    shutil.rmtree(expected, ignore_errors=True)
    command = [BINARY, "dedup", str(work / "input"), "-o", str(expected), "--text-key", "text", "--id-key", "id", *options]
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
        for number in range(len(OPTIONS) if arguments.full else 2):
            options, command = OPTIONS[(turn * 2 + number) % len(OPTIONS)]
            options = {**options, **({"against": folder / "seen"} if "against" in options else {})}
            partitions = PARTITIONS[(turn + number) % len(PARTITIONS)]
            work = folder / f"work-{number}"
            table = engine.table(rows, partitions)
            stages = KILLED_IN if engine.kills and number % 2 == 0 else ()
            started = time.monotonic()
            with killing(engine, draw, stages) if stages else nullcontext([]) as kills:
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
        for blocks in (1, 4):
            if rows_of(twinprint.spark.join(table(stored, 0), 3, blocks=blocks)) != expected:
                different.append(f"the pairs of {blocks} blocks")
        print(
            f"query: {len(matches.id)} matches, join: {len(expected)} pairs: "
            f"{', '.join(different) + ' differ' if different else 'equal'}",
            flush=True,
        )
    return bool(different)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=MODULES)
    parser.add_argument("--full", action="store_true")
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
    kinds = {"spark": Spark, "sail": Sail, "ray": Ray, "datatrove": Datatrove}
    with tempfile.TemporaryDirectory(prefix="twinprint-engine-") as place:
        engine = kinds[arguments.engine](Path(place))
        if arguments.drive:
            table = engine.table(documents("revisions-en", MOST), 3)
            engine.dedup(table, arguments.drive, {"blocks": 3, "hamming": 12})
            return 0
        try:
            wrong = check_search(engine) if isinstance(engine, Spark) else 0
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
