"""Checks which near-duplicate pages are found in HTML, on pairs that differ by a known cause.

Needs the same as quality.py, and runs on the same kinds of corpora.
"""

import collections
import tempfile
import unittest
from pathlib import Path

from corpora import corpus, require, rows
from quality import dedup

# Causes that change the page but not its article.
SAME_ARTICLE = ["mirror", "ads", "counters"]
UNRELATED = ["unrelated", "unrelated-same-site"]


class Pages(unittest.TestCase):
    def found(self, name):
        """Returns the pairs of documents found."""
        with tempfile.TemporaryDirectory() as work:
            out = Path(work) / "out"
            report = dedup(corpus(name).docs, out, "--html-key", "html", "--mode", "report")
            found = {frozenset((row["a"], row["b"])) for row in rows(out / "pairs.jsonl")}
        self.assertEqual(report["records"]["rejected"], 0)
        return found

    def truth(self, name):
        return rows(corpus(name).pairs)

    def causes(self, name):
        found = self.found(name)
        pairs, hits = collections.Counter(), collections.Counter()
        for row in self.truth(name):
            pairs[row["cause"]] += 1
            hits[row["cause"]] += frozenset((row["a"], row["b"])) in found
        shares = {cause: hits[cause] / pairs[cause] for cause in pairs}
        print(name, ", ".join(f"{cause} {share:.4f} of {pairs[cause]}" for cause, share in shares.items()))
        for cause in SAME_ARTICLE:
            self.assertGreaterEqual(shares[cause], 0.98, cause)
        for cause in UNRELATED:
            self.assertLessEqual(shares[cause], 0.001, cause)

    def test_causes_zh(self):
        self.causes("causes-zh")

    def test_causes_en(self):
        self.causes("causes-en")

    def site(self, name, least):
        """Checks on pages of a few sites that pairs of equal content are found and other pairs are not."""
        found = self.found(name)
        truth = self.truth(name)
        same = [row for row in truth if row["jaccard"] >= 0.9]
        other = [row for row in truth if row["jaccard"] < 0.6]
        recall = sum(frozenset((row["a"], row["b"])) in found for row in same) / len(same)
        wrong = [row for row in other if frozenset((row["a"], row["b"])) in found]
        print(f"{name}: {len(same)} pairs of equal content, {recall:.4f} found; {len(wrong)} of {len(other)} other pairs found")
        self.assertGreaterEqual(recall, least)
        self.assertLessEqual(len(wrong), 0.001 * len(other), wrong)

    def test_webpages_en(self):
        self.site("webpages-en", 0.95)

    def test_webpages_zh(self):
        self.site("webpages-zh", 0.0)


if __name__ == "__main__":
    require("tests/html_pages.py")
    unittest.main()
