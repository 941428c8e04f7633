#!/usr/bin/env python3
"""Compares the groups of `cluster` with the connected components of the true duplicates.

On generated corpora, whose stories are known, it also compares the stories. Needs the same as quality.py, and runs on
the same kinds of corpora.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from corpora import MEASURED, bound, corpus, require, rows
from quality import BINARY, THRESHOLD

# Measured on generated corpora: groups 0.983 to 1, stories 0.954.
LEAST_F1 = bound(measured=0.985, generated=0.95)
LEAST_STORY_F1 = 0.9
SETS = ["newswire-en", "revisions-zh", "revisions-en"]


def components(ids, pairs):
    """Returns a label for each document: the first document of its component."""
    parent = {d: d for d in ids}

    def root(d):
        while parent[d] != d:
            parent[d] = parent[parent[d]]
            d = parent[d]
        return d

    for pair in pairs:
        if pair["jaccard"] >= THRESHOLD:
            parent[root(pair["a"])] = root(pair["b"])
    return [root(d) for d in ids]


def pairwise(found, truth):
    together = lambda labels: sum(n * (n - 1) // 2 for n in Counter(labels).values())
    both = together(zip(found, truth))
    precision, recall = both / max(1, together(found)), both / max(1, together(truth))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def stories(name):
    """Compares the stories of news, in order of time, with those of the generator. Returns the failures."""
    labelled = corpus(name)
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "out"
        subprocess.run([BINARY, "cluster", labelled.docs, "-o", out, "-q", "--window", "3d"], check=True)
        found = [row["story_id"] for row in rows(out / "assignments.jsonl")]
    precision, recall, f1 = pairwise(found, [row["story"] for row in rows(labelled.docs)])
    print(f"{name:<14} pairs in one story: precision {precision:.4f}  recall {recall:.4f}  F1 {f1:.4f}")
    return [] if f1 >= LEAST_STORY_F1 else [f"{name}: F1 of stories {f1:.4f} is below {LEAST_STORY_F1}"]


def main():
    require("tests/clusters.py")
    failed = []
    for name in SETS:
        labelled = corpus(name)
        truth = components([row["id"] for row in rows(labelled.docs)], rows(labelled.pairs))
        with tempfile.TemporaryDirectory() as work:
            out = Path(work) / "out"
            subprocess.run([BINARY, "cluster", labelled.docs, "-o", out, "-q", "--time-key", "none"], check=True)
            found = [row["group_id"] for row in rows(out / "assignments.jsonl")]
        precision, recall, f1 = pairwise(found, truth)
        print(f"{name:<14} pairs in one group: precision {precision:.4f}  recall {recall:.4f}  F1 {f1:.4f}")
        if f1 < LEAST_F1:
            failed.append(f"{name}: F1 {f1:.4f} is below {LEAST_F1}")
    if not MEASURED:
        failed += stories("newswire-en")
    if failed:
        sys.exit("\n".join(failed))


main()
