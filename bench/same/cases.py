"""The cases: lists of commands, by the part of the program that they run."""

import shutil
from dataclasses import dataclass

from same.inputs import COLLECTION_OPTIONS, SETS, collection_name
from same.service import served


@dataclass(frozen=True)
class Case:
    """A list of steps, each a command line or a function of `Side`."""

    name: str
    steps: tuple
    quick: bool = False
    # Exit codes other than 0 and 3 that the case is about.
    allowed: tuple = (0, 3)


def dedup_cases(quick):
    suffix = "" if quick else "-all"
    for labelled in SETS:
        data = f"../../data/{labelled.name}{suffix}.jsonl"
        yield Case(f"dedup {labelled.name}", (f"dedup {data} {labelled.options} -o out --pairs",), quick=True)
        sliced = f"../../data/{labelled.name}.jsonl"
        yield Case(f"dedup {labelled.name} --parts", (f"dedup {sliced} {labelled.options} -o out --parts --mode annotate --prefix tp_",))
    variants = {
        "--mode remove": True, "--mode annotate": True, "--mode report": True, "--mode annotate --columns datatrove": False,
        "--mode annotate --columns text-dedup": False, "--mode annotate --columns duplodocus": False, "--columns dup-count": True,
        "--mode annotate --prefix tp_": False, "--keep first": False, "--keep longest": True, "--keep shortest": True,
        "--keep newest": True, "--keep newest --keep-key id": False, "--pairs": True, "--pairs=distinct": True, "--parts": True, "--parts=0.6": False,
        "--no-verify": True, "--no-verify -k 6 --bits 64": False, "--threshold 0.5 --pairs": True, "--threshold 0.7 --pairs": False,
        "--threshold 0.95 --pairs": False, "--bits 64": True, "--bits 128 -k 30": False, "--bits 64 -k 3": False, "--profile paper": True,
        "--profile tp1-words-tf": True, "--profile tp1-words-levels": False, "--profile tp1-words2-lntf": False,
        "--profile tp1-chars4-tf": True, "--profile tp1-chars5-set": False, "--idf zhen1": True, "--idf zhen1 --idf-root": False,
        "--stop-words ../../data/forms/stop-words.txt": False, "--order similar": True, "--clusters jsonl": False,
        "--clusters parquet": False, "--clusters none": False, "--empty remove": False, "--empty reject": False,
        "--threads 1 --pairs": True, "--threads 2 --pairs": False, "--threads 5 --pairs": True, "--memory 256MiB --pairs": False,
        "--seed 7": False, "--limit 100": False,
    }
    for options, in_quick in variants.items():
        for name in ["revisions-zh", "newswire-en"]:
            yield Case(f"dedup {name} {options}", (f"dedup ../../data/{name}.jsonl -o out {options}",), quick=in_quick and name == "revisions-zh")
    mixed = "../../data/docs-mixed.jsonl ../../data/poems-zh.jsonl"
    for options in ["--pairs --threads 3", "--threshold 0.6 --pairs", "--order similar", "--parts"]:
        yield Case(f"dedup two files {options}", (f"dedup {mixed} -o out {options}",))
    yield Case("dedup --config", ("dedup ../../data/newswire-en.jsonl -o out --threshold 0.7 --keep longest", "dedup --config out/config.toml -o again"), quick=True)
    yield Case("dedup --overwrite", ("dedup ../../data/newswire-en.jsonl -o out", "dedup ../../data/articles-en.jsonl -o out --overwrite"))
    yield Case("dedup refuses a used directory", ("dedup ../../data/articles-en.jsonl -o out",) * 2, allowed=(0, 1, 2))


def input_cases(tables):
    forms = "../../data/forms"
    inputs = {
        "jsonl": "mixed.jsonl", "gz": "mixed.jsonl.gz", "zst": "mixed.jsonl.zst", "bz2": "mixed.jsonl.bz2", "xz": "mixed.jsonl.xz",
        "json": "mixed.json", "csv": "mixed.csv", "tsv": "mixed.tsv", "lines": "lines.txt --lines", "folder": "folder",
        "folder any text": "folder --any-text", "folder glob": "folder --include '*.md' --exclude 3/", "ext": "folder --ext log", "nested": "mixed.jsonl --text-key meta.body",
        "charset": "gb18030.jsonl --charset gb18030", "html folder": "pages", "warc": "pages.warc", "warc gz": "pages.warc.gz --any-status",
        "damaged": "damaged.jsonl", "damaged, max-rejected": "damaged.jsonl --max-rejected 50", "cut off": "cut.jsonl.gz",
        "short records": "mixed.jsonl --max-document 3000", "no header": "mixed.csv --no-header --text-key 2 --id-key 1",
    }
    if tables:
        inputs |= {"parquet": "mixed.parquet", "arrow": "mixed.arrow"}
    for name, arguments in inputs.items():
        yield Case(f"input {name}", (f"dedup {forms}/{arguments} -o out --pairs",), quick=True)
        # Files that are one document each, lines and pages of archives have no fields to add to.
        if name not in ["lines", "folder", "folder any text", "folder glob", "ext", "html folder", "warc", "warc gz"]:
            yield Case(f"input {name} --mode annotate", (f"dedup {forms}/{arguments} -o out --pairs --mode annotate",))
    yield Case("input strict", (f"dedup {forms}/damaged.jsonl -o out --strict",), allowed=(1,))
    yield Case("input stdin", (f"dedup - --format jsonl -o out < {forms}/mixed.jsonl",), quick=True)
    yield Case("input several", (f"dedup {forms}/mixed.jsonl.gz {forms}/mixed.json {forms}/folder '{forms}/pages/1*.html' -o out",))


def known_cases():
    first, second = "../../data/revisions-zh.jsonl", "../../data/revisions-en.jsonl"
    news = "../../data/newswire-en.jsonl"
    make = begun(), f"collection add seen {first} -q"
    for options in ["", "--threshold 0.9", "--mode annotate --pairs"]:
        yield Case(f"against a collection {options}".strip(), (*make, f"dedup {first} {second} -o out --against seen {options}"), quick=not options)
    for store in ["shingles", "none"]:
        yield Case(f"against a collection, --store {store}", (begun(f"--store {store}"), make[1], f"dedup {first} {second} -o out --against seen"))
    index = "index build ../../data/newswire-en.u64 -o seen --profile tp1-words-lntf-64 -q"
    yield Case("against an index", (index, f"dedup {news} ../../data/articles-en.jsonl -o out --against seen"), quick=True)
    yield Case("against an index -k 6", (index, f"dedup {news} ../../data/articles-en.jsonl -o out --against seen -k 6 --mode annotate"))
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


def cluster_cases(quick):
    news = "../../data/newswire-en.jsonl"
    suffix = "" if quick else "-all"
    for labelled in SETS:
        size = suffix if labelled.name == "newswire-en" else ""
        yield Case(
            f"cluster {labelled.name}",
            (f"cluster ../../data/{labelled.name}{size}.jsonl {labelled.options} -o out",),
            quick=labelled.name in ["newswire-en", "revisions-zh", "headlines-zh"],
        )
    variants = [
        "--threads 1", "--threads 3", "--ahead 0", "--window 2d --half-life 12h", "--threshold 0.6 -k 24", "--story-threshold 0.4 --merge 1",
        "--labels places --vectors", "--canonical longest,https --canonical-scope host", "--equal-bits 16", "--live 50", "--group-window 1d", "--time-key none",
        "--profile tp1-words-tf", "--empty reject",
    ]
    for options in variants:
        yield Case(f"cluster {options}", (f"cluster {news} -o out {options}",), quick=options in variants[:4])
    runs = (f"cluster {news} -o one --state state --limit 300", f"cluster {news} -o two --state state --window 7d", "cluster ../../data/articles-en.jsonl -o three --state state --time-key none")
    yield Case("cluster --state, three runs", (runs[0], runs[1].replace(" --window 7d", ""), runs[2]), quick=True)


def index_cases():
    first, second = "../../data/first.u64", "../../data/second.u64"
    ids = "../../data/first.ids.u64", "../../data/second.ids.u64"
    for codec in ["packed", "elias-fano", "huffman"]:
        for k in [3, 6]:
            yield Case(
                f"index {codec} k = {k}",
                (
                    f"index build {first} -o seen -k {k} --codec {codec} -q",
                    f"index query seen --queries {second} -q",
                    f"index query seen --queries {second} -k 2 -q --scan=always",
                    "index stat seen --json",
                    "index export seen -q -o all.parquet",
                    "index check seen",
                ),
                quick=k == 3,
            )
    for name in ["poems-zh", "newswire-en"]:
        yield Case(
            f"index of {name}",
            (
                f"index build ../../data/{name}.u64 -o seen -q --profile tp1-words-lntf-64",
                f"index query seen --text ../../data/{name}.jsonl -q",
                "index join seen -q",
                "index join seen -q --all-pairs -k 4 --format csv",
            ),
            quick=name == "newswire-en",
        )
    yield Case(
        "index add, delete, compact",
        (
            f"index build {first} -o seen --ids {ids[0]} -q",
            f"index add seen {second} --ids {ids[1]} -q",
            "index add seen ../../data/newswire-en.u64 -q",
            "index delete seen 3 17 42",
            "index stat seen --json",
            *(f"index export seen -q -o before.{form}" for form in ["u64", "parquet", "csv", "jsonl"]),
            f"index query seen --queries {second} -k 4 -q --format csv",
            f"index query seen --queries {second} -q -o rows.parquet",
            f"index query seen --queries {second} -q -o rows.bin --format bin",
            "index compact seen",
            "index check seen",
            "index build before.u64 --ids before.ids.u64 -o again -q",
            "index build before.parquet -o from-table -q",
            f"index join seen {second} -q -o pairs.parquet",
        ),
        quick=True,
    )
    yield Case("index build with little memory", (f"index build {first} {second} -o seen --memory 64MiB -q", "index join seen -q --memory 64MiB"))
    for options in ["-n 1e6", "-n 1e9 -k 3 --memory 14GB --explain", "-n 1e8 -k 10 --bits 128 --mode online --medium disk --explain", "-n 5e7 -k 6 --codec huffman --skew 3"]:
        yield Case(f"plan {options}", (f"plan {options}",), quick=True)


def text_cases():
    sets = ["revisions-zh", "newswire-en", "docs-mixed"]
    profiles = [
        "tp1-words-lntf-64", "tp1-words-lntf-128", "tp1-words-lntf-16", "tp1-words-tf-32", "tp1-words-levels-64", "tp1-words2-lntf-64",
        "tp1-chars4-tf-64", "tp1-chars5-set-128", "1e0ng", "rust-simhash", "simhash-java",
    ]
    for profile in profiles:
        steps = tuple(f"fingerprint ../../data/{name}.jsonl --limit 300 --profile {profile}" for name in sets)
        yield Case(f"fingerprint {profile}", steps, quick=profile in profiles[:2] + profiles[-3:])
    for labelled in SETS:
        yield Case(f"fingerprint {labelled.name}", (f"fingerprint ../../data/{labelled.name}.jsonl {labelled.options} -q",), quick=labelled.name in ["causes-zh", "webpages-en"])
    dictionary = "--dictionary ../../data/dictionary"
    for profile in ["cppjieba", "cppjieba-top20", "haoyuhu-gosimhash"]:
        yield Case(f"fingerprint {profile}", (f"fingerprint ../../data/news-topics-zh.jsonl --limit 100 --profile {profile} {dictionary} -q",), quick=profile == "cppjieba")
    yield Case("fingerprint --idf, --key, --format-out", (
        "fingerprint ../../data/revisions-zh.jsonl --idf zhen1 -q",
        "fingerprint ../../data/revisions-zh.jsonl --idf zhen1 --idf-root -q --format-out tsv",
        "fingerprint ../../data/revisions-zh.jsonl --stop-words ../../data/forms/stop-words.txt -q",
        "fingerprint ../../data/forms/vectors.jsonl --vector-key v -q",
        "fingerprint ../../data/newswire-en.jsonl --profile tp1-words-lntf-64+key.test --key ../../data/forms/key -q",
    ), quick=True)
    yield Case("idf build", (
        "idf build ../../data/newswire-en.jsonl ../../data/revisions-zh.jsonl -o table.tpidf -q",
        "fingerprint ../../data/newswire-en.jsonl --idf table.tpidf -q",
        "dedup ../../data/newswire-en.jsonl --idf table.tpidf -o out",
    ), quick=True)
    folder = "../../data/forms/folder"
    pairs = [("0/0.txt", "1/8.txt"), ("1/1.md", "2/9.md"), ("0/0.txt", "0/0.txt"), ("2/100.txt", "4/4.txt")]
    yield Case("compare", tuple(
        f"compare {folder}/{a} {folder}/{b} {options}" for a, b in pairs for options in ["--json", "--json --explain", "", "--explain --profile tp1-chars4-tf-64"]
    ), quick=True)
    for name in ["newswire-en", "revisions-zh", "articles-en"]:
        data = f"../../data/{name}.jsonl"
        yield Case(f"eval {name}", (f"eval --docs {data} --json eval.json -q --at 0.6,0.8 --also tp1-chars4-tf > table.txt",), quick=name == "articles-en")
        yield Case(f"calibrate {name}", (f"calibrate {data} --json calibrate.json --write choice.toml -q --n 5e6",), quick=name == "articles-en")
    for name in ["news-topics-zh", "headlines-zh"]:
        yield Case(f"eval clusters {name}", (
            f"cluster ../../data/{name}.jsonl -o out",
            f"eval --docs ../../data/{name}.jsonl --labels topic --clusters out/assignments.jsonl --json eval.json -q > table.txt",
        ))


def begun(options=""):
    """A step that copies an empty collection, made by OLD, to `seen`. A collection draws secrets at random, and they decide which short texts are compared first, and
    so which answers say that the limit of texts was reached. Both sides therefore begin with the same secrets."""
    return lambda side: shutil.copytree(side.directory / "../../data/collections" / collection_name(options), side.directory / "seen")


def collection_cases():
    first, second, html = "../../data/newswire-en.jsonl", "../../data/revisions-en.jsonl", "../../data/causes-en.jsonl --html-key html"
    for options, quick in COLLECTION_OPTIONS.items():
        export = [] if "--store" in options else ["collection export seen > export.jsonl"]
        stories = ["collection stories seen --min-size 1 --limit 100000", "collection stories seen --state live", "collection stories seen --story 1"]
        yield Case(
            f"collection {options}".strip(),
            (
                f"collection create made {options}",
                "collection stat made > made/stat.json",
                begun(options),
                f"collection add seen {first} -q",
                f"collection query seen {second} -q",
                f"collection add seen {second} -q",
                f"collection add seen {first} -q --limit 200",
                *(stories if "--stories" in options else []),
                "collection delete seen reuters:1 reuters:5 reuters:21",
                "collection delete seen --source wire.example" if quick else "collection delete seen reuters:7",
                f"collection query seen {first} -q",
                "collection stat seen > stat.json",
                *export,
                *(stories[:2] if "--stories" in options else []),
                "collection check seen",
                "collection backup seen copy",
                "collection restore copy restored",
                "collection stat restored > restored/stat.json",
                f"collection query restored {second} -q --summary",
            ),
            quick=quick,
        )
    yield Case("collection of pages", (begun(), f"collection add seen {html} -q", "collection export seen > export.jsonl", "collection repair seen repaired", "collection export repaired > repaired/export.jsonl"))
    yield Case("service", (served,), quick=True)


def crossed_cases():
    news, first = "../../data/newswire-en.jsonl", "../../data/first.u64"
    yield Case("crossed: OLD's state", (f"old:cluster {news} -o one --state state --limit 400", f"cluster {news} -o two --state state"), quick=True)
    yield Case("crossed: OLD's index", (
        f"old:index build {first} -o seen -q",
        "index check seen",
        "index query seen --queries ../../data/second.u64 -q",
        "index add seen ../../data/second.u64 -q",
        "index compact seen",
        "index export seen -q",
    ), quick=True)
    yield Case("crossed: OLD's collection", (
        begun("--stories --window 7d"),
        f"old:collection add seen {news} -q",
        "old:collection backup seen copy",
        "collection check seen",
        f"collection add seen ../../data/articles-en.jsonl -q",
        f"dedup {news} ../../data/revisions-en.jsonl -o out --against seen --append",
        "collection export seen > export.jsonl",
        "collection restore copy again",
        "collection stories again --min-size 1",
    ), quick=True)
    yield Case("crossed: OLD's idf table and config", (
        f"old:idf build {news} -o table.tpidf -q",
        f"old:dedup {news} -o out --idf table.tpidf",
        f"dedup --config out/config.toml -o again",
        f"fingerprint {news} --idf table.tpidf -q",
    ))


def all_cases(inputs):
    quick = inputs.quick
    cases = [
        *dedup_cases(quick), *input_cases(inputs.tables), *known_cases(), *cluster_cases(quick), *index_cases(), *text_cases(), *collection_cases(), *crossed_cases(),
    ]
    return [case for case in cases if case.quick or not quick]
