#!/usr/bin/env python3
"""Kills every command that writes, and runs it again: the second run must leave the result of one undisturbed run.

    tests/retries.py                    a short form for CI: some kills of every command
    tests/retries.py --full             a kill at every call that changes files, and 200 kills of `dedup --append` at random times
    tests/retries.py --only append      the scenarios whose name contains this word
    tests/retries.py --seed 7           other kills

A library of a few lines (kill_at.c) is compiled and preloaded. It counts the calls that change files and kills the process by SIGKILL at
the n-th, so the product needs no hooks. The process is killed before the call, or, if the call writes bytes, after half of them.

The comparison covers every file of the result except times, and the contents of collections. A command that had ended when it was killed may
refuse to run again, as long as its result exists. Needs the binary (TWINPRINT), Linux and a C compiler (cc)."""

import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
SHIM = ROOT / "tests/kill_at.c"
# Exit codes of a command that has written all its output; 3 means that too many records were rejected.
DONE = (0, 3)
# The prefix of directories for temporary files.
WORK = ".twinprint-work"
# The approximate number of kills of each scenario in the short form.
FEW = 16


# --- Inputs ---------------------------------------------------------------------------------------------------------------------------

def words(rng, n):
    return " ".join(f"w{rng.randrange(4000)}" for _ in range(n))


def corpus(n, seed, ids=True, repeated=True):
    """Returns lines of documents: new texts, near and equal copies, short texts, some duplicate ids, and some invalid records."""
    rng = random.Random(seed)
    texts, lines = [], []
    for i in range(n):
        kind = rng.randrange(10)
        if kind < 6 or not texts:
            text = words(rng, rng.choice([4, 60, 120]))
        elif kind < 8:
            text = rng.choice(texts)
        else:
            parts = rng.choice(texts).split(" ")
            parts[rng.randrange(len(parts))] = "edited"
            text = " ".join(parts)
        texts.append(text)
        record = {"text": text, "time": f"2024-05-{1 + i % 28:02}", "title": f"title {i}"}
        if ids and i % 5:
            record["id"] = f"d{i - i % 17 // 16 * repeated}"
        lines.append(json.dumps(record) if i % 41 != 40 else '{"text": 7}')
    return "\n".join(lines) + "\n"


def fingerprints(n, seed):
    rng = random.Random(seed)
    return b"".join(struct.pack("<Q", rng.getrandbits(64)) for _ in range(n))


# --- Runs -----------------------------------------------------------------------------------------------------------------------------

class Directory:
    """A directory in which commands run."""

    def __init__(self, path):
        self.path = Path(path)
        (self.path / "tmp").mkdir(parents=True, exist_ok=True)

    def run(self, command, stdin="", **environment):
        env = os.environ | {"TMPDIR": str(self.path / "tmp")} | environment
        return subprocess.run([BINARY, *command], cwd=self.path, env=env, input=stdin, capture_output=True, text=True)

    def done(self, command):
        run = self.run(command)
        assert run.returncode in DONE, (command, run.stderr)
        return run.stdout

    def copy(self, to):
        shutil.copytree(self.path, to)
        return Directory(to)

    def state(self):
        """Returns all files and the contents of collections, without times."""
        files = {}
        for path in sorted(self.path.rglob("*")):
            name = str(path.relative_to(self.path))
            if path.name == "collection.redb":
                files[name] = self.collection(str(path.parent.relative_to(self.path)))
            elif path.is_file() and path.name != "lock":
                files[name] = content(path)
            elif path.is_dir() and not any(path.iterdir()) and not (path.name == "work" or path.name.startswith(WORK)):
                # A kill between creating and removing a directory for temporary files may leave it empty.
                files[name] = "an empty directory"
        return files

    def collection(self, directory):
        self.done(["collection", "check", directory])
        documents = [json.loads(line) for line in self.done(["collection", "export", directory]).splitlines()]
        groups = {}
        for document in documents:
            groups.setdefault(document["group_id"], []).append(document["id"])
            for changing in ("added", "changed", "seq", "group_id", "story_id"):
                document.pop(changing, None)
        stats = json.loads(self.done(["collection", "stat", directory]))
        return [sorted(documents, key=lambda document: document["id"]), sorted(map(sorted, groups.values())),
                stats["settings"]]


def content(path):
    if path.suffix == ".html" or path.name == "report.md":
        return "a page"
    if path.suffix == ".json":
        return without_times(json.loads(path.read_text()))
    return path.read_bytes()


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in ("run", "seconds")}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


# --- Scenarios ------------------------------------------------------------------------------------------------------------------------

class Scenario:
    """A command, the commands and files that it needs before it, and a check of its result."""

    def __init__(self, name, command, before=(), files=(), check=None):
        self.name, self.command, self.before, self.files, self.check = name, command.split(), before, files, check

    def prepare(self, path):
        directory = Directory(path)
        for name, bytes_ in self.files:
            (directory.path / name).write_bytes(bytes_.encode() if isinstance(bytes_, str) else bytes_)
        for command in self.before:
            directory.done(command.split())
        return directory


def kept_records_are_in_the_collection(directory):
    """Checks that every record is counted once, and that the collection contains every kept record once."""
    records = json.loads((directory.path / "out/report.json").read_text())["records"]
    assert records["read"] == records["kept"] + records["removed"] + records["rejected"], records
    kept = [(path, json.loads(line)) for path in (directory.path / "out/kept").rglob("*.jsonl")
            for line in path.read_text().splitlines()]
    assert len(kept) == records["kept"]
    exported = directory.done(["collection", "export", "seen"]).splitlines()
    stored = [(row["text"], row["id"]) for row in map(json.loads, exported)]
    for file, record in kept:
        given = record.get("id")
        matches = (lambda id_: id_ == given or id_.startswith(f"{given}#")) if given else (lambda id_: id_.startswith((f"{file.name}:", f"{file.stem}:")))
        count = sum(text == record["text"] and matches(id_) for text, id_ in stored)
        assert count == 1, f"the collection contains {count} copies of {str(record)[:100]}"


def scenarios(size):
    news, more = ("news.jsonl", corpus(size, 1)), ("more.jsonl", corpus(size, 2, ids=False))
    old = ("old.jsonl", corpus(size // 2, 1))
    seen = ["collection create seen", "collection add seen old.jsonl -q"]
    topical = ["collection create seen --stories", "collection add seen old.jsonl -q"]
    numbers, further = ("old.u64", fingerprints(400, 1)), ("new.u64", fingerprints(300, 2))
    none = ("none.u64", b"")
    append = "dedup news.jsonl more.jsonl -o out --against seen --append -q"
    index = ["index build old.u64 -o seen -q", "index add seen new.u64 -q"]
    names = ["fingerprint news.jsonl -o news.parquet -q"]
    unique_ids = ("news.jsonl", corpus(size, 1, repeated=False))
    pairs = ("pairs.jsonl", '{"a":"d1","b":"d2","jaccard":0.9}\n')
    return [
        Scenario("append", append, seen, [news, more, old], kept_records_are_in_the_collection),
        Scenario("append to a collection with stories", append, topical, [news, more, old], kept_records_are_in_the_collection),
        Scenario("append again elsewhere", append.replace("-o out", "-o again"), [*seen, append], [news, more, old]),
        Scenario("append over an earlier result", append + " --overwrite",
                 [*seen, "dedup more.jsonl -o out --against seen --append -q"], [news, more, old], kept_records_are_in_the_collection),
        Scenario("dedup over an earlier result", "dedup more.jsonl -o out --overwrite -q", ["dedup news.jsonl -o out -q"],
                 [news, more]),
        Scenario("dedup", "dedup news.jsonl more.jsonl -o out --pairs --parts --order similar -q", [], [news, more]),
        Scenario("dedup on disk", "dedup news.jsonl more.jsonl -o out --pairs --on-disk -q", [], [news, more]),
        Scenario("dedup annotate", "dedup news.jsonl -o out --mode annotate --work-dir work -q", [], [news]),
        Scenario("cluster", "cluster news.jsonl -o out -q", [], [news]),
        Scenario("cluster over an earlier result", "cluster more.jsonl -o out --overwrite -q", ["cluster news.jsonl -o out -q"],
                 [news, more]),
        Scenario("cluster with a state", "cluster more.jsonl -o out --state st -q",
                 ["cluster news.jsonl -o first --state st -q"], [news, more]),
        Scenario("cluster with a new state", "cluster news.jsonl -o out --state st -q", [], [news]),
        Scenario("collection create", "collection create seen", [], []),
        # With repeated ids, a second add would replace the text of an id twice, and another document might become leader.
        Scenario("collection add", "collection add seen news.jsonl -q", seen, [unique_ids, old]),
        Scenario("collection delete", "collection delete seen d1 d2 d3", seen, [old]),
        Scenario("collection backup", "collection backup seen copy", [*seen, append], [news, more, old]),
        Scenario("collection restore", "collection restore copy again", [*seen, "collection backup seen copy"], [old]),
        Scenario("collection repair", "collection repair seen again", seen, [old]),
        Scenario("index build", "index build old.u64 -o seen -q", [], [numbers]),
        Scenario("index build with little memory", "index build old.u64 -o seen --memory 16MiB -q", [], [numbers]),
        Scenario("index build with names", "index build news.parquet -o seen -k 8 -q", names, [unique_ids]),
        Scenario("index delete with names", "index delete seen d1 d3 d8", [*names, "index build news.parquet -o seen -q"], [unique_ids]),
        Scenario("index add", "index add seen new.u64 -q", index[:1], [numbers, further]),
        Scenario("index add to an index without fingerprints", "index add seen new.u64 -q", ["index build none.u64 -o seen -q"],
                 [none, further]),
        Scenario("index delete", "index delete seen 3 5 7", index, [numbers, further]),
        Scenario("index compact", "index compact seen", index, [numbers, further]),
        Scenario("index export", "index export seen -o all.parquet -q", index, [numbers, further]),
        Scenario("index join", "index join seen new.u64 -k 3 -o pairs.jsonl -q", index[:1], [numbers, further]),
        Scenario("index query", "index query seen --queries new.u64 -k 3 -o found.jsonl -q", index, [numbers, further]),
        Scenario("idf build", "idf build news.jsonl -o news.tpidf -q", [], [news]),
        Scenario("eval", "eval --docs news.jsonl --pairs pairs.jsonl --html page.html --json all.json -q", [], [unique_ids, pairs]),
        Scenario("calibrate", "calibrate news.jsonl --write chosen.toml --html page.html --json all.json -q", [], [unique_ids]),
        Scenario("man", "man pages", [], []),
    ]


# --- Kills ----------------------------------------------------------------------------------------------------------------------------

class Kills:
    """The kills of one scenario, each in its own copy."""

    def __init__(self, scenario, work, shim):
        self.scenario, self.work, self.shim = scenario, Path(work), shim
        self.template = scenario.prepare(self.work / "template")
        undisturbed = self.template.copy(self.work / "undisturbed")
        count = self.work / "count"
        run = undisturbed.run(scenario.command, LD_PRELOAD=shim, KILL_COUNT=str(count))
        assert run.returncode in DONE, (scenario.name, run.stderr)
        self.code = run.returncode
        self.calls = int(count.read_text())
        self.expected = undisturbed.state()
        if scenario.check:
            scenario.check(undisturbed)
        self.number = 0

    def trial(self, kills):
        """Kills the command once for each entry of `kills` and runs it again if it has not ended. Returns the first difference, if any."""
        self.number += 1
        directory = self.template.copy(self.work / f"trial-{self.number}")
        try:
            # After an earlier kill little work may remain, and the command may end before the next kill. A further run would then be a new one,
            # such as a second add.
            if not any(kill(directory, self) for kill in kills):
                before = directory.state_or_error()
                again = directory.run(self.scenario.command)
                if again.returncode != self.code and before != self.expected:
                    return f"the second run ends with {again.returncode}: {again.stderr.strip()}"
            wrong = differences(self.expected, directory.state())
            if wrong:
                return wrong
            if self.scenario.check:
                self.scenario.check(directory)
            return None
        except AssertionError as error:
            return f"{error}"
        finally:
            shutil.rmtree(directory.path)


def state_or_error(directory):
    try:
        return directory.state()
    except (AssertionError, ValueError, OSError) as error:
        return f"{error}"


Directory.state_or_error = state_or_error


def differences(expected, found):
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            state = "missing" if name not in found else "left over" if name not in expected else "different"
            return f"{name} is {state}"
    return None


def at_call(n, torn, may_end=False):
    """Kills at the n-th call. With `may_end` the command may end before that call, because little work remains after an earlier kill.
    Returns true if the run ended."""
    def kill(directory, kills):
        environment = {"LD_PRELOAD": kills.shim, "KILL_AT": str(n)} | ({"KILL_TORN": "1"} if torn else {})
        run = directory.run(kills.scenario.command, **environment)
        ended = run.returncode in DONE
        # The number of calls varies a little with threads.
        assert may_end or not ended or n > kills.calls - 20, run.stderr
        return ended
    return kill


def at_time(seconds):
    def kill(directory, kills):
        process = subprocess.Popen([BINARY, *kills.scenario.command], cwd=directory.path, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=os.environ | {"TMPDIR": str(directory.path / "tmp")})
        time.sleep(seconds)
        process.kill()
        process.wait()
    return kill


def points(calls, rng, full):
    """Returns the calls at which to kill: all of them, or the first, the last and some in between."""
    if full or calls <= FEW:
        return list(range(1, calls + 1))
    ends = [1, 2, 3, *range(calls - FEW // 2, calls + 1)]
    return sorted(set(ends + rng.sample(range(4, calls - FEW // 2), FEW // 3)))


def trials(kills, rng, full):
    """Returns the names and kills of all trials of a scenario."""
    for n in points(kills.calls, rng, full):
        torn = rng.random() < 0.3
        yield f"call {n}{', torn' if torn else ''}", [at_call(n, torn)]
    for _ in range(20 if full else 2):
        several = [rng.randrange(1, kills.calls + 1) for _ in range(rng.choice([2, 3]))]
        yield f"calls {several}", [at_call(n, False, may_end=i > 0) for i, n in enumerate(several)]


def test(scenario, work, shim, rng, arguments):
    kills = Kills(scenario, work, shim)
    began, wrong, done = time.time(), [], 0
    todo = list(trials(kills, rng, arguments.full))
    if scenario.check and arguments.full:
        began_run = time.time()
        kills.template.copy(kills.work / "timed").done(scenario.command)
        longest = time.time() - began_run
        todo += [(f"{at:.3f} s", [at_time(at)]) for at in (rng.uniform(0, longest) for _ in range(200))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, _), result in zip(todo, pool.map(lambda trial: kills.trial(trial[1]), todo)):
            done += 1
            if result:
                wrong.append(f"{scenario.name}, killed at {name}: {result}")
    print(f"{scenario.name}: {kills.calls} calls, {done} kills, {len(wrong)} wrong, {time.time() - began:.0f} s", flush=True)
    return wrong


def another_input_after_a_kill(work, shim):
    """Kills a run that reads stdin, close to its end. The next run gets other documents, and must read each of them once."""
    wrong = []
    first, second = corpus(40, 11), corpus(30, 12)
    command = "dedup - --format jsonl -o out --against seen --append --overwrite --max-rejected 100% -q".split()
    template = Directory(work / "template")
    template.done(["collection", "create", "seen"])
    count = work / "count"
    run = template.copy(work / "undisturbed").run(command, first, LD_PRELOAD=shim, KILL_COUNT=str(count))
    assert run.returncode == 0, run.stderr
    calls = int(count.read_text())
    for n in range(calls - 30, calls + 1):
        directory = template.copy(work / f"trial-{n}")
        directory.run(command, first, LD_PRELOAD=shim, KILL_AT=str(n))
        run = directory.run(command, second)
        try:
            assert run.returncode == 0, run.stderr
            report = json.loads((directory.path / "out/report.json").read_text())
            assert report["records"]["read"] == second.count("\n"), report["records"]
            kept_records_are_in_the_collection(directory)
        except (AssertionError, OSError) as error:
            wrong.append(f"another input, killed at call {n}: {error}")
        shutil.rmtree(directory.path)
    print(f"another input after a kill: {calls} calls, 31 kills, {len(wrong)} wrong", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if sys.platform != "linux" or not shutil.which("cc"):
        print("skipped: tests/retries.py needs Linux and a C compiler (cc)")
        sys.exit(1 if os.environ.get("CI") == "true" else 0)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="twinprint-retries-") as work:
        shim = str(Path(work) / "kill_at.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, str(SHIM), "-ldl"], check=True)
        rng = random.Random(arguments.seed)
        for number, scenario in enumerate(scenarios(400 if arguments.full else 120)):
            if arguments.only in scenario.name:
                wrong += test(scenario, Path(work) / str(number), shim, rng, arguments)
                shutil.rmtree(Path(work) / str(number))
        if arguments.only in "another input after a kill":
            wrong += another_input_after_a_kill(Path(work) / "another", shim)
    for line in wrong[:40]:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
