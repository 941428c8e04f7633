"""Evaluation and calibration over files."""

from __future__ import annotations

import json
import pickle
import random
from itertools import combinations
from pathlib import Path

import pytest

import twinprint
from twinprint import calibrate, evaluate, evaluate_clusters


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Sixty documents: twenty texts, each with two revisions that change more and more words."""
    rng = random.Random(3)
    path = tmp_path / "docs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(20):
            words = [f"w{rng.randrange(3000)}" for _ in range(150)]
            for revision in range(3):
                for _ in range(4 * revision):
                    words[rng.randrange(150)] = f"x{rng.randrange(3000)}"
                row = {"id": f"{n}-{revision}", "text": " ".join(words), "topic": n, "body": "unused"}
                print(json.dumps(row), file=file)
    return path


def jaccards(path: Path) -> dict[tuple[str, str], float]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    shingles = {}
    for row in rows:
        words = row["text"].split()
        shingles[row["id"]] = set(zip(words, words[1:], words[2:], strict=False))
    return {
        (a, b): len(shingles[a] & shingles[b]) / len(shingles[a] | shingles[b]) for a, b in combinations(shingles, 2)
    }


def test_true_pairs_are_those_of_brute_force(documents: Path) -> None:
    thresholds = [0.5, 0.7, 0.8]
    figures = evaluate(documents, thresholds=thresholds)
    truth = jaccards(documents)
    assert figures["documents"] == 60
    assert figures["true_pairs"] == [sum(j >= t for j in truth.values()) for t in thresholds]
    (engine,) = (method["cells"] for method in figures["methods"] if method["name"].startswith("twinprint"))
    assert [cell["precision"] for cell in engine] == [1, 1, 1]
    assert all(cell["recall"] > 0.95 for cell in engine)
    assert figures.html.startswith("<!") and "</html>" in figures.html
    same = pickle.loads(pickle.dumps(figures))
    assert same == figures and same.html == figures.html


def test_labelled_pairs_are_the_truth(documents: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    with pairs.open("w", encoding="utf-8") as file:
        for (a, b), jaccard in jaccards(documents).items():
            if jaccard >= 0.3:
                print(json.dumps({"a": a, "b": b, "j": jaccard}), file=file)
    figures = evaluate([documents], pairs, truth="j", complete=0.3, thresholds=[0.7], also=["tp1-chars4-tf-64"])
    assert figures["true_pairs"] == [sum(j >= 0.7 for j in jaccards(documents).values())]
    assert any("chars4" in method["name"] for method in figures["methods"])
    with pytest.raises(ValueError, match="jaccard"):
        evaluate(documents, pairs)
    with pytest.raises(FileNotFoundError):
        evaluate(documents, tmp_path / "none.jsonl")


def test_calibration(documents: Path, tmp_path: Path) -> None:
    reports: list[str] = []
    figures = calibrate(documents, n=10**6, progress=lambda stage, *_: reports.append(stage))
    assert figures["documents"] == 60 and figures["n"] == 10**6
    assert figures["bits"] in (64, 128) and 0 <= figures["k"] <= 24 and figures["reason"]
    assert [width["bits"] for width in figures["widths"]] == [64, 128]
    assert figures["true_pairs"] == sum(j >= 0.8 for j in jaccards(documents).values())
    assert reports
    assert calibrate(documents, bits=64)["bits"] == 64
    figures.save_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == figures.html


def test_agreement_of_clusters(documents: Path, tmp_path: Path) -> None:
    clusters = tmp_path / "clusters.jsonl"
    rows = [json.loads(line) for line in documents.read_text(encoding="utf-8").splitlines()]
    assigned = twinprint.cluster(rows, threshold=0.3).assignments.group.tolist()
    clusters.write_text(
        "\n".join(json.dumps({"id": row["id"], "group": group}) for row, group in zip(rows, assigned, strict=True)),
        encoding="utf-8",
    )
    (report,) = evaluate_clusters(documents, clusters, labels="topic", by="group")
    assert report["items"] == 60
    # Each text with its revisions is a group of its own, or revisions are apart. No two texts share a group.
    assert report["pairwise"][0] == 1


def test_wrong_arguments_are_named(documents: Path, tmp_path: Path) -> None:
    for arguments, kind, name in [
        ({"thresholds": [0]}, ValueError, "thresholds"),
        ({"thresholds": []}, ValueError, "thresholds"),
        ({"thresholds": ["x"]}, TypeError, "thresholds"),
        ({"bits": 32}, ValueError, "bits"),
        ({"profile": "nonsense"}, ValueError, "profile"),
        ({"also": ["nonsense"]}, ValueError, "also"),
        ({"hamming": -1}, ValueError, "hamming"),
        ({"limit": 1.5}, TypeError, "limit"),
    ]:
        with pytest.raises(kind, match=name):
            evaluate(documents, **arguments)
    for paths, kind in [([], ValueError), ("-", ValueError), ([5], TypeError)]:
        with pytest.raises(kind, match="documents"):
            evaluate(paths)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threshold"):
        calibrate(documents, threshold=2)
    with pytest.raises(FileNotFoundError):
        evaluate(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="two"):
        evaluate(documents, limit=1)
