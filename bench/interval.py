#!/usr/bin/env python3
"""Compares the measured recall of `dedup` with the true recall, on seeded samples of the labelled sets.

    bench/interval.py TWINPRINT [--data DIR] [--corpora N] [--set NAME]

Each corpus is a seeded choice of documents of one set, with a seeded radius that misses some pairs. The true recall is
computed from the listed pairs and `pairs.jsonl`: of each text with duplicates the share that was found, averaged. Equal texts count
as one. The script prints a row for each set: the number of corpora whose 95 % interval contains the true recall.
DIR (default: $TWINPRINT_SHARED/data, or ../shared/data next to the repository) has the sets; the script needs zstd.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TWINPRINT_SHARED", ROOT.parent / "shared"))
SETS = ["revisions-en", "docs-mixed", "revisions-zh", "licences-multi"]
THRESHOLD = 0.8


def rows(path):
    if path.suffix == ".zst":
        lines = subprocess.run(["zstd", "-dcq", "--long=27", path], stdout=subprocess.PIPE, check=True).stdout.splitlines()
    else:
        lines = path.read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def neighbours(pairs):
    near = defaultdict(set)
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)
    return near


def true_recall(chosen, true, found):
    """Averages over texts. Documents at Jaccard 1 are one text: their first document."""
    equal = {}
    for (a, b), jaccard in true.items():
        if jaccard >= 1:
            equal[a], equal[b] = min(equal.get(a, a), b), min(equal.get(b, b), a)
    text = lambda document: equal.get(document, document)
    texts = lambda pairs: {(text(a), text(b)) for a, b in pairs if text(a) != text(b)}
    near, hit = neighbours(texts(true)), neighbours(texts(found))
    shares = [len(others & hit[one]) / len(others) for one, others in near.items()]
    return sum(shares) / len(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("twinprint")
    parser.add_argument("--data", type=Path, default=SHARED / "data")
    parser.add_argument("--corpora", type=int, default=25, help="corpora of each set")
    parser.add_argument("--set", action="append")
    arguments = parser.parse_args()
    print("| set | corpora | interval contains the true recall | true recall | mean width of the interval |\n|---|---|---|---|---|")
    for name in arguments.set or SETS:
        documents = rows(arguments.data / f"{name}.docs.jsonl.zst")
        listed = {}
        for row in rows(arguments.data / f"{name}.pairs.jsonl.zst"):
            jaccard = row.get("j", row["jaccard"])
            if jaccard >= THRESHOLD:
                listed[tuple(sorted((row["a"], row["b"])))] = jaccard
        covered, recalls, widths = 0, [], []
        for seed in range(arguments.corpora):
            numbers = random.Random(f"{name}-{seed}")
            chosen = numbers.sample(documents, len(documents) * 4 // 5)
            ids = {document["id"] for document in chosen}
            true = {pair: jaccard for pair, jaccard in listed.items() if ids.issuperset(pair)}
            with tempfile.TemporaryDirectory() as work:
                source, out = Path(work) / "docs.jsonl", Path(work) / "out"
                source.write_text("".join(json.dumps(document) + "\n" for document in chosen))
                options = ["--bits", "128", "-k", str(numbers.randrange(4, 20)), "--seed", str(seed), "--threshold", str(THRESHOLD)]
                command = [arguments.twinprint, "dedup", source, "-o", out, "--pairs", "--mode", "report", "--quiet", *options]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
                found = {tuple(sorted((row["a"], row["b"]))) for row in rows(out / "pairs.jsonl")}
                measured = json.loads((out / "report.json").read_text())["recall"]
            recall = true_recall(chosen, true, found & set(true))
            covered += measured["low"] <= recall <= measured["high"]
            recalls.append(recall)
            widths.append(measured["high"] - measured["low"])
        spread = f"{min(recalls):.3f} to {max(recalls):.3f}"
        print(f"| {name} | {len(recalls)} | {covered} | {spread} | {sum(widths) / len(widths):.3f} |", flush=True)


if __name__ == "__main__":
    main()
