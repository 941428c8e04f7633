"""The namespace `twinprint` of polars expressions: fingerprints as columns, and their distances.

Importing this module registers the namespace:

>>> import polars as pl
>>> import twinprint.polars
>>> frame = pl.DataFrame({"text": ["The ferry runs every hour.", "the FERRY runs, every hour", None]})
>>> frame.select(pl.col("text").twinprint.fingerprint())["text"].to_list()
[1887158465485582052, 1887158465485582052, None]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ._fingerprint import PROFILE, fingerprint

__all__ = ["Twinprint"]

_WIDE = pl.Struct({"low": pl.UInt64, "high": pl.UInt64})


@pl.api.register_expr_namespace("twinprint")
class Twinprint:
    """Methods of expressions: `pl.col("text").twinprint.fingerprint()`."""

    def __init__(self, expression: Any) -> None:
        self._expression = expression

    def fingerprint(self, *, profile: str = PROFILE, bits: int = 64, threads: int = 0) -> Any:
        """The SimHash fingerprint of each text; null for null.

        Args:
            profile: the features and their weights.
            bits: the width, 16, 32, 64 or 128.
            threads: the number of threads; 0 means one for each core.

        Returns:
            An expression of UInt64, or for 128 bits of structs with the fields `low` and `high`, both UInt64.
        """

        def compute(texts: Any) -> Any:
            return _fingerprints(texts, profile, bits, threads)

        kind = _WIDE if bits == 128 else pl.UInt64
        return self._expression.map_batches(compute, return_dtype=kind, is_elementwise=True)

    def hamming(self, other: Any, *, bits: int = 64) -> Any:
        """The number of bits in which fingerprints differ from those of another column; null if one of them is null.

        Args:
            other: an expression, the name of a column, or one fingerprint as an integer.
            bits: the width. 128 reads structs with the fields `low` and `high`.

        Returns:
            An expression of UInt32.
        """
        a = self._expression
        if bits == 128:
            b = _halves(other)
            low, high = (a.struct.field(name) ^ b[name] for name in ("low", "high"))
            return (low.bitwise_count_ones() + high.bitwise_count_ones()).name.keep()
        return (a ^ _column(other)).bitwise_count_ones()


def _column(other: Any) -> Any:
    if isinstance(other, str):
        return pl.col(other)
    return pl.lit(other, dtype=pl.UInt64) if isinstance(other, (int, np.integer)) else other


def _halves(other: Any) -> dict[str, Any]:
    if isinstance(other, (int, np.integer)):
        halves = {"low": int(other) & (1 << 64) - 1, "high": int(other) >> 64}
        return {name: pl.lit(half, dtype=pl.UInt64) for name, half in halves.items()}
    column = _column(other)
    return {name: column.struct.field(name) for name in ("low", "high")}


def _fingerprints(texts: Any, profile: str, bits: int, threads: int) -> Any:
    if texts.dtype not in (pl.String, pl.Null):
        raise TypeError(f"fingerprint: the column {texts.name!r} has the type {texts.dtype}, not String")
    present = texts.is_not_null().to_numpy()
    values = np.zeros((len(texts), 2) if bits == 128 else len(texts), dtype=np.uint64)
    if present.any():
        values[present] = fingerprint(texts.drop_nulls(), profile=profile, bits=bits, threads=threads)
    if bits == 128:
        column = pl.DataFrame({"low": values[:, 0], "high": values[:, 1]}).to_struct(texts.name)
    else:
        column = pl.Series(texts.name, values)
    if present.all():
        return column
    return column.to_frame().select(pl.when(pl.Series(present)).then(pl.col(texts.name)).alias(texts.name)).to_series()
