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
"""

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


def language(text):
    ideographs, letters = len(re.findall("[\u4e00-\u9fff]", text)), len(re.findall("[A-Za-z]", text))
    return "zh" if ideographs >= 0.1 * (ideographs + letters) else "en"


def follow_ups(reports):
    """Returns the reports of events with at least MIN_REPORTS reports, with their events."""
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
    return [(report, str(root(i))) for i, report in enumerate(reports) if sizes[root(i)] >= MIN_REPORTS]


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
    }
    for name, labelled in sets.items():
        rows = (
            {"id": str(i), "title": record.get("title", ""), "text": record["text"], "label": label}
            for i, (record, label) in enumerate(labelled)
        )
        (out / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        print(f"{name}: {len(labelled)} documents, {len({label for _, label in labelled})} events")


main()
