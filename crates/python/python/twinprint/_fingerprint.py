"""Fingerprints of texts as columns of numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _data, _twinprint
from ._bits import as_bytes

PROFILE = "tp1-words-lntf"
"""The default profile: words, weighted 1 + ln of their frequency. Chinese is cut into words by itself."""


def fingerprint(data: Any, *, text: str = "text", profile: str = PROFILE, bits: int = 64, threads: int = 0) -> Any:
    """Computes the SimHash fingerprint of every text.

    Args:
        data: texts in any form that `dedup` accepts, or one `str`.
        text: the column of the texts, for tables and records.
        profile: the features and their weights.
        bits: the width, 16, 32, 64 or 128.
        threads: the number of threads; 0 means one for each core.

    Returns:
        uint64 of shape (n,). With 128 bits uint64 of shape (n, 2): the low half, then the high half. A pyarrow array
        gives a pyarrow array, of uint64 or of 16 bytes each (the high half first). One `str` gives one `int`. A text
        that is missing or is not valid Unicode has the fingerprint 0 in an ndarray, with a warning, and null in Arrow.

    Raises:
        ValueError: a profile or a width that does not exist.
        TypeError: a value that is no text, or data of an unknown type.

    Examples:
        >>> import twinprint
        >>> twinprint.fingerprint(["The ferry runs every hour.", "the FERRY runs, every hour"])
        array([1887158465485582052, 1887158465485582052], dtype=uint64)
        >>> twinprint.fingerprint(["The ferry runs every hour."], bits=128).shape
        (1, 2)
    """
    if isinstance(data, str):
        return _twinprint.fingerprint_text(data, profile, bits)
    rows = _data.rows(data, text, None, None)
    made, rejected = _twinprint.fingerprint(rows.source, text, profile, bits, threads)
    values: npt.NDArray[np.uint64] = np.frombuffer(made, dtype="<u8")
    if bits == 128:
        values = values.reshape(-1, 2)
    if type(data).__module__.split(".")[0] == "pyarrow":
        return _arrow(values, [at for at, _ in rejected])
    if rejected:
        at, reason = rejected[0]
        warnings.warn(
            f"{len(rejected)} of {len(values)} texts have no fingerprint and got 0; the first is number {at}: {reason}",
            stacklevel=2,
        )
    return values


def _arrow(values: npt.NDArray[np.uint64], rejected: list[int]) -> Any:
    import pyarrow

    missing = np.zeros(len(values), dtype=bool)
    missing[rejected] = True
    if values.ndim == 1:
        return pyarrow.array(values, mask=missing)
    return pyarrow.array(
        [None if gone else row for row, gone in zip(as_bytes(values), missing, strict=True)],
        type=pyarrow.binary(16),
    )
