"""Compares the evaluation's MinHash baseline with datasketch on the same documents.

Needs the binary (TWINPRINT, by default target/release/twinprint) and the package datasketch.
"""

import itertools
import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

from datasketch import MinHash, MinHashLSH

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
THRESHOLDS = [0.5, 0.7, 0.8, 0.9]


def documents():
    """Returns generated texts: 60 base texts, each with versions of up to 13 changed words."""
    chance = random.Random(7)
    word = lambda: f"w{chance.randrange(20000)}"
    texts = []
    for _ in range(60):
        base = [word() for _ in range(200)]
        for changes in [0, 1, 2, 4, 6, 9, 13]:
            text = list(base)
            for _ in range(changes):
                text[chance.randrange(len(text))] = word()
            texts.append(text)
    return texts


def jaccard(a, b):
    return len(a & b) / len(a | b)


class Baseline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        texts = documents()
        cls.sets = [{" ".join(gram) for gram in zip(t, t[1:], t[2:])} for t in texts]
        with tempfile.TemporaryDirectory() as work:
            docs, result = Path(work) / "docs.jsonl", Path(work) / "eval.json"
            lines = (json.dumps({"id": str(i), "text": " ".join(t)}) for i, t in enumerate(texts))
            docs.write_text("\n".join(lines))
            at = ",".join(map(str, THRESHOLDS))
            subprocess.run([BINARY, "eval", "--docs", docs, "--at", at, "--json", result, "-q"], check=True, stdout=subprocess.DEVNULL)
            cls.ours = json.loads(result.read_text())
        cls.hashes = []
        for shingles in cls.sets:
            signature = MinHash(num_perm=128)
            signature.update_batch([shingle.encode() for shingle in shingles])
            cls.hashes.append(signature)
        pairs = itertools.combinations(range(len(texts)), 2)
        cls.jaccards = {pair: jaccard(cls.sets[pair[0]], cls.sets[pair[1]]) for pair in pairs}
        cls.estimates = {(a, b): cls.hashes[a].jaccard(cls.hashes[b]) for a, b in cls.jaccards}

    def method(self, name):
        return next(method for method in self.ours["methods"] if method["name"] == name)

    def test_the_truth_is_exact(self):
        expected = [sum(j >= t for j in self.jaccards.values()) for t in THRESHOLDS]
        self.assertEqual(self.ours["true_pairs"], expected)
        self.assertGreater(min(expected), 50)

    def test_estimates_are_as_good_as_those_of_datasketch(self):
        for cell, threshold in zip(self.method("MinHash-128 alone")["cells"], THRESHOLDS):
            called = {pair for pair, estimate in self.estimates.items() if estimate >= threshold}
            true = {p for p, j in self.jaccards.items() if j >= threshold}
            right = len(called & true)
            f1 = 2 * right / (len(called) + len(true))
            print(f"alone at {threshold}: F1 {cell['f1']:.4f}, datasketch {f1:.4f}")
            self.assertAlmostEqual(cell["f1"], f1, delta=0.07)

    def test_bands_candidates_and_recall_match_those_of_datasketch(self):
        for cell, threshold in zip(self.method("MinHash-128 LSH + verification")["cells"], THRESHOLDS):
            index = MinHashLSH(threshold=threshold, num_perm=128)
            self.assertEqual(cell["setting"]["bands"], {"bands": index.b, "rows": index.r})
            candidates = set()
            for i, signature in enumerate(self.hashes):
                candidates |= {(other, i) for other in index.query(signature)}
                index.insert(i, signature)
            true = {p for p, j in self.jaccards.items() if j >= threshold}
            recall = len(true & candidates) / len(true)
            a_document = len(candidates) / len(self.sets)
            print(
                f"LSH at {threshold}: recall {cell['recall']:.4f}, datasketch {recall:.4f}; "
                f"candidates a document {cell['candidates']:.2f}, datasketch {a_document:.2f}"
            )
            self.assertEqual(cell["precision"], 1)
            self.assertAlmostEqual(cell["recall"], recall, delta=0.07)
            self.assertAlmostEqual(cell["candidates"], a_document, delta=0.2 * a_document)


if __name__ == "__main__":
    unittest.main()
