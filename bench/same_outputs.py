#!/usr/bin/env python3
"""Proves that two twinprint binaries write the same bytes.

    bench/same_outputs.py OLD NEW [--data DIR] [--only NAME] [--quick] [--jobs N] [--work DIR] [--list]

Each case is a list of commands. The script runs them with OLD and with NEW, in two directories of the same layout, so
that all paths are equal. Then it compares every file, stdout and every exit code, byte by byte. It prints one line a
case: `same`; `DIFFERENT`, with the first file and byte that differ and the text around that byte; or `FAILED`, with the
error of the command. It exits with 1 unless all cases are the same.

DIR is the directory of labelled sets (default: $TWINPRINT_SHARED/data, or ../shared/data next to the repository).
`--only` selects the cases whose name contains NAME. `--quick` reads fewer documents of each set and runs fewer cases.
`--work` keeps the inputs, and the files of both sides of all cases that are not the same.

The "crossed" cases write a state, an index or a collection with OLD on both sides, and read it with each binary.

`EXCLUDED_FILES` and `EXCLUDED_FIELDS` in same/compare.py name what is not compared, each with its reason. Of `*.status`
files, which hold the sentences that `index` and `plan` print, only the numbers are compared. stderr, a text
for people, is not compared either. The script needs zstd. The cases that read Parquet and Arrow need pyarrow; without
it they are reported as not run.
"""

import argparse
import concurrent.futures
import http.client
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from same.cases import all_cases
from same.compare import first_difference
from same.inputs import Inputs

ROOT = Path(__file__).resolve().parent.parent
# Commands of `index` that print a sentence about what they did.
STATUS_COMMANDS = ("build", "add", "delete", "compact", "check")
SHARED = Path(os.environ.get("TWINPRINT_SHARED", ROOT.parent / "shared"))


@dataclass
class Side:
    """One of the two runs of a case: a binary, and the directory that its commands run in."""

    binary: str
    old: str
    directory: Path
    commands: int = 0

    def run(self, command, allowed=(0, 3)):
        """Runs a command line.

        It may end in `< FILE` and `> FILE`; otherwise stdin is empty and stdout goes to NUMBER.stdout. A command line
        that begins with "old:" runs OLD on both sides.
        """
        binary = self.binary
        if command.startswith("old:"):
            binary, command = self.old, command[4:]
        arguments = shlex.split(command)
        self.commands += 1
        stdout, stdin = f"{self.commands:02}.stdout", os.devnull
        if arguments[0] in ("dedup", "cluster"):
            stdout = "summary.txt"
        if arguments[0] == "calibrate":
            stdout = "table.txt"
        if arguments[0] == "plan" or (arguments[0] == "index" and arguments[1] in STATUS_COMMANDS):
            stdout = f"{self.commands:02}.status"
        if len(arguments) > 2 and arguments[-2] == ">":
            stdout, arguments = arguments[-1], arguments[:-2]
        if len(arguments) > 2 and arguments[-2] == "<":
            stdin, arguments = arguments[-1], arguments[:-2]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TWINPRINT")}
        with open(self.directory / stdout, "wb") as out, open(self.directory / stdin, "rb") as source:
            done = subprocess.run(
                [binary, *arguments],
                cwd=self.directory,
                env=environment,
                stdin=source,
                stdout=out,
                stderr=subprocess.PIPE,
            )
        (self.directory / f"{self.commands:02}.code").write_text(f"{done.returncode}\n")
        if done.returncode not in allowed:
            last = done.stderr.decode(errors="replace").strip().split("\n")[-1]
            raise RuntimeError(f"{Path(binary).name} {command}: exit code {done.returncode}: {last}")


def compare_case(case, number, work, old, new):
    """Runs a case with both binaries: returns the verdict, the finding, and the seconds."""
    began = time.monotonic()
    verdict, finding = "same", ""
    directories = [work / name / f"case{number}" for name in ("old", "new")]
    try:
        for binary, directory in zip((old, new), directories):
            directory.mkdir(parents=True)
            side = Side(binary, old, directory)
            for step in case.steps:
                step(side) if callable(step) else side.run(step, case.allowed)
        finding = first_difference(*directories) or ""
        if finding:
            verdict = "DIFFERENT"
    except (RuntimeError, OSError, http.client.HTTPException, KeyError, ValueError) as error:
        verdict, finding = "FAILED", f"{type(error).__name__}: {error}"
    if verdict == "same":
        for directory in directories:
            shutil.rmtree(directory)
    return verdict, finding, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--data", type=Path, default=SHARED / "data", help="directory of the labelled sets")
    parser.add_argument("--only", default="", help="only the cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help="the first documents of each set, and fewer cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time")
    parser.add_argument("--work", type=Path, help="keep what differing cases wrote in this directory")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    options = parser.parse_args()
    old, new = (str(Path(path).resolve()) for path in (options.old, options.new))
    with tempfile.TemporaryDirectory(prefix="same-outputs-") as temporary:
        work = (options.work or Path(temporary)).resolve()
        inputs = Inputs(work / "data", options.data, options.quick, old)
        if not options.list:
            inputs.make()
        cases = [case for case in all_cases(inputs) if options.only in case.name]
        if options.list:
            print("\n".join(case.name for case in cases))
            return
        began, counts = time.monotonic(), {"same": 0, "DIFFERENT": 0, "FAILED": 0}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            futures = [pool.submit(compare_case, case, number, work, old, new) for number, case in enumerate(cases)]
            for case, future in zip(cases, futures):
                verdict, finding, seconds = future.result()
                counts[verdict] += 1
                print(
                    f"{verdict:<9} {seconds:6.1f} s  {case.name}" + (f"\n          {finding}" if finding else ""),
                    flush=True,
                )
        if not inputs.tables:
            print("not run: Parquet and Arrow as inputs, because pyarrow is not installed")
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"{len(cases)} cases: {total}, in {time.monotonic() - began:.0f} s")
    sys.exit(0 if cases and counts["same"] == len(cases) else 1)


if __name__ == "__main__":
    main()
