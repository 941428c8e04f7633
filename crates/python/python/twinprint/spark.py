"""Near-duplicates on Spark: `dedup` of a DataFrame, `query` of stored fingerprints, and `join`.

The functions need nothing of a session but `range`, `mapInArrow` and `groupBy().applyInArrow()`. So they also run on
Spark Connect and on Sail. twinprint must be installed on all machines.

>>> from pyspark.sql import SparkSession  # doctest: +SKIP
>>> import twinprint.spark  # doctest: +SKIP
>>> pages = SparkSession.active().read.parquet("/shared/pages")  # doctest: +SKIP
>>> found = twinprint.spark.dedup(pages, "/shared/work", id="url")  # doctest: +SKIP
>>> found.kept.count(), found.removed.count()  # doctest: +SKIP
"""

# The engine is not installed where the types are checked.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ._spark_search import join, query
from ._work import Result, WorkFolder, blocks_for, files_of, is_paths
from .stages import StagedRun

__all__ = ["Result", "dedup", "join", "query", "result"]


def dedup(
    data: Any,
    work: str | os.PathLike[str],
    *,
    session: SparkSession | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Result:
    """Finds the near-duplicates among the records of a DataFrame or of files.

    Spark writes the DataFrame to the work folder and runs the tasks of the stages, one for each core of its executors.
    A task that fails with its executor runs again on another. After the loss of the driver the same call resumes after
    the last whole task. The result equals that of one machine over the same files.

    Args:
        data: a DataFrame, or paths of files. The first record in the order of the partitions, or of the names of the
            files, is the first in the sense of keep="first".
        work: a folder on a file system that the driver and all executors share under the same path. It belongs to this
            call: the DataFrame is not read again if an earlier run has written it.
        session: the session; by default that of the DataFrame, or the active one.
        overwrite: True deletes what earlier runs have left in `work`, and starts over. With `incremental=True` it
            replaces the result only. Then `data` is the folder of the earlier run, with more files after the others,
            and only these are analysed and verified.
        options: the arguments of `twinprint.StagedRun`, such as `text`, `id`, `keep`, `threshold`, `pairs`, `against`,
            `blocks` and `memory` (of a task, "1GiB" by default). With B blocks, B (B + 1) / 2 tasks run at the same
            time in the longest stages; the default is the least number that gives each core one.

    Raises:
        ValueError, TypeError: an argument cannot be used; the message begins with its name.
        FileExistsError: `work` has a whole result, and `overwrite` is False.
    """
    paths = is_paths(data)
    if not paths and not hasattr(data, "mapInArrow"):
        raise TypeError(f"data: expected a DataFrame of Spark or paths, not {type(data)}")
    session = session or (SparkSession.active() if paths else data.sparkSession)
    folder = WorkFolder(work)
    columns, reads = ([], []) if paths else (data.columns, _files_read(data))
    options.setdefault("blocks", _blocks(session))
    run = folder.begin(data if paths else None, reads=reads, columns=columns, overwrite=overwrite, **options)
    if not paths:
        folder.write_input(data.columns, lambda path: data.write.parquet(f"file://{path}"))
    run.run_stages(partial(_run_stage, session, run))
    _write(session, run)
    return result(work, session=session)


def result(work: str | os.PathLike[str], *, session: SparkSession | None = None) -> Result:
    """The result that an earlier `dedup` has written to the work folder.

    Raises:
        FileNotFoundError: there is no whole result.
    """
    session = session or SparkSession.active()
    return WorkFolder(work).read(partial(_table, session))


def _files_read(data: DataFrame) -> list[str]:
    """The files that a DataFrame is read from, as far as the engine tells."""
    try:
        return [unquote(uri) for uri in data.inputFiles()]
    except Exception:
        return []


def _table(session: SparkSession, place: Path, form: str) -> DataFrame:
    # Spark does not look into the folders of a folder, and takes their names for columns.
    files = files_of(place)
    for path in files:
        if Path(path).name.startswith(("_", ".")):
            raise ValueError(f"{path}: Spark does not read files whose names begin with _ or a dot")
    reader = session.read.format(form)
    if form == "parquet":
        reader = reader.option("mergeSchema", "true")
    # A path is a pattern, whose special characters are escaped.
    return reader.load(["file://" + re.sub(r"[][{}*?\\]", r"\\\g<0>", path) for path in files])


def _blocks(session: SparkSession) -> int:
    """The least number of blocks whose pairs are as many as the cores."""
    try:
        cores = int(session.sparkContext.defaultParallelism)
    except Exception:
        # Spark Connect and Sail have no context.
        cores = os.cpu_count() or 1
    return blocks_for(cores)


def _run_stage(session: SparkSession, run: StagedRun, stage: str, tasks: int) -> None:
    _tasks(session, tasks, partial(_run_task, run, stage, tasks))


def _write(session: SparkSession, run: StagedRun) -> None:
    _tasks(session, 1, partial(_finish, run))


def _tasks(session: SparkSession, count: int, each: Callable[[int], None]) -> None:
    """Runs tasks by their numbers on the executors, each in a partition of its own."""
    numbers = session.range(0, count, 1, count)
    ended = numbers.mapInArrow(partial(_run_tasks, each), "task long").collect()
    missing = set(range(count)) - {row.task for row in ended}
    if missing:
        raise RuntimeError(f"{len(missing)} of {count} tasks did not run")


def _run_tasks(each: Callable[[int], None], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for task in batch.column(0).to_pylist():
            each(task)
        yield pa.RecordBatch.from_arrays([batch.column(0)], names=["task"])


def _run_task(run: StagedRun, stage: str, tasks: int, task: int) -> None:
    run.run_task(stage, task, tasks)


def _finish(run: StagedRun, _: int) -> None:
    run.finish()
