"""Fingerprints and ids of callers as bytes of little-endian numbers, and results as NumPy arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._bits import column, from_bytes
from ._documents import text_id

#: Fingerprints: (n,) of uint32 or uint64, or (n, 2) of uint64 with the low half first.
Fingerprints = npt.NDArray[Any]


class Encoded(NamedTuple):
    """Fingerprints as the extension module takes them."""

    data: bytes
    bits: int
    rows: int


def encode(values: object, name: str, bits: int | None = None) -> Encoded:
    """Returns fingerprints for the extension module. ``bits`` is the width that is required, if any."""
    array = column(values, name)
    if array.dtype == object and array.ndim == 1 and array.size and isinstance(array[0], (bytes, bytearray)):
        if any(not isinstance(item, (bytes, bytearray)) or len(item) != 16 for item in array):
            raise ValueError(f"{name}: expected 16 bytes for each fingerprint of 128 bits")
        array = from_bytes(array.tolist())
    elif array.dtype == object and array.ndim == 1:
        array = column(list(array), name)
    if array.dtype.kind == "i" and array.dtype.itemsize in (4, 8):
        array = array.view(array.dtype.str.replace("i", "u"))
    shape, dtype = array.shape, array.dtype
    size = dtype.itemsize if dtype.kind == "u" else 0
    if size == 8 and len(shape) == 2 and shape[1] == 2:
        got = 128
    elif size in (4, 8) and len(shape) == 1:
        got = 8 * size
    elif array.size == 0 and len(shape) == 1:
        got = bits or 64
        array = np.empty(0, dtype=np.uint32 if got == 32 else np.uint64)
    else:
        raise TypeError(
            f"{name}: expected uint64 of shape (n,) or (n, 2), or uint32 of shape (n,), not {dtype} of shape {shape}"
        )
    if bits is not None and got != bits:
        if array.size:
            raise ValueError(f"{name}: expected fingerprints of {bits} bits, not of {got}")
        got = bits
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return Encoded(np.ascontiguousarray(little).tobytes(), got, len(array))


def encode_ids(values: object, name: str) -> tuple[bytes | None, list[str] | None]:
    """Returns ids for the extension module: bytes of numbers, or names, or neither."""
    if values is None:
        return None, None
    array = column([values] if isinstance(values, (str, int)) else values, name)
    if array.ndim != 1:
        raise TypeError(f"{name}: expected one dimension, not shape {array.shape}")
    if array.dtype.kind in "OUST":
        items = array.tolist()
        names = [text_id(item, name) for item in items]
        if any(item is None for item in names):
            raise ValueError(f"{name}: an id is missing or empty")
        if not all(isinstance(item, str) for item in items):
            raise TypeError(f"{name}: expected all ids to be str or all to be int")
        return None, [item for item in names if item is not None]
    if array.size == 0:
        return b"", None
    if array.dtype.kind not in "ui":
        raise TypeError(f"{name}: expected str or int, not {array.dtype}")
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise ValueError(f"{name}: an id is negative")
    return np.ascontiguousarray(array.astype("<u8")).tobytes(), None


def decode_ids(data: bytes) -> npt.NDArray[np.uint64]:
    """Returns ids of the extension module as an array of uint64."""
    return np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False)


def decode(data: bytes, bits: int) -> Fingerprints:
    """Returns fingerprints of the extension module as an array: see `Fingerprints`."""
    if bits == 32:
        return np.frombuffer(data, dtype="<u4").astype(np.uint32, copy=False)
    array = decode_ids(data)
    return array.reshape(-1, 2) if bits == 128 else array
