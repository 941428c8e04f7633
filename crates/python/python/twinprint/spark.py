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
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ._work import Result, WorkFolder, blocks_for, is_paths
from .stages import StagedRun

__all__ = ["Result", "dedup", "join", "query", "result"]

# The number of stored fingerprints that are joined with the queries at a time. The queries are sorted anew for each.
_SCANNED_ROWS = 1 << 21


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
    A task that fails with its executor runs again on another. After the loss of the driver the same call goes on after
    the last whole task. The result equals that of one machine over the same files.

    Args:
        data: a DataFrame, or paths of files. The first record in the order of the partitions, or of the names of the
            files, is the first in the sense of keep="first".
        work: a folder on a file system that the driver and all executors share under the same path. It belongs to this
            call: the DataFrame is not read again if an earlier run has written it.
        session: the session; by default that of the DataFrame, or the active one.
        overwrite: True deletes what earlier runs have left in `work`, and begins anew. With `incremental=True` it
            replaces the result only. Then `data` is the folder of the earlier run, with more files after the others,
            and only these are analysed and verified.
        options: the arguments of `twinprint.StagedRun`, such as `text`, `id`, `keep`, `threshold`, `pairs`, `against`,
            `blocks`, `memory` (of a task, "1GiB" by default) and `threads` (1). With B blocks, B (B + 1) / 2 tasks run
            at the same time in the longest stages; the default is the least number that gives each core one.

    Raises:
        ValueError, TypeError: an argument cannot be used; the message begins with its name.
        FileExistsError: `work` has a whole result, and `overwrite` is False.
    """
    paths = is_paths(data)
    if not paths and not hasattr(data, "mapInArrow"):
        raise TypeError(f"data: expected a DataFrame of Spark or paths, not {type(data).__name__}")
    session = session or (SparkSession.active() if paths else data.sparkSession)
    folder = WorkFolder(work)
    options.setdefault("blocks", _blocks(session))
    run = folder.begin(data if paths else None, overwrite=overwrite, **options)
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


def _table(session: SparkSession, files: list[str], form: str) -> DataFrame:
    return session.read.format(form).load([f"file://{path}" for path in files])


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


def query(
    df: DataFrame,
    index: DataFrame | str | os.PathLike[str],
    k: int = 3,
    *,
    fingerprint: str = "fingerprint",
    id: str = "id",
) -> DataFrame:
    """Finds all stored fingerprints within Hamming distance `k` of each fingerprint of a batch, exactly.

    This is the batch job of Manku, Jain and Das Sarma (WWW 2007, section 4.2): every executor has the whole batch and
    scans its part of the stored fingerprints.

    Args:
        df: the batch. It is collected by the driver and sent to all executors, so it should have at most some 10⁷ rows.
        index: the stored fingerprints as a DataFrame with the same columns, which is scanned once; or the directory of
            a `twinprint.Index` that all executors can read, which each part of the batch is looked up in.
        k: the radius.
        fingerprint: the column of the fingerprints: a long (the 64 bits as a signed number), or binary of 16 bytes, the
            high half first.
        id: the column of the ids, of any type.

    Returns:
        Distinct rows `query` (the id of the batch), `id` (the stored id) and `hamming`, ordered by query, distance and
        stored id.
    """
    query_type = df.schema[id].dataType
    if isinstance(index, (str, os.PathLike)):
        from .index import Index

        path = os.path.abspath(os.fsdecode(index))
        with Index(path) as opened:
            is_named = opened.has_names
        schema = _schema(query_type, T.StringType() if is_named else T.LongType())
        batch = df.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint"))
        found = batch.mapInArrow(partial(_look_up, path, k), schema)
    else:
        rows = df.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint")).toArrow()
        stored = index.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint"))
        schema = _schema(query_type, index.schema[id].dataType)
        found = stored.mapInArrow(partial(_scan, rows, k), schema)
    return found.distinct().orderBy("query", "hamming", "id")


def _schema(query: T.DataType, stored: T.DataType) -> T.StructType:
    return T.StructType(
        [T.StructField("query", query), T.StructField("id", stored), T.StructField("hamming", T.IntegerType())]
    )


def _bits(column: pa.Array | pa.ChunkedArray) -> Any:
    """A column of fingerprints as an array of NumPy."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return column.cast(pa.int64()).to_numpy(zero_copy_only=False).view(np.uint64)


def _matches(queries: Any, ids: Any, pairs: Any) -> pa.RecordBatch:
    columns = [queries.take(pa.array(pairs.a)), ids.take(pa.array(pairs.b)), pa.array(pairs.hamming.astype(np.int32))]
    arrays = [it.combine_chunks() if isinstance(it, pa.ChunkedArray) else it for it in columns]
    return pa.RecordBatch.from_arrays(arrays, names=["query", "id", "hamming"])


def _scan(queries: pa.Table, k: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Joins the queries with the stored fingerprints of a partition."""
    from ._join import join

    rows = _bits(queries.column("fingerprint"))
    held: list[pa.RecordBatch] = []
    count = 0

    def matches() -> pa.RecordBatch:
        stored = pa.Table.from_batches(held)
        pairs = join(rows, _bits(stored.column("fingerprint")), k=k, threads=1)
        return _matches(queries.column("id"), stored.column("id"), pairs)

    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= _SCANNED_ROWS:
            yield matches()
            held, count = [], 0
    if count:
        yield matches()


def _look_up(path: str, k: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Looks the queries of a partition up in an index."""
    from .index import Index

    with Index(path) as index:
        for batch in batches:
            if not batch.num_rows:
                continue
            found = index.query(_bits(batch.column("fingerprint")), k)
            arrays = [
                batch.column("id").take(pa.array(found.query)),
                pa.array(found.id.tolist() if index.has_names else found.id.astype(np.int64)),
                pa.array(found.hamming.astype(np.int32)),
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=["query", "id", "hamming"])


def join(df: DataFrame, k: int = 3, *, blocks: int = 8, fingerprint: str = "fingerprint", id: str = "id") -> DataFrame:
    """Finds all pairs of rows whose fingerprints are within Hamming distance `k`, exactly.

    The rows are divided into blocks, and each pair of blocks is joined in one group of Spark. So each row is copied
    `blocks` times at any radius, and no group grows with the most frequent fingerprint.

    Args:
        df: the fingerprints, in the columns that `query` describes. Ids must be distinct.
        k: the radius.
        blocks: the number of blocks. A task has 2 n / blocks of n rows in memory.

    Returns:
        The rows `a`, `b`, two ids with `a` below `b`, and `hamming`.
    """
    if isinstance(blocks, bool) or not isinstance(blocks, int) or blocks < 1:
        raise ValueError(f"blocks: {blocks!r} is no whole number from 1 on")
    rows = df.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint"))
    rows = rows.withColumn("block", F.pmod(F.xxhash64("id"), F.lit(blocks)).cast("int"))
    # Block b meets every block c in the group of the smaller and the larger number.
    others = F.sequence(F.lit(0), F.lit(blocks - 1))
    rows = rows.withColumn("other", F.explode(others))
    group = F.least("block", "other") * F.lit(blocks) + F.greatest("block", "other")
    rows = rows.withColumn("group", group).drop("other")
    kind = df.schema[id].dataType
    schema = T.StructType(
        [T.StructField("a", kind), T.StructField("b", kind), T.StructField("hamming", T.IntegerType())]
    )
    # Spark asks for the annotations of the function, which those of a partial are not.
    return rows.groupBy("group").applyInArrow(lambda table: _join_group(blocks, k, table), schema)


def _join_group(blocks: int, k: int, table: pa.Table) -> pa.Table:
    """Joins two blocks, or one block with itself."""
    import pyarrow.compute as pc

    from ._join import join

    group = table.column("group")[0].as_py()
    first, second = divmod(group, blocks)
    of_first = table.filter(pc.equal(table.column("block"), first))
    if first == second:
        of_second = of_first
        pairs = join(_bits(of_first.column("fingerprint")), k=k, threads=1)
    else:
        of_second = table.filter(pc.equal(table.column("block"), second))
        pairs = join(_bits(of_first.column("fingerprint")), _bits(of_second.column("fingerprint")), k=k, threads=1)
    a, b = of_first.column("id").take(pa.array(pairs.a)), of_second.column("id").take(pa.array(pairs.b))
    is_below = pc.less(a, b)
    lower, upper = pc.if_else(is_below, a, b), pc.if_else(is_below, b, a)
    return pa.table({"a": lower, "b": upper, "hamming": pa.array(pairs.hamming.astype(np.int32))})
