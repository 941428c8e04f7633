"""All cases: lists of commands, by the part of the program that they run."""

from same.case import Case, copied_collection
from same.dedup import dedup_cases, input_cases, known_cases
from same.inputs import COLLECTION_OPTIONS, SETS
from same.service import run_service


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
        "--threads 1",
        "--threads 3",
        "--ahead 0",
        "--window 2d --half-life 12h",
        "--threshold 0.6 -k 24",
        "--story-threshold 0.4 --merge 1",
        "--labels places --vectors",
        "--canonical longest,https --canonical-scope host",
        "--equal-bits 16",
        "--live 50",
        "--group-window 1d",
        "--time-key none",
        "--profile tp1-words-tf",
        "--empty reject",
    ]
    for options in variants:
        yield Case(f"cluster {options}", (f"cluster {news} -o out {options}",), quick=options in variants[:4])
    runs = (
        f"cluster {news} -o one --state state --limit 300",
        f"cluster {news} -o two --state state --window 7d",
        "cluster ../../data/articles-en.jsonl -o three --state state --time-key none",
    )
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
    yield Case(
        "index build with little memory",
        (f"index build {first} {second} -o seen --memory 64MiB -q", "index join seen -q --memory 64MiB"),
    )
    for options in [
        "-n 1e6",
        "-n 1e9 -k 3 --memory 14GB --explain",
        "-n 1e8 -k 10 --bits 128 --mode online --medium disk --explain",
        "-n 5e7 -k 6 --codec huffman --skew 3",
    ]:
        yield Case(f"plan {options}", (f"plan {options}",), quick=True)


def text_cases():
    sets = ["revisions-zh", "newswire-en", "docs-mixed"]
    profiles = [
        "tp1-words-lntf-64",
        "tp1-words-lntf-128",
        "tp1-words-lntf-16",
        "tp1-words-tf-32",
        "tp1-words-levels-64",
        "tp1-words2-lntf-64",
        "tp1-chars4-tf-64",
        "tp1-chars5-set-128",
        "1e0ng",
        "rust-simhash",
        "simhash-java",
    ]
    for profile in profiles:
        steps = tuple(f"fingerprint ../../data/{name}.jsonl --limit 300 --profile {profile}" for name in sets)
        yield Case(f"fingerprint {profile}", steps, quick=profile in profiles[:2] + profiles[-3:])
    for labelled in SETS:
        yield Case(
            f"fingerprint {labelled.name}",
            (f"fingerprint ../../data/{labelled.name}.jsonl {labelled.options} -q",),
            quick=labelled.name in ["causes-zh", "webpages-en"],
        )
    dictionary = "--dictionary ../../data/dictionary"
    for profile in ["cppjieba", "cppjieba-top20", "haoyuhu-gosimhash"]:
        yield Case(
            f"fingerprint {profile}",
            (f"fingerprint ../../data/news-topics-zh.jsonl --limit 100 --profile {profile} {dictionary} -q",),
            quick=profile == "cppjieba",
        )
    yield Case(
        "fingerprint --idf, --key, --format-out",
        (
            "fingerprint ../../data/revisions-zh.jsonl --idf zhen1 -q",
            "fingerprint ../../data/revisions-zh.jsonl --idf zhen1 --idf-root -q --format-out tsv",
            "fingerprint ../../data/revisions-zh.jsonl --stop-words ../../data/forms/stop-words.txt -q",
            "fingerprint ../../data/forms/vectors.jsonl --vector-key v -q",
            "fingerprint ../../data/newswire-en.jsonl --profile tp1-words-lntf-64+key.test --key ../../data/forms/key -q",
        ),
        quick=True,
    )
    yield Case(
        "idf build",
        (
            "idf build ../../data/newswire-en.jsonl ../../data/revisions-zh.jsonl -o table.tpidf -q",
            "fingerprint ../../data/newswire-en.jsonl --idf table.tpidf -q",
            "dedup ../../data/newswire-en.jsonl --idf table.tpidf -o out",
        ),
        quick=True,
    )
    folder = "../../data/forms/folder"
    pairs = [("0/0.txt", "1/8.txt"), ("1/1.md", "2/9.md"), ("0/0.txt", "0/0.txt"), ("2/100.txt", "4/4.txt")]
    yield Case(
        "compare",
        tuple(
            f"compare {folder}/{a} {folder}/{b} {options}"
            for a, b in pairs
            for options in ["--json", "--json --explain", "", "--explain --profile tp1-chars4-tf-64"]
        ),
        quick=True,
    )
    for name in ["newswire-en", "revisions-zh", "articles-en"]:
        data = f"../../data/{name}.jsonl"
        yield Case(
            f"eval {name}",
            (f"eval --docs {data} --json eval.json -q --at 0.6,0.8 --also tp1-chars4-tf > table.txt",),
            quick=name == "articles-en",
        )
        yield Case(
            f"calibrate {name}",
            (f"calibrate {data} --json calibrate.json --write choice.toml -q --n 5e6",),
            quick=name == "articles-en",
        )
    for name in ["news-topics-zh", "headlines-zh"]:
        yield Case(
            f"eval clusters {name}",
            (
                f"cluster ../../data/{name}.jsonl -o out",
                f"eval --docs ../../data/{name}.jsonl --labels topic --clusters out/assignments.jsonl --json eval.json -q"
                " > table.txt",
            ),
        )


def collection_cases():
    first, second, html = (
        "../../data/newswire-en.jsonl",
        "../../data/revisions-en.jsonl",
        "../../data/causes-en.jsonl --html-key html",
    )
    for options, quick in COLLECTION_OPTIONS.items():
        export = [] if "--store" in options else ["collection export seen > export.jsonl"]
        stories = [
            "collection stories seen --min-size 1 --limit 100000",
            "collection stories seen --state live",
            "collection stories seen --story 1",
        ]
        yield Case(
            f"collection {options}".strip(),
            (
                f"collection create made {options}",
                "collection stat made > made/stat.json",
                "collection add made ../../data/articles-en.jsonl -q --summary",
                "collection check made",
                copied_collection(options),
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
    yield Case(
        "collection of pages",
        (
            copied_collection(),
            f"collection add seen {html} -q",
            "collection export seen > export.jsonl",
            "collection repair seen repaired",
            "collection export repaired > repaired/export.jsonl",
        ),
    )
    yield Case("service", (run_service,), quick=True)


def crossed_cases():
    news, first = "../../data/newswire-en.jsonl", "../../data/first.u64"
    yield Case(
        "crossed: OLD's state",
        (f"old:cluster {news} -o one --state state --limit 400", f"cluster {news} -o two --state state"),
        quick=True,
    )
    yield Case(
        "crossed: OLD's index",
        (
            f"old:index build {first} -o seen -q",
            "index check seen",
            "index query seen --queries ../../data/second.u64 -q",
            "index add seen ../../data/second.u64 -q",
            "index compact seen",
            "index export seen -q",
        ),
        quick=True,
    )
    yield Case(
        "crossed: OLD's collection",
        (
            copied_collection("--stories --window 7d"),
            f"old:collection add seen {news} -q",
            "old:collection backup seen copy",
            "collection check seen",
            "collection add seen ../../data/articles-en.jsonl -q",
            f"dedup {news} ../../data/revisions-en.jsonl -o out --against seen --append",
            "collection export seen > export.jsonl",
            "collection restore copy again",
            "collection stories again --min-size 1",
        ),
        quick=True,
    )
    yield Case(
        "crossed: OLD's idf table and config",
        (
            f"old:idf build {news} -o table.tpidf -q",
            f"old:dedup {news} -o out --idf table.tpidf",
            "dedup --config out/config.toml -o again",
            f"fingerprint {news} --idf table.tpidf -q",
        ),
    )


def all_cases(inputs):
    quick = inputs.quick
    cases = [
        *dedup_cases(quick),
        *input_cases(inputs.tables),
        *known_cases(),
        *cluster_cases(quick),
        *index_cases(),
        *text_cases(),
        *collection_cases(),
        *crossed_cases(),
    ]
    return [case for case in cases if case.quick or not quick]
