"""Measures the distribution of the bits of fingerprints on real pages without near-duplicates.

    python3 bench/peers/bits.py TWINPRINT SET.jsonl...

Prints for some profiles the share of ones in each bit, the correlation of two bits, and the collision entropy of blocks of 16 bits: the
number of bits of such a block that distinguish two unrelated pages, at most 16.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from math import log2, sqrt
from pathlib import Path

PROFILES = [
    ("words, 1 + ln tf (default)", ["--profile", "tp1-words-lntf-128"]),
    ("words, (1 + ln tf) · √idf", ["--profile", "tp1-words-lntf-128", "--idf", "zhen1", "--idf-root"]),
    ("words, (1 + ln tf) · idf", ["--profile", "tp1-words-lntf-128", "--idf", "zhen1"]),
]
BITS = 128
BLOCK = 16


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fingerprints(twinprint, paths, options):
    rows = run(twinprint, "fingerprint", *paths, "-q", *options).splitlines()
    return list({int(json.loads(row)["fingerprint"], 16) for row in rows})


def quality(prints):
    n = len(prints)
    # One bit of all fingerprints, as one number.
    columns = [int("".join(str(x >> bit & 1) for x in prints), 2) for bit in range(BITS)]
    ones = [column.bit_count() / n for column in columns]
    spread = [sqrt(share * (1 - share)) for share in ones]

    def correlation(a, b):
        return ((columns[a] & columns[b]).bit_count() / n - ones[a] * ones[b]) / (spread[a] * spread[b])

    pairs = [abs(correlation(a, b)) for a in range(BITS) for b in range(a)]
    entropies = []
    for first in range(0, BITS, BLOCK):
        crowds = Counter(x >> first & (1 << BLOCK) - 1 for x in prints).values()
        entropies.append(log2(n * (n - 1) / sum(crowd * (crowd - 1) for crowd in crowds)))
    return ones, pairs, entropies


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    twinprint, sets = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "out"
        run(twinprint, "dedup", *sets, "-o", str(out), "-q", "--threshold", "0.5")
        kept = [str(path) for path in sorted((out / "kept").rglob("*.jsonl"))]
        print("| profile | fingerprints | ones, least and most | within .45 to .55 | correlation, mean and most | entropy of 16 bits, least and most |")
        print("|---|---|---|---|---|---|")
        for name, options in PROFILES:
            prints = fingerprints(twinprint, kept, options)
            ones, pairs, entropies = quality(prints)
            even = sum(0.45 <= share <= 0.55 for share in ones)
            print(
                f"| {name} | {len(prints)} | {min(ones):.2f}, {max(ones):.2f} | {even} of {BITS} "
                f"| {sum(pairs) / len(pairs):.3f}, {max(pairs):.3f} | {min(entropies):.1f}, {max(entropies):.1f} |"
            )


main()
