"""Joins of fingerprints in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import _twinprint
from ._fingerprints import encode


class JoinedRows(NamedTuple):
    """Pairs of rows, ordered by both: three arrays of one length."""

    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    hamming: npt.NDArray[np.int64]


def join(a: object, b: object = None, *, k: int = 3, threads: int = 0) -> JoinedRows:
    """Finds all pairs of fingerprints within Hamming distance `k`, exactly.

    Args:
        a: fingerprints: (n,) of uint32 or uint64, or (n, 2) of uint64 for 128 bits, as `fingerprint` returns them.
        b: None joins `a` with itself; other fingerprints of the same width join both.
        k: the radius.
        threads: the number of threads; 0 means one for each core.

    Returns:
        The positions of the two rows of each pair, and their distances. In a join with itself `a` is below `b`.

    Raises:
        ValueError, TypeError: an argument cannot be used; the message begins with its name.

    Examples:
        >>> import numpy as np
        >>> import twinprint
        >>> rows = np.array([0b0000, 2**64 - 1, 0b0011], dtype=np.uint64)
        >>> pairs = twinprint.join(rows, k=3)
        >>> pairs.a.tolist(), pairs.b.tolist(), pairs.hamming.tolist()
        ([0], [2], [2])
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 0:
        raise ValueError(f"k: {k!r} is no whole number from 0 on")
    rows = encode(a, "a")
    others = None if b is None else encode(b, "b", rows.bits)
    found = _twinprint.join_fingerprints(rows.data, others.data if others else None, rows.bits, int(k), threads)
    first, second = (np.frombuffer(column, dtype="<u4").astype(np.int64) for column in found[:2])
    return JoinedRows(first, second, np.frombuffer(found[2], dtype=np.uint8).astype(np.int64))
