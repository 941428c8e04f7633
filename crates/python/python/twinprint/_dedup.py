"""The main job over data in memory and over files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Literal

from . import _data, _twinprint
from ._documents import real
from ._fingerprint import PROFILE
from ._progress import Progress, reporting
from ._result import Result

Keep = Literal["first", "longest", "shortest", "newest"]


def dedup(
    data: Any,
    *,
    text: str = "text",
    id: str | Sequence[Any] | None = None,
    keep: Keep = "first",
    sort: str | Sequence[Any] | None = None,
    threshold: float = 0.8,
    bits: int | None = None,
    hamming: int | None = None,
    verify: bool = True,
    profile: str = PROFILE,
    pairs: bool | Literal["all", "distinct"] = False,
    empty: Literal["keep", "remove", "reject"] = "keep",
    against: str | os.PathLike[str] | None = None,
    name: str = "data",
    threads: int = 0,
    memory: int | str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    progress: bool | Progress | None = None,
    seed: int = 42,
) -> Result:
    """Finds the near-duplicates among the records and keeps one of each group.

    Args:
        data: a list or any iterable of texts or of dicts; a pandas, polars or pyarrow table or column; a dataset of
            Hugging Face; an iterable of Arrow batches or tables; a path (str or Path) of a file, a folder or a glob, or
            a list of Paths. A list of str is always a list of texts. Iterables are read into a list first.
        text: the column of the texts. A dot leads into structs.
        id: the column of the ids; for texts, a list with one id each. Ids name the records in files of results.
        keep: the record of each group that is kept. "newest" needs `sort`.
        sort: the column by which the newest record is found: numbers, times or strings.
        threshold: the least Jaccard of the shingles of two duplicates, above 0 and at most 1.
        bits, hamming: the width of the fingerprints (64 or 128) and the radius of the search. By default both follow
            from the threshold and the data.
        verify: True compares the texts of all candidates. False takes every pair within `hamming` bits (3 by default).
        profile: the features of the fingerprints and their weights.
        pairs: True (or "all") keeps all verified pairs; "distinct" has one record stand for those of equal text.
        empty: what happens to texts without words.
        against: the directory of a collection or an index: duplicates of its documents are removed as well.
        name: the name of the data in files of results; of no use for files.
        threads: the number of threads; 0 means one for each core.
        memory: the limit of the engine's memory, in bytes or as "2GiB".
        work_dir: the directory of temporary files. They are needed beyond 64 MiB of compressed texts.
        progress: True shows a bar; or a function of (stage, done, total, unit).
        seed: the seed of the samples by which the radius is chosen and the recall is measured.

    Returns:
        A `Result`. A record without a text (None, NaN, or not valid Unicode) is rejected and counted.

    Raises:
        ValueError, TypeError, KeyError: an argument cannot be used; the message begins with its name.
        FileNotFoundError, OSError: a file cannot be read.
        MemoryError: the limit of memory is too low.
        KeyboardInterrupt: after Ctrl-C, within a fraction of a second.
        TwinprintError: any other reason.

    Examples:
        >>> import twinprint
        >>> lamp = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."
        >>> result = twinprint.dedup([lamp, "The ferry runs every other hour.", lamp + " Lit in May."])
        >>> len(result.kept), result.removed == [lamp + " Lit in May."]
        (2, True)
        >>> result.leader.tolist()
        [0, 1, 0]
    """
    rows = _data.rows(data, text, id, sort)
    if keep == "newest" and sort is None:
        raise ValueError("sort: name the column by which the newest record is found, such as sort='time'")
    if sort is not None and keep != "newest":
        raise ValueError(f"sort: has a meaning with keep='newest' only, not with keep={keep!r}")
    threshold = real(threshold, "threshold")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold: {threshold} is not above 0 and at most 1")
    in_files = isinstance(rows.source, _data.Paths)
    for argument, column in (("id", id), ("sort", sort)):
        if in_files and column is not None and not isinstance(column, str):
            raise TypeError(f"{argument}: name a field of the records; a list has no order of the records in files")
    arguments = {
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
    with reporting(progress) as report:
        try:
            found = _twinprint.dedup(rows.source, arguments, report)
        except TypeError as error:
            raise _named(error) from error.__cause__
    return Result._of(found, rows.read(), arguments)


deduplicate = dedup


def _named(error: TypeError) -> TypeError:
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
