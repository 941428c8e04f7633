"""Runs on disk in stages, whose tasks any number of processes can run on any number of machines.

A stage reads the files of earlier stages and writes files of its own, in one folder. Its tasks do not depend on one
another, so they may run anywhere and in any order, but a stage needs all earlier ones. A task that has ended never runs
again, and files of a task that was killed are never read. So a task is run again after any failure, and two processes
may even run the same one. The result equals that of `twinprint.dedup` and of the command, byte for byte.

`twinprint.spark`, `twinprint.ray` and `twinprint.datatrove` run these tasks. For another engine:

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> folder = TemporaryDirectory()
>>> notes = Path(folder.name, "notes.jsonl")
>>> _ = notes.write_text('{"id": "a", "text": "The ferry runs every hour."}\\n' * 2)
>>> run = StagedRun(notes, Path(folder.name, "out"))
>>> for stage in STAGES:
...     tasks = run.state(stage).tasks
...     for task in range(tasks):
...         _ = run.run_task(stage, task)
>>> run.write()["records"]["kept"]
1
>>> folder.cleanup()
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from . import _arguments, _twinprint
from ._arguments import Keep
from ._documents import real
from ._fingerprint import PROFILE
from ._progress import Progress, reporting

__all__ = ["SINGLE_STAGES", "STAGES", "StageState", "StagedRun"]

STAGES: tuple[str, ...] = tuple(name for name, _ in _twinprint.stages())
"""The names of the stages, in order."""

SINGLE_STAGES: frozenset[str] = frozenset(name for name, is_single in _twinprint.stages() if is_single)
"""The stages that have one task in any run."""

# The list of the files of a finished result, and the marker of an unfinished one.
_FINISHED = ".twinprint-output"
_UNFINISHED = ".twinprint-unfinished"


class StageState(NamedTuple):
    """The state of a stage."""

    stage: str
    tasks: int | None
    """The number of tasks; None before the earlier stages that decide it have ended."""
    ended: int
    """The number of tasks that have ended."""

    @property
    def is_whole(self) -> bool:
        """True if all tasks have ended."""
        return self.tasks == self.ended


class StagedRun:
    """A run over files, in stages.

    Every process makes the same object, or receives it from another one: it can be pickled. All processes need the same
    input under the same paths, and the same folder of the result, on a shared file system.

    Args:
        data: the path of a file, a folder or a glob, or a list of paths.
        out: the directory of the result. The folder of the stages is beside it, named `out` + ".stages", or in
            `work_dir`.
        mode: "remove" writes the records to `kept/` and `removed/`, "annotate" all of them with the fields of their
            group, "report" none.
        clusters: the files of groups, "jsonl", "parquet", "both" or "none".
        parts: True also finds partial copies, with a share of at least 0.3. A number is another least share.
        blocks: the least number of blocks of fingerprints and of texts. B blocks make B (B + 1) / 2 tasks of the stages
            `join` and `verify`; small memory makes more.
        memory: the memory of a task, in bytes or as "1GiB".
        threads: the number of threads of a task. None means one in stages with many tasks, and one for each core of
            the machine in `SINGLE_STAGES` and while the result is written, when no other task of the run runs.
        overwrite: True replaces an earlier result in `out` that twinprint wrote.
        incremental: True keeps the folder of the stages, for a later run over the same files and more.

    The other arguments are those of `twinprint.dedup`; `id` and `sort` name fields.

    Raises:
        ValueError, TypeError: an argument cannot be used; the message begins with its name.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        out: str | os.PathLike[str],
        *,
        text: str = "text",
        id: str | None = None,
        keep: Keep = "first",
        sort: str | None = None,
        threshold: float = 0.8,
        bits: int | None = None,
        hamming: int | None = None,
        verify: bool = True,
        profile: str = PROFILE,
        pairs: bool | Literal["all", "distinct"] = False,
        empty: Literal["keep", "remove", "reject"] = "keep",
        against: str | os.PathLike[str] | None = None,
        mode: Literal["remove", "annotate", "report"] = "remove",
        clusters: Literal["jsonl", "parquet", "both", "none"] = "both",
        parts: bool | float = False,
        blocks: int = 1,
        memory: int | str = "1GiB",
        threads: int | None = None,
        work_dir: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        incremental: bool = False,
        seed: int = 42,
    ) -> None:
        paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
        if not paths:
            raise ValueError("data: no paths")
        if isinstance(blocks, bool) or not isinstance(blocks, int) or not 1 <= blocks <= 1000:
            raise ValueError(f"blocks: {blocks!r} is no whole number from 1 to 1000")
        self.out = local_path(out, "out")
        """The directory of the result."""
        self._places = {
            "inputs": [_absolute(path) for path in paths],
            "out": self.out,
            "mode": mode,
            "clusters": clusters,
            "blocks": blocks,
            "parts": 0.3 if parts is True else None if parts is False else real(parts, "parts"),
            "overwrite": bool(overwrite),
            "incremental": bool(incremental),
        }
        self._arguments = _arguments.options(
            in_files=True,
            text=text,
            id=id,
            keep=keep,
            sort=sort,
            threshold=threshold,
            bits=bits,
            hamming=hamming,
            verify=verify,
            profile=profile,
            pairs=pairs,
            empty=empty,
            against=None if against is None else _absolute(against),
            name="data",
            threads=1 if threads is None else threads,
            memory=memory,
            work_dir=None if work_dir is None else local_path(work_dir, "work_dir"),
            seed=seed,
        )
        self._threads_alone = 0 if threads is None else threads
        self._overwrite = bool(overwrite)
        self._handle()

    def _handle(self, *, alone: bool = False) -> _twinprint.StagedRun:
        """The run in the engine, for a task that runs alone or beside others."""
        arguments = {**self._arguments, "threads": self._threads_alone} if alone else self._arguments
        try:
            return _twinprint.StagedRun(arguments, self._places)
        except TypeError as error:
            raise _arguments.named(error) from error.__cause__

    def states(self) -> list[StageState]:
        """The states of all stages, in order. Begins the run if it has not begun.

        Raises:
            FileExistsError: the run is finished.
        """
        self._check_unfinished()
        return [StageState(*state) for state in self._handle().states()]

    def state(self, stage: str) -> StageState:
        """The state of a stage."""
        return self.states()[_place(stage)]

    def run_task(
        self, stage: str, task: int = 0, tasks: int | None = None, *, progress: bool | Progress | None = None
    ) -> StageState:
        """Runs one task of a stage, unless it has ended.

        Args:
            stage: the name of the stage, whose earlier stages must have ended.
            task: the number of the task, from 0.
            tasks: None for this task alone. A number T for every T-th task from `task` on: the share of one of T
                processes.

        Returns:
            The state of the stage after the task.

        Raises:
            ValueError: there is no such stage, or no such task.
            FileExistsError: the run is finished.
            TwinprintError: an earlier stage is missing, or a file of the folder is damaged.
        """
        self._check_unfinished()
        _place(stage)
        count = tasks if tasks is not None else self.state(stage).tasks
        if task < 0 or (count and task >= count):
            raise ValueError(f"task: {task} is none of the {count} tasks of the stage {stage}, which begin at 0")
        handle = self._handle(alone=stage in SINGLE_STAGES)
        with reporting(progress) as report:
            return StageState(*handle.run_stage(stage, task, count or task + 1, report))

    def _check_unfinished(self) -> None:
        """Raises FileExistsError if the run is finished. To start it over would make all its stages for nothing."""
        if not self._overwrite and self.is_finished():
            raise FileExistsError(f"out: {self.out} has the whole result; use another directory, or overwrite=True")

    def finish(self) -> None:
        """Writes the result unless it is there: a task whose process was lost may have written it already."""
        if not self.is_finished():
            self.write()

    def write(self, progress: bool | Progress | None = None) -> dict[str, Any]:
        """Runs the tasks that have not ended, writes the result, and deletes the folder of the stages.

        Returns:
            The figures of the report.
        """
        with reporting(progress) as report:
            figures: dict[str, Any] = json.loads(self._handle(alone=True).write(report))
        return figures

    @property
    def folder(self) -> str:
        """The folder of the stages."""
        work_dir, name = self._arguments["work_dir"], os.path.basename(self.out) + ".stages"
        return os.path.join(work_dir or os.path.dirname(self.out), name)

    def is_finished(self) -> bool:
        """True if `out` has a whole result and the folder of the stages was deleted."""
        return is_whole(self.out) and not os.path.exists(self.folder)

    def run_stages(self, each: Callable[[str, int], None]) -> None:
        """Runs the stages that are not whole, in order.

        Args:
            each: runs all tasks of a stage, given its name and their number, on whatever machines, and returns when
                they have ended.

        Raises:
            RuntimeError: tasks of a stage are missing afterwards. Perhaps a machine does not share the folder.
        """
        states = self.states()
        for place, stage in enumerate(STAGES):
            if not states[place].is_whole:
                each(stage, states[place].tasks or 0)
                states = self.states()
            state = states[place]
            if not state.is_whole:
                raise RuntimeError(
                    f"{state.ended} of {state.tasks} tasks of the stage {stage} have ended; "
                    f"do all machines share the folder {self.folder}?"
                )


def is_whole(out: str | os.PathLike[str]) -> bool:
    """True if the directory has a whole result."""
    return os.path.exists(os.path.join(out, _FINISHED)) and not os.path.exists(os.path.join(out, _UNFINISHED))


def _place(stage: str) -> int:
    if stage not in STAGES:
        raise ValueError(f"stage: {stage!r} is none of {', '.join(STAGES)}")
    return STAGES.index(stage)


def local_path(path: str | os.PathLike[str], argument: str) -> str:
    """The absolute path of a file or folder, which may be given as a URI with the scheme `file`.

    Raises:
        ValueError: the URI has another scheme. The message begins with the name of the argument.
    """
    name = os.fsdecode(path)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", name)
    if scheme and scheme[1] != "file":
        raise ValueError(
            f"{argument}: {name!r} is no path of a file system that all machines share; where it is mounted, give the "
            "path of the mount"
        )
    return os.path.abspath(re.sub("^file:(//)?", "", name))


def _absolute(path: str | os.PathLike[str]) -> str:
    name = os.fsdecode(path)
    # A place in object storage stays as it is.
    return name if "://" in name and not name.startswith("file:") else local_path(name, "data")
