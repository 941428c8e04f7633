"""The main job over data in memory and over files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from . import _data, _twinprint
from ._arguments import Keep, named, options
from ._fingerprint import PROFILE
from ._progress import Progress, reporting
from ._result import Result


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
        work_dir: the directory of temporary files. They are needed beyond 64 MiB of texts.
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
    arguments = options(
        in_files=isinstance(rows.source, _data.Paths),
        text=text,
        id=id,
        keep=keep,
        sort=sort,
        threshold=threshold,
        bits=bits,
        hamming=hamming,
        verify=verify,
        profile=profile,
        pairs=pairs,
        empty=empty,
        against=against,
        name=name,
        threads=threads,
        memory=memory,
        work_dir=work_dir,
        seed=seed,
    )
    with reporting(progress) as report:
        try:
            found = _twinprint.dedup(rows.source, arguments, report)
        except TypeError as error:
            raise named(error) from error.__cause__
    return Result._of(found, rows.read(), arguments)


deduplicate = dedup
