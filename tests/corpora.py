"""The corpora of the test scripts: labelled sets where the directory of shared data exists, otherwise generated ones.

`corpus(NAME)` returns the files of a set: documents, one a line, and pairs, one a line, with the exact Jaccard of each
pair. The labelled sets have real texts, and their truth was measured outside this repository. The generated corpora
have the same names and fields. Their texts are drawn from generated vocabularies with a Zipf distribution (English
words; Chinese words of one to three ideographs) and edited at known rates. Their truth is measured by brute force: the
shingle sets of all pairs of documents are intersected. Every run generates the same corpora, because everything is a
function of `SEED`.

`bound(measured=…, generated=…)` selects the bound of a check, because the two kinds of corpora are not equally hard. CI
runs on the labelled sets: with CI=true and no shared data, `require` exits with code 1.
"""

import atexit
import functools
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TWINPRINT_SHARED", ROOT.parent / "shared"))
MEASURED = (SHARED / "data").is_dir()
SEED = 20240501
# A generated corpus lists all pairs with at least this Jaccard.
COMPLETE_FROM = 0.3
# The number of random pairs that a generated corpus also lists.
RANDOM_PAIRS = 1500


@dataclass(frozen=True)
class Corpus:
    """The files of a set."""

    docs: Path
    pairs: Path


def corpus(name):
    """Returns the set of this name, labelled or generated."""
    if MEASURED:
        return Corpus(*(SHARED / "data" / f"{name}.{part}.jsonl.zst" for part in ("docs", "pairs")))
    return generated(name)


def bound(measured, generated):
    """Returns the bound for the corpora in use."""
    return measured if MEASURED else generated


def require(script):
    """Reports that the corpora are generated, if they are; in CI, that is an error."""
    if not MEASURED:
        print(f"{script}: {SHARED}/data not found, so the corpora are generated", file=sys.stderr)
        if os.environ.get("CI") == "true":
            sys.exit(f"{script}: CI runs on the labelled sets")


def rows(path):
    """Returns the records of a .jsonl file, compressed or not."""
    if path.suffix == ".zst":
        done = subprocess.run(["zstd", "-dc", "--long=27", path], stdout=subprocess.PIPE, check=True)
        text = done.stdout.decode()
    else:
        text = path.read_text(encoding="utf-8")
    # Strings may contain other line ends.
    return [json.loads(line) for line in text.split("\n") if line]


@functools.cache
def generated(name):
    """Generates a corpus into a directory that is deleted when the script ends."""
    documents, pairs = GENERATORS[name](Writer(random.Random(f"{SEED} {name}"), "zh" if name.endswith("zh") else "en"))
    directory = Path(tempfile.mkdtemp(prefix="twinprint-corpus-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    files = Corpus(directory / f"{name}.docs.jsonl", directory / f"{name}.pairs.jsonl")
    for path, records in [(files.docs, documents), (files.pairs, pairs)]:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records), encoding="utf-8")
    return files


# ---------------------------------------------------------------------------------------------------------------------
# Truth


def shingles(text, language):
    """Returns the shingle set: character 5-grams of letters and digits (zh), or word 3-grams (en).

    A text too short for one gram is its own shingle.
    """
    text = unicodedata.normalize("NFKC", text).lower()
    units = re.sub(r"[\W_]+", "", text) if language == "zh" else re.findall(r"[^\W_]+", text)
    width = 5 if language == "zh" else 3
    if len(units) < width:
        return {text}
    return {
        "".join(units[i : i + width]) if language == "zh" else tuple(units[i : i + width])
        for i in range(len(units) - width + 1)
    }


def similarity(a, b):
    """Returns Jaccard and containment of two shingle sets, rounded to four digits."""
    common = len(a & b)
    return {
        "jaccard": round(common / (len(a) + len(b) - common), 4),
        "containment": round(common / min(len(a), len(b)), 4),
    }


def all_pairs(documents, writer, field="text"):
    """Returns all pairs of documents with a Jaccard of at least COMPLETE_FROM, by brute force, and some random pairs."""
    sets = [shingles(document[field], writer.language) for document in documents]
    listed = {}
    for i, j in itertools.combinations(range(len(documents)), 2):
        measured = similarity(sets[i], sets[j])
        if measured["jaccard"] >= COMPLETE_FROM:
            listed[i, j] = measured
    for _ in range(RANDOM_PAIRS):
        i, j = sorted(writer.draw.sample(range(len(documents)), 2))
        listed[i, j] = similarity(sets[i], sets[j])
    return [{"a": documents[i]["id"], "b": documents[j]["id"], **measured} for (i, j), measured in listed.items()]


# ---------------------------------------------------------------------------------------------------------------------
# Texts


class Writer:
    """A source of random texts of one language. A text is a list of sentences, and a sentence is a list of words."""

    def __init__(self, draw, language):
        self.draw, self.language = draw, language
        self.words = [self.make_word() for _ in range(4000)]
        self.weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self.words))))

    def make_word(self):
        if self.language == "zh":
            return "".join(chr(0x4E00 + self.draw.randrange(3000)) for _ in range(self.draw.choice([1, 2, 2, 2, 3])))
        return "".join(
            self.draw.choice("bcdfghklmnprstvw") + self.draw.choice("aeiou") for _ in range(self.draw.randrange(1, 5))
        )

    def some_words(self, count):
        return self.draw.choices(self.words, cum_weights=self.weights, k=count)

    def sentences(self, least, most):
        """Returns a text of `least` to `most` words."""
        words = self.some_words(self.draw.randint(least, most))
        cuts = sorted(self.draw.sample(range(1, len(words)), min(len(words) - 1, len(words) // 14)))
        return [words[a:b] for a, b in zip([0, *cuts], [*cuts, len(words)])]

    def edited(self, sentences, rate):
        """Returns a revision: each word is replaced, deleted or followed by another with probability `rate`."""
        edited = []
        for sentence in sentences:
            words = []
            for word in sentence:
                if self.draw.random() >= rate:
                    words.append(word)
                    continue
                edit = self.draw.randrange(3)
                words += [] if edit == 0 else self.some_words(1) if edit == 1 else [word, *self.some_words(1)]
            edited.append(words)
        return edited

    def text(self, sentences):
        if self.language == "zh":
            return "".join("".join(words) + "。" for words in sentences if words)
        return " ".join(" ".join(words).capitalize() + "." for words in sentences if words)

    def page(self, main, site, extra=()):
        """Returns an HTML page: the chrome of a site around the main text, with `extra` markup between its paragraphs."""
        paragraphs = [f"<p>{self.text(main[i : i + 3])}</p>" for i in range(0, len(main), 3)]
        for i, block in enumerate(extra):
            paragraphs.insert(1 + i * max(1, len(paragraphs) // (len(extra) + 1)), block)
        return (
            f'<!DOCTYPE html>\n<html lang="{self.language}"><head><meta charset="utf-8">'
            f"<title>{self.text(main[:1])} - {site.name}</title></head><body>"
            f"{site.head}<main><article>{''.join(paragraphs)}</article></main>{site.foot}</body></html>"
        )

    def site(self):
        links = (
            lambda tag, count: f"<{tag}><ul>"
            + "".join(f'<li><a href="/{i}">{"".join(self.some_words(1))}</a></li>' for i in range(count))
            + f"</ul></{tag}>"
        )
        return Site(
            "".join(self.some_words(2)), links("nav", 20) + links("header", 6), links("aside", 15) + links("footer", 12)
        )


@dataclass(frozen=True)
class Site:
    name: str
    head: str
    foot: str


# ---------------------------------------------------------------------------------------------------------------------
# Corpora


def revisions(writer):
    """Generates pages with one to five revisions, each edited from the one before at a rate of 0.1 to 12 %."""
    documents = []
    for page in range(160):
        sentences = writer.sentences(90, 320)
        rate = writer.draw.choice([0.001, 0.003, 0.01, 0.02, 0.04, 0.12])
        for revision in range(writer.draw.choice([1, 2, 3, 4, 5])):
            if revision:
                sentences = writer.edited(sentences, rate)
            documents.append(
                {
                    "id": f"page {page}@{revision}",
                    "lang": writer.language,
                    "page": str(page),
                    "text": writer.text(sentences),
                }
            )
    return documents, all_pairs(documents, writer)


def newswire(writer):
    """Generates news in order of time, in stories of three days.

    A story has 1 to 12 items, and a fifth of their words are names of the story. Some items are repeated with
    corrections.
    """
    items = []
    begin = datetime(2024, 5, 1, tzinfo=timezone.utc)
    for story in range(120):
        names = [f"{writer.make_word()}{writer.make_word()}" for _ in range(12)]
        first = begin + timedelta(minutes=writer.draw.randrange(30 * 24 * 60))
        for _ in range(writer.draw.choice([1, 1, 2, 4, 8, 12])):
            sentences = [
                [writer.draw.choice(names) if writer.draw.random() < 0.2 else word for word in words]
                for words in writer.sentences(50, 160)
            ]
            time = first + timedelta(minutes=writer.draw.randrange(3 * 24 * 60))
            items.append((time, story, sentences))
            for _ in range(writer.draw.choice([0, 0, 0, 1, 2])):
                items.append(
                    (
                        time + timedelta(minutes=writer.draw.randrange(600)),
                        story,
                        writer.edited(sentences, writer.draw.choice([0, 0.005, 0.01, 0.1])),
                    )
                )
    items.sort(key=lambda item: item[0])
    documents = [
        {
            "id": f"news {i}",
            "lang": "en",
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "story": f"story {story}",
            "text": writer.text(sentences),
        }
        for i, (time, story, sentences) in enumerate(items)
    ]
    return documents, all_pairs(documents, writer)


def webpages(writer):
    """Generates HTML pages of three sites. Versions of a page have different chrome and nearly the same main text."""
    documents = []
    for site_number in range(3):
        versions = [writer.site() for _ in range(4)]
        for page in range(40):
            sentences = writer.sentences(80, 400)
            rate = writer.draw.choice([0, 0, 0.002, 0.01, 0.1])
            for version in range(writer.draw.choice([1, 3, 4] if writer.language == "en" else [1, 1, 1, 2])):
                if version:
                    sentences = writer.edited(sentences, rate)
                identity = {
                    "id": f"site {site_number} page {page}@{version}",
                    "url": f"https://s{site_number}.example/{page}",
                    "lang": writer.language,
                }
                documents.append(
                    {**identity, "html": writer.page(sentences, versions[version]), "text": writer.text(sentences)}
                )
    return documents, all_pairs(documents, writer)


def causes(writer):
    """Generates articles as pages of eight sites. For each article it adds pages that differ from it by a known cause."""
    documents, sets, pairs = [], [], []
    sites = [writer.site() for _ in range(8)]

    def add(main, site, cause, extra=()):
        identity = {"id": f"{cause} {len(documents)}", "lang": writer.language, "cause": cause}
        documents.append({**identity, "html": writer.page(main, sites[site], extra), "main": writer.text(main)})
        sets.append(shingles(documents[-1]["main"], writer.language))
        return len(documents) - 1

    def pair(a, b, cause, **params):
        pairs.append(
            {
                "a": documents[a]["id"],
                "b": documents[b]["id"],
                "cause": cause,
                "params": params,
                **similarity(sets[a], sets[b]),
            }
        )

    originals = []
    for _ in range(150):
        main = writer.sentences(150, 350)
        site = writer.draw.randrange(len(sites))
        original = add(main, site, "original")
        originals.append((original, site))
        pair(original, add(main, (site + 1) % len(sites), "mirror"), "mirror")
        advertisement = (
            lambda: f'<aside class="ad"><a href="https://ads.example/">{writer.text([writer.some_words(12)])}</a></aside>'
        )
        pair(original, add(main, site, "ads", [advertisement() for _ in range(writer.draw.randint(1, 4))]), "ads")
        counter = f'<footer class="counter"><span>{writer.draw.randrange(10**6)}</span></footer>'
        pair(original, add(main, site, "counters", [counter]), "counters")
        # A page of other text that contains the beginning of the article: 50 to 90 % of its words.
        share = writer.draw.choice([0.5, 0.6, 0.7, 0.8, 0.9])
        words = [word for sentence in main for word in sentence]
        taken = words[: round(share * len(words))]
        copy = [
            *writer.sentences(150, 300),
            *(taken[i : i + 14] for i in range(0, len(taken), 14)),
            *writer.sentences(150, 300),
        ]
        pair(original, add(copy, (site + 2) % len(sites), "copy"), "copy", share=share)
    for (a, site), (b, other_site) in writer.draw.sample(list(itertools.combinations(originals, 2)), 3000):
        pair(a, b, "unrelated-same-site" if site == other_site else "unrelated")
    return documents, pairs


def headlines(writer):
    """Generates titles of 10 to 16 ideographs.

    One in five has a copy with one ideograph more (a Jaccard of 0.86 to 0.92), and one in five a copy with another
    ideograph in the middle (a Jaccard below 0.5).
    """
    documents = []
    for i in range(900):
        ideographs = [chr(0x4E00 + writer.draw.randrange(3000)) for _ in range(writer.draw.randint(10, 16))]
        titles = [ideographs]
        if i % 5 == 0:
            titles.append([*ideographs, "新"])
        elif i % 5 == 1:
            titles.append([*ideographs[:6], "旧", *ideographs[7:]])
        documents += (
            {"id": f"title {i}@{version}", "lang": "zh", "text": "".join(title)} for version, title in enumerate(titles)
        )
    return documents, all_pairs(documents, writer)


GENERATORS = {
    "revisions-en": revisions,
    "revisions-zh": revisions,
    "newswire-en": newswire,
    "webpages-en": webpages,
    "webpages-zh": webpages,
    "causes-en": causes,
    "causes-zh": causes,
    "headlines-zh": headlines,
}
