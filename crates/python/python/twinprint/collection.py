"""Durable collections of documents that answer "new, or seen before?"."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, overload

from . import _documents as d
from . import _twinprint
from ._answers import (
    Answer,
    Best,
    Change,
    Document,
    DocumentRef,
    Group,
    Hit,
    Story,
    Verdict,
    answer_of,
    document_of,
    group_of,
    refs_of,
    story_of,
)
from ._compare import Comparison, comparison

__all__ = [
    "Answer",
    "Best",
    "Change",
    "Collection",
    "Document",
    "DocumentRef",
    "Group",
    "Hit",
    "Story",
    "Verdict",
]

_PAGE = 1000
_DELETED_AT_ONCE = 1000


def _reopen(path: str) -> Collection:
    return Collection(path, read_only=True)


class Collection:
    """An open collection: durable documents, with their duplicate groups and stories.

    ``Collection(path)`` opens a collection, and `create` makes one. One process at a time can have a collection open
    for writing; any number can have it open with ``read_only=True`` while no process writes. All methods can be
    called from several threads, and let other threads of Python run. A collection is a context manager, and is closed
    when it is dropped. One that is open for reading is pickled as its path, and opened again when it is unpickled. A
    forked process cannot use the collection of its parent.

    Args:
        path: the directory of the collection.
        read_only: do not change the files, and allow other readers.

    Examples:
        >>> import tempfile, twinprint
        >>> directory = tempfile.TemporaryDirectory()
        >>> with twinprint.Collection.create(directory.name + "/seen") as seen:
        ...     answers = seen.add([
        ...         {"id": "a", "text": "Rain fell all day", "url": "https://example.org/a"},
        ...         {"id": "b", "text": "rain fell all day!"},
        ...         {"id": "c", "text": "Snow is expected"},
        ...     ])
        ...     print([answer.verdict for answer in answers])
        ...     print(seen.check("Rain fell all day").best.id, len(seen))
        ['new', 'exact', 'new']
        a 3
        >>> directory.cleanup()
    """

    __slots__ = ("_handle", "_path", "_read_only")

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self._path = os.path.abspath(path)
        self._read_only = bool(read_only)
        self._handle = _twinprint.Collection.open(self._path, self._read_only)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        profile: str = "tp1-words-lntf-128",
        hamming: int | None = None,
        threshold: float = 0.8,
        store: Literal["text", "shingles", "none"] = "text",
        canonical: Literal["first", "score", "newest", "shortest-url"] = "first",
        max_texts: int = 64,
        ttl: int | None = None,
        empty: Literal["keep", "reject"] = "keep",
        keyed: bool = False,
        stories: bool = False,
        story_threshold: float | None = None,
        story_merge: float | None = None,
        story_window: object = None,
        story_half_life: object = None,
        story_live: int = 10_000,
        exist_ok: bool = False,
    ) -> Collection:
        """Creates a collection in a directory that is empty or does not exist, and opens it.

        Args:
            path: the directory of the collection.
            profile: the profile of the fingerprints, which have 64 or 128 bits.
            hamming: largest Hamming distance of candidates, in bits: up to 12 at 64 bits, and 24 at 128. The default
                is 16 at 128 bits, 8 at 64, and 3 if ``store`` is "none".
            threshold: minimum Jaccard of a duplicate: above 0 and at most 1.
            store: stored form of each text, from which verdicts are verified: the text, its shingles, or none.
            canonical: rule that chooses the document that represents a group.
            max_texts: largest number of texts that one document is compared with.
            ttl: seconds after which a document expires that has no ``ttl`` of its own.
            empty: treatment of texts without words, which are never duplicates.
            keyed: make fingerprints under a secret key, which is stored in the collection.
            stories: group documents into stories too: loose clusters by terms and time, with topics.
            story_threshold, story_merge: minimum cosines at which a document joins a story and two stories merge.
                They are estimated from the documents if they are None.
            story_window, story_half_life: time without new documents after which a story ends, and time after which
                the weight of a document is halved: seconds, a timedelta, or a text such as "7d".
            story_live: largest number of live stories.
            exist_ok: open the collection in the directory if it has the same settings, instead of an error.

        Raises:
            FileExistsError: if the directory is not empty.
            ValueError: if an argument is not allowed, or if the collection in the directory has other settings.
        """
        where = os.path.abspath(path)
        if not isinstance(profile, str):
            raise TypeError(f"profile: expected a str, not {type(profile).__name__}")
        d.choice(store, "store", ("text", "shingles", "none"))
        if hamming is None:
            radius = 3 if store == "none" else 8 if profile.endswith("-64") else 16
        else:
            radius = d.natural(hamming, "hamming", 128)
        settings: dict[str, Any] = {
            "profile": profile,
            "k": radius,
            "threshold": d.real(threshold, "threshold"),
            "store": store,
            "canonical": d.choice(canonical, "canonical", ("first", "score", "newest", "shortest-url")),
            "max_texts": d.natural(max_texts, "max_texts", 10_000),
            "ttl": None if ttl is None else d.natural(ttl, "ttl"),
            "reject_empty": d.choice(empty, "empty", ("keep", "reject")) == "reject",
            "keyed": bool(keyed),
            "stories": bool(stories),
            "story_threshold": None if story_threshold is None else d.real(story_threshold, "story_threshold"),
            "story_merge": None if story_merge is None else d.real(story_merge, "story_merge"),
            "story_window": d.span(story_window, "story_window"),
            "story_half_life": d.span(story_half_life, "story_half_life"),
            "story_live": d.natural(story_live, "story_live", 1_000_000),
        }
        # A number that is not finite is refused by its name, instead of by the reader of JSON.
        for name in ("threshold", "story_threshold", "story_merge"):
            number = settings[name]
            if number is not None and not 0 < number <= 1:
                raise ValueError(f"{name}: {number} is not allowed; give a number above 0 and at most 1")
        encoded = json.dumps(settings)
        self = cls.__new__(cls)
        self._path, self._read_only = where, False
        if exist_ok and _twinprint.Collection.is_at(where):
            self._handle = _twinprint.Collection.open(where, False)
            if not self._handle.satisfies(encoded):
                self._handle.close()
                raise ValueError(f"exist_ok: the collection in {where} has other settings")
        else:
            self._handle = _twinprint.Collection.create(where, encoded)
        return self

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> Collection:
        """Opens a collection, as ``Collection(path)`` does.

        Raises:
            FileNotFoundError: if the directory has no collection.
            TwinprintError: if another process has the collection open, or if its file is damaged.
        """
        return cls(path, read_only=read_only)

    @property
    def path(self) -> str:
        """The directory of the collection, as an absolute path."""
        return self._path

    @property
    def read_only(self) -> bool:
        """True if the collection was opened for reading only."""
        return self._read_only

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the collection was created with. ``hamming`` is called ``k`` here."""
        result: dict[str, Any] = json.loads(self._handle.settings())
        return result

    def close(self) -> None:
        """Closes the collection, after all running calls. Writes that were acknowledged are on the disk then."""
        self._handle.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._read_only:
            raise TypeError("a collection that is open for writing cannot be pickled; pass its path")
        return _reopen, (self._path,)

    def __repr__(self) -> str:
        return f"Collection({self._path!r}{', read_only=True' if self._read_only else ''})"

    def __len__(self) -> int:
        """Returns the number of documents."""
        return self._handle.len()

    def __bool__(self) -> bool:
        return True

    def __contains__(self, id: object) -> bool:
        """Returns True if a document has this id."""
        return self.get(id) is not None

    def __iter__(self) -> Iterator[Document]:
        """Returns all documents in the order in which they were added."""
        after: int | None = 0
        while after is not None:
            page, after = self._handle.documents(after, _PAGE)
            yield from map(document_of, json.loads(page))

    @overload
    def add(  # pyright: ignore[reportOverlappingOverload], a text is one document
        self,
        documents: str | Mapping[str, Any],
        *,
        ids: None = None,
        only_new: bool = False,
        durable: bool = True,
        id: str = "id",
        text: str = "text",
        fields: Iterable[str] = (),
    ) -> Answer: ...

    @overload
    def add(
        self,
        documents: Iterable[Any],
        *,
        ids: Iterable[Any] | None = None,
        only_new: bool = False,
        durable: bool = True,
        id: str = "id",
        text: str = "text",
        fields: Iterable[str] = (),
    ) -> list[Answer]: ...

    def add(
        self,
        documents: Any,
        *,
        ids: Iterable[Any] | None = None,
        only_new: bool = False,
        durable: bool = True,
        id: str = "id",
        text: str = "text",
        fields: Iterable[str] = (),
    ) -> Answer | list[Answer]:
        """Adds documents, and returns the answer for each: new, exact, near, updated or rejected.

        Each document is compared with the stored ones and with those before it. If near-duplicates are added at the
        same time, exactly one of them is new. A document with the id of a stored one updates it.

        Args:
            documents: one document, or several: a list, an iterator, a table of pandas, polars or pyarrow, or an
                iterator of tables. A document is its text, or a dictionary with ``id`` (str or int), and ``text``,
                ``html`` or ``fingerprint`` (int). It may also have ``url``, ``source``, ``time``, ``score``,
                ``title``, ``ttl`` (seconds) and ``fields`` (a dictionary to store); other keys are ignored. A
                document without an id gets a new one, so adding it again finds it as a duplicate.
            ids: ids of the documents, one for each, instead of those in the documents.
            only_new: answer duplicates, but do not store them.
            durable: return when the documents are on the disk. If False, they are written within a second.
            id, text: the keys of id and text.
            fields: further keys whose values are stored with the document.

        Returns:
            One answer for one document, a list for several, in order.

        Raises:
            ValueError: if a single document cannot be stored. In a list, its answer is ``rejected``.
            TypeError: if a value has a wrong type. Documents before it may have been stored: about 500 documents are
                committed at a time.
        """
        new_ids = secrets.token_hex(8) + "-"
        return self._answers(
            lambda rows: self._handle.add(rows, new_ids, bool(only_new), bool(durable)),
            documents,
            ids,
            d.Keys(id, text, tuple(fields)),
        )

    @overload
    def check(  # pyright: ignore[reportOverlappingOverload], a text is one document
        self,
        documents: str | Mapping[str, Any],
        *,
        ids: None = None,
        id: str = "id",
        text: str = "text",
    ) -> Answer: ...

    @overload
    def check(
        self,
        documents: Iterable[Any],
        *,
        ids: Iterable[Any] | None = None,
        id: str = "id",
        text: str = "text",
    ) -> list[Answer]: ...

    def check(
        self,
        documents: Any,
        *,
        ids: Iterable[Any] | None = None,
        id: str = "id",
        text: str = "text",
    ) -> Answer | list[Answer]:
        """Returns the answers that `add` would give, for each document alone, and stores nothing.

        The arguments are those of `add`. A document without an id is compared as one that no stored document has.
        """
        return self._answers(self._handle.check, documents, ids, d.Keys(id, text))

    def _answers(self, call: Any, documents: Any, ids: Iterable[Any] | None, keys: d.Keys) -> Answer | list[Answer]:
        single = isinstance(documents, (str, Mapping))
        if single and ids is not None:
            raise TypeError("ids: one document has its id in the dictionary; ids are for several documents")
        rows = d.rows(documents, "documents", (keys.id, keys.text, *keys.fields, *d.DETAILS), keys.content())
        if ids is not None:
            rows = d.with_ids(rows, ids, keys)
        answers: list[Answer] = []
        for batch in d.batches(rows, keys):
            prepared = [row for row in batch if isinstance(row, d.Row)]
            got = iter(json.loads(call(prepared)) if prepared else ())
            answers.extend(
                answer_of(next(got), row.id if row.has_id else None)
                if isinstance(row, d.Row)
                else Answer(row.id, "rejected", error=row.reason)
                for row in batch
            )
        if not single:
            return answers
        (answer,) = answers
        if answer.error is not None:
            raise ValueError(answer.error)
        return answer

    def get(self, id: object, default: Any = None) -> Any:
        """Returns the stored `Document` with this id, or ``default`` if there is none."""
        try:
            return self[id]
        except KeyError:
            return default

    def __getitem__(self, id: object) -> Document:
        """Returns the stored document with this id. Raises KeyError if there is none."""
        return document_of(json.loads(self._handle.get(d.text_id(id, "id") or "")))

    def delete(self, ids: Any = None, *, source: str | None = None, durable: bool = True) -> int:
        """Deletes documents by id, or all documents of a source, and returns the number of documents deleted.

        Args:
            ids: one id, or several.
            source: the source whose documents are deleted: the ``source`` of a document, or the host of its URL.
            durable: return when the deletion is on the disk.
        """
        if (ids is None) == (source is None):
            raise TypeError("ids: give either ids or source")
        deleted = 0
        if source is not None:
            while page := self._handle.ids_of_source(source, _DELETED_AT_ONCE):
                deleted += sum(seq is not None for seq in self._handle.delete(page, durable))
            return deleted
        several: Iterable[Any] = (ids,) if isinstance(ids, str) or not isinstance(ids, Iterable) else ids
        texts = [d.text_id(id_, "ids") or "" for id_ in several]
        for start in range(0, len(texts), _DELETED_AT_ONCE):
            seqs = self._handle.delete(texts[start : start + _DELETED_AT_ONCE], durable)
            deleted += sum(seq is not None for seq in seqs)
        return deleted

    def similar(
        self,
        document: str | Mapping[str, Any],
        *,
        hamming: int | None = None,
        limit: int = 10,
        text: str = "text",
    ) -> list[Hit]:
        """Returns the stored leaders that are similar to a document: duplicates, then near misses.

        Args:
            document: A text, or a dictionary as for `add`.
            hamming: largest Hamming distance of candidates, in bits. The default is that of the collection, which is
                also the largest.
            limit: largest number of hits.
        """
        if not isinstance(document, (str, Mapping)):
            raise TypeError(f"document: expected a str or a dictionary, not {type(document).__name__}")
        row = d.row(document, d.Keys(text=text), 0)
        if isinstance(row, d.Refused):
            raise ValueError(row.reason)
        radius = None if hamming is None else d.natural(hamming, "hamming", 128)
        found = self._handle.similar(row, radius, d.natural(limit, "limit", 10_000))
        return [Hit(**hit) for hit in json.loads(found)["hits"]]

    def explain(self, a: object, b: object) -> Comparison:
        """Compares two stored documents by their ids: see `twinprint.compare`."""
        first, second = d.text_id(a, "a") or "", d.text_id(b, "b") or ""
        return comparison(json.loads(self._handle.explain(first, second)))

    def groups(self, min_size: int = 2) -> Iterator[Group]:
        """Returns the groups of at least ``min_size`` documents, ascending by number, without their members."""
        smallest = d.natural(min_size, "min_size")
        after: int | None = 0
        while after is not None:
            page = json.loads(self._handle.groups(after, smallest, _PAGE))
            yield from (group_of(group, None) for group in page["groups"])
            after = page.get("next_after")

    def group(self, group_id: int) -> Group:
        """Returns a group with all its members. Raises KeyError if there is none."""
        number = d.natural(group_id, "group_id")
        page = json.loads(self._handle.group(number, 0, _PAGE))
        members = list(refs_of(page.get("members", ())))
        while (after := page.get("next_after")) is not None:
            page = json.loads(self._handle.group(number, after, _PAGE))
            members.extend(refs_of(page.get("members", ())))
        return group_of(page, tuple(members))

    def stories(
        self,
        *,
        min_size: int = 2,
        state: Literal["live", "ended"] | None = None,
        since: object = None,
        until: object = None,
    ) -> Iterator[Story]:
        """Returns the stories, those with the latest document first, without their members.

        Args:
            min_size: smallest number of documents of a story.
            state: only live or only ended stories.
            since, until: first and last time of a story's latest document: a datetime, a date, a text, or seconds
                since 1970. Times without a zone are in UTC.
        """
        ended = None if state is None else d.choice(state, "state", ("live", "ended")) == "ended"
        first, last = d.seconds(since, "since"), d.seconds(until, "until")
        smallest = d.natural(min_size, "min_size")
        after: str | None = None
        while True:
            page = json.loads(self._handle.stories(ended, first, last, smallest, after, _PAGE))
            yield from (story_of(story, None) for story in page["stories"])
            after = page.get("next_after")
            if after is None:
                return

    def story(self, story_id: int) -> Story:
        """Returns a story with all its documents. Raises KeyError if there is none."""
        number = d.natural(story_id, "story_id")
        page = json.loads(self._handle.story(number, 0, _PAGE))
        members = list(refs_of(page["members"]))
        while (after := page.get("next_after")) is not None:
            page = json.loads(self._handle.story(number, after, _PAGE))
            members.extend(refs_of(page["members"]))
        return story_of(page, tuple(members))

    def feed(self, since: int = 0) -> Iterator[Change]:
        """Returns the changes from number ``since`` on, the oldest first.

        Continue later with the ``seq`` of the last change plus one. The collection stores the latest million changes;
        `first_change` is the number of the oldest.

        Examples:
            >>> import tempfile, twinprint
            >>> directory = tempfile.TemporaryDirectory()
            >>> seen = twinprint.Collection.create(directory.name + "/seen")
            >>> answer = seen.add({"id": "a", "text": "Rain fell all day"})
            >>> [(change.change, change.id) for change in seen.feed(since=answer.seq)]
            [('new', 'a')]
            >>> seen.close(); directory.cleanup()
        """
        start = d.natural(since, "since")
        while page := json.loads(self._handle.changes(start, _PAGE)):
            for change in page:
                yield Change(**change)
            start = page[-1]["seq"] + 1

    def first_change(self) -> int | None:
        """Returns the number of the oldest stored change; None if no change is stored."""
        return self._handle.first_change()

    def stats(self, sources: int = 100) -> dict[str, Any]:
        """Returns the numbers of documents and groups, the size of the file in bytes, and the counts of sources.

        Args:
            sources: largest number of sources to list, those with the most documents first.
        """
        result: dict[str, Any] = json.loads(self._handle.stats(d.natural(sources, "sources", 10_000)))
        return result

    def verify(self) -> dict[str, int]:
        """Reads and compares all data: checksums, fingerprints, members of groups. Returns what was read.

        Raises:
            TwinprintError: for the first damage that is found.
        """
        result: dict[str, int] = json.loads(self._handle.verify())
        return result

    def backup(self, path: str | os.PathLike[str]) -> dict[str, int]:
        """Copies the present state into a new directory, verifies the copy, and returns its counts.

        Other threads can read and write meanwhile. The copy is a collection, with its secret keys.
        """
        result: dict[str, int] = json.loads(self._handle.backup(os.path.abspath(path)))
        return result

    @staticmethod
    def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str]) -> dict[str, int]:
        """Makes a collection in a new directory from a backup, and returns its counts."""
        restored = _twinprint.Collection.restore(os.path.abspath(backup), os.path.abspath(path))
        result: dict[str, int] = json.loads(restored)
        return result

    @staticmethod
    def repair(damaged: str | os.PathLike[str], path: str | os.PathLike[str]) -> tuple[int, int | None]:
        """Makes a collection from the readable documents of a damaged one. Returns how many were saved and lost.

        The number lost is None if it is unknown.
        """
        return _twinprint.Collection.repair(os.path.abspath(damaged), os.path.abspath(path))
