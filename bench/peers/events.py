"""Makes sets of documents whose events are known, from the labelled sets, for `clusters.py`.

    python3 bench/peers/events.py DATA OUT

DATA has NAME.docs.jsonl.zst; OUT gets NAME.jsonl, in which `label` is the event. An event is, by set:

* revisions-en, revisions-zh: a page with its revisions, in order of time.
* causes-en, causes-zh: an article with its mirrors, excerpts and edits, in a shuffled order.
* webpages-en: a page with its versions, in order of time.
* docs-mixed: a page of a site in one language, with its versions, in a shuffled order.
* followups-en: newswire reports that follow one another. Two reports at most two days apart belong together if their
  titles have a stock symbol in common, or two words that at most 20 of all titles have; and so on from report to
  report. Events of fewer than three reports are left out.
* newswire-events: all reports of the newswire, with the events of followups-en. A report that follows no other is an
  event.
* reuse-answers-en: a question with its answers, in a shuffled order.
* parts-en, parts-zh, parts-news-zh, parts-docs: a text as four parts of equally many sentences, in a shuffled order. The
  texts are the original articles of causes-*, the articles of news-topics-zh, and the English pages of the current
  version of docs-mixed. Texts of fewer than twelve sentences are left out, and all after the first 500.
* sections-en, sections-zh: the last revision of a page of revisions-*, as its sections, in a shuffled order. A heading
  of the second level begins a section. Sections of fewer than 200 characters are left out, and then pages of fewer than
  three sections, and all pages after the first 500.
* generated-LANG-KIND: random texts about events of known sizes, in a shuffled order. An event has words of its own; the
  other words of its texts have a Zipf distribution and are common to all events.

Four more sets have wider labels, which are no events: newswire-en (the reports of one topic each), news-topics-zh and
headlines-zh have subjects, licences-multi has licences with their versions, in a shuffled order.
"""

import itertools
import json
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path

SEED = 1
# A title word that more titles than this have does not connect reports.
MAX_TITLES = 20
MAX_SECONDS = 2 * 86_400
MIN_REPORTS = 3
MIN_SECTION = 200
MAX_DIVIDED = 500
# By kind: documents, the sizes of an event, the words of a document, the share of words that are the event's own, and the number of
# words that an event has.
GENERATED = {
    "few": (220, [10, 14, 18], (15, 30), 0.25, 25),
    "small": (3000, [1, 2, 3, 5], (50, 160), 0.25, 20),
    "mixed": (1000, [1, 1, 2, 4, 8, 12, 30], (50, 160), 0.2, 15),
    "medium": (1000, [5, 10, 20, 40], (40, 120), 0.2, 30),
    "large": (3000, [50, 100, 200], (40, 150), 0.3, 40),
    "single": (1000, [1, 1, 1, 1, 1, 2, 4], (50, 160), 0.2, 12),
}
COMMON_WORDS = 4000


def read(data, name):
    packed = data / f"{name}.docs.jsonl.zst"
    text = subprocess.run(["zstd", "-dc", "--long=27", packed], stdout=subprocess.PIPE, check=True).stdout.decode()
    # Strings may contain other line ends.
    return [json.loads(line) for line in text.split("\n") if line]


def in_time(records):
    return sorted(records, key=lambda record: (record.get("time") or "", record["id"]))


def shuffled(records):
    records = list(records)
    random.Random(SEED).shuffle(records)
    return records


def source(record):
    """Returns the part of an id before the path: the repository."""
    return record["id"].split(":")[0]


def only_topic(report):
    """Returns the topic of a report as a list, which is empty if the report has none or several."""
    topics = report["topics"]
    topics = json.loads(topics) if isinstance(topics, str) else topics
    return topics if len(topics) == 1 else []


def language(text):
    ideographs, letters = len(re.findall("[\u4e00-\u9fff]", text)), len(re.findall("[A-Za-z]", text))
    return "zh" if ideographs >= 0.1 * (ideographs + letters) else "en"


def follow_ups(reports, least=MIN_REPORTS):
    """Returns the reports of events with at least `least` reports, with their events."""
    symbols = [set(re.findall(r"<[A-Z.]+>", report["title"])) for report in reports]
    words = [
        set(re.findall(r"[a-z]{3,}", re.sub(r"<[^>]*>", " ", report["title"]).lower().replace("'", "")))
        for report in reports
    ]
    titles = Counter(word for own in words for word in own)
    times = [datetime.fromisoformat(report["time"].replace("Z", "+00:00")).timestamp() for report in reports]
    shared, earlier = Counter(), defaultdict(list)
    for i in range(len(reports)):
        rare = [(word, 1) for word in words[i] if titles[word] <= MAX_TITLES]
        for word, weight in rare + [(symbol, 2) for symbol in symbols[i]]:
            for j in earlier[word]:
                if times[i] - times[j] <= MAX_SECONDS:
                    shared[j, i] += weight
            earlier[word].append(i)
    parent = list(range(len(reports)))

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for (j, i), weight in shared.items():
        if weight >= 2:
            parent[root(j)] = root(i)
    sizes = Counter(map(root, range(len(reports))))
    return [(report, str(root(i))) for i, report in enumerate(reports) if sizes[root(i)] >= least]


def parts(articles, field):
    """Returns the four parts of each text, with the text as their event."""
    rows = []
    for article in articles:
        sentences = re.findall(r"[^.!?。！？]+[.!?。！？]+", article[field])
        each = len(sentences) // 4
        if each >= 3 and len(rows) < 4 * MAX_DIVIDED:
            rows += [({"text": "".join(sentences[i * each : (i + 1) * each])}, article["id"]) for i in range(4)]
    return shuffled(rows)


def sections(pages):
    """Returns the sections of each page, with the page as their event."""
    rows, divided = [], 0
    for page in pages:
        own = [part for part in re.split(r"(?m)^## ", page["text"])[1:] if len(part) >= MIN_SECTION]
        if len(own) >= 3 and divided < MAX_DIVIDED:
            divided += 1
            rows += [({"text": part}, page["id"]) for part in own]
    return shuffled(rows)


def chinese_words(data):
    """Returns words of two or three ideographs, the most frequent first."""
    packed = data / "cppjieba-dict" / "jieba.dict.utf8.zst"
    text = subprocess.run(["zstd", "-dc", "--long=27", packed], stdout=subprocess.PIPE, check=True).stdout.decode()
    entries = [line.split() for line in text.split("\n") if line]
    words = [(int(frequency), word) for word, frequency, _ in entries if re.fullmatch("[\u4e00-\u9fff]{2,3}", word)]
    return [word for _, word in sorted(words, reverse=True)]


def generated(kind, chinese):
    """Returns random texts with their events. `chinese` has the words; without it, the texts have words of random syllables."""
    count, sizes, lengths, share, own_words = GENERATED[kind]
    draw = random.Random(f"{SEED} {kind} {bool(chinese)}")
    syllable = lambda: draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou")
    words = chinese[:9000] or sorted({"".join(syllable() for _ in range(draw.randint(2, 4))) for _ in range(9000)})
    draw.shuffle(words)
    common, rare = words[:COMMON_WORDS], words[COMMON_WORDS:]
    zipf = lambda count: list(itertools.accumulate(1 / (rank + 3) for rank in range(count)))
    weights, own_weights = zipf(COMMON_WORDS), zipf(own_words)
    texts = []
    for event in itertools.count():
        if len(texts) >= count:
            return shuffled(texts)
        own = draw.sample(rare, own_words)
        for _ in range(draw.choice(sizes)):
            text = [
                (draw.choices(own, cum_weights=own_weights) if draw.random() < share else draw.choices(common, cum_weights=weights))[0]
                for _ in range(draw.randint(*lengths))
            ]
            joined = "，".join(text) + "。" if chinese else " ".join(text).capitalize() + "."
            texts.append(({"text": joined}, str(event)))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    page = lambda record: f"{source(record)}:{record['page']}"
    sets = {
        **{f"revisions-{lang}": [(r, page(r)) for r in in_time(read(data, f"revisions-{lang}"))] for lang in ("en", "zh")},
        **{f"causes-{lang}": [(r, r["base"] or r["id"]) for r in shuffled(read(data, f"causes-{lang}"))] for lang in ("en", "zh")},
        "webpages-en": [(r, page(r)) for r in in_time(read(data, "webpages-en"))],
        "docs-mixed": [
            (r, f"{r['repo']}:{r['page']}:{language(r['text'])}") for r in shuffled(read(data, "docs-mixed"))
        ],
        "followups-en": follow_ups(read(data, "newswire-en")),
        "reuse-answers-en": [(r, r["task"]) for r in shuffled(read(data, "reuse-answers-en"))],
        **{
            f"parts-{lang}": parts([r for r in read(data, f"causes-{lang}") if r["cause"] == "original"], "main")
            for lang in ("en", "zh")
        },
        "parts-news-zh": parts(read(data, "news-topics-zh"), "text"),
        "parts-docs": parts([r for r in read(data, "docs-mixed") if r["version"] == "current" and r["site"] == "en"], "text"),
        **{
            f"sections-{lang}": sections({page(r): r for r in in_time(read(data, f"revisions-{lang}"))}.values())
            for lang in ("en", "zh")
        },
        "newswire-events": follow_ups(read(data, "newswire-en"), least=1),
        "newswire-en": [(r, topic) for r in read(data, "newswire-en") for topic in only_topic(r)],
        **{name: [(r, r["topic"]) for r in read(data, name)] for name in ("news-topics-zh", "headlines-zh")},
        "licences-multi": [(r, r["label"]) for r in shuffled(read(data, "licences-multi"))],
    }
    for lang, words in (("en", []), ("zh", chinese_words(data))):
        sets |= {f"generated-{lang}-{kind}": generated(kind, words) for kind in GENERATED}
    for name, labelled in sets.items():
        rows = (
            {"id": str(i), "title": record.get("title", ""), "text": record["text"], "label": label}
            for i, (record, label) in enumerate(labelled)
        )
        (out / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        print(f"{name}: {len(labelled)} documents, {len({label for _, label in labelled})} events")


main()
