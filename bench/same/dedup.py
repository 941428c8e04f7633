"""The cases of `dedup`: options, input formats, and documents known from before."""

from same.case import Case, copied_collection
from same.inputs import SETS

# Options of `dedup`, a case each; --quick leaves out the second list.
DEDUP_OPTIONS = """
--mode remove
--mode annotate
--mode report
--columns dup-count
--keep longest
--keep shortest
--keep newest
--pairs
--pairs=distinct
--parts
--no-verify
--threshold 0.5 --pairs
--bits 64
--profile paper
--profile tp1-words-tf
--profile tp1-chars4-tf
--idf zhen1
--order similar
--threads 1 --pairs
--threads 5 --pairs
""".strip().split("\n")
MORE_DEDUP_OPTIONS = """
--mode annotate --columns datatrove
--mode annotate --columns text-dedup
--mode annotate --columns duplodocus
--mode annotate --prefix tp_
--keep first
--keep newest --keep-key id
--parts=0.6
--no-verify -k 6 --bits 64
--threshold 0.7 --pairs
--threshold 0.95 --pairs
--bits 128 -k 30
--bits 64 -k 3
--profile tp1-words-levels
--profile tp1-words2-lntf
--profile tp1-chars5-set
--idf zhen1 --idf-root
--stop-words ../../data/forms/stop-words.txt
--clusters jsonl
--clusters parquet
--clusters none
--empty remove
--empty reject
--threads 2 --pairs
--memory 256MiB --pairs
--seed 7
--limit 100
""".strip().split("\n")


def dedup_cases(quick):
    suffix = "" if quick else "-all"
    for labelled in SETS:
        data = f"../../data/{labelled.name}{suffix}.jsonl"
        yield Case(f"dedup {labelled.name}", (f"dedup {data} {labelled.options} -o out --pairs",), quick=True)
        sliced = f"../../data/{labelled.name}.jsonl"
        yield Case(
            f"dedup {labelled.name} --parts",
            (f"dedup {sliced} {labelled.options} -o out --parts --mode annotate --prefix tp_",),
        )
    for name in ["revisions-zh", "newswire-en"]:
        for options in DEDUP_OPTIONS + MORE_DEDUP_OPTIONS:
            quick_case = name == "revisions-zh" and options in DEDUP_OPTIONS
            yield Case(f"dedup {name} {options}", (f"dedup ../../data/{name}.jsonl -o out {options}",), quick_case)
    mixed = "../../data/docs-mixed.jsonl ../../data/poems-zh.jsonl"
    for options in ["--pairs --threads 3", "--threshold 0.6 --pairs", "--order similar", "--parts"]:
        yield Case(f"dedup two files {options}", (f"dedup {mixed} -o out {options}",))
    yield Case(
        "dedup --config",
        (
            "dedup ../../data/newswire-en.jsonl -o out --threshold 0.7 --keep longest",
            "dedup --config out/config.toml -o again",
        ),
        quick=True,
    )
    yield Case(
        "dedup --overwrite",
        ("dedup ../../data/newswire-en.jsonl -o out", "dedup ../../data/articles-en.jsonl -o out --overwrite"),
    )
    yield Case("dedup refuses a used directory", ("dedup ../../data/articles-en.jsonl -o out",) * 2, allowed=(0, 1, 2))


# Inputs with records, to which `--mode annotate` adds fields, and others.
RECORD_INPUTS = """
mixed.jsonl
mixed.jsonl.gz
mixed.jsonl.zst
mixed.jsonl.bz2
mixed.jsonl.xz
mixed.json
mixed.csv
mixed.tsv
mixed.jsonl --text-key meta.body
mixed.jsonl --max-document 3000
mixed.csv --no-header --text-key 2 --id-key 1
gb18030.jsonl --charset gb18030
damaged.jsonl
damaged.jsonl --max-rejected 50
cut.jsonl.gz
""".strip().split("\n")
OTHER_INPUTS = """
lines.txt --lines
folder
folder --any-text
folder --include '*.md' --exclude 3/
folder --ext log
pages
pages.warc
pages.warc.gz --any-status
""".strip().split("\n")


def input_cases(tables):
    forms = "../../data/forms"
    records = RECORD_INPUTS + (["mixed.parquet", "mixed.arrow"] if tables else [])
    for arguments in records + OTHER_INPUTS:
        yield Case(f"input {arguments}", (f"dedup {forms}/{arguments} -o out --pairs",), quick=True)
    for arguments in records:
        steps = (f"dedup {forms}/{arguments} -o out --pairs --mode annotate",)
        yield Case(f"input {arguments} --mode annotate", steps)
    yield Case("input strict", (f"dedup {forms}/damaged.jsonl -o out --strict",), allowed=(1,))
    yield Case("input stdin", (f"dedup - --format jsonl -o out < {forms}/mixed.jsonl",), quick=True)
    yield Case(
        "input several",
        (f"dedup {forms}/mixed.jsonl.gz {forms}/mixed.json {forms}/folder '{forms}/pages/1*.html' -o out",),
    )


def known_cases():
    first, second = "../../data/revisions-zh.jsonl", "../../data/revisions-en.jsonl"
    news = "../../data/newswire-en.jsonl"
    make = copied_collection(), f"collection add seen {first} -q"
    for options in ["", "--threshold 0.9", "--mode annotate --pairs"]:
        yield Case(
            f"against a collection {options}".strip(),
            (*make, f"dedup {first} {second} -o out --against seen {options}"),
            quick=not options,
        )
    for store in ["shingles", "none"]:
        yield Case(
            f"against a collection, --store {store}",
            (copied_collection(f"--store {store}"), make[1], f"dedup {first} {second} -o out --against seen"),
        )
    index = "index build ../../data/newswire-en.u64 -o seen --profile tp1-words-lntf-64 -q"
    yield Case(
        "against an index", (index, f"dedup {news} ../../data/articles-en.jsonl -o out --against seen"), quick=True
    )
    yield Case(
        "against an index -k 6",
        (index, f"dedup {news} ../../data/articles-en.jsonl -o out --against seen -k 6 --mode annotate"),
    )
    yield Case(
        "append",
        (
            make[0],
            f"dedup {first} -o out1 --against seen --append",
            f"dedup {second} -o out2 --against seen --append",
            f"dedup {first} -o out3 --against seen --append --threshold 0.9",
            "collection export seen > export.jsonl",
            "collection stat seen > stat.json",
            "collection check seen",
        ),
        quick=True,
    )
