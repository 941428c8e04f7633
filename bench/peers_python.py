#!/usr/bin/env python3
"""Deduplication in one Python process, compared with rensa, datasketch and semhash: peers_python.py DATA [TURNS]

DATA is a directory of labelled sets: revisions-en and revisions-zh, and newswire-en, from whose words 300,000 titles are
made. Needs zstd, and a Python with twinprint, rensa 0.5.0, datasketch 2.0.0 and semhash 0.5.0. A peer that cannot run is
reported with the reason.

Each method gets the texts as a list, in a process of its own, in turns. All keep the first of similar texts at 0.8.

* readme: the loop of the peer's README on `text.split()`
* shingles: the same loop on the shingles that twinprint verifies with
* twinprint: `twinprint.dedup(texts)`, on one thread and on all

The CPU time is that of the tokenisation and the deduplication, user mode and kernel, the minimum of the turns. The
memory is the peak of the process, and the part above the loaded texts.

A removed text is a true positive if a kept text has a true Jaccard of at least 0.8 with it, and a false positive if none
has. A kept text with an earlier kept text at 0.8 is a false negative. The true Jaccard of the labelled sets is listed
with their pairs. That of the titles is computed here, by an exact join.
"""

import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

THRESHOLD = 0.8
# The listed Jaccards of the labelled sets are rounded to four digits.
TIE = 0.00005
PERMUTATIONS = 128
TITLES = 300_000
# Part of the titles that are edited copies of earlier ones.
COPIES = 0.3


def rensa(texts, tokens):
    from rensa import RMinHashDeduplicator

    dedup = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=PERMUTATIONS, use_lsh=True)
    return dedup.add_pairs((str(number), tokens(text)) for number, text in enumerate(texts))


def datasketch(texts, tokens):
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    keep = []
    for number, text in enumerate(texts):
        sketch = MinHash(num_perm=PERMUTATIONS)
        sketch.update_batch([token.encode() for token in set(tokens(text))])
        keep.append(not lsh.query(sketch))
        if keep[-1]:
            lsh.insert(number, sketch)
    return keep


def semhash(texts, tokens):
    from semhash import SemHash

    records = [{"number": str(number), "text": text} for number, text in enumerate(texts)]
    selected = SemHash.from_records(records, columns=["text"]).self_deduplicate(threshold=0.9).selected
    kept = {int(record["number"]) for record in selected}
    return [number in kept for number in range(len(texts))]


def twinprint(texts, threads):
    from twinprint import dedup

    return dedup(texts, threshold=THRESHOLD, threads=threads).kept_mask.tolist()


METHODS = {
    "twinprint, 1 thread": (twinprint, 1),
    "twinprint, all threads": (twinprint, 0),
    "rensa, readme": (rensa, "split"),
    "rensa, shingles": (rensa, "shingles"),
    "datasketch, readme": (datasketch, "split"),
    "datasketch, shingles": (datasketch, "shingles"),
    "semhash, readme": (semhash, None),
}


def measure(method, path):
    """Runs one method in this process, and prints its decisions and its use of resources."""
    function, argument = METHODS[method]
    if isinstance(argument, str):
        import rensa_dedup

        argument = getattr(rensa_dedup, argument)
    with open(path, encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    # Imports are not measured.
    module = {"twinprint": "twinprint", "rensa": "rensa", "datasketch": "datasketch", "semhash": "semhash"}
    __import__(module[function.__name__])
    before, loaded = resource.getrusage(resource.RUSAGE_SELF), peak()
    started = time.perf_counter()
    keep = function(texts, argument)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures = {"wall": wall, "cpu": cpu, "peak": peak(), "above": peak() - loaded}
    print(json.dumps({**figures, "keep": "".join("01"[bool(kept)] for kept in keep)}))


def peak():
    """The peak of the memory of this process in KiB. `ru_maxrss` would include that of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)[1])


def run(method, path):
    """Runs one method in a new process. Returns its figures, or the reason why it cannot run."""
    command = [sys.executable, __file__, "--method", method, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:300]
    return json.loads(done.stdout.splitlines()[-1])


def labelled(data, name):
    """The texts of a labelled set, and the earlier duplicates of each."""
    rows = {part: unpack(data / f"{name}.{part}.jsonl.zst") for part in ("docs", "pairs")}
    place = {row["id"]: number for number, row in enumerate(rows["docs"])}
    pairs = []
    for row in rows["pairs"]:
        if row["jaccard"] >= THRESHOLD - TIE:
            pairs.append((place[row["a"]], place[row["b"]]))
    return [row["text"] for row in rows["docs"]], pairs


def unpack(path):
    done = subprocess.run(["zstd", "-dc", "--long=27", path], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def titles(data):
    """Titles of words of a news corpus by their frequency, a part of which are edited copies, and all true pairs."""
    rng = random.Random(7)
    texts = [row["text"] for row in unpack(data / "newswire-en.docs.jsonl.zst")]
    counts = Counter(word for text in texts for word in re.findall(r"[A-Za-z]{2,}", text))
    words, weights = zip(*sorted(counts.items()))
    drawn = iter(rng.choices(words, weights, k=TITLES * 20))
    made = []
    for number in range(TITLES):
        if number and rng.random() < COPIES:
            made.append(edited(rng.choice(made).split(), drawn, rng))
        else:
            made.append(" ".join(next(drawn) for _ in range(rng.randint(9, 16))))
    return made, true_pairs(made)


def edited(words, drawn, rng):
    match rng.randrange(6):
        case 0:
            return " ".join(words).upper()
        case 1:
            return " ".join(words) + "."
        case 2:
            return " ".join([*words, next(drawn)])
        case 3:
            return " ".join([next(drawn), *words[1:]])
        case 4:
            words[rng.randrange(len(words))] = next(drawn)
    return " ".join(words)


def true_pairs(texts):
    """All pairs of texts whose shingles have a Jaccard of at least the threshold, by a join of prefixes.

    Two sets at the threshold share one of the first n - ceil(0.8 n) + 1 shingles of each, in any common order.
    """
    from rensa_dedup import shingles

    number = defaultdict(lambda: len(number))
    sets = [frozenset(number[shingle] for shingle in shingles(text)) for text in texts]
    frequency = Counter(shingle for text in sets for shingle in text)
    holders, pairs = defaultdict(list), []
    for at, text in enumerate(sets):
        ordered = sorted(text, key=lambda shingle: (frequency[shingle], shingle))
        # ceil(4 n / 5) in whole numbers.
        prefix = ordered[: len(ordered) + (-4 * len(ordered)) // 5 + 1]
        for other in {earlier for shingle in prefix for earlier in holders[shingle]}:
            shared = len(text & sets[other])
            if 5 * shared >= 4 * (len(text) + len(sets[other]) - shared):
                pairs.append((other, at))
        for shingle in prefix:
            holders[shingle].append(at)
    return pairs


def score(keep, pairs):
    """The precision, recall and F1 of the removals, and their number."""
    similar = defaultdict(set)
    for a, b in pairs:
        similar[a].add(b)
        similar[b].add(a)
    kept = {number for number, bit in enumerate(keep) if bit == "1"}
    removed = [number for number in range(len(keep)) if number not in kept]
    right = sum(not similar[number].isdisjoint(kept) for number in removed)
    left_over = sum(any(other < number and other in kept for other in similar[number]) for number in kept)
    precision = right / max(1, len(removed))
    recall = right / max(1, right + left_over)
    return precision, recall, 2 * right / max(1, 2 * right + len(removed) - right + left_over), len(removed)


def main(data, turns):
    sets = {
        "revisions-en": lambda: labelled(data, "revisions-en"),
        "revisions-zh": lambda: labelled(data, "revisions-zh"),
        "300,000 titles": lambda: titles(data),
    }
    print("| set | method | CPU s | wall s | peak MiB | above texts MiB | removed | precision | recall | F1 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, load in sets.items():
        texts, pairs = load()
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "texts.jsonl"
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
            del texts
            outcomes = defaultdict(list)
            for _ in range(turns):
                for method in METHODS:
                    if not isinstance((outcomes[method] or [{}])[0], str):
                        outcomes[method].append(run(method, path))
        for method, results in outcomes.items():
            if isinstance(results[0], str):
                print(f"| {name} | {method} | cannot run: {results[0]} |", flush=True)
                continue
            best = min(results, key=lambda result: result["cpu"])
            memory = [min(result[key] for result in results) / 1024 for key in ("peak", "above")]
            precision, recall, f1, removed = score(best["keep"], pairs)
            print(
                f"| {name} | {method} | {best['cpu']:.2f} | {best['wall']:.2f} | {memory[0]:.0f} | {memory[1]:.0f} "
                f"| {removed:,} | {precision:.4f} | {recall:.4f} | {f1:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1] == "--method":
        measure(sys.argv[2], sys.argv[3])
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
