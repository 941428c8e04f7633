"""Clusters of a stream."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import twinprint
from twinprint import Clusterer, cluster

SUBJECTS = [
    "storm harbour ferry wind wave coast flood damage sailor rescue",
    "council vote bridge budget mayor road tram permit plan district",
    "cocoa price harvest farmer market export rain ghana london trade",
]


def reports(count: int = 120) -> list[dict[str, object]]:
    """Reports about three subjects with times, an eighth of them near-copies of earlier ones."""
    rng = random.Random(5)
    filler = [f"filler{n}" for n in range(300)]
    rows: list[dict[str, object]] = []
    for n in range(count):
        if n % 8 == 7:
            text = f"{rows[n - 5]['text']} update"
        else:
            words = SUBJECTS[n % 3].split() * 3 + rng.sample(filler, 40)
            rng.shuffle(words)
            text = " ".join(words)
        when = datetime.datetime(2024, 5, 1) + datetime.timedelta(hours=n)
        rows.append({"id": f"r{n}", "text": text, "time": when, "title": f"Report {n}"})
    return rows


def test_groups_and_stories() -> None:
    rows = reports()
    result = cluster(rows, story_threshold=0.3)
    placed = result.assignments
    assert result.ids == tuple(row["id"] for row in rows)
    assert placed.document.tolist() == list(range(120))
    copies = [n for n in range(120) if n % 8 == 7]
    assert np.flatnonzero(~placed.is_new).tolist() == copies
    assert all(placed.group[n] == placed.group[n - 5] for n in copies)
    # The verified similarity is that of the texts.
    for n in copies:
        leader = int(placed.leader[n])
        compared = twinprint.compare(str(rows[n]["text"]), str(rows[leader]["text"]))
        assert placed.jaccard[n] == pytest.approx(compared.jaccard) and compared.jaccard >= 0.8
    assert sum(group.size for group in result.groups) == 2 * len(copies)
    # Reports about one subject share a story, and those about others do not.
    own = [n for n in range(120) if n % 8 != 7]
    stories = [{int(placed.story[n]) for n in own if n % 3 == subject} for subject in range(3)]
    assert [len(story) for story in stories] == [1, 1, 1] and len(set.union(*stories)) == 3
    assert sum(story.size for story in result.stories) == 120
    terms = {term for story in result.stories for term, _ in story.topic}
    assert all(terms & set(subject.split()) for subject in SUBJECTS)
    assert result.thresholds.join == 0.3


def test_batches_states_and_pickles_make_no_difference(tmp_path: Path) -> None:
    rows = reports()
    whole = Clusterer()
    expected = whole.feed(rows)
    parts = Clusterer()
    first = parts.feed(rows[:50])
    parts.save(tmp_path / "state")
    for continued in (Clusterer.open(tmp_path / "state"), pickle.loads(pickle.dumps(parts))):
        assert len(continued) == 50
        second = continued.feed(iter(rows[50:]))
        for x, y, z in zip(first, second, expected, strict=True):
            assert np.array_equal(np.concatenate([x, y]), z)
        assert continued.groups() == whole.groups() and continued.stories() == whole.stories()
        assert continued.thresholds == whole.thresholds
    with pytest.raises(ValueError, match="hamming"):
        Clusterer.open(tmp_path / "state", hamming=10)
    with pytest.raises(FileNotFoundError):
        Clusterer.open(tmp_path / "none")
    (tmp_path / "damaged").write_bytes((tmp_path / "state").read_bytes()[:-5])
    with pytest.raises(twinprint.TwinprintError, match="damaged"):
        Clusterer.open(tmp_path / "damaged")


def test_windows_end_groups_and_stories() -> None:
    clusterer = Clusterer(window=datetime.timedelta(days=1), group_window="12h")
    text = "The storm closed the harbour and all ferries stopped for the night"
    clusterer.feed([{"id": "a", "text": text, "time": "2024-05-01"}])
    placed = clusterer.feed([{"id": "b", "text": text, "time": "2024-05-03"}])
    assert placed.is_new.tolist() == [True]
    groups, stories = clusterer.take_ended()
    assert [group.canonical for group in groups] == [("a",)]
    assert [(story.size, story.ended, story.last) for story in stories] == [(1, True, "2024-05-01T00:00:00Z")]
    assert clusterer.take_ended() == ([], [])


def test_rejected_documents_keep_their_place() -> None:
    placed = Clusterer().feed([None, "one text", {"id": 1}, {"text": "one text"}])
    assert placed.document.tolist() == [-1, 0, -1, 1]
    assert placed.group.tolist() == [-1, 0, -1, 0]
    assert placed.is_new.tolist() == [False, True, False, False]
    assert np.isnan(placed.jaccard[0]) and placed.jaccard[3] == 1
    assert len(Clusterer().feed([]).document) == 0


def test_canonical_documents() -> None:
    text = "The storm closed the harbour and all ferries stopped for the night"
    rows = [
        {"id": "a", "text": text, "url": "https://www.one.example/x", "score": 1},
        {"id": "b", "text": text, "url": "https://two.example/x", "score": 3},
        {"id": "c", "text": text, "url": "https://news.one.example/x", "score": 2},
    ]
    by_score = Clusterer(canonical="score")
    by_score.feed(rows)
    assert by_score.groups()[0].canonical == ("b",)
    by_domain = Clusterer(canonical=["score", "first"], canonical_scope="domain")
    by_domain.feed(rows)
    assert sorted(by_domain.groups()[0].canonical) == ["b", "c"]


def test_wrong_arguments_are_named() -> None:
    for arguments, kind, name in [
        ({"threshold": 0}, ValueError, "threshold"),
        ({"threshold": "x"}, TypeError, "threshold"),
        ({"hamming": 25}, ValueError, "hamming"),
        ({"canonical": ["best"]}, ValueError, "canonical"),
        ({"canonical_scope": "site"}, ValueError, "canonical_scope"),
        ({"window": "a week"}, ValueError, "window"),
        ({"window": 0}, ValueError, "window"),
        ({"story_threshold": 2}, ValueError, "story_threshold"),
        ({"story_merge": 0}, ValueError, "story_merge"),
        ({"equal_bits": 3}, ValueError, "equal_bits"),
        ({"live": 0}, ValueError, "live"),
        ({"profile": "nonsense"}, ValueError, "profile"),
        ({"colour": 1}, TypeError, "colour"),
    ]:
        with pytest.raises(kind, match=name):
            Clusterer(**arguments)
    with pytest.raises(TypeError, match="documents"):
        Clusterer().feed(5)
    with pytest.raises(TypeError, match="text of document 1"):
        Clusterer().feed(["a", {"text": 1}])


def test_tables_and_unreadable_times() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rows = reports(40)
    expected = Clusterer().feed(rows)
    for table in (pandas.DataFrame(rows), polars.DataFrame(rows)):
        assert all(np.array_equal(x, y) for x, y in zip(Clusterer().feed(table), expected, strict=True))
    clusterer = Clusterer()
    clusterer.feed([{"text": "one text of some words", "time": time} for time in ("soon", "9999-01-01", None)])
    assert clusterer.groups()[0].last is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_is_refused() -> None:
    program = """
import os, warnings
warnings.simplefilter("ignore")
import twinprint
clusterer = twinprint.Clusterer()
clusterer.feed(["a text of words"] * 50)
child = os.fork()
if child == 0:
    try:
        clusterer.feed(["more"])
    except twinprint.TwinprintError:
        own = twinprint.Clusterer()
        os._exit(7 if len(own.feed(["a text of words"] * 50).group) == 50 else 1)
    os._exit(2)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_the_same_clusters_as_the_command(command: str, tmp_path: Path) -> None:
    rows = reports()
    lines = [json.dumps({**row, "time": str(row["time"])}) for row in rows]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    arguments = [command, "cluster", str(tmp_path / "docs.jsonl"), "-o", str(tmp_path / "out"), "--quiet"]
    subprocess.run(arguments, check=True, timeout=120)

    def read(name: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in (tmp_path / "out" / name).read_text(encoding="utf-8").splitlines()]

    result = cluster(rows)
    assigned = read("assignments.jsonl")
    assert [row["group_id"] for row in assigned] == result.assignments.group.tolist()
    assert [row["story_id"] for row in assigned] == result.assignments.story.tolist()
    assert [row["group_id"] for row in read("groups.jsonl")] == [group.group_id for group in result.groups]
    stories = [story for story in read("stories.jsonl") if story["size"] != 1]
    assert [
        (row["story_id"], row["size"], row["title"], [term["term"] for term in row["topic"]])  # type: ignore[attr-defined]
        for row in stories
    ] == [(story.story_id, story.size, story.title, [term for term, _ in story.topic]) for story in result.stories]
