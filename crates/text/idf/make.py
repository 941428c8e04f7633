"""Makes zhen1.tpidf, the bundled table of idf weights.

  make.py IDF.utf8 ENGLISH.jsonl OUT

IDF.utf8       the list of cppjieba (MIT): a word and its idf a line
ENGLISH.jsonl  records {id, text}; those whose id begins with one of SOURCES are counted, one version of each page

The format is described in ../src/idf.rs. The table in use never changes: another one gets another name.
"""

import json
import math
import re
import struct
import sys
import unicodedata
from collections import Counter

NAME = "zhen1"
SOURCES = ("rust-lang/book:", "python/peps:")
# Words of either language: the most frequent. Others weigh as the rarest.
CHINESE, ENGLISH = 40_000, 20_000
# Function words that cppjieba leaves out of its list, being stop words there; they are in nearly every document.
COMMON = "的 是 了 在 和 有 不 我 他 这 就 也 人 都 一 一个 上 说 到 们 中 为 以 个 我们 与 及 而 等 或 它 可以 这个 对 从 被 把 将 会 要 你 她 地 得 着 之 但 如果 因为 所以 以及 使用 进行 没有 自己 他们 你们 什么 时 后 前 里 下 来 去 看 好 很 还 那 让 使 用 时候 已经 通过 需要 其中 这些 那些 这样 如何 可能 并 并且 只 更 最 能 由 于 其 所 则 若"


def siphash13(data):
    """SipHash-1-3 of bytes under the key 0, 0."""
    mask = (1 << 64) - 1
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]
    rotl = lambda x, n: ((x << n) | (x >> (64 - n))) & mask

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & mask; v[1] = rotl(v[1], 13) ^ v[0]; v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & mask; v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask; v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask; v[1] = rotl(v[1], 17) ^ v[2]; v[2] = rotl(v[2], 32)

    end = len(data) // 8 * 8
    last = data[end:].ljust(7, b"\0") + bytes([len(data) & 255])
    for m in [*struct.unpack(f"<{end // 8}Q", data[:end]), int.from_bytes(last, "little")]:
        v[3] ^= m
        rounds(1)
        v[0] ^= m
    v[2] ^= 255
    rounds(3)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def canonical(text):
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).lower()).strip()


def chinese(path):
    idf = {}
    for line in open(path, encoding="utf-8"):
        word, value = line.split()
        if canonical(word) == word and all("\u4e00" <= c <= "\u9fff" for c in word):
            idf[word] = float(value)
    rarest_first = sorted(idf.items(), key=lambda entry: (entry[1], entry[0]))
    return dict(rarest_first[:CHINESE]) | dict.fromkeys(COMMON.split(), 0.7)


def english(path):
    pages = {}
    for line in open(path, encoding="utf-8"):
        row = json.loads(line)
        if row["id"].startswith(SOURCES):
            pages[row["id"].split("@")[0]] = row["text"]
    counts = Counter()
    for text in pages.values():
        counts.update(set(re.findall(r"[a-z0-9]+", canonical(text))))
    frequent = sorted(((n, w) for w, n in counts.items() if n > 1), key=lambda e: (-e[0], e[1]))[:ENGLISH]
    return {word: math.log(len(pages) / n) for n, word in frequent}, len(pages)


def main():
    zh, (en, documents) = chinese(sys.argv[1]), english(sys.argv[2])
    value = lambda idf: min(255, max(1, round(idf * 16)))
    words = {word.encode(): value(idf) for word, idf in (zh | en).items()}
    out = b"TPIDF\x01\r\n" + bytes([len(NAME)]) + NAME.encode() + struct.pack("<QBI", documents, max(words.values()), len(words))
    before = b""
    for word in sorted(words):
        shared = 0
        while shared < min(len(word), len(before)) and word[shared] == before[shared]:
            shared += 1
        out += bytes([shared, len(word) - shared]) + word[shared:] + bytes([words[word]])
        before = word
    out += struct.pack("<Q", siphash13(out))
    open(sys.argv[3], "wb").write(out)
    print(f"{len(zh)} Chinese words, {len(en)} English words of {documents} documents, {len(out)} bytes")


main()
