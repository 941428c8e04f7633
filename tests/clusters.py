#!/usr/bin/env python3
"""Compares the groups of a stream with the connected components of the true duplicates, on labelled sets.

Needs the binary (TWINPRINT, by default target/release/twinprint), zstd, and the directory of shared data
(TWINPRINT_SHARED, by default ../shared, next to the repository).
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from quality import BINARY, SHARED, THRESHOLD, rows

LEAST_F1 = 0.985
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


def main():
    failed = []
    for name in SETS:
        docs, pairs = (SHARED / "data" / f"{name}.{part}.jsonl.zst" for part in ("docs", "pairs"))
        truth = components([row["id"] for row in rows(docs)], rows(pairs))
        with tempfile.TemporaryDirectory() as work:
            out = Path(work) / "out"
            subprocess.run([BINARY, "cluster", docs, "-o", out, "-q", "--time-key", "none"], check=True)
            found = [row["group_id"] for row in rows(out / "assignments.jsonl")]
        precision, recall, f1 = pairwise(found, truth)
        print(f"{name:<14} pairs in one group: precision {precision:.4f}  recall {recall:.4f}  F1 {f1:.4f}")
        if f1 < LEAST_F1:
            failed.append(f"{name}: F1 {f1:.4f} is below {LEAST_F1}")
    if failed:
        sys.exit("\n".join(failed))


main()
