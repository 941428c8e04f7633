"""Clusters of a stream: duplicate groups, and stories with topics."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _documents as d
from . import _twinprint
from ._answers import Story, story_of

__all__ = ["Assignments", "ClusterGroup", "Clusterer", "Clusters", "Thresholds", "cluster"]

#: A later time of a document is ignored: it would end every story.
_FUTURE_SECONDS = 86_400
_BATCH_DOCUMENTS = 1000

_Row = tuple[str, str, str | None, str | None, int | None, float | None]


class Assignments(NamedTuple):
    """The places of documents in a stream: arrays of one length, one entry for each document, in order.

    A document without a text is rejected: its numbers are -1, and its similarities NaN.
    """

    #: Number of the document in the stream, from 0: int64.
    document: npt.NDArray[np.int64]
    #: Group and story of the document: int64. They can merge into others later, see `Clusterer.resolve`.
    group: npt.NDArray[np.int64]
    story: npt.NDArray[np.int64]
    #: Number of the document that this one was verified against; its own number if it founded the group: int64.
    leader: npt.NDArray[np.int64]
    #: Exact Jaccard and containment of the document and its leader, from 0 to 1: float64.
    jaccard: npt.NDArray[np.float64]
    containment: npt.NDArray[np.float64]

    @property
    def is_new(self) -> npt.NDArray[np.bool_]:
        """True for each document that is not a duplicate of an earlier one."""
        is_new: npt.NDArray[np.bool_] = (self.leader == self.document) & (self.document >= 0)
        return is_new


@dataclass(frozen=True)
class ClusterGroup:
    """A duplicate group of a stream."""

    group_id: int
    size: int
    story_id: int
    #: The ids of the canonical documents: one, or one for each site.
    canonical: tuple[str, ...]
    #: The times of the first and the last document, such as "2024-05-01T12:00:00Z".
    first: str | None = None
    last: str | None = None
    #: The numbers of the groups that were merged into this one.
    merged: tuple[int, ...] = ()


class Thresholds(NamedTuple):
    """The cosines at which stories form."""

    #: Minimum cosine of a document and the centre of the story that it joins.
    join: float
    #: Minimum cosine of the centres of two stories that merge; None if stories never merge.
    merge: float | None
    #: Number of documents that the cosines were estimated from; None if they are given or provisional.
    estimated_from: int | None


@dataclass(frozen=True)
class Clusters:
    """The clusters of all documents of a call."""

    #: The ids of the documents, in order.
    ids: tuple[str, ...]
    #: The places of the documents, with the final numbers of groups and stories.
    assignments: Assignments
    #: The groups and stories of at least two documents: those that ended, then the live ones.
    groups: tuple[ClusterGroup, ...]
    stories: tuple[Story, ...]
    thresholds: Thresholds


def _group(value: Mapping[str, Any]) -> ClusterGroup:
    return ClusterGroup(
        value["group_id"],
        value["size"],
        value["story_id"],
        tuple(value["canonical"]),
        value["first"],
        value["last"],
        tuple(value["merged"]),
    )


def _seconds(value: object, name: str) -> int | None:
    """Returns a time in seconds since 1970. A text that is not a time, and the far future, count as no time."""
    text = d.text_time(value, name)
    if text is None:
        return None
    try:
        seconds = _twinprint.parse_time(name, text)
    except ValueError:
        return None
    return seconds if seconds <= time.time() + _FUTURE_SECONDS else None


def _row(document: d.Document, keys: d.Keys, position: int, number: int) -> _Row | None:
    if isinstance(document, str):
        return str(number), document, None, None, None, None
    where = f" of document {position}"
    get = document.get
    text = d.string(get(keys.text), keys.text + where)
    if text is None:
        return None
    id_key = "doc_id" if keys.id == "id" and "id" not in document else keys.id
    score = get("score")
    return (
        d.text_id(get(id_key), id_key + where) or str(number),
        text,
        d.string(get("title"), "title" + where),
        d.string(get("url"), "url" + where),
        _seconds(get("time"), "time" + where),
        None if d.is_missing(score) else d.real(score, "score" + where),
    )


def _restore(state: bytes, options: dict[str, Any]) -> Clusterer:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "state")
        with open(path, "wb") as file:
            file.write(state)
        clusterer = Clusterer.__new__(Clusterer)
        clusterer._options = options
        clusterer._stream = _twinprint.Stream.load(path, options)
        return clusterer


class Clusterer:
    """A stream of documents: each document is placed at once in a duplicate group and a story.

    A group is tight: every member was verified on the text against a leader of the group. A story is loose: documents
    about one event or subject, by words and time. Groups and stories depend on the order of the documents only. Memory
    is bounded by the live groups and stories. All methods can be called from several threads, one at a time works. A
    forked process cannot use the clusterer of its parent.

    Args:
        profile: the profile of the fingerprints, of 128 bits.
        threshold: minimum Jaccard of a duplicate and its leader: above 0 and at most 1.
        hamming: largest Hamming distance, of 128 bits, at which texts are compared: at most 24.
        canonical: rules that choose the canonical document of a group: score, first, last, longest, https,
            url-length. A later rule decides if all earlier ones tie.
        canonical_scope: number of canonical documents of a group: one, one for each host, or one for each registered
            domain.
        group_window: time without new documents after which a group ends: seconds, a timedelta, or a text such as
            "30d".
        story_threshold, story_merge: minimum cosines at which a document joins a story and two stories merge; 1
            disables merging. They are estimated from the documents if they are None.
        window, half_life: time without new documents after which a story ends, and time after which the weight of a
            document is halved, as for ``group_window``.
        equal_bits: join the story whose first document has the same first bits of the fingerprint (8 to 24), instead
            of the story with the nearest centre.
        live: largest number of live groups, and of live stories.

    Examples:
        >>> import twinprint
        >>> clusterer = twinprint.Clusterer()
        >>> placed = clusterer.feed([
        ...     {"id": "a", "text": "Cocoa prices rose in London after rain delayed the harvest in Ghana."},
        ...     {"id": "b", "text": "Cocoa prices rose in London, after rain delayed the harvest in Ghana!"},
        ...     {"id": "c", "text": "The city council voted to build a bridge over the river."},
        ... ])
        >>> placed.group.tolist(), placed.is_new.tolist()
        ([0, 0, 2], [True, False, True])
        >>> [(group.group_id, group.size, group.canonical) for group in clusterer.groups()]
        [(0, 2, ('a',))]
    """

    __slots__ = ("_options", "_stream")

    def __init__(
        self,
        *,
        profile: str = "tp1-words-lntf",
        threshold: float = 0.8,
        hamming: int = 20,
        canonical: Iterable[str] = ("first",),
        canonical_scope: Literal["none", "host", "domain"] = "none",
        group_window: object = None,
        story_threshold: float | None = None,
        story_merge: float | None = None,
        window: object = None,
        half_life: object = None,
        equal_bits: int | None = None,
        live: int = 1_000_000,
    ) -> None:
        self._options = _options(
            profile=profile,
            threshold=threshold,
            hamming=hamming,
            canonical=canonical,
            canonical_scope=canonical_scope,
            group_window=group_window,
            story_threshold=story_threshold,
            story_merge=story_merge,
            window=window,
            half_life=half_life,
            equal_bits=equal_bits,
            live=live,
        )
        self._stream = _twinprint.Stream.create(self._options)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Clusterer:
        """Continues from a file that `save` or ``twinprint cluster --state`` wrote, with the same options.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the options are not those that the stream began with.
        """
        self = cls.__new__(cls)
        self._options = _options(**{**_DEFAULTS, **options})
        self._stream = _twinprint.Stream.load(os.path.abspath(path), self._options)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state to a file, which is replaced as a whole."""
        self._stream.save(os.path.abspath(path))

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "state")
            self._stream.save(path)
            with open(path, "rb") as file:
                return _restore, (file.read(), self._options)

    def __len__(self) -> int:
        """Returns the number of documents placed so far."""
        return self._stream.documents()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Clusterer of {len(self)} documents>"

    def count_ahead(self, documents: object, *, text: str = "text") -> None:
        """Counts the words of documents that will be placed later, so that they contribute to the weights of words.

        The weights of the first documents are better if some thousand documents are counted before the first one is
        placed, as `cluster` does.
        """
        keys = d.Keys(text=text)
        rows = (row for row, _ in _rows(documents, keys, 0) if row is not None)
        for batch in _batches(rows):
            self._stream.count_ahead(batch)

    def feed(self, documents: object, *, id: str = "id", text: str = "text") -> Assignments:
        """Places documents in order, and returns the group and the story of each.

        Args:
            documents: as for `Collection.add`: a list, an iterator, or a table. A document is its text, or a
                dictionary with ``text`` and optionally ``id``, ``title``, ``url``, ``time`` and ``score``. A time
                that cannot be read, or is more than a day in the future, counts as none.
            id, text: the keys of id and text.

        Note:
            After an exception, some of the documents have been placed: compare ``len``.
        """
        rows = _rows(documents, d.Keys(id, text), len(self))
        placed, _ = _feed(self._stream, rows)
        return placed

    def resolve(self, assignments: Assignments) -> Assignments:
        """Returns assignments with the present numbers of groups and stories that have merged since."""
        group = _resolved(assignments.group, self._stream.resolve_groups)
        story = _resolved(assignments.story, self._stream.resolve_stories)
        return assignments._replace(group=group, story=story)

    def groups(self, min_size: int = 2) -> list[ClusterGroup]:
        """Returns the live groups of at least ``min_size`` documents, the oldest first."""
        groups = json.loads(self._stream.groups(d.natural(min_size, "min_size")))
        return [_group(group) for group in groups]

    def stories(self, min_size: int = 2) -> list[Story]:
        """Returns the live stories of at least ``min_size`` documents, the oldest first."""
        stories = json.loads(self._stream.stories(d.natural(min_size, "min_size")))
        return [story_of(story, None) for story in stories]

    def take_ended(self) -> tuple[list[ClusterGroup], list[Story]]:
        """Returns the groups and stories that ended since the last call. No document joins them any more."""
        groups, stories = self._stream.take_ended()
        return (
            [_group(group) for group in json.loads(groups)],
            [story_of(story, None) for story in json.loads(stories)],
        )

    @property
    def thresholds(self) -> Thresholds:
        """The cosines at which stories form now."""
        return Thresholds(*self._stream.thresholds())


_DEFAULTS: dict[str, Any] = {
    "profile": "tp1-words-lntf",
    "threshold": 0.8,
    "hamming": 20,
    "canonical": ("first",),
    "canonical_scope": "none",
    "group_window": None,
    "story_threshold": None,
    "story_merge": None,
    "window": None,
    "half_life": None,
    "equal_bits": None,
    "live": 1_000_000,
}


def _options(**options: Any) -> dict[str, Any]:
    """Returns options as the extension module takes them."""
    unknown = options.keys() - _DEFAULTS.keys()
    if unknown:
        raise TypeError(f"{min(unknown)}: there is no such option")
    if isinstance(options["canonical"], str):
        options["canonical"] = (options["canonical"],)
    for name in ("threshold", "story_threshold", "story_merge"):
        if options[name] is not None:
            options[name] = d.real(options[name], name)
    options["canonical"] = [d.string(rule, "canonical") or "" for rule in options["canonical"]]
    d.choice(options["canonical_scope"], "canonical_scope", ("none", "host", "domain"))
    for name in ("group_window", "window", "half_life"):
        options[name] = d.span(options[name], name)
    options["hamming"] = d.natural(options["hamming"], "hamming", 24)
    if options["equal_bits"] is not None:
        options["equal_bits"] = d.natural(options["equal_bits"], "equal_bits", 24)
    options["live"] = d.natural(options["live"], "live", 2**31 - 1)
    if options["live"] == 0:
        raise ValueError("live: 0 is not allowed; give at least 1")
    return options


def _rows(documents: object, keys: d.Keys, first: int) -> Iterator[tuple[_Row | None, str]]:
    """Returns documents as the extension module takes them, with their ids. ``first`` is the number of the first."""
    wanted = (keys.id, keys.text, *d.DETAILS)
    number = first
    for position, document in enumerate(d.rows(documents, "documents", wanted, keys.content())):
        row = _row(document, keys, position, number)
        if row is None:
            id_ = document.get(keys.id) if isinstance(document, Mapping) else None
            yield None, "" if d.is_missing(id_) else str(id_)
        else:
            number += 1
            yield row, row[0]


def _batches(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    batch: list[_Row] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += len(row[1])
        if len(batch) == _BATCH_DOCUMENTS or characters >= d.BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _feed(stream: _twinprint.Stream, rows: Iterable[tuple[_Row | None, str]]) -> tuple[Assignments, tuple[str, ...]]:
    """Places documents. Return their assignments, and the ids of all rows."""
    ids: list[str] = []
    accepted: list[int] = []
    parts: list[list[npt.NDArray[Any]]] = []

    def documents() -> Iterator[_Row]:
        for row, id_ in rows:
            if row is not None:
                accepted.append(len(ids))
            ids.append(id_)
            if row is not None:
                yield row

    for batch in _batches(documents()):
        first, columns = stream.feed(batch)
        numbers = [np.frombuffer(column, dtype="<i8").astype(np.int64) for column in columns[:3]]
        similarities = [np.frombuffer(column, dtype="<f8").astype(np.float64) for column in columns[3:]]
        document = np.arange(first, first + len(batch), dtype=np.int64)
        parts.append([document, *numbers, *similarities])
    types: list[type] = [np.int64] * 4 + [np.float64] * 2
    joined = [
        np.concatenate([part[i] for part in parts]) if parts else np.empty(0, dtype=types[i]) for i in range(len(types))
    ]
    if len(accepted) < len(ids):
        at = np.array(accepted, dtype=np.int64)
        for i, column in enumerate(joined):
            spread: npt.NDArray[Any] = np.full(len(ids), -1 if i < 4 else np.nan, dtype=types[i])
            spread[at] = column
            joined[i] = spread
    return Assignments(*joined), tuple(ids)


def _resolved(ids: npt.NDArray[np.int64], resolve: Any) -> npt.NDArray[np.int64]:
    kept = ids >= 0
    result = ids.copy()
    data = resolve(np.ascontiguousarray(ids[kept].astype("<u8")).tobytes())
    result[kept] = np.frombuffer(data, dtype="<u8").astype(np.int64)
    return result


def cluster(documents: object, *, id: str = "id", text: str = "text", ahead: int = 2000, **options: Any) -> Clusters:
    """Places documents, in order of time, in duplicate groups and stories.

    Args:
        documents: as for `Clusterer.feed`.
        id, text: the keys of id and text.
        ahead: number of documents whose words are counted before the first one is placed.
        options: the options of `Clusterer`.

    Examples:
        >>> import twinprint
        >>> clusters = twinprint.cluster([
        ...     "Cocoa prices rose in London after rain delayed the harvest in Ghana.",
        ...     "Cocoa prices rose in London, after rain delayed the harvest in Ghana!",
        ... ])
        >>> clusters.assignments.group.tolist(), clusters.groups[0].size
        ([0, 0], 2)
    """
    clusterer = Clusterer(**options)
    stream = clusterer._stream
    rows = _rows(documents, d.Keys(id, text), 0)
    left = d.natural(ahead, "ahead")
    held: list[tuple[_Row | None, str]] = []
    while left > 0:
        some = list(itertools.islice(rows, min(left, _BATCH_DOCUMENTS)))
        if not some:
            break
        held.extend(some)
        counted = [row for row, _ in some if row is not None]
        stream.count_ahead(counted)
        left -= len(counted)
    placed, ids = _feed(stream, itertools.chain(held, rows))
    groups, stories = clusterer.take_ended()
    return Clusters(
        ids,
        clusterer.resolve(placed),
        tuple(group for group in groups if group.size > 1) + tuple(clusterer.groups()),
        tuple(story for story in stories if story.size > 1) + tuple(clusterer.stories()),
        clusterer.thresholds,
    )
