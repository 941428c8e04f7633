"""Deduplicates a JSONL file with rensa and writes the kept lines: python rensa_dedup.py readme|shingles FILE BYTES OUT

readme: the loop of rensa's README, text.split() and 128 permutations at 0.8.
shingles: the same loop on the shingles that twinprint verifies with, with which rensa finds most duplicates: word
3-grams, or character 5-grams of letters and digits if at least a tenth of the letters are ideographs.

Reads the lines in the first BYTES of the file. Prints one line of JSON.
"""

import json
import re
import resource
import sys
import time
import unicodedata

from rensa import RMinHashDeduplicator

WORD = re.compile(r"[^\W_]+")
IDEOGRAPH = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
LATIN = re.compile(r"[a-zà-ʯ]")


def split(text):
    return text.split()


def shingles(text):
    text = unicodedata.normalize("NFKC", text).lower()
    ideographs = len(IDEOGRAPH.findall(text))
    words = WORD.findall(text)
    if ideographs and ideographs * 10 >= ideographs + len(LATIN.findall(text)):
        run = "".join(words)
        return [run[i : i + 5] for i in range(max(1, len(run) - 4))]
    if len(words) < 3:
        return [" ".join(words)]
    return [" ".join(gram) for gram in zip(words, words[1:], words[2:])]


def main(kind, path, limit, out):
    tokens = {"readme": split, "shingles": shingles}[kind]
    started = time.perf_counter()
    lines, size = [], 0
    with open(path, "rb") as file:
        for line in file:
            if size + len(line) > limit:
                break
            size += len(line)
            lines.append(line)
    dedup = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True)
    keep = dedup.add_pairs((str(i), tokens(json.loads(line)["text"])) for i, line in enumerate(lines))
    with open(out, "wb") as file:
        file.writelines(line for line, kept in zip(lines, keep) if kept)
    wall = time.perf_counter() - started
    usage = resource.getrusage(resource.RUSAGE_SELF)
    result = {
        "documents": len(lines),
        "bytes": size,
        "kept": sum(keep),
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
