"""Columns of fingerprints from callers: arrays, columns of other libraries, numbers and bytes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._documents import is_missing

HALF = 2**64 - 1


def as_bytes(fingerprints: Any) -> list[bytes]:
    """Fingerprints as bytes, the most significant byte first: 8 bytes each, or 16 for shape (n, 2).

    Args:
        fingerprints: an array, or a column of pandas, polars or pyarrow, without missing values.

    Examples:
        >>> import numpy as np
        >>> as_bytes(np.array([[1, 2]], dtype=np.uint64))[0].hex()
        '00000000000000020000000000000001'
    """
    values = np.atleast_1d(numbers(fingerprints, "fingerprints"))
    columns = values[:, ::-1] if values.ndim == 2 else values[:, None]
    raw = np.ascontiguousarray(columns.astype(">u8")).tobytes()
    size = 8 * columns.shape[1]
    return [raw[at : at + size] for at in range(0, len(raw), size)]


def from_bytes(values: Any) -> npt.NDArray[np.uint64]:
    """Reads what `as_bytes` returns: uint64 of shape (n,) from 8 bytes each, of shape (n, 2) from 16 bytes each.

    Args:
        values: a list of bytes, or a column of bytes of pandas, polars or pyarrow.
    """
    items = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    size = len(items[0]) if items and isinstance(items[0], (bytes, bytearray)) else 8
    for at, item in enumerate(items):
        if not isinstance(item, (bytes, bytearray)) or len(item) != size or size not in (8, 16):
            raise ValueError(f"values: item {at} is not 8 or 16 bytes, as the others: {item!r:.60}")
    halves = np.frombuffer(b"".join(items), dtype=">u8").astype(np.uint64)
    return halves if size == 8 else np.ascontiguousarray(halves.reshape(-1, 2)[:, ::-1])


def hamming(a: Any, b: Any) -> npt.NDArray[np.uint8]:
    """Counts the bits in which fingerprints differ.

    Args:
        a, b: fingerprints of shape (n,), or (n, 2) for 128 bits; columns of pandas, polars or pyarrow; or a single
            fingerprint as an int. Shapes broadcast. Two arrays of shape (2,) are two fingerprints of 64 bits each.

    Returns:
        uint8 of shape (n,).

    Raises:
        ValueError: a value is missing, or one side has 64 bits and the other 128.
        TypeError: the values are not whole numbers.

    Examples:
        >>> import numpy as np
        >>> hamming(np.array([0, 7, 8], dtype=np.uint64), np.uint64(0)).tolist()
        [0, 3, 1]
    """
    first, second = numbers(a, "a"), numbers(b, "b")
    wide = any(side.ndim > 1 and side.shape[-1] == 2 for side in (first, second))
    if wide:
        first, second = _halves(first, "a"), _halves(second, "b")
    differing = np.ascontiguousarray(np.bitwise_xor(first, second))
    if hasattr(np, "bitwise_count"):
        counts: npt.NDArray[np.uint8] = np.bitwise_count(differing)
    else:
        bits = np.unpackbits(differing.reshape(*differing.shape, 1).view(np.uint8), axis=-1)
        counts = bits.sum(axis=-1, dtype=np.uint8)
    return counts.sum(axis=-1, dtype=np.uint8) if wide else counts


def _halves(values: npt.NDArray[np.uint64], name: str) -> npt.NDArray[np.uint64]:
    """Fingerprints of 128 bits with the halves on the last axis."""
    if values.ndim == 0:
        return np.array([values, 0], dtype=np.uint64)
    if values.shape[-1] != 2:
        raise ValueError(f"{name}: fingerprints of 64 bits and of 128 bits cannot be compared")
    return values


def numbers(values: Any, name: str) -> npt.NDArray[np.uint64]:
    """Fingerprints as uint64, with 128 bits in two halves on the last axis.

    Raises:
        ValueError: a value is missing, negative or too large.
        TypeError: the values are not whole numbers.
    """
    if hasattr(values, "__index__") and not getattr(values, "shape", None):
        number = operator.index(values)
        if not 0 <= number < 2**128:
            raise ValueError(f"{name}: {number} is not a fingerprint of 128 bits or less")
        return np.array([[number & HALF, number >> 64]] if number > HALF else number, dtype=np.uint64)
    array = column(values, name)
    if array.dtype == object and array.size and isinstance(array.flat[0], (bytes, bytearray)):
        return from_bytes(array.tolist())
    if array.dtype == object:
        array = column(array.tolist(), name)
    if array.dtype.kind == "i" and array.dtype.itemsize == 8:
        array = array.view(np.uint64)
    if array.dtype.kind not in "ui" and array.size:
        raise TypeError(f"{name}: expected whole numbers, not {array.dtype}")
    return array.astype(np.uint64, copy=False)


def column(values: Any, name: str) -> npt.NDArray[Any]:
    """Returns a NumPy array of an array, a column of another library, or an iterable of numbers."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected an array of numbers, not {type(values).__name__}")
    given: Any = values
    nulls: Any = getattr(given, "null_count", 0)
    missing: Any = nulls() if callable(nulls) else nulls
    if missing > 0 or (hasattr(given, "isna") and bool(np.any(given.isna()))):
        raise ValueError(f"{name}: some values are missing")
    if str(getattr(given, "dtype", "")).startswith("Struct") and {"low", "high"} <= set(given.struct.fields):
        return np.stack([column(given.struct.field(half), name) for half in ("low", "high")], axis=-1)
    if hasattr(given, "columns") and hasattr(given, "shape"):  # a table
        names = list(given.columns)
        if names != ["low", "high"]:
            raise TypeError(f"{name}: expected the columns low and high, not {', '.join(map(str, names))}")
        return np.stack([column(given[half], name) for half in names], axis=-1)
    if hasattr(given, "to_pylist") and str(getattr(given, "type", "")) == "fixed_size_binary[16]":  # pyarrow
        items = given.to_pylist()
        return from_bytes(items) if items else np.empty((0, 2), dtype=np.uint64)
    if hasattr(given, "to_numpy"):
        try:
            array = given.to_numpy(zero_copy_only=False)  # pyarrow.Array
        except TypeError:
            array = given.to_numpy()
        return np.asarray(array)
    if hasattr(given, "__array__"):
        return np.asarray(given)
    items = list(given)
    if items and isinstance(items[0], (bytes, bytearray, str)):
        return np.asarray(items, dtype=object)
    if any(is_missing(value) for value in items):
        raise ValueError(f"{name}: a value is missing")
    if items and isinstance(items[0], (np.ndarray, list, tuple)):
        return np.asarray([column(item, name) for item in items])
    try:
        return np.asarray(list(map(operator.index, items)), dtype=np.uint64)
    except OverflowError:
        raise ValueError(f"{name}: a number is negative or has more than 64 bits") from None
    except TypeError:
        raise TypeError(f"{name}: expected whole numbers") from None
