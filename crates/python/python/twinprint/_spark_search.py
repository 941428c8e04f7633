"""Searches among fingerprints in DataFrames of Spark: the batch query, and the join.

Rows are moved by `groupBy` alone. Ids are numbers or strings, and have no part in the searches.
"""

# The engine is not installed where the types are checked.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ._bits import from_bytes

# The number of stored fingerprints that are joined with the queries at a time. The queries are sorted again for each.
_SCANNED_ROWS = 1 << 23
# The least number of bits of a part by which rows are grouped. Shorter ones divide the rows into few groups.
_PART_BITS = 16


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
        id: the column of the ids.

    Returns:
        Distinct rows `query` (the id of the batch), `id` (the stored id) and `hamming`, ordered by query, distance and
        stored id.
    """
    query_type = df.schema[id].dataType
    _check(df, k, fingerprint)
    if isinstance(index, (str, os.PathLike)):
        from .index import Index

        path = os.path.abspath(os.fsdecode(index))
        with Index(path) as opened:
            is_named = opened.has_names
        schema = _schema(query_type, T.StringType() if is_named else T.LongType())
        batch = df.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint"))
        found = batch.mapInArrow(partial(_look_up, path, k), schema)
    else:
        if not hasattr(index, "mapInArrow"):
            raise TypeError(f"index: expected a DataFrame of Spark or the path of an index, not {type(index)}")
        if _check(index, k, fingerprint) != _check(df, k, fingerprint):
            raise ValueError(f"{fingerprint}: one DataFrame has fingerprints of 64 bits, and the other of 128")
        rows = df.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint")).toArrow()
        stored = index.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint"))
        schema = _schema(query_type, index.schema[id].dataType)
        found = stored.mapInArrow(partial(_scan, rows, k), schema)
    return found.distinct().orderBy("query", "hamming", "id")


def _schema(query: T.DataType, stored: T.DataType) -> T.StructType:
    return T.StructType(
        [T.StructField("query", query), T.StructField("id", stored), T.StructField("hamming", T.IntegerType())]
    )


def _check(df: DataFrame, k: int, fingerprint: str) -> int:
    """The number of bits of the fingerprints of a DataFrame.

    Raises:
        ValueError, TypeError: the column has another type, or `k` is no radius.
    """
    kind = df.schema[fingerprint].dataType
    if not isinstance(kind, (T.LongType, T.BinaryType)):
        raise TypeError(f"{fingerprint}: expected a column of longs or of binary, not {kind.simpleString()}")
    bits = 64 if isinstance(kind, T.LongType) else 128
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= bits:
        raise ValueError(f"k: {k!r} is no whole number from 0 to {bits}")
    return bits


def _bits(column: pa.Array | pa.ChunkedArray) -> Any:
    """A column of fingerprints as an array of NumPy."""
    if column.null_count:
        raise ValueError(f"fingerprint: {column.null_count} values are missing; leave these rows out")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return from_bytes(column.to_pylist())
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

    There are two ways. If k + 1 is below `blocks`, the bits of a fingerprint are divided into k + 1 parts. Two
    fingerprints within k bits agree in one of them, so each row is copied k + 1 times, into groups of rows with equal
    parts. Otherwise, and if a part would have fewer than 16 bits, the rows are divided into blocks, and each pair of
    blocks is one group. Then each row is copied `blocks` times at any radius.

    Args:
        df: the fingerprints, in the columns that `query` describes. Ids must be distinct.
        k: the radius.
        blocks: a task has 2 n / blocks of n rows in memory, or all rows with the same part of a fingerprint if these
            are more.

    Returns:
        The rows `a`, `b`, two ids with `a` below `b`, and `hamming`.
    """
    if isinstance(blocks, bool) or not isinstance(blocks, int) or blocks < 1:
        raise ValueError(f"blocks: {blocks!r} is no whole number from 1 on")
    bits = _check(df, k, fingerprint)
    rows = df.select(F.col(id).alias("id"), F.col(fingerprint).alias("fingerprint"))
    kind = df.schema[id].dataType
    schema = T.StructType(
        [T.StructField("a", kind), T.StructField("b", kind), T.StructField("hamming", T.IntegerType())]
    )
    if k + 1 < blocks and bits // (k + 1) >= _PART_BITS:
        masks, groups = _masks(bits, k + 1), -(-blocks // 2)
        grouped = T.StructType([*rows.schema.fields, T.StructField("group", T.IntegerType())])
        rows = rows.mapInArrow(partial(_with_groups, masks, groups), grouped)
        each = partial(_join_part, masks, groups, k)
    else:
        rows = rows.withColumn("block", F.pmod(F.xxhash64("id"), F.lit(blocks)).cast("int"))
        # Block b meets every block c in the group of the smaller and the larger number.
        others = F.sequence(F.lit(0), F.lit(blocks - 1))
        rows = rows.withColumn("other", F.explode(others))
        group = F.least("block", "other") * F.lit(blocks) + F.greatest("block", "other")
        rows = rows.withColumn("group", group).drop("other")
        each = partial(_join_blocks, blocks, k)
    # Spark asks for the annotations of the function, which those of a partial are not.
    return rows.groupBy("group").applyInArrow(lambda table: each(table), schema)


def _masks(bits: int, parts: int) -> npt.NDArray[np.uint64]:
    """The bits of each part as a mask: uint64 of shape (parts,), or (parts, 2) for 128 bits, the low half first."""
    ends = [bits * part // parts for part in range(parts + 1)]
    masks = [(1 << end) - (1 << start) for start, end in itertools.pairwise(ends)]
    halves = np.array([[mask & (2**64 - 1), mask >> 64] for mask in masks], dtype=np.uint64)
    return halves if bits > 64 else halves[:, 0]


def _with_groups(
    masks: npt.NDArray[np.uint64], groups: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Copies each row once for each part, with the number of the group that its part belongs to."""
    for batch in batches:
        rows = _bits(batch.column("fingerprint"))
        for part, mask in enumerate(masks):
            # Multiplication spreads the bits of the part over the upper half.
            spread = (rows & mask) * np.uint64(0x9E3779B97F4A7C15)
            spread = spread if spread.ndim == 1 else spread[:, 0] ^ (spread[:, 1] * np.uint64(0xC2B2AE3D27D4EB4F))
            group = part * groups + (spread >> np.uint64(33)) % np.uint64(groups)
            columns = [batch.column("id"), batch.column("fingerprint"), pa.array(group.astype(np.int32))]
            yield pa.RecordBatch.from_arrays(columns, names=["id", "fingerprint", "group"])


def _join_part(masks: npt.NDArray[np.uint64], groups: int, k: int, table: pa.Table) -> pa.Table:
    """Joins the rows of a group, and leaves out the pairs that agree in an earlier part or not in this one."""
    from ._join import join

    part = table.column("group")[0].as_py() // groups
    rows = _bits(table.column("fingerprint"))
    pairs = join(rows, k=k, threads=1)
    differing = rows[pairs.a] ^ rows[pairs.b]

    def agrees(mask: Any) -> Any:
        found = (differing & mask) == 0
        return found if found.ndim == 1 else found.all(axis=-1)

    is_first = agrees(masks[part])
    for mask in masks[:part]:
        is_first &= ~agrees(mask)
    ids = table.column("id")
    return _pairs(ids, pairs.a[is_first], ids, pairs.b[is_first], pairs.hamming[is_first])


def _join_blocks(blocks: int, k: int, table: pa.Table) -> pa.Table:
    """Joins two blocks, or one block with itself."""
    from ._join import join

    group = table.column("group")[0].as_py()
    first, second = divmod(group, blocks)
    of_first = of_second = table.filter(pc.equal(table.column("block"), first))
    if first == second:
        pairs = join(_bits(of_first.column("fingerprint")), k=k, threads=1)
    else:
        of_second = table.filter(pc.equal(table.column("block"), second))
        pairs = join(_bits(of_first.column("fingerprint")), _bits(of_second.column("fingerprint")), k=k, threads=1)
    return _pairs(of_first.column("id"), pairs.a, of_second.column("id"), pairs.b, pairs.hamming)


def _pairs(first: Any, a: Any, second: Any, b: Any, hamming: Any) -> pa.Table:
    """The rows of pairs, given by positions in two columns of ids."""
    a, b = first.take(pa.array(a)), second.take(pa.array(b))
    is_below = pc.less(a, b)
    lower, upper = pc.if_else(is_below, a, b), pc.if_else(is_below, b, a)
    return pa.table({"a": lower, "b": upper, "hamming": pa.array(hamming.astype(np.int32))})
