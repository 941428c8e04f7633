"""The arguments of the main job, checked and in the form of the extension module."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Literal

from ._documents import real

Keep = Literal["first", "longest", "shortest", "newest"]


def options(
    *,
    in_files: bool,
    text: str,
    id: str | Sequence[Any] | None,
    keep: Keep,
    sort: str | Sequence[Any] | None,
    threshold: float,
    bits: int | None,
    hamming: int | None,
    verify: bool,
    profile: str,
    pairs: bool | Literal["all", "distinct"],
    empty: Literal["keep", "remove", "reject"],
    against: str | os.PathLike[str] | None,
    name: str,
    threads: int,
    memory: int | str | None,
    work_dir: str | os.PathLike[str] | None,
    seed: int,
) -> dict[str, Any]:
    """The arguments of a run; `in_files` is true if its records are in files.

    Raises:
        ValueError, TypeError: an argument cannot be used; the message begins with its name.
    """
    if keep == "newest" and sort is None:
        raise ValueError("sort: name the column by which the newest record is found, such as sort='time'")
    if sort is not None and keep != "newest":
        raise ValueError(f"sort: has a meaning with keep='newest' only, not with keep={keep!r}")
    threshold = real(threshold, "threshold")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold: {threshold} is not above 0 and at most 1")
    for argument, column in (("id", id), ("sort", sort)):
        if in_files and column is not None and not isinstance(column, str):
            raise TypeError(f"{argument}: name a field of the records; a list has no order of the records in files")
    return {
        "text": text,
        "id": id if isinstance(id, str) else ("id" if in_files else None),
        "sort": sort if isinstance(sort, str) else None,
        "name": name,
        "keep": keep,
        "empty": empty,
        "threshold": threshold,
        "bits": bits,
        "hamming": hamming,
        "verify": verify,
        "profile": profile,
        "pairs": _pairs(pairs),
        "against": against,
        "threads": threads,
        "memory": _bytes(memory),
        "work_dir": work_dir,
        "seed": seed,
    }


def named(error: TypeError) -> TypeError:
    """An error of the conversion of an argument, with the name of the argument."""
    found = re.match(r"failed to extract field Arguments\.(\w+)", str(error))
    return TypeError(f"{found[1]}: {error.__cause__}") if found else error


def _pairs(pairs: bool | str) -> str:
    if isinstance(pairs, str):
        return pairs
    return "all" if pairs else "none"


_UNITS = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
}
_UNITS["ti"] = 2**40


def _bytes(size: float | str | None) -> int | None:
    """Bytes of a size such as "2GiB" or "500 MB"."""
    if size is None or isinstance(size, (int, float)):
        return None if size is None else int(size)
    if not isinstance(size, str):
        raise TypeError(f"memory: expected bytes or a text such as '2GiB', not {type(size).__name__}")
    number = size.strip().rstrip("bB").rstrip()
    unit = number.lstrip("0123456789.").strip().lower()
    digits = number[: len(number) - len(unit)].strip() if unit else number
    try:
        return int(float(digits) * _UNITS[unit])
    except (KeyError, ValueError):
        raise ValueError(f"memory: {size!r} is no size; write bytes, or a number with a unit such as '2GiB'") from None
