"""Near-duplicates on Ray: `dedup` of a dataset of Ray Data or of files.

>>> import ray  # doctest: +SKIP
>>> import twinprint.ray  # doctest: +SKIP
>>> found = twinprint.ray.dedup(ray.data.read_parquet("/shared/pages"), "/shared/work", id="url")  # doctest: +SKIP
>>> found.kept.count()  # doctest: +SKIP
"""

# The engine is not installed where the types are checked.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import ray
import ray.data

from ._work import Result, WorkFolder, blocks_for, is_paths
from .stages import StagedRun

__all__ = ["Result", "dedup", "result"]

# The number of times that a task is started again after its worker or its machine was lost.
_RETRIES = 10


def dedup(
    data: Any,
    work: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> Result:
    """Finds the near-duplicates among the records of a dataset or of files.

    Ray writes the dataset to the work folder and runs the tasks of the stages. A task that fails with its worker runs
    again. After the loss of the driver the same call resumes after the last complete task. The result equals that of
    one machine over the same files.

    Args:
        data: a dataset of Ray Data, or paths of files. The first record in the order of the names of the files is the
            first in the sense of keep="first".
        work: a folder on a file system that all machines share under the same path. It belongs to this call: the
            dataset is not read again if an earlier run has written it.
        overwrite: True deletes what earlier runs have left in `work`, and starts over. With `incremental=True` it
            replaces the result only. Then `data` is the folder of the earlier run, with more files after the others,
            and only these are analysed and verified.
        options: the arguments of `twinprint.StagedRun`, such as `text`, `id`, `keep`, `threshold`, `pairs`, `against`,
            `blocks`, `memory` (of a task, "1GiB" by default) and `threads` (the number of CPUs of a task). With B
            blocks, B (B + 1) / 2 tasks run at the same time in the longest stages; the default is the least number that
            gives each core one.

    Raises:
        ValueError, TypeError: an argument cannot be used; the message begins with its name.
        FileExistsError: `work` has a whole result, and `overwrite` is False.
    """
    paths = is_paths(data)
    if not paths and not isinstance(data, ray.data.Dataset):
        raise TypeError(f"data: expected a dataset of Ray Data or paths, not {type(data)}")
    folder = WorkFolder(work)
    columns, reads = ([], []) if paths else (data.columns() or [], data.input_files())
    if not paths and not columns:
        raise ValueError("data: the dataset has no records")
    options.setdefault("blocks", _blocks())
    threads = max(int(options.get("threads") or 1), 1)
    if ray.is_initialized() and threads > max(node["Resources"].get("CPU", 0) for node in ray.nodes()):
        raise ValueError(f"threads: no machine of the cluster has {threads} CPUs")
    run = folder.begin(data if paths else None, reads=reads, columns=columns, overwrite=overwrite, **options)
    if not paths:
        folder.write_input(columns, lambda path: data.write_parquet(path))
    work_of = ray.remote(num_cpus=threads, max_retries=_RETRIES)
    run.run_stages(partial(_run_stage, work_of(_run_task), run))
    _write(work_of(_run_finish), run)
    return result(work)


def result(work: str | os.PathLike[str]) -> Result:
    """The result that an earlier `dedup` has written to the work folder.

    Raises:
        FileNotFoundError: there is no whole result.
    """
    return WorkFolder(work).read(_table)


def _table(place: Path, form: str) -> Any:
    if form == "parquet":
        return ray.data.read_parquet(str(place), partitioning=None)
    return ray.data.read_json(str(place), lines=True, partitioning=None)


def _blocks() -> int:
    """The least number of blocks whose pairs are as many as the cores."""
    return blocks_for(int(ray.cluster_resources().get("CPU", 1)) if ray.is_initialized() else os.cpu_count() or 1)


def _run_stage(task: Any, run: StagedRun, stage: str, tasks: int) -> None:
    ray.get([task.remote(run, stage, number, tasks) for number in range(tasks)])


def _write(task: Any, run: StagedRun) -> None:
    ray.get(task.remote(run))


def _run_finish(run: StagedRun) -> None:
    run.finish()


def _run_task(run: StagedRun, stage: str, task: int, tasks: int) -> None:
    run.run_task(stage, task, tasks)
