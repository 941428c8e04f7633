"""Answers of collections: verdicts, documents, groups, stories and changes, made from the JSON of the library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: The relation of a document to the stored ones. A ``rejected`` document was not stored, for the reason in ``error``.
Verdict = Literal["new", "exact", "near", "updated", "rejected"]


@dataclass(frozen=True)
class DocumentRef:
    """The id and the URL of a stored document."""

    id: str
    url: str | None = None


@dataclass(frozen=True)
class Best:
    """The stored document that decided a verdict."""

    id: str
    #: Differing bits of the two fingerprints.
    hamming: int
    #: Exact Jaccard of the two shingle sets, from 0 to 1; None if only fingerprints were compared.
    jaccard: float | None = None
    #: Common shingles over the shingles of the smaller text, from 0 to 1; None if only fingerprints were compared.
    containment: float | None = None


@dataclass(frozen=True)
class Answer:
    """The answer for one document that was added or checked."""

    id: str | None
    verdict: Verdict
    #: The group of the document, or the one that it would join; None if a check found no duplicate.
    group_id: int | None = None
    #: The story of the document, if the collection keeps stories.
    story_id: int | None = None
    #: The document that represents the group.
    canonical: DocumentRef | None = None
    #: The stored document that decided; None if the document itself leads its group.
    best: Best | None = None
    #: For an update: the number of fingerprint bits that changed.
    moved: int | None = None
    #: For an update: the verdict that the document would have got as a new one.
    as_new: Verdict | None = None
    #: True for an update that does not change the canonical text.
    unchanged: bool = False
    #: False if only fingerprints were compared.
    verified: bool = False
    #: True if there were more candidates than ``max_texts``, so a more distant one may have been missed.
    limited: bool = False
    #: The number of the change that stored the document; None if nothing was stored.
    seq: int | None = None
    #: True if the change survives a power cut, or if nothing was stored.
    durable: bool = True
    #: The reason why the document was rejected.
    error: str | None = None

    @property
    def is_duplicate(self) -> bool:
        """True if a stored document has this text or is a near-duplicate of it."""
        return (self.as_new or self.verdict) in ("exact", "near")


@dataclass(frozen=True)
class Document:
    """A stored document."""

    id: str
    group_id: int
    #: True if the document is the leader of its group.
    leads: bool
    verdict: Verdict
    #: The number of the document's last change.
    seq: int
    #: Times in seconds since 1970: when the text was added, and when the document last changed.
    added: int
    changed: int
    text: str | None = None
    #: The fingerprint as a number of 64 or 128 bits; None if the collection is keyed.
    fingerprint: int | None = None
    url: str | None = None
    source: str | None = None
    time: str | None = None
    score: float | None = None
    fields: Mapping[str, Any] | None = None
    story_id: int | None = None
    #: The leader of the group, and the similarity to it; None for the leader.
    best: Best | None = None
    #: The time in seconds since 1970 when the document expires.
    expires: int | None = None


@dataclass(frozen=True)
class Group:
    """A group of duplicates. In a list of groups, ``members`` is None."""

    group_id: int
    size: int
    leader: DocumentRef
    canonical: DocumentRef
    members: tuple[DocumentRef, ...] | None = None


@dataclass(frozen=True)
class Story:
    """A loose cluster of documents about one event or subject. In a list of stories, ``members`` is None."""

    story_id: int
    size: int
    #: The number of documents that duplicate no earlier document.
    distinct: int
    title: str
    #: The terms that characterise the story with their weights, by descending weight.
    topic: tuple[tuple[str, float], ...]
    #: True if no document will join the story any more.
    ended: bool
    #: The times of the first and the last document, such as "2024-05-01T12:00:00Z".
    first: str | None = None
    last: str | None = None
    #: The numbers of the stories that were merged into this one.
    merged: tuple[int, ...] = ()
    members: tuple[DocumentRef, ...] | None = None


@dataclass(frozen=True)
class Hit:
    """A stored leader that is similar to a document: a duplicate, or a near miss below the threshold."""

    duplicate: bool
    group_id: int
    id: str
    hamming: int
    jaccard: float | None = None
    containment: float | None = None
    url: str | None = None


@dataclass(frozen=True)
class Change:
    """A change of a collection."""

    seq: int
    change: Literal["new", "exact", "near", "updated", "deleted", "expired", "regrouped"]
    id: str
    group_id: int


def refs_of(values: Iterable[Mapping[str, Any]]) -> tuple[DocumentRef, ...]:
    return tuple(DocumentRef(**value) for value in values)


def answer_of(value: dict[str, Any], id_: str | None) -> Answer:
    error = value.get("error")
    if error is not None:
        return Answer(id_, "rejected", error=error)
    if "canonical" in value:
        value["canonical"] = DocumentRef(**value["canonical"])
    if "best" in value:
        value["best"] = Best(**value["best"])
    return Answer(**value)


def document_of(value: dict[str, Any]) -> Document:
    if "best" in value:
        value["best"] = Best(**value["best"])
    if "fingerprint" in value:
        value["fingerprint"] = int(value["fingerprint"], 16)
    return Document(**value)


def group_of(value: dict[str, Any], members: tuple[DocumentRef, ...] | None) -> Group:
    return Group(
        value["group_id"],
        value["size"],
        DocumentRef(**value["leader"]),
        DocumentRef(**value["canonical"]),
        members,
    )


def story_of(value: dict[str, Any], members: tuple[DocumentRef, ...] | None) -> Story:
    topic = tuple((term["term"], term["weight"]) for term in value["topic"])
    return Story(
        value["story_id"],
        value["size"],
        value["distinct"],
        value["title"],
        topic,
        value["ended"],
        value.get("first"),
        value.get("last"),
        tuple(value.get("merged", ())),
        members,
    )
