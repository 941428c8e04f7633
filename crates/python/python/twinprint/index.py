"""Indexes of fingerprints on disk: everything within a Hamming distance, exactly."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _twinprint
from ._documents import choice, natural
from ._fingerprints import Fingerprints, decode, decode_ids, encode, encode_ids
from ._progress import Progress, reporting

__all__ = ["Index", "Matches", "Pairs"]

#: Memory of a build or a join, in bytes. Data that does not fit is kept on disk.
_MEMORY = 4 << 30


class Matches(NamedTuple):
    """The matches of queries, ordered by query, distance and id: three arrays of one length."""

    #: Position of the query, int64.
    query: npt.NDArray[np.int64]
    #: Id of the stored fingerprint: uint64, or str as objects if the ids of the index are str.
    id: npt.NDArray[Any]
    #: Number of differing bits, uint8.
    hamming: npt.NDArray[np.uint8]


class Pairs(NamedTuple):
    """The pairs of a join: three arrays of one length."""

    #: The two ids: uint64, or str as objects if the ids of the index are str.
    a: npt.NDArray[Any]
    b: npt.NDArray[Any]
    #: Number of differing bits, uint8.
    hamming: npt.NDArray[np.uint8]


def _reopen(path: str) -> Index:
    return Index(path)


class Index:
    """An index of fingerprints of 32, 64 or 128 bits, without their documents.

    ``Index(path)`` opens an index, and `build` makes one. Searches are exact. All methods can be called from several
    threads, and let other threads of Python run. An index reads the last commit: any number of processes can have it
    open, and one at a time can change it. It is pickled as its path, and opened again when it is unpickled.

    Args:
        path: the directory of the index.

    Examples:
        >>> import tempfile, numpy as np, twinprint
        >>> directory = tempfile.TemporaryDirectory()
        >>> fingerprints = np.array([0b0000, 0xFFFF, 0b0001], dtype=np.uint64)
        >>> index = twinprint.Index.build(directory.name + "/index", fingerprints, k=3)
        >>> matches = index.query([0b0101])
        >>> matches.id.tolist(), matches.hamming.tolist()
        ([2, 0], [1, 2])
        >>> pairs = index.join()
        >>> list(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.hamming.tolist()))
        [(0, 2, 1)]
        >>> index.close(); directory.cleanup()
    """

    __slots__ = ("_handle", "_path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(path)
        self._handle = _twinprint.Index.open(self._path)

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        fingerprints: object,
        ids: object = None,
        *,
        k: int = 3,
        codec: Literal["packed", "elias-fano", "huffman"] = "packed",
        profile: str | None = None,
        memory: int = _MEMORY,
        progress: bool | Progress | None = None,
    ) -> Index:
        """Makes an index of fingerprints in a new directory, and opens it.

        Args:
            path: the directory of the index.
            fingerprints: an array of uint64 of shape (n,) for 64 bits, or (n, 2) for 128 bits with the low half
                first; an array of uint32 for 32 bits; or a column of pyarrow, polars or pandas, also of 16 bytes (most
                significant first) for
                128 bits. Signed numbers are read as unsigned ones with the same bits.
            ids: distinct ids, all int (below 2**64 - 1) or all str. The default are the positions.
            k: largest Hamming distance of most queries, in bits, for which the index is optimised.
            codec: storage format of the fingerprints.
            profile: id of the profile that made the fingerprints, which is stored with them.
            memory: approximate memory in bytes. Data that does not fit is kept on disk.
            progress: True shows a line on the terminal; a function is called as ``progress(stage, done, total, unit)``.

        Raises:
            FileExistsError: if the directory has an index.
            ValueError: if an id occurs twice, or an argument is not allowed.
        """
        rows = encode(fingerprints, "fingerprints")
        numbers, names = encode_ids(ids, "ids")
        where = os.path.abspath(path)
        with reporting(progress) as report:
            _twinprint.Index.build(
                where,
                rows.data,
                rows.bits,
                numbers,
                names,
                natural(k, "k", 2**32 - 1),
                choice(codec, "codec", ("packed", "elias-fano", "huffman")),
                profile,
                natural(memory, "memory"),
                report,
            )
        return cls(where)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Index:
        """Opens an index, as ``Index(path)`` does. Raises FileNotFoundError if there is none."""
        return cls(path)

    @property
    def path(self) -> str:
        """The directory of the index, as an absolute path."""
        return self._path

    @property
    def bits(self) -> int:
        """Width of the fingerprints in bits."""
        return self._handle.bits()

    @property
    def k(self) -> int:
        """The Hamming distance that the index was built for."""
        return self._handle.radius()

    @property
    def profile(self) -> str | None:
        """The id of the profile that made the fingerprints, if it was given."""
        return self._handle.profile()

    @property
    def has_names(self) -> bool:
        """True if the ids are str, False if they are int."""
        return self._handle.has_names()

    def __len__(self) -> int:
        """Returns the number of ids that are not deleted. O(n) if some are."""
        return self._handle.len()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Index({self._path!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._path,)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the index. Calls that are running continue."""
        self._handle.close()

    def refresh(self) -> None:
        """Reads the last commit, which another process may have made."""
        self._handle.refresh()

    def query(self, fingerprints: object, k: int | None = None, *, progress: bool | Progress | None = None) -> Matches:
        """Returns all stored fingerprints within ``k`` of each query.

        Args:
            fingerprints: queries, as for `build`.
            k: largest Hamming distance in bits. The default is that of the index; a larger one compares more
                fingerprints.

        Returns:
            Arrays of queries (positions), ids and distances, of one length.
        """
        rows = encode(fingerprints, "fingerprints", self.bits)
        radius = self.k if k is None else natural(k, "k", 2**32 - 1)
        with reporting(progress) as report:
            query, ids, hamming = self._handle.query(rows.data, radius, report)
        return Matches(decode_ids(query).astype(np.int64), self._ids(ids), np.frombuffer(hamming, dtype=np.uint8))

    def join(
        self,
        k: int | None = None,
        other: Index | None = None,
        *,
        max_rows: int = 100_000_000,
        memory: int = _MEMORY,
        work_dir: str | os.PathLike[str] | None = None,
        progress: bool | Progress | None = None,
    ) -> Pairs:
        """Returns all pairs of ids whose fingerprints are within ``k``.

        Args:
            k: largest Hamming distance in bits. The default is that of the index.
            other: another index, whose ids are in ``b``. Without it, the pairs within this index are found, each
                once, with the smaller id in ``a``.
            max_rows: largest number of pairs; more are an error.
            memory: approximate memory in bytes, in addition to the result.
            work_dir: directory of temporary files. The default is that of the system.

        Returns:
            Arrays of ids and distances, of one length, ordered by fingerprint.
        """
        if other is not None and not isinstance(other, Index):
            raise TypeError(f"other: expected an Index, not {type(other).__name__}")
        with reporting(progress) as report:
            a, b, hamming = self._handle.join(
                None if other is None else other._handle,
                self.k if k is None else natural(k, "k", 2**32 - 1),
                natural(max_rows, "max_rows"),
                natural(memory, "memory"),
                None if work_dir is None else os.path.abspath(work_dir),
                report,
            )
        return Pairs(self._ids(a), (other or self)._ids(b), np.frombuffer(hamming, dtype=np.uint8))

    def _ids(self, data: bytes) -> npt.NDArray[Any]:
        if not self.has_names:
            return decode_ids(data)
        return np.array(self._handle.names(data), dtype=object)

    def add(
        self,
        fingerprints: object,
        ids: object = None,
        *,
        memory: int = _MEMORY,
        progress: bool | Progress | None = None,
    ) -> npt.NDArray[Any]:
        """Adds fingerprints: all of them, or none after an error. Returns their ids.

        Each call writes a file, so add many fingerprints at a time. An id of the index gets its new fingerprint.

        Args:
            fingerprints, ids: as for `build`. The default ids continue after the last.
        """
        rows = encode(fingerprints, "fingerprints", self.bits)
        numbers, names = encode_ids(ids, "ids")
        with reporting(progress) as report:
            added = self._handle.add(rows.data, numbers, names, natural(memory, "memory"), report)
        return self._ids(added)

    def delete(self, ids: object) -> int:
        """Deletes one id or several, and returns the number that were stored."""
        numbers, names = encode_ids(ids, "ids")
        return self._handle.delete(numbers, names)

    def compact(self) -> None:
        """Merges the files of the index into one, which is faster to search, without the deleted ids."""
        self._handle.compact()

    def stats(self) -> dict[str, Any]:
        """Returns figures of the index: ids, bits, radius, codec, profile, segments, bytes on disk and others."""
        result: dict[str, Any] = json.loads(self._handle.stats())
        return result

    def check(self) -> dict[str, int]:
        """Reads and verifies every byte of the index. Raises TwinprintError for the first damage."""
        segments, ids = self._handle.check()
        return {"segments": segments, "ids": ids}

    def to_numpy(self) -> tuple[npt.NDArray[Any], Fingerprints]:
        """Returns all ids and their fingerprints, ascending by id, or in the order of addition if ids are str."""
        ids, fingerprints = self._handle.rows()
        return self._ids(ids), decode(fingerprints, self.bits)
