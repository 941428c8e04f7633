"""Compares stories with scikit-learn's clusterings of the same vectors, on sets of labelled documents.

    python3 bench/peers/clusters.py [--quick] TWINPRINT SET.jsonl LABEL [SET.jsonl LABEL ...]

Needs scikit-learn. LABEL is a field that contains a string or a list; documents whose list does not have exactly one entry are left out. Each
half of a set is measured with the setting that is best for the other half, and the means of both are printed. Settings are chosen twice: for
each set by the best B-cubed F1, and for all sets together by the best mean adjusted Rand index, which chance does not raise.
The row "twinprint, default" has no setting: it is the command as it is shipped. In "twinprint, cosine" the cosine of merging is estimated.
With --quick, pairs of two cosines, which take most of the time, are not tried. `events.py` makes sets of events.
"""

import json
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.cluster import HDBSCAN, Birch, MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score, v_measure_score

warnings.filterwarnings("ignore")

# Each range is so wide that its ends are not chosen: from nearly one cluster per document to nearly one cluster for all.
COSINES = [0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9]
MERGES = [*COSINES, 1.0]
BITS = [8, 12, 16, 20, 24]
# Birch's radius of a subcluster of unit vectors: the root of 1 - c, where c is the mean cosine of two members, pairs of one member included.
RADII = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.975, 0.98, 0.9825, 0.985, 0.9875, 0.99, 0.9915, 0.993]
RADII += [0.994, 0.995, 0.996, 0.997, 0.998, 0.999, 1.0]
SIZES = [2, 3, 5, 10, 20, 40]
SHARES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def scores(found, truth):
    """Returns B-cubed precision, recall and F1 (with each document's pair with itself, and without), F1 of pairs, and other scores."""
    cells, a, b = Counter(zip(found, truth)), Counter(found), Counter(truth)
    n = len(truth)
    result = {}
    for name, less in (("bcubed", 0), ("others", 1)):
        def share(both, own, other):
            if own == less:
                return float(other == less)
            return (both - less) / (own - less)
        p = sum(k * share(k, a[x], b[y]) for (x, y), k in cells.items()) / n
        r = sum(k * share(k, b[y], a[x]) for (x, y), k in cells.items()) / n
        result[name] = (p, r, 2 * p * r / (p + r) if p + r else 0)
    pairs = lambda counts: sum(k * (k - 1) / 2 for k in counts.values())
    p, r = pairs(cells) / max(1, pairs(a)), pairs(cells) / max(1, pairs(b))
    result["pairs"] = 2 * p * r / (p + r) if p + r else 0
    result["ari"] = adjusted_rand_score(truth, found)
    result["v"] = v_measure_score(truth, found)
    result["clusters"] = len(a)
    return result


def documents(path, field):
    chosen = []
    for line in open(path, encoding="utf-8"):
        record = json.loads(line)
        label = record[field]
        if isinstance(label, list):
            if len(label) != 1:
                continue
            label = label[0]
        # No times: labels are subjects, which do not end.
        chosen.append({"id": str(len(chosen)), "text": record["text"], "title": record.get("title", ""), "label": label})
    return chosen


class Half:
    """One half of a labelled set: documents, labels, and their vectors from twinprint."""

    def __init__(self, twinprint, records, work, name):
        self.twinprint, self.path, self.work = twinprint, work / f"{name}.jsonl", work
        self.path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        self.truth = [r["label"] for r in records]
        self.runs = 0
        self.cluster("--vectors")
        terms, rows, columns, values = {}, [], [], []
        for row, line in enumerate((self.out / "vectors.jsonl").open(encoding="utf-8")):
            for term, weight in json.loads(line)["vector"].items():
                rows.append(row)
                columns.append(terms.setdefault(term, len(terms)))
                values.append(weight)
        self.vectors = csr_matrix((values, (rows, columns)), shape=(len(records), len(terms)), dtype=np.float64)
        self.dense = TruncatedSVD(min(100, len(terms) - 1), random_state=1).fit_transform(self.vectors)
        norms = np.linalg.norm(self.dense, axis=1, keepdims=True)
        self.dense = self.dense / np.where(norms > 0, norms, 1)
        # The vectors are rotated into the space that they span. All distances stay, and Birch, whose centroids are dense, takes a second
        # instead of minutes.
        values, directions = np.linalg.eigh((self.vectors @ self.vectors.T).toarray())
        self.rotated = directions * np.sqrt(np.clip(values, 0, None))

    def cluster(self, *args, ahead="1000000"):
        self.runs += 1
        self.out = self.work / f"out-{self.path.stem}-{self.runs}"
        # All words are counted before the first document gets its story, so the vectors have the final word counts. Only the
        # shipped default counts as many as it always does.
        counted = ["--ahead", ahead] if ahead else []
        subprocess.run(
            [self.twinprint, "cluster", str(self.path), "-o", str(self.out), "-q", *counted, "--labels", "label", *args],
            check=True,
        )
        return [json.loads(line)["story_id"] for line in (self.out / "assignments.jsonl").open()]

    def default(self):
        return self.cluster(ahead=None)

    def stories(self, cosine, *merge):
        found = self.cluster("--story-threshold", str(cosine), *(word for m in merge for word in ("--merge", str(m))))
        reported = json.loads((self.out / "agreement.json").read_text())["stories"]["bcubed"][2]
        assert abs(reported - scores(found, self.truth)["bcubed"][2]) < 1e-9, "the reported F1 differs from the computed one"
        return found

    def equal_bits(self, bits):
        return self.cluster("--equal-bits", str(bits))

    def kmeans(self):
        k = len(set(self.truth))
        return MiniBatchKMeans(k, n_init=3, random_state=1, batch_size=1024).fit_predict(self.vectors)

    def birch(self, radius):
        return Birch(threshold=radius, n_clusters=None, branching_factor=50).fit_predict(self.rotated)

    def hdbscan(self, size):
        found = HDBSCAN(min_cluster_size=size).fit_predict(self.dense)
        # Each document that HDBSCAN calls noise is a cluster of its own.
        return [label if label >= 0 else -2 - i for i, label in enumerate(found)]

    def random_share(self, share):
        # A clustering by chance, which does not read the documents.
        draw = random.Random(1)
        return [-1 if draw.random() < share else i for i in range(len(self.truth))]


METHODS = [
    ("twinprint, default", "default", [()]),
    ("twinprint, cosine", "stories", [(c,) for c in COSINES]),
    ("twinprint, cosine and merging", "stories", [(c, m) for c in COSINES for m in MERGES if m >= c]),
    ("equal bits", "equal_bits", [(b,) for b in BITS]),
    ("MiniBatchKMeans, the true k", "kmeans", [()]),
    ("Birch, radius", "birch", [(r,) for r in RADII]),
    ("HDBSCAN, least size", "hdbscan", [(s,) for s in SIZES]),
    ("a random share in one cluster, the others single", "random_share", [(s,) for s in SHARES]),
]


QUICK = "--quick" in sys.argv
if QUICK:
    sys.argv.remove("--quick")
    METHODS = [method for method in METHODS if method[0] != "twinprint, cosine and merging"]


def mean(measured):
    """Returns the means of the scores of two halves."""
    both = lambda value: sum(map(value, measured)) / len(measured)
    means = {name: [both(lambda s: s[name][i]) for i in range(3)] for name in ("bcubed", "others")}
    return means | {name: both(lambda s: s[name]) for name in ("pairs", "ari", "v", "clusters")}


class Set:
    """A labelled set: its two halves, and the scores of every method with every setting."""

    def __init__(self, twinprint, path, field, work):
        records = documents(path, field)
        middle = len(records) // 2
        self.name = Path(path).name.split(".")[0]
        halves = [
            Half(twinprint, part, work, f"{self.name}-{which}")
            for part, which in ((records[:middle], "first"), (records[middle:], "second"))
        ]
        self.title = f"{self.name}: twice {middle} documents, {len(set(halves[1].truth))} labels"
        self.scores = {
            (method, choice): [scores(getattr(half, method)(*choice), half.truth) for half in halves]
            for _, method, choices in METHODS
            for choice in choices
        }


def table(heading, labelled_set, sets, wanted):
    """Prints the scores of the methods on one set, each half with the setting that is best for the other halves of `sets`."""
    print(f"\n### {heading}\n")
    print("| method | chosen | clusters | B-cubed P | R | F1 | without self F1 | pairs F1 | ARI | V |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for title, method, choices in METHODS:
        best = lambda half: max(choices, key=lambda choice: sum(wanted(each.scores[method, choice][half]) for each in sets))
        chosen = [best(1), best(0)]
        s = mean([labelled_set.scores[method, choice][half] for half, choice in enumerate(chosen)])
        settings = [", ".join(str(x) for x in choice) or "–" for choice in chosen]
        setting = " · ".join(settings if settings[0] != settings[1] else settings[:1])
        p, r, f = s["bcubed"]
        print(
            f"| {title} | {setting} | {s['clusters']:.0f} | {p:.3f} | {r:.3f} | **{f:.3f}** | {s['others'][2]:.3f} "
            f"| {s['pairs']:.3f} | {s['ari']:.3f} | {s['v']:.3f} |",
            flush=True,
        )


def main():
    if len(sys.argv) < 4 or len(sys.argv) % 2:
        sys.exit(__doc__)
    sets = []
    with tempfile.TemporaryDirectory() as work:
        for path, field in zip(sys.argv[2::2], sys.argv[3::2]):
            sets.append(Set(sys.argv[1], path, field, Path(work)))
            table(sets[-1].title, sets[-1], sets[-1:], lambda s: s["bcubed"][2])
    for labelled_set in sets:
        table(f"{labelled_set.name}, one setting for all sets", labelled_set, sets, lambda s: s["ari"])


main()
