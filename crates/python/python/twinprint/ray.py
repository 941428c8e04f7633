"""Near-duplicates on Ray: `dedup` of a dataset of Ray Data or of files.

>>> import ray  # doctest: +SKIP
>>> import twinprint.ray  # doctest: +SKIP
>>> found = twinprint.ray.dedup(ray.data.read_parquet("/shared/pages"), "/shared/work", id="url")  # doctest: +SKIP
>>> found.kept.count()  # doctest: +SKIP
"""

# The engine is not installed where the types are checked.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray
import ray.data

from ._work import WorkFolder, blocks_for, files_of, is_paths
from .stages import StagedRun

__all__ = ["Result", "dedup", "result"]

# How often a task is started again after its worker or its machine was lost.
_RETRIES = 10


@dataclass(frozen=True)
class Result:
    """The result of `dedup`, as datasets over the files of the result."""

    kept: Any
    """The records that are kept, with all their columns. None with mode="report"."""
    removed: Any
    """The records that duplicate a kept one, or a document of `against`."""
    clusters: Any
    """One row for each document: its group, and the kept document that it duplicates."""
    pairs: Any
    """The verified pairs; None unless `pairs` asked for them."""
    report: dict[str, Any]
    """The figures of the report."""
    path: str
    """The directory of the result, with the report as a page and the rejected records."""


def dedup(
    data: Any,
    work: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> Result:
    """Finds the near-duplicates among the records of a dataset or of files.

    Ray writes the dataset to the work folder and runs the tasks of the stages. A task that fails with its worker runs
    again. After the loss of the driver the same call goes on after the last whole task. The result equals that of one
    machine over the same files.

    Args:
        data: a dataset of Ray Data, or paths of files. The first record in the order of the names of the files is the
            first in the sense of keep="first".
        work: a folder on a file system that all machines share under the same path. It belongs to this call: the
            dataset is not read again if an earlier run has written it.
        overwrite: True deletes an earlier result in `work` and begins anew.
        options: the arguments of `twinprint.StagedRun`, such as `text`, `id`, `keep`, `threshold`, `pairs`, `against`,
            `blocks`, `memory` (of a task, "1GiB" by default) and `threads` (1, the number of CPUs of a task). With B
            blocks, B (B + 1) / 2 tasks run at the same time in the longest stages; the default is the least number that
            gives each core one.

    Raises:
        ValueError, TypeError: an argument cannot be used; the message begins with its name.
        FileExistsError: `work` has a whole result.
    """
    paths = is_paths(data)
    if not paths and not isinstance(data, ray.data.Dataset):
        raise TypeError(f"data: expected a dataset of Ray Data or paths, not {type(data).__name__}")
    folder = WorkFolder(work)
    if overwrite:
        folder.clear()
    options.setdefault("blocks", _blocks())
    run = folder.run(data if paths else None, **options)
    folder.check_unfinished(run)
    if not paths:
        folder.write_input(data.columns(), lambda path: data.write_parquet(path))
    threads = max(int(options.get("threads", 1)), 1)
    work_of = ray.remote(num_cpus=threads, max_retries=_RETRIES)
    run.run_stages(partial(_run_stage, work_of(_run_task), run))
    ray.get(work_of(_write).remote(run))
    return result(work)


def result(work: str | os.PathLike[str]) -> Result:
    """The result that an earlier `dedup` has written to the work folder.

    Raises:
        FileNotFoundError: there is no whole result.
    """
    path = WorkFolder(work).result
    if not (path / "report.json").exists():
        raise FileNotFoundError(f"work: {path} is no whole result")
    pairs = path / "pairs.jsonl"
    return Result(
        kept=_records(path / "kept"),
        removed=_records(path / "removed"),
        clusters=ray.data.read_parquet(str(path / "clusters.parquet")),
        pairs=ray.data.read_json(str(pairs), lines=True) if pairs.exists() else None,
        report=json.loads((path / "report.json").read_text(encoding="utf-8")),
        path=str(path),
    )


def _records(folder: Any) -> Any:
    form = files_of(folder)
    if form is None:
        return None
    return ray.data.read_parquet(str(folder)) if form == "parquet" else ray.data.read_json(str(folder), lines=True)


def _blocks() -> int:
    """The least number of blocks whose pairs are as many as the cores."""
    return blocks_for(int(ray.cluster_resources().get("CPU", 1)) if ray.is_initialized() else os.cpu_count() or 1)


def _run_stage(task: Any, run: StagedRun, stage: str, tasks: int) -> None:
    ray.get([task.remote(run, stage, number, tasks) for number in range(tasks)])


def _run_task(run: StagedRun, stage: str, task: int, tasks: int) -> None:
    run.run_task(stage, task, tasks)


def _write(run: StagedRun) -> None:
    # A task whose worker was lost may have written the result already.
    if not run.is_finished():
        run.write()
