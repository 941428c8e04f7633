"""The result of a deduplication."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _data, _twinprint
from ._compare import Comparison, compare

KEPT, REMOVED, KNOWN, EMPTY, REJECTED = range(5)

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class NoPairsError(ValueError):
    """The result has no pairs, so decisions cannot be made again. Run `dedup` with `pairs=True`."""


class Rejected(NamedTuple):
    """A record that is no document."""

    position: int
    """The position of the record in the data."""
    source: str
    """The name of the data, or of the file."""
    line: int
    """The number of the record in its source, from 1."""
    reason: str


class Match(NamedTuple):
    """A removed record and the kept record that stands for it."""

    removed: int
    kept: int
    jaccard: float
    hamming: int
    removed_text: str | None
    """None if the data is in files."""
    kept_text: str | None


@dataclass(frozen=True)
class Pairs:
    """The pairs of duplicates: columns of equal length."""

    a: Integers
    """The position of the earlier record."""
    b: Integers
    """The position of the later record."""
    hamming: Integers
    """The distance of the fingerprints, in bits."""
    jaccard: Reals
    """Shingles that both texts have, over shingles that at least one has."""
    containment: Reals
    """Shingles that both texts have, over the shingles of the smaller text."""

    def __len__(self) -> int:
        return len(self.a)


class Radius(NamedTuple):
    """The search of the candidates."""

    bits: int
    k: int
    reason: str


class Report(dict[str, Any]):
    """The report of a run: its figures as a dict, and its page in a notebook."""

    def __init__(
        self, figures: dict[str, Any], html: str | Callable[[], str], markdown: str | Callable[[], str]
    ) -> None:
        super().__init__(figures)
        # The pages are rendered when somebody looks at them.
        self._pages = {"html": html, "markdown": markdown}

    @property
    def html(self) -> str:
        """The report as a page of HTML, which needs no other file."""
        return self._page("html")

    @property
    def markdown(self) -> str:
        """The report as Markdown."""
        return self._page("markdown")

    def _page(self, name: str) -> str:
        page = self._pages[name]
        if not isinstance(page, str):
            page = self._pages[name] = page()
        return page

    def _repr_html_(self) -> str:
        # A frame keeps the styles of the page from those of the notebook.
        page = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0"></iframe>'

    def __str__(self) -> str:
        return self.markdown

    def __reduce__(self) -> tuple[Any, ...]:
        return Report, (dict(self), self.html, self.markdown)


def _read(column: bytes | bytearray, kind: str) -> npt.NDArray[Any]:
    return np.frombuffer(column, dtype=kind)


class Result:
    """The decisions on all records. Positions count the records of the data from 0, rejected ones included.

    Attributes:
        leader: int64 of shape (n,): the position of the record that leads the group of each record. A kept record leads
            its own group. -1 for a rejected record.
        jaccard: float64 of shape (n,): the Jaccard with the leader, or with the known document; 1 for kept records; NaN
            if it was not verified.
        hamming: int64 of shape (n,): the distance to the same document, in bits; -1 for a rejected record.
        fingerprints: uint64 of shape (n,), or (n, 2) (low half, high half) for 128 bits; 0 for a rejected record.
        threshold: the threshold of the decisions.
        rejected: the rejected records, with the reasons.
        known: for each record that duplicates a document of `against`, its position and the id of that document.
    """

    leader: Integers
    jaccard: Reals
    hamming: Integers
    fingerprints: npt.NDArray[np.uint64]
    threshold: float
    rejected: list[Rejected]
    known: dict[int, str]

    @classmethod
    def _of(cls, found: _twinprint.Deduplicated, rows: _data.Rows, arguments: dict[str, Any]) -> Result:
        """Makes the result of a call."""
        result = cls()
        columns = found.columns()
        result._found = found
        result._rows = rows
        result._fate = _read(columns["fate"], "u1")
        result._rank = _read(columns["rank"], "<i8")
        result._first = _read(columns["first"], "<i8")
        result.leader = _read(columns["leader"], "<i8")
        result.jaccard = _read(columns["jaccard"], "<f8")
        result.hamming = _read(columns["hamming"], "<i4").astype(np.int64)
        result.threshold = arguments["threshold"]
        result._verified = arguments["verify"]
        result._profile = arguments["profile"]
        rejected = np.flatnonzero(result._fate == REJECTED)
        places = zip(rejected.tolist(), found.rejected(), strict=True)
        result.rejected = [Rejected(at, *place) for at, place in places]
        result.known = dict(columns["known"])
        result._report = Report(json.loads(found.report()), found.html, found.markdown)
        result._pairs = None
        if arguments["pairs"] != "none":
            a, b, hamming, jaccard, containment = found.pairs()
            result._pairs = Pairs(
                _read(a, "<i8"),
                _read(b, "<i8"),
                _read(hamming, "<u4").astype(np.int64),
                _read(jaccard, "<f8"),
                _read(containment, "<f8"),
            )
        fingerprints = _read(columns["fingerprint"], "<u8").reshape(-1, 2)
        wide = result.radius.bits == 128
        result.fingerprints = fingerprints if wide else np.ascontiguousarray(fingerprints[:, 0])
        return result

    _found: _twinprint.Deduplicated | None
    _rows: _data.Rows
    _fate: npt.NDArray[np.uint8]
    _rank: Integers
    _first: Integers
    _verified: bool
    _profile: str
    _report: Report
    _pairs: Pairs | None

    def __len__(self) -> int:
        """The number of records."""
        return len(self.leader)

    def __repr__(self) -> str:
        return (
            f"<twinprint.Result: {len(self)} records, {len(self.kept_index)} kept, {len(self.removed_index)} removed, "
            f"{len(self.rejected)} rejected>"
        )

    def _repr_html_(self) -> str:
        return self._report._repr_html_()

    def __getstate__(self) -> dict[str, Any]:
        # The engine's tables stay behind; they serve only `save`. Files have no rows in memory, so their ids are read.
        if self._found is not None and self._rows.take is None:
            _ = self.ids
        return {**self.__dict__, "_found": None}

    @cached_property
    def kept_index(self) -> Integers:
        """The positions of the kept records, ascending."""
        return np.flatnonzero(self._fate == KEPT)

    @cached_property
    def removed_index(self) -> Integers:
        """The positions of the removed records, ascending."""
        return np.flatnonzero((self._fate != KEPT) & (self._fate != REJECTED))

    @cached_property
    def rejected_index(self) -> Integers:
        """The positions of the rejected records, ascending. They are in neither `kept` nor `removed`."""
        return np.flatnonzero(self._fate == REJECTED)

    @property
    def kept_mask(self) -> npt.NDArray[np.bool_]:
        """bool of shape (n,): True for the kept records."""
        return np.asarray(self._fate == KEPT)

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """bool of shape (n,): True for the removed records whose text equals that of their leader, but for case, spaces
        and punctuation."""
        leader = np.where(self.leader < 0, 0, self.leader)
        return np.asarray((self._fate == REMOVED) & (self._first == self._first[leader]))

    @property
    def kept(self) -> Any:
        """The kept records in the type of the data; for files, their ids."""
        return self._take(self.kept_index)

    @property
    def removed(self) -> Any:
        """The removed records in the type of the data; for files, their ids."""
        return self._take(self.removed_index)

    def _take(self, at: Integers) -> Any:
        if self._rows.take is not None:
            return self._rows.take(self._rows.data, at)
        ids = self.ids
        return [ids[i] for i in at]

    @cached_property
    def ids(self) -> list[str | None]:
        """The ids of the records as text: the given id, or the name of the source and the number of the record. None
        for a rejected record."""
        if self._found is None:
            raise ValueError("ids: a result that was pickled has no ids; ask for them before")
        ids: list[str | None] = self._found.ids()
        return ids

    @cached_property
    def clusters(self) -> dict[int, list[int]]:
        """The groups of more than one record: the position of the leader, and the positions of all members."""
        members: dict[int, list[int]] = {}
        sizes = np.bincount(self.leader[self.leader >= 0], minlength=len(self))
        grouped = np.flatnonzero((self.leader >= 0) & (sizes[np.maximum(self.leader, 0)] > 1))
        for record, leader in zip(grouped.tolist(), self.leader[grouped].tolist(), strict=True):
            members.setdefault(leader, []).append(record)
        return dict(sorted(members.items()))

    @property
    def pairs(self) -> Pairs:
        """The verified pairs.

        Raises:
            NoPairsError: `dedup` was not asked for pairs.
        """
        if self._pairs is None:
            raise NoPairsError("the result has no pairs; run dedup with pairs=True")
        return self._pairs

    @property
    def duplicate_ratio(self) -> float:
        """The removed records over the documents."""
        documents = len(self) - len(self.rejected)
        return len(self.removed_index) / documents if documents else 0.0

    @property
    def exact_duplicate_ratio(self) -> float:
        """The removed records whose text equals that of their leader over the documents."""
        documents = len(self) - len(self.rejected)
        return int(self.exact.sum()) / documents if documents else 0.0

    @property
    def radius(self) -> Radius:
        """The width and the radius of the search, and the reason for them."""
        radius = self._report["radius"]
        return Radius(radius["bits"], radius["k"], radius["reason"])

    @property
    def recall(self) -> dict[str, Any] | None:
        """The measured recall of the search with its interval. None without verification."""
        recall: dict[str, Any] | None = self._report.get("recall")
        return recall

    def report(self) -> Report:
        """The report: figures as a dict, `html`, `markdown`; a page in a notebook."""
        return self._report

    def rethreshold(self, threshold: float) -> Result:
        """Decides again at a higher threshold, from the pairs. The result is that of `dedup` at this threshold, if the
        search found all pairs.

        Args:
            threshold: at least the threshold of this result, and at most 1.

        Returns:
            A new result, with the same data. It has no files to save.

        Raises:
            NoPairsError: `dedup` was not asked for pairs.
            ValueError: the threshold is lower, nothing was verified, or the run had `against`.
        """
        pairs = self.pairs
        if not self._verified:
            raise ValueError("threshold: the run did not verify, so it has no Jaccards")
        if self.known:
            raise ValueError("threshold: decisions against known documents cannot be made again; run dedup again")
        if not self.threshold <= threshold <= 1:
            raise ValueError(
                f"threshold: {threshold} is not between {self.threshold} and 1; run dedup again for a lower threshold"
            )
        columns = _twinprint.rethreshold(_Decided(self._rank, self._first, pairs), threshold)
        result = Result()
        result.__dict__.update(self.__getstate__())
        for name in ("kept_index", "removed_index", "clusters"):
            result.__dict__.pop(name, None)
        result.threshold = threshold
        result.leader = _read(columns[0], "<i8")
        result.hamming = _read(columns[1], "<u4").astype(np.int64)
        result.jaccard = _read(columns[2], "<f8").copy()
        documents = self._fate != REJECTED
        result.hamming[~documents] = -1
        result.jaccard[~documents] = np.nan
        result._fate = self._fate.copy()
        decided = (self._fate == KEPT) | (self._fate == REMOVED)
        leads = result.leader == np.arange(len(self))
        result._fate[decided] = np.where(leads[decided], KEPT, REMOVED)
        chosen = pairs.jaccard >= threshold
        result._pairs = Pairs(
            pairs.a[chosen],
            pairs.b[chosen],
            pairs.hamming[chosen],
            pairs.jaccard[chosen],
            pairs.containment[chosen],
        )
        return result

    def least_similar(self, n: int = 10) -> list[Match]:
        """The removed records that are the least similar to the kept record that stands for them, the least first.

        Examples:
            >>> import twinprint
            >>> lamp = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."
            >>> match = twinprint.dedup([lamp, lamp, lamp + " Lit in May."]).least_similar(1)[0]
            >>> match.removed, match.kept, round(match.jaccard, 2)
            (2, 0, 0.84)
        """
        if n < 0:
            raise ValueError(f"n: {n} is negative")
        removed = np.flatnonzero(self._fate == REMOVED)
        order = np.lexsort((removed, -self.hamming[removed], self.jaccard[removed]))
        return [self._match(int(at)) for at in removed[order[:n]]]

    def _match(self, at: int) -> Match:
        leader = int(self.leader[at])
        return Match(
            at,
            leader,
            float(self.jaccard[at]),
            int(self.hamming[at]),
            self._rows.text(at),
            self._rows.text(leader),
        )

    def explain(self, a: int, b: int | None = None) -> Comparison:
        """Compares the texts of two records: similarities, distance, and the features and bits that differ.

        Args:
            a, b: positions of records. Without `b`, the record that leads the group of `a`.

        Raises:
            IndexError: there is no such record.
            ValueError: a record has no text in memory: it was rejected, or the data is in files.

        Examples:
            >>> import twinprint
            >>> lamp = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."
            >>> explained = twinprint.dedup([lamp, lamp + " Lit in May."]).explain(1)
            >>> round(explained.jaccard, 2), explained.bits
            (0.84, 128)
        """
        if not 0 <= a < len(self):
            raise IndexError(f"a: no record {a} among {len(self)}")
        if b is None:
            b = max(int(self.leader[a]), 0)
        elif not 0 <= b < len(self):
            raise IndexError(f"b: no record {b} among {len(self)}")
        texts = []
        for name, at in (("a", a), ("b", b)):
            text = self._rows.text(at)
            if text is None:
                raise ValueError(f"{name}: the text of record {at} is not in memory")
            texts.append(text)
        return compare(texts[0], texts[1], profile=self._profile, bits=self.radius.bits, explain=True)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes the files that the command `twinprint dedup` writes: clusters.jsonl and clusters.parquet, pairs.jsonl,
        rejects.jsonl, report.html, report.md, report.json and config.toml. If the records come from files, they are
        copied to `kept/` and `removed/`. Records in memory are not written: they are the attributes `kept` and
        `removed`.

        Args:
            directory: new or empty.

        Raises:
            ValueError: the result was pickled or decided again, so the engine's tables are gone.
            TwinprintError: the directory has files.
        """
        if self._found is None:
            raise ValueError(
                "save: only the result of dedup itself can be saved, not one that was pickled or decided again"
            )
        self._found.save(directory)

    def to_pandas(self) -> Any:
        """A pandas frame with a row for each record: fate, leader, jaccard, hamming, cluster_size.

        It has the index of the data, if that is of pandas.
        """
        import pandas

        names = np.array(["kept", "removed", "known", "empty", "rejected"])
        sizes = np.bincount(self.leader[self.leader >= 0], minlength=len(self))
        size = np.where(self.leader >= 0, sizes[np.maximum(self.leader, 0)], 0)
        return pandas.DataFrame(
            {
                "fate": names[self._fate],
                "leader": self.leader,
                "jaccard": self.jaccard,
                "hamming": self.hamming,
                "cluster_size": size,
            },
            index=getattr(self._rows.data, "index", None) if _data.is_pandas(self._rows.data) else None,
        )


class _Decided:
    """The columns of a result as the extension module reads them."""

    def __init__(self, rank: Integers, first: Integers, pairs: Pairs) -> None:
        self.rank = rank.tobytes()
        self.first = first.tobytes()
        self.a = pairs.a.tobytes()
        self.b = pairs.b.tobytes()
        self.hamming = pairs.hamming.astype("<u4").tobytes()
        self.jaccard = pairs.jaccard.tobytes()
        self.containment = pairs.containment.tobytes()
