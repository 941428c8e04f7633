"""Checks the quality of the built binary on labelled data, against the exact truth of every pair of documents.

Needs the binary (TWINPRINT, by default target/release/twinprint) and Python without packages. With the directory of
shared data (TWINPRINT_SHARED, by default ../shared, next to the repository) it runs on the labelled sets and needs
zstd. Without it, it runs on corpora that corpora.py generates.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path

from corpora import MEASURED, ROOT, SHARED, corpus, require, rows

BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
THRESHOLD = 0.8
# The true Jaccard is rounded to four digits, so 0.8 may be any value from 0.79995 to 0.80005.
TIE = 0.00005


def dedup(inputs, out, *options):
    if "--threshold" not in options:
        options = ("--threshold", str(THRESHOLD), *options)
    subprocess.run([BINARY, "dedup", inputs, "-o", out, "--pairs", "--quiet", *options], check=True)
    return json.loads((out / "report.json").read_text())


def compare_with_truth(labelled, out):
    """Compares the result of a run with the truth.

    `lost` counts removed documents without a similar kept document. `left_over` counts kept documents with an earlier
    kept duplicate. `ideal_removed` counts the documents that removal in input order, by the true pairs, removes.
    """
    order = {row["id"]: number for number, row in enumerate(rows(labelled.docs))}
    key = lambda row: tuple(sorted((order[row["a"]], order[row["b"]])))
    listed = {key(row): row["jaccard"] for row in rows(labelled.pairs)}
    found = {key(row) for row in rows(out / "pairs.jsonl")}
    kept = {order[row["id"]] for row in rows(out / "clusters.jsonl") if row["duplicate_of"] is None}

    def neighbours(least):
        near = {number: set() for number in order.values()}
        for (a, b), jaccard in listed.items():
            if jaccard >= least:
                near[a].add(b)
                near[b].add(a)
        return near

    true = {pair for pair, jaccard in listed.items() if jaccard >= THRESHOLD}
    duplicates, similar = neighbours(THRESHOLD), neighbours(0.7)
    ideal = set()
    for number in order.values():
        if not any(other < number and other in ideal for other in duplicates[number]):
            ideal.add(number)
    return {
        "docs": len(order),
        "true_pairs": len(true),
        "precision": len(found & true) / max(1, len(found)),
        "recall": len(found & true) / max(1, len(true)),
        "ideal_removed": len(order) - len(ideal),
        "lost": sum(not similar[number] & kept for number in order.values() if number not in kept),
        "left_over": sum(any(other < number for other in duplicates[number] & kept) for number in kept),
    }


class Labelled(unittest.TestCase):
    """Sets with a complete file of pairs: pairs that it does not list are far below the threshold."""

    def judge(self, name):
        labelled = corpus(name)
        with tempfile.TemporaryDirectory() as work:
            out = Path(work) / "out"
            report = dedup(labelled.docs, out, "--mode", "report")
            found = {frozenset((row["a"], row["b"])): row["jaccard"] for row in rows(out / "pairs.jsonl")}
            figures = compare_with_truth(labelled, out)
            if MEASURED:
                other = self.figures_of_the_shared_script(labelled, out)
                self.assertEqual(figures, {field: other[field] for field in figures})
        listed = {frozenset((row["a"], row["b"])): row["jaccard"] for row in rows(labelled.pairs)}

        wrong = [pair for pair in found if listed.get(pair, 0) < THRESHOLD - TIE]
        self.assertEqual(wrong, [], "found pairs below the threshold")
        off = [pair for pair, jaccard in found.items() if abs(jaccard - listed[pair]) > 2 * TIE]
        self.assertEqual(off, [], "pairs with a wrong Jaccard")
        for least, most in [(THRESHOLD, 1.01), (THRESHOLD, 1.0)]:
            true = [pair for pair, jaccard in listed.items() if least + TIE <= jaccard < most]
            self.assertGreater(len(true), 10)
            recall = sum(pair in found for pair in true) / len(true)
            self.assertGreaterEqual(recall, 0.97, f"recall in [{least}, {most})")
        self.assertEqual(figures["lost"], 0, "removed documents without a similar kept document")
        self.assertLessEqual(figures["left_over"], 0.01 * figures["ideal_removed"], "kept documents that are duplicates")
        records = report["records"]
        self.assertEqual(records["read"], figures["docs"])
        self.assertEqual(records["read"], records["kept"] + records["removed"] + records["rejected"])
        self.assertEqual(records["rejected"], 0)
        print(
            f"{name}: {figures['true_pairs']} true pairs, precision {figures['precision']:.4f}, "
            f"recall {figures['recall']:.4f}, lost {figures['lost']}, left over {figures['left_over']}"
        )

    def figures_of_the_shared_script(self, labelled, out):
        """Returns the same figures from the evaluation script of the shared data."""
        command = [sys.executable, SHARED / "tools/evaluate.py", "--json"]
        command += ["--docs", labelled.docs, "--truth", labelled.pairs]
        command += ["--clusters", out / "clusters.jsonl", "--pairs", out / "pairs.jsonl"]
        figures = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual(figures["unknown_ids"], 0)
        return figures

    def lower(self, name):
        """Checks F1 of the written pairs, over all pairs, at lower thresholds than the default."""
        labelled = corpus(name)
        listed = {frozenset((row["a"], row["b"])): row["jaccard"] for row in rows(labelled.pairs)}
        for threshold, least in [(0.7, 0.985), (0.5, 0.95)]:
            with tempfile.TemporaryDirectory() as work:
                out = Path(work) / "out"
                dedup(labelled.docs, out, "--mode", "report", "--threshold", str(threshold))
                found = {frozenset((row["a"], row["b"])) for row in rows(out / "pairs.jsonl")}
            true = {pair for pair, jaccard in listed.items() if jaccard >= threshold}
            f1 = 2 * len(found & true) / (len(found) + len(true))
            print(f"{name} at {threshold}: F1 {f1:.4f}")
            self.assertGreaterEqual(f1, least, f"{name} at {threshold}")

    def test_lower_thresholds(self):
        for name in ["revisions-zh", "revisions-en", "newswire-en", "webpages-en"]:
            self.lower(name)

    def test_revisions_zh(self):
        self.judge("revisions-zh")

    def test_revisions_en(self):
        self.judge("revisions-en")

    def test_newswire_en(self):
        self.judge("newswire-en")

    def test_webpages_en(self):
        self.judge("webpages-en")


def is_chinese(text):
    """True if ideographs are at least a tenth of the ideographs and Latin letters, as the labelled sets define it."""
    text = unicodedata.normalize("NFKC", text)
    ideographs = len(re.findall("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]", text))
    latin = len(re.findall("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]", text))
    return ideographs > 0 and 10 * ideographs >= ideographs + latin


@unittest.skipUnless(MEASURED, "needs the labelled sets")
class Dense(unittest.TestCase):
    """Sets in which most documents have many similar ones: editions of one licence, page or poem."""

    def judge(self, name):
        labelled = corpus(name)
        texts = {row["id"]: row["text"] for row in rows(labelled.docs)}
        order = {document: number for number, document in enumerate(texts)}
        key = lambda row: tuple(sorted((row["a"], row["b"]), key=order.get))
        # Texts without words are kept by rule, and are no duplicates of one another.
        has_words = lambda pair: any(character.isalnum() for character in texts[pair[0]] + texts[pair[1]])
        listed = {key(row): row["j"] for row in rows(labelled.pairs) if has_words(key(row))}
        for threshold, least in [(0.8, 0.999), (0.7, 0.995)]:
            true = {pair for pair, jaccard in listed.items() if jaccard >= threshold}
            with tempfile.TemporaryDirectory() as work:
                out = Path(work) / "out"
                dedup(labelled.docs, out, "--mode", "report", "--threshold", str(threshold))
                found = {key(row) for row in rows(out / "pairs.jsonl")}
                kept = {row["id"] for row in rows(out / "clusters.jsonl") if row["duplicate_of"] is None}
            # The list measures a Chinese and an English text by different units.
            wrong = {(a, b) for a, b in found - true if is_chinese(texts[a]) == is_chinese(texts[b])}
            self.assertEqual(wrong, set(), "found pairs below the threshold")
            earlier = {}
            for a, b in true:
                earlier.setdefault(b, set()).add(a)
            ideal = set()
            for document in texts:
                if earlier.get(document, set()).isdisjoint(ideal):
                    ideal.add(document)
            left_over = sum(not earlier.get(document, set()).isdisjoint(kept) for document in kept)
            recall = len(found & true) / len(true)
            print(
                f"{name} at {threshold}: {len(true)} true pairs, recall {recall:.5f}, left over {left_over}, "
                f"ideally removed {len(texts) - len(ideal)}"
            )
            self.assertGreaterEqual(recall, least, f"{name} at {threshold}")
            self.assertLessEqual(left_over, 0.001 * (len(texts) - len(ideal)), f"{name} at {threshold}")

    def test_licences_multi(self):
        self.judge("licences-multi")

    def test_docs_mixed(self):
        self.judge("docs-mixed")

    def test_poems_zh(self):
        self.judge("poems-zh")


class Parts(unittest.TestCase):
    """Pages that contain a share of another article, found by `--parts`; and unrelated pages."""

    def judge(self, name):
        labelled = corpus(name)
        # A row of parts.jsonl represents all documents of equal text.
        first, representative = {}, {}
        for row in rows(labelled.docs):
            text = re.sub(r"[\W_]+", " ", row["main"].lower())
            representative[row["id"]] = first.setdefault(text, row["id"])
        with tempfile.TemporaryDirectory() as work:
            out = Path(work) / "out"
            report = dedup(labelled.docs, out, "--mode", "report", "--text-key", "main", "--parts")
            parts = {frozenset((row["a"], row["b"])): row for row in rows(out / "parts.jsonl")}
        copies, found, off, unrelated, false = 0, 0, 0, 0, 0
        for row in rows(labelled.pairs):
            part = parts.get(frozenset((representative[row["a"]], representative[row["b"]])))
            if row["cause"] == "copy" and row["params"]["share"] >= 0.5:
                copies += 1
                found += part is not None
                off += part is not None and abs(part["containment"] - row["containment"]) > 0.1
                if part:
                    self.assertTrue(part["passages"], f"{row['a']} {row['b']}: no passage")
            elif row["cause"].startswith("unrelated"):
                unrelated += 1
                false += part is not None
        seconds = {stage["name"]: stage["seconds"] for stage in report["run"]["stages"]}
        print(
            f"{name}: {found} of {copies} copies found, {off} containments off, {false} of {unrelated} unrelated pairs; "
            f"{seconds['parts']:.2f} s of {report['run']['seconds']:.2f}"
        )
        self.assertGreater(copies, 100)
        self.assertGreaterEqual(found, 0.9 * copies)
        self.assertEqual(off, 0)
        self.assertLessEqual(false, 0.001 * unrelated)

    def test_causes_zh(self):
        self.judge("causes-zh")

    def test_causes_en(self):
        self.judge("causes-en")


class Short(unittest.TestCase):
    """Titles of a dozen ideographs, which have too few features for reliable fingerprints."""

    def test_a_thousand_chinese_titles_are_grouped_only_with_duplicates(self):
        with tempfile.TemporaryDirectory() as work:
            titles = {}
            for row in rows(corpus("headlines-zh").docs):
                titles.setdefault(row["text"], row["id"])
            chosen = list(titles.items())[:1000]
            self.assertEqual(len(chosen), 1000)
            inputs = Path(work) / "titles.jsonl"
            lines = (json.dumps({"id": id, "text": text}) + "\n" for text, id in chosen)
            inputs.write_text("".join(lines), encoding="utf-8")
            out = Path(work) / "out"
            report = dedup(inputs, out)
            clusters = rows(out / "clusters.jsonl")
        self.assertEqual(report["search"]["short_texts"], report["search"]["texts"])
        truth = {frozenset((row["a"], row["b"])): row["jaccard"] for row in rows(corpus("headlines-zh").pairs)}
        ids = {id for _, id in chosen}
        merged = [(row["id"], row["duplicate_of"]) for row in clusters if row["duplicate_of"]]
        for pair in merged:
            self.assertGreaterEqual(truth.get(frozenset(pair), 0), THRESHOLD - TIE, f"{pair} were merged")
        true = [pair for pair, jaccard in truth.items() if jaccard >= THRESHOLD + TIE and pair <= ids]
        removed = {id for id, _ in merged}
        for pair in true:
            self.assertTrue(removed & pair, f"{set(pair)} are both kept")


if __name__ == "__main__":
    require("tests/quality.py")
    unittest.main()
