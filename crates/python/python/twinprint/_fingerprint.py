"""Fingerprints of texts as columns of numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _data, _twinprint

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


def as_bytes(fingerprints: npt.ArrayLike) -> list[bytes]:
    """Fingerprints as bytes, the most significant byte first: 8 bytes each, or 16 for shape (n, 2).

    Examples:
        >>> as_bytes(np.array([[1, 2]], dtype=np.uint64))[0].hex()
        '00000000000000020000000000000001'
    """
    values = np.asarray(fingerprints, dtype=np.uint64)
    columns = values[:, ::-1] if values.ndim == 2 else values[:, None]
    raw = np.ascontiguousarray(columns.astype(">u8")).tobytes()
    size = 8 * columns.shape[1]
    return [raw[at : at + size] for at in range(0, len(raw), size)]


def from_bytes(values: list[bytes]) -> npt.NDArray[np.uint64]:
    """Reads what `as_bytes` returns: uint64 of shape (n,) from 8 bytes each, of shape (n, 2) from 16 bytes each."""
    size = len(values[0]) if values else 8
    numbers = np.frombuffer(b"".join(values), dtype=">u8").astype(np.uint64)
    return numbers if size == 8 else np.ascontiguousarray(numbers.reshape(-1, 2)[:, ::-1])


def hamming(a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Counts the bits in which fingerprints differ.

    Args:
        a, b: fingerprints of shape (n,), or (n, 2) for 128 bits; either may be a single one.

    Returns:
        uint8 of shape (n,).

    Examples:
        >>> hamming(np.array([0, 7, 8], dtype=np.uint64), np.uint64(0)).tolist()
        [0, 3, 1]
    """
    first, second = np.asarray(a, dtype=np.uint64), np.asarray(b, dtype=np.uint64)
    differing = np.ascontiguousarray(np.bitwise_xor(first, second))
    if hasattr(np, "bitwise_count"):
        counts: npt.NDArray[np.uint8] = np.bitwise_count(differing)
    else:
        bits = np.unpackbits(differing.view(np.uint8).reshape(*differing.shape, 8), axis=-1)
        counts = bits.sum(axis=-1, dtype=np.uint8)
    wide = max(first.ndim, second.ndim) == 2
    return counts.sum(axis=-1, dtype=np.uint8) if wide else counts
