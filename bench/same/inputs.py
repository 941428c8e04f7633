"""The inputs of the cases: slices of the labelled sets, documents in every input format, fingerprints, collections."""

import bz2
import gzip
import json
import lzma
import random
import shutil
import struct
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class LabelledSet:
    """A labelled set, the number of documents of its slice, the same with --quick, and the options that read it."""

    name: str
    slice_documents: int
    quick_documents: int
    options: str = ""
    file: str = ""

    def path(self, directory):
        return directory / (self.file or f"{self.name}.docs.jsonl.zst")


SETS = [
    LabelledSet("articles-en", 1000, 400),
    LabelledSet("causes-en", 400, 100, "--html-key html"),
    LabelledSet("causes-zh", 400, 100, "--html-key html"),
    LabelledSet("headlines-zh", 2464, 800),
    LabelledSet("news-topics-zh", 491, 200),
    LabelledSet("newswire-en", 2000, 600),
    LabelledSet("paper-variants-zh", 6, 6),
    LabelledSet("reuse-answers-en", 60, 60),
    LabelledSet("revisions-en", 1000, 250),
    LabelledSet("revisions-zh", 1000, 300),
    LabelledSet("webpages-en", 300, 100, "--html-key html"),
    LabelledSet("webpages-zh", 184, 60, "--html-key html"),
    LabelledSet("licences-multi", 1990, 300),
    LabelledSet("docs-mixed", 2000, 400),
    LabelledSet("poems-zh", 10000, 2000),
    LabelledSet("short-pairs-zh", 10000, 2000, "--text-key a_text --id-key none", file="short-pairs-zh.jsonl.zst"),
]

# Options of `collection create`, and whether --quick runs their case.
COLLECTION_OPTIONS = {
    "": True,
    "--stories --window 7d": True,
    "--profile tp1-words-lntf-64 -k 5": False,
    "--threshold 0.6": False,
    "--store shingles": True,
    "--store none": False,
    "--canonical newest": False,
    "--canonical shortest-url --max-texts 3": False,
    "--empty reject --profile tp1-chars4-tf-128": False,
}


def collection_name(options):
    return "made" + options.replace(" ", "_")


class Inputs:
    """The files that the cases read, made once for both sides. The cases refer to them as `../../data/NAME`."""

    def __init__(self, directory, source, quick, old):
        self.directory, self.source, self.quick, self.old = directory, source, quick, old
        directory.mkdir(parents=True)
        self.tables = False

    def write(self, name, content):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def make(self):
        for labelled in SETS:
            packed = subprocess.run(
                ["zstd", "-dcq", "--long=27", labelled.path(self.source)], stdout=subprocess.PIPE, check=True
            ).stdout
            lines = packed.split(b"\n")[:-1]
            count = labelled.quick_documents if self.quick else labelled.slice_documents
            self.write(f"{labelled.name}.jsonl", b"\n".join(lines[:count]) + b"\n")
            if not self.quick:
                self.write(f"{labelled.name}-all.jsonl", packed)
        for name in ["simhash-vectors.json", "compat-vectors.json"]:
            if (self.source / name).exists():
                shutil.copy(self.source / name, self.directory / name)
        self.dictionary()
        self.forms()
        self.fingerprints()
        for options in COLLECTION_OPTIONS:
            directory = self.directory / "collections" / collection_name(options)
            subprocess.run(
                [self.old, "collection", "create", directory, *options.split()], stdout=subprocess.DEVNULL, check=True
            )

    def dictionary(self):
        (self.directory / "dictionary").mkdir()
        for packed in (self.source / "cppjieba-dict").iterdir():
            target = self.directory / "dictionary" / packed.name.removesuffix(".zst")
            if packed.suffix == ".zst":
                subprocess.run(["zstd", "-dq", "--long=27", packed, "-o", target], check=True)
            else:
                target.write_bytes(packed.read_bytes())

    def records(self, name):
        return [
            json.loads(line)
            for line in (self.directory / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
            if line
        ]

    def forms(self):
        """Writes the same documents in every input format: compressed, JSON, CSV, lines, folders, archives, tables."""
        records = [
            {"id": row["id"], "time": row.get("time"), "text": row["text"], "meta": {"body": row["text"]}}
            for row in self.records("revisions-zh")[:200] + self.records("newswire-en")[:200]
        ]
        jsonl = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records).encode()
        self.write("forms/mixed.jsonl", jsonl)
        self.write("forms/mixed.jsonl.gz", gzip.compress(jsonl, mtime=0))
        self.write("forms/mixed.jsonl.bz2", bz2.compress(jsonl))
        self.write("forms/mixed.jsonl.xz", lzma.compress(jsonl))
        self.write("forms/mixed.json", json.dumps(records, ensure_ascii=False, indent=1))
        for suffix, comma in [("csv", ","), ("tsv", "\t")]:
            quote = lambda field: '"' + str(field).replace('"', '""') + '"'
            lines = [
                comma.join(map(quote, fields))
                for fields in [("id", "text"), *((row["id"], row["text"]) for row in records)]
            ]
            self.write(f"forms/mixed.{suffix}", "\n".join(lines) + "\n")
        self.write("forms/lines.txt", "".join(row["text"].split("\n")[0] + "\n" for row in records))
        self.write("forms/gb18030.jsonl", jsonl.decode().encode("gb18030"))
        for i, row in enumerate(records[:200]):
            self.write(f"forms/folder/{i % 7}/{i}.{['txt', 'md', 'rst', 'log'][i % 4]}", row["text"])
        subprocess.run(
            ["zstd", "-q", self.directory / "forms/mixed.jsonl", "-o", self.directory / "forms/mixed.jsonl.zst"],
            check=True,
        )
        # Damaged input: not JSON, no text, not UTF-8, a text without words, a repeated id, a truncated file.
        lines = jsonl.split(b"\n")[:60]
        bad = [
            b"{",
            b'{"id": 1}',
            b'{"id": 2, "text": 7}',
            b'{"id": 3, "text": "\xff"}',
            b'{"id": 4, "text": "!?"}',
            b"",
            lines[0],
        ]
        self.write("forms/damaged.jsonl", b"\n".join(lines + bad) + b"\n")
        self.write("forms/cut.jsonl.gz", gzip.compress(jsonl, mtime=0)[:-5000])
        pages = self.records("webpages-en")
        archive = b""
        for i, row in enumerate(pages):
            body = row["html"].encode()
            response = (
                b"HTTP/1.1 %d OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" % (404 if i % 10 == 9 else 200)
                + body
            )
            head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {row['url']}\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
            head += f"WARC-Record-ID: <urn:uuid:{i:032x}>\r\nContent-Type: application/http; msgtype=response\r\n"
            head += f"Content-Length: {len(response)}\r\n\r\n"
            archive += head.encode() + response + b"\r\n\r\n"
            self.write(f"forms/pages/{i}.html", body)
        self.write("forms/pages.warc", archive)
        self.write("forms/pages.warc.gz", gzip.compress(archive, mtime=0))
        generator = random.Random(5)
        vectors = ({"id": str(i), "v": [generator.gauss(0, 1) for _ in range(32)]} for i in range(300))
        self.write("forms/vectors.jsonl", "".join(json.dumps(row) + "\n" for row in vectors))
        self.write("forms/stop-words.txt", "the\nof\nand\n的\n是\n")
        self.write("forms/key", "000102030405060708090a0b0c0d0e0f\n")
        try:
            import pyarrow
            import pyarrow.feather
            import pyarrow.parquet
        except ImportError:
            return
        table = pyarrow.table({name: [row[name] for row in records] for name in ["id", "time", "text"]})
        pyarrow.parquet.write_table(table, self.directory / "forms/mixed.parquet", row_group_size=90)
        pyarrow.feather.write_feather(table, self.directory / "forms/mixed.arrow")
        self.tables = True

    def fingerprints(self):
        """Writes fingerprints: those of texts, by OLD, and random ones of which a tenth are near one of 300 centres."""
        for name in ["poems-zh", "newswire-en"]:
            command = [
                self.old,
                "fingerprint",
                f"{name}.jsonl",
                "-q",
                "--profile",
                "tp1-words-lntf-64",
                "--format-out",
                "tsv",
            ]
            lines = (
                subprocess.run(command, cwd=self.directory, stdout=subprocess.PIPE, check=True)
                .stdout.decode()
                .split("\n")
            )
            self.write(
                f"{name}.u64", b"".join(struct.pack("<Q", int(line.split("\t")[0], 16)) for line in lines if line)
            )
        generator = random.Random(3)
        centres = [generator.getrandbits(64) for _ in range(300)]
        for name, count in [("first", 20_000 if self.quick else 150_000), ("second", 3_000 if self.quick else 20_000)]:
            values = [generator.getrandbits(64) for _ in range(count)]
            for i in range(0, count, 10):
                values[i] = generator.choice(centres)
                for _ in range(generator.randrange(6)):
                    values[i] ^= 1 << generator.randrange(64)
            self.write(f"{name}.u64", struct.pack(f"<{count}Q", *values))
            self.write(f"{name}.ids.u64", struct.pack(f"<{count}Q", *generator.sample(range(10 * count), count)))
