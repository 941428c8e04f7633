#!/usr/bin/env python3
"""Runs the commands of an instrumented binary, so that the compiler learns which parts of the code are used most.

    packaging/train.py TWINPRINT

The texts are generated, the same for the same guides and dictionary: English ones from the words of the guides, Chinese
ones from the words of the dictionary by their frequency. Four documents in five are copies of earlier ones. A fifth of the long
copies are exact, the others are edited lightly or heavily. There are also short texts, pages of HTML and random fingerprints. `packaging/build` calls this script.
"""

import array
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEED = 1
DOCUMENTS = 6000
TITLES = 60_000
FINGERPRINTS = 1_000_000


def english_words():
    """The words of the guides and their counts."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/**/*.md")))
    return Counter(re.findall(r"[A-Za-z]+", text))


def chinese_words():
    """The words of the dictionary and their counts."""
    lines = (ROOT / "crates/text/dictionary/jieba.dict.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split(" ") for line in lines)
    return Counter({row[0]: int(row[1]) for row in rows if len(row) > 1})


class Language:
    """Texts of one language."""

    def __init__(self, counts, space, stops, rng):
        self.words, self.totals = list(counts), list(itertools.accumulate(counts.values()))
        self.space, self.stops, self.rng = space, stops, rng

    def draw(self, count):
        return self.rng.choices(self.words, cum_weights=self.totals, k=count)

    def text(self, words):
        """The words as sentences and paragraphs."""
        out, rng = [], random.Random(len(words))
        while words:
            length = rng.randint(4, 20)
            sentence = self.space.join(words[:length])
            out.append(sentence[:1].upper() + sentence[1:] + rng.choice(self.stops))
            words = words[length:]
        return "".join(out)

    def documents(self, count, low, high):
        """Texts of which most are copies of earlier ones, some of them edited."""
        made = []
        for _ in range(count):
            is_copy = made and self.rng.random() < 0.8
            words = list(self.rng.choice(made[-400:])) if is_copy else self.draw(self.rng.randint(low, high))
            rate = self.rng.choice([0, 0.002, 0.01, 0.03, 0.1])
            for at in self.rng.sample(range(len(words)), int(rate * len(words))):
                words[at] = self.draw(1)[0]
            made.append(words)
        return [self.text(words) for words in made]


def write(path, texts):
    with open(path, "w", encoding="utf-8") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"id": f"{path.stem}-{number}", "text": text}, ensure_ascii=number % 8 == 0) + "\n")


def main():
    binary = str(Path(sys.argv[1]).resolve())
    rng = random.Random(SEED)
    english = Language(english_words(), " ", [". ", ", ", "; ", ".\n\n", "! ", " — "], rng)
    chinese = Language(chinese_words(), "", ["，", "。", "；", "。\n", "、", "！"], rng)
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)

        def run(command):
            print("twinprint", command, flush=True)
            outputs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
            done = subprocess.run([binary, *command.split()], cwd=work, **outputs)
            if done.returncode:
                sys.exit(f"packaging/train.py: exit code {done.returncode}: {done.stderr}")

        write(work / "en.jsonl", english.documents(DOCUMENTS, 200, 3000))
        write(work / "zh.jsonl", chinese.documents(DOCUMENTS, 200, 3000))
        write(work / "titles.jsonl", english.documents(TITLES, 8, 16) + chinese.documents(TITLES, 4, 12))
        (work / "pages").mkdir()
        for number, text in enumerate(english.documents(300, 200, 2000)):
            items = "".join(f'<p class="text">{part}</p>\n' for part in text.split("\n\n"))
            menu = "".join(f'<li><a href="/{i}">{word}</a></li>' for i, word in enumerate(english.draw(60)))
            page = f"<html><head><title>{number}</title></head><body><ul>{menu}</ul><main>{items}</main></body></html>"
            (work / "pages" / f"{number}.html").write_text(page, encoding="utf-8")
        numbers = array.array("Q", (rng.getrandbits(64) for _ in range(FINGERPRINTS)))
        for row in range(0, FINGERPRINTS, 5):
            numbers[row] = numbers[row // 2] ^ (1 << rng.randrange(64))
        (work / "rows.u64").write_bytes(numbers.tobytes())
        (work / "queries.u64").write_bytes(numbers[::10].tobytes())

        for name in ("en", "zh", "titles"):
            run(f"dedup {name}.jsonl -o {name} -q")
        run("dedup en.jsonl zh.jsonl titles.jsonl -o all -q --mode report --threads 1")
        run("dedup zh.jsonl -o disk -q --on-disk")
        run("dedup pages -o html -q")
        run("fingerprint en.jsonl zh.jsonl -q")
        run("cluster en.jsonl --time-key none -o stream -q")
        run("collection create seen")
        run("collection add seen zh.jsonl -q")
        run("index build rows.u64 -o rows -q")
        run("index query rows --queries queries.u64 -q")
        run("index join rows -q")


if __name__ == "__main__":
    main()
