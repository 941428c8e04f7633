"""Tests of tables with pyarrow, pandas, polars and DuckDB: twinprint reads the files that they write, and they read twinprint's.

Needs the binary (TWINPRINT, by default target/release/twinprint) and those packages; `./test` installs them.
"""

import json
import os
import random
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
DOCUMENTS = 5000


def documents(seed=7):
    """Returns documents of invented words. Three in ten are an earlier document with one word changed; some are Chinese, some empty."""
    r = random.Random(seed)
    words = ["".join(r.choice("abcdefghijklmnop") for _ in range(r.randint(2, 9))) for _ in range(3000)]
    han = [chr(0x4E00 + r.randrange(3000)) for _ in range(800)]
    rows = []
    for i in range(DOCUMENTS):
        if i > 10 and r.random() < 0.3:
            text = r.choice(rows)["text"].split(" ")
            text[r.randrange(len(text))] = r.choice(words)
            text = " ".join(text)
        elif i % 50 == 0:
            text = "".join(r.choice(han) for _ in range(r.randint(5, 200)))
        elif i % 97 == 0:
            text = ""
        else:
            text = " ".join(r.choice(words) for _ in range(r.randint(3, 200)))
        rows.append({"id": f"d{i}", "text": text, "score": r.random(), "tags": [str(t) for t in range(i % 4)]})
    return rows


ROWS = documents()
TABLE = pa.Table.from_pylist(ROWS).replace_schema_metadata({"made": "by the test"})


def stream(table, path):
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=600)


WRITERS = {
    "snappy.parquet": lambda p: pq.write_table(TABLE, p, row_group_size=700),
    "zstd.parquet": lambda p: pq.write_table(TABLE, p, compression="zstd", data_page_version="2.0"),
    "gzip.parquet": lambda p: pq.write_table(TABLE, p, compression="gzip", use_dictionary=False),
    "lz4.parquet": lambda p: pq.write_table(TABLE, p, compression="lz4", data_page_size=4096),
    "brotli.parquet": lambda p: pq.write_table(TABLE, p, compression="brotli", write_page_index=True),
    "none.parquet": lambda p: pq.write_table(TABLE, p, compression="none", row_group_size=1),
    "delta.parquet": lambda p: pq.write_table(
        TABLE, p, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY", "id": "DELTA_LENGTH_BYTE_ARRAY"}
    ),
    "pandas.parquet": lambda p: pandas.DataFrame(ROWS).to_parquet(p),
    "polars.parquet": lambda p: polars.DataFrame(ROWS).write_parquet(p),
    "duckdb.parquet": lambda p: duckdb.from_arrow(TABLE).write_parquet(str(p)),
    "feather.feather": lambda p: feather.write_feather(TABLE, str(p), chunksize=900),
    "zstd.arrow": lambda p: feather.write_feather(TABLE, str(p), compression="zstd"),
    "plain.arrow": lambda p: feather.write_feather(TABLE, str(p), compression="uncompressed"),
    "polars.arrow": lambda p: polars.DataFrame(ROWS).write_ipc(p),
    "stream.arrow": lambda p: stream(TABLE, p),
}


def read(path):
    """Returns a table as pyarrow reads it."""
    if path.suffix == ".parquet":
        return pq.ParquetFile(path).read()
    with pa.memory_map(str(path)) as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(file).read_all()


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Case(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = Path(work.name)

    def dedup(self, inputs, *flags, out="out", check=True):
        command = [BINARY, "dedup", *map(str, inputs), "-o", str(self.work / out), "-q", *flags]
        memory = 4 << 30
        done = subprocess.run(
            command,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "RUST_BACKTRACE": "0"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        )
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done



class SameDocuments(Case):
    def groups(self, path, out):
        self.dedup([path], out=out)
        rows = lines(self.work / out / "clusters.jsonl")
        return [{key: value for key, value in row.items() if key != "source"} for row in rows]

    def test_a_column_with_dictionary_pages_and_plain_pages(self):
        """The writer changes from dictionary pages to plain ones within a row group."""
        r = random.Random(5)
        text = lambda: " ".join(f"w{r.randrange(10**6)}" for _ in range(140))
        few = [text() for _ in range(20)]
        texts = [r.choice(few) for _ in range(3000)] + [text() for _ in range(7000)]
        texts += [r.choice(texts[:5000]) for _ in range(500)]
        table = pa.table({"id": [f"d{i}" for i in range(len(texts))], "text": texts})
        plain = self.work / "d.jsonl"
        plain.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")
        expected = self.groups(plain, "jsonl")
        for version in "1.0", "2.0":
            with self.subTest(version):
                path = self.work / f"v{version}.parquet"
                pq.write_table(table, path, data_page_version=version, data_page_size=1 << 17)
                pages = pq.ParquetFile(path).metadata.row_group(0).column(1)
                self.assertTrue({"PLAIN", "RLE_DICTIONARY"} <= set(pages.encodings))
                self.assertGreater(pages.total_uncompressed_size, 6 << 20)
                self.assertEqual(self.groups(path, f"v{version}"), expected)
                kept = read(self.work / f"v{version}/kept" / path.name).column("id").to_pylist()
                self.assertEqual(kept, [row["id"] for row in expected if row["is_leader"]])

    def test_tables_of_every_writer_give_the_groups_of_jsonl(self):
        plain = self.work / "d.jsonl"
        plain.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
        expected = self.groups(plain, "jsonl")
        leaders = pa.array([row["is_leader"] for row in expected])
        self.assertGreater(leaders.false_count, DOCUMENTS // 10)
        for name, write in WRITERS.items():
            with self.subTest(name):
                path = self.work / name
                write(path)
                self.assertEqual(self.groups(path, name + "-out"), expected)
                before = read(path)
                for side, rows in ("kept", leaders), ("removed", pc.invert(leaders)):
                    after = self.work / f"{name}-out" / side / name
                    table = read(after)
                    self.assertTrue(table.schema.equals(before.schema, check_metadata=True), side)
                    selected = rows.to_pylist()
                    self.assertEqual(table.to_pylist(), [row for row, chosen in zip(before.to_pylist(), selected) if chosen])
                    self.check_other_readers(after, table)

    def test_annotated_tables_are_the_input_with_added_columns(self):
        for name in ["snappy.parquet", "none.parquet", "polars.parquet", "feather.feather", "polars.arrow", "stream.arrow"]:
            with self.subTest(name):
                path = self.work / name
                WRITERS[name](path)
                before = read(path)
                out = self.work / f"{name}-out"
                self.dedup([path], "--mode", "annotate", "--prefix", "x_", out=out.name)
                self.assertFalse((out / "kept").exists())
                after = read(out / "annotated" / name)
                added = ["x_cluster_id", "x_cluster_size", "x_is_leader", "x_duplicate_of", "x_hamming", "x_jaccard", "x_dup_count"]
                self.assertEqual(after.column_names, before.column_names + added)
                original = after.select(before.column_names)
                self.assertTrue(original.schema.equals(before.schema, check_metadata=True))
                self.assertEqual(original.to_pylist(), before.to_pylist())
                types = [after.schema.field(column).type for column in added]
                integer = pa.int64()
                self.assertEqual(types, [integer, integer, pa.bool_(), pa.string(), integer, pa.float64(), integer])
                clusters = lines(out / "clusters.jsonl")
                for column in added:
                    self.assertEqual(after[column].to_pylist(), [row[column[2:]] for row in clusters], column)
                self.assertGreater(sum(count > 1 for count in after["x_dup_count"].to_pylist()), 1)
                self.check_other_readers(out / "annotated" / name, after)

    def test_an_existing_column_of_the_same_name_is_refused(self):
        pq.write_table(TABLE.rename_columns(["id", "text", "hamming", "tags"]), self.work / "t.parquet")
        done = self.dedup([self.work / "t.parquet"], "--mode", "annotate", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("hamming", done.stderr)

    def check_other_readers(self, path, table):
        """Checks that other readers read the same texts from a written file."""
        texts = table["text"].to_pylist()
        if path.suffix == ".parquet":
            frames = [
                pandas.read_parquet(path)["text"].tolist(),
                polars.read_parquet(path)["text"].to_list(),
                [row[0] for row in duckdb.sql(f"select text from read_parquet('{path}')").fetchall()],
            ]
        elif path.name.startswith("stream"):
            frames = [polars.read_ipc_stream(path)["text"].to_list()]
        else:
            frames = [polars.read_ipc(path)["text"].to_list()]
        for frame in frames:
            self.assertEqual(frame, texts)

    def test_the_layout_of_a_file_is_kept(self):
        path = self.work / "d.parquet"
        pq.write_table(TABLE, path, row_group_size=500, compression={"text": "zstd", "id": "gzip"})
        self.dedup([path])
        before, after = pq.read_metadata(path), pq.read_metadata(self.work / "out/kept/d.parquet")
        self.assertEqual(before.metadata, after.metadata)
        columns = lambda file: str(file.schema).split("\n", 1)[1]
        self.assertEqual(columns(before), columns(after))
        codecs = lambda file: [file.row_group(0).column(i).compression for i in range(file.num_columns)]
        self.assertEqual(codecs(before), codecs(after))
        sizes = [after.row_group(i).num_rows for i in range(after.num_row_groups)]
        self.assertLessEqual(max(sizes), 500)
        self.assertGreater(sum(sizes) / len(sizes), 250)

    def test_shards_keep_their_paths(self):
        data = self.work / "set/data"
        data.mkdir(parents=True)
        shards = [TABLE.slice(0, 1000), TABLE.slice(1000, 1000), TABLE.slice(0, 1000)]
        for i, shard in enumerate(shards):
            pq.write_table(shard, data / f"train-{i:05}-of-00003.parquet")
        pq.write_table(TABLE.slice(0, 0), data / "valid-00000-of-00001.parquet")
        self.dedup([self.work / "set"])
        files = sorted(p.name for p in (self.work / "out/kept/data").iterdir())
        self.assertEqual(files, sorted(p.name for p in data.iterdir()))
        for name in "train-00002-of-00003.parquet", "valid-00000-of-00001.parquet":
            empty = read(self.work / "out/kept/data" / name)
            # Texts without words duplicate nothing.
            self.assertEqual([text for text in empty["text"].to_pylist() if any(map(str.isalnum, text or ""))], [])
            self.assertTrue(empty.schema.equals(read(data / name).schema, check_metadata=True))


class ClusterTable(Case):
    def test_it_has_the_rows_of_clusters_jsonl(self):
        path = self.work / "d.parquet"
        pq.write_table(TABLE, path)
        for bits in "64", "128":
            with self.subTest(bits):
                self.dedup([path], "--bits", bits, "--mode", "report", out=bits)
                expected = lines(self.work / bits / "clusters.jsonl")
                table = pq.read_table(self.work / bits / "clusters.parquet")
                self.assertEqual(table.schema.names, list(expected[0]))
                kind = pa.uint64() if bits == "64" else pa.binary(16)
                self.assertEqual(table.schema.field("fingerprint").type, kind)
                rows = table.to_pylist()
                for row in rows:
                    value = row["fingerprint"]
                    row["fingerprint"] = f"{value:016x}" if bits == "64" else value.hex()
                self.assertEqual(rows, expected)
                self.assertEqual(len(pandas.read_parquet(self.work / bits / "clusters.parquet")), DOCUMENTS)
                self.assertEqual(len(polars.read_parquet(self.work / bits / "clusters.parquet")), DOCUMENTS)


class ClusterIds(Case):
    """Integer ids keep their type in clusters.parquet, so it joins with the input without a cast."""

    TEXTS = ["one two three four five six seven eight", "something else altogether in these words", "one two three four five six seven eight"]

    def clusters(self, inputs, *flags, out="out"):
        self.dedup(inputs, *flags, out=out)
        return self.work / out / "clusters.parquet"

    def test_every_integer_type_is_kept(self):
        for kind, ids in [
            (pa.int64(), [-(2**63), 5, 2**63 - 1]),
            (pa.uint64(), [0, 5, 2**64 - 1]),
            (pa.int32(), [-(2**31), 5, 2**31 - 1]),
            (pa.uint32(), [0, 5, 2**32 - 1]),
            (pa.int16(), [-(2**15), 5, 2**15 - 1]),
            (pa.uint16(), [0, 5, 2**16 - 1]),
            (pa.int8(), [-128, 5, 127]),
            (pa.uint8(), [0, 5, 255]),
        ]:
            table = pa.table({"id": pa.array(ids, kind), "text": self.TEXTS})
            for name, write in ("t.parquet", pq.write_table), ("t.arrow", feather.write_feather):
                with self.subTest(f"{kind} {name}"):
                    out = f"{kind}-{name}"
                    write(table, str(self.work / name))
                    path = self.clusters([self.work / name], out=out)
                    found = pq.read_table(path)
                    self.assertEqual((found.schema.field("id").type, found.schema.field("duplicate_of").type), (kind, kind))
                    self.assertEqual(found["id"].to_pylist(), ids)
                    self.assertEqual(found["duplicate_of"].to_pylist(), [None, None, ids[0]])
                    rows = lines(self.work / out / "clusters.jsonl")
                    self.assertEqual([row["id"] for row in rows], [str(i) for i in ids])
                    self.check_joins(self.work / name, path, len(ids))

    def check_joins(self, documents, clusters, count):
        """Joins the documents with the clusters by `id` and by `duplicate_of` in every engine, without a cast."""
        if documents.suffix == ".parquet":
            frame, found = polars.read_parquet(documents), polars.read_parquet(clusters)
            query = "select count(*), count(d2.id) from read_parquet('{}') d join read_parquet('{}') c on d.id = c.id left join read_parquet('{}') d2 on c.duplicate_of = d2.id"
            self.assertEqual(duckdb.sql(query.format(documents, clusters, documents)).fetchall(), [(count, 1)])
            left, right = pandas.read_parquet(documents), pandas.read_parquet(clusters)
            self.assertEqual(left["id"].dtype, right["id"].dtype)
            self.assertEqual(len(left.merge(right, on="id")), count)
        else:
            frame, found = polars.read_ipc(documents), polars.read_parquet(clusters)
        self.assertEqual(len(frame.join(found, on="id")), count)
        self.assertEqual(len(frame.join(found, left_on="id", right_on="duplicate_of")), 1)

    def test_ids_of_other_types_are_strings(self):
        whole = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": self.TEXTS})
        small = pa.table({"id": pa.array([4, 5, 6], pa.int32()), "text": self.TEXTS})
        words = pa.table({"id": ["a", "b", "c"], "text": self.TEXTS})
        holes = pa.table({"id": pa.array([1, None, 3], pa.int64()), "text": self.TEXTS})
        reals = pa.table({"id": pa.array([1.0, 2.0, 3.0]), "text": self.TEXTS})
        lists = pa.table({"id": pa.array([[1], [2], [3]]), "text": self.TEXTS})
        others = {"whole": whole, "small": small, "words": words, "holes": holes, "reals": reals, "lists": lists}
        for name, table in others.items():
            pq.write_table(table, self.work / f"{name}.parquet")
        (self.work / "json.jsonl").write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(self.TEXTS)))
        paths = {path.stem: path for path in self.work.iterdir()}
        for names in ["holes"], ["words"], ["reals"], ["lists"], ["json"], ["whole", "small"], ["whole", "words"], ["whole", "json"], ["whole", "holes"]:
            with self.subTest(str(names)):
                found = pq.read_table(self.clusters([paths[name] for name in names], out="-".join(names)))
                self.assertEqual((found.schema.field("id").type, found.schema.field("duplicate_of").type), (pa.string(), pa.string()))
                expected = lines(self.work / "-".join(names) / "clusters.jsonl")
                self.assertEqual(found["id"].to_pylist(), [row["id"] for row in expected])
                self.assertEqual(found["duplicate_of"].to_pylist(), [row["duplicate_of"] for row in expected])
        # Several files of one type keep the type, even with rejected rows.
        nulls = pa.table({"id": pa.array([7, 8, 9], pa.int64()), "text": [self.TEXTS[0], None, self.TEXTS[1]]})
        pq.write_table(nulls, self.work / "nulls.parquet")
        self.dedup([paths["whole"], self.work / "nulls.parquet"], "--max-rejected", "100%", out="both")
        found = pq.read_table(self.work / "both/clusters.parquet")
        self.assertEqual((found.schema.field("id").type, found["id"].to_pylist()), (pa.int64(), [1, 2, 3, 7, 9]))
        self.assertEqual(found["duplicate_of"].to_pylist(), [None, None, 1, 1, 2])

    def test_duplicates_of_a_collection_make_duplicate_of_a_string(self):
        table = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": self.TEXTS})
        pq.write_table(table, self.work / "d.parquet")
        (self.work / "old.jsonl").write_text(json.dumps({"id": "old", "text": self.TEXTS[1]}) + "\n")
        for words in ["create"], ["add", "-q"]:
            command = [BINARY, "collection", words[0], str(self.work / "known"), *words[1:]]
            command += [str(self.work / "old.jsonl")] * (words[0] == "add")
            done = subprocess.run(command, capture_output=True, encoding="utf-8")
            self.assertEqual(done.returncode, 0, done.stderr)
        found = pq.read_table(self.clusters([self.work / "d.parquet"], "--against", str(self.work / "known")))
        self.assertEqual((found.schema.field("id").type, found.schema.field("duplicate_of").type), (pa.int64(), pa.string()))
        self.assertEqual(found["duplicate_of"].to_pylist(), [None, "old", "1"])


class Columns(Case):
    LONG = "one two three four five six seven eight nine ten eleven twelve"

    def ids(self, table, *flags):
        """Returns `duplicate_of`, ids and rejects for a table, as Parquet and as Arrow."""
        answers = []
        for name, write in ("t.parquet", pq.write_table), ("t.arrow", feather.write_feather):
            out = f"{name}-{len(os.listdir(self.work))}"
            write(table, str(self.work / name))
            self.dedup([self.work / name], "--max-rejected", "100%", *flags, out=out)
            clusters = lines(self.work / out / "clusters.jsonl")
            rejects = [(row["line"], row["reason"]) for row in lines(self.work / out / "rejects.jsonl")]
            answers.append(([row["duplicate_of"] for row in clusters], [row["id"] for row in clusters], rejects))
        return answers

    def test_strings_of_all_types(self):
        texts = [self.LONG, "other words", self.LONG]
        for kind in pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary():
            with self.subTest(str(kind)):
                table = pa.table({"id": [7, 8, 9], "text": pa.array(texts, pa.string()).cast(kind)})
                for duplicates, ids, rejects in self.ids(table):
                    self.assertEqual((duplicates, ids, rejects), ([None, None, "7"], ["7", "8", "9"], []))
        table = pa.table({"id": [7, 8, 9], "text": pa.array(texts).dictionary_encode()})
        for duplicates, _, rejects in self.ids(table):
            self.assertEqual((duplicates, rejects), ([None, None, "7"], []))

    def test_paths_and_lists(self):
        halves = [self.LONG[:30], self.LONG[30:]]
        column = pa.array([{"parts": halves, "n": 1}, {"parts": [], "n": 2}, {"parts": halves, "n": 3}, {"parts": None}, None])
        for duplicates, ids, rejects in self.ids(pa.table({"doc": column}), "--text-key", "doc.parts", "--id-key", "doc.n"):
            self.assertEqual((duplicates, ids), ([None, None, "1"], ["1", "2", "3"]))
            self.assertEqual([line for line, _ in rejects], [4, 5])
            self.assertIn("null", rejects[0][1])
        column = pa.array([[{"p": half} for half in halves], [{"p": "x"}], [{"p": half} for half in halves]])
        for duplicates, _, rejects in self.ids(pa.table({"doc": column, "id": ["a", "b", "c"]}), "--text-key", "doc.p"):
            self.assertEqual((duplicates, rejects), ([None, None, "a"], []))

    def test_the_newest_is_kept_for_every_type_of_time(self):
        day = 86_400_000
        stamps = pa.array([1 * day, 3 * day, 2 * day], pa.int64())
        for kind in pa.int64(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.date64(), pa.float64():
            with self.subTest(str(kind)):
                table = pa.table({"id": ["a", "b", "c"], "text": [self.LONG] * 3, "time": stamps.cast(kind)})
                for duplicates, _, _ in self.ids(table, "--keep", "newest"):
                    self.assertEqual(duplicates, ["b", None, "b"])

    def test_values_without_text_are_rejected(self):
        table = pa.table({"text": [1, 2], "body": ["x", "y"]})
        for flags, message in ([], r'column "text" is I.*64.*--text-key'), (["--text-key", "content"], r'"content".*text, body'):
            for name, write in ("t.parquet", pq.write_table), ("t.arrow", feather.write_feather):
                write(table, str(self.work / name))
                done = self.dedup([self.work / name], *flags, out="none", check=False)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, message)
        table = pa.table({"text": [b"fine " * 20, b"\xff bad", None, b"too long " * 100]})
        for _, ids, rejects in self.ids(table, "--max-document", "500"):
            self.assertEqual(len(ids), 1)
            self.assertEqual([line for line, _ in rejects], [2, 3, 4])


class Forecast(Case):
    def test_a_dry_run_reads_a_sample_of_a_table(self):
        r = random.Random(6)
        texts = [" ".join(f"w{r.randrange(10**6)}" for _ in range(140)) for _ in range(6000)]
        for write, name in (pq.write_table, "a.parquet"), (feather.write_feather, "a.arrow"):
            with self.subTest(name):
                path = self.work / name
                part = {"row_group_size": 300} if name == "a.parquet" else {"chunksize": 300}
                write(pa.table({"text": texts}), path, **part)
                command = [BINARY, "dedup", str(path), "-o", str(self.work / "none"), "--dry-run"]
                whole, sample = (
                    subprocess.run([*command, *more], capture_output=True, encoding="utf-8", check=True).stdout
                    for more in ([], ["--sample", "1MiB"])
                )
                self.assertIn(" 6,000  of which 0 rejected", whole)
                self.assertNotIn(" 6,000  of which 0 rejected", sample)


class Damaged(Case):
    def test_damage_is_reported_and_every_row_is_counted(self):
        r = random.Random(3)
        small = TABLE.slice(0, 300)
        makers = {
            "a.parquet": lambda p: pq.write_table(small, p, row_group_size=100),
            "b.parquet": lambda p: pq.write_table(small, p, use_dictionary=False, compression="zstd"),
            "c.arrow": lambda p: feather.write_feather(small, str(p), chunksize=100),
            "d.arrow": lambda p: stream(small, p),
        }
        for name, make in makers.items():
            whole = self.work / name
            make(whole)
            data = whole.read_bytes()
            for trial in range(60):
                bad = bytearray(data)
                if trial < 15:
                    del bad[r.randrange(len(bad)) :]
                else:
                    for _ in range(r.randint(1, 4)):
                        # The metadata describes the rest of the file, so half of the damage goes there.
                        at = r.randrange(len(bad)) if trial % 2 else len(bad) - 1 - r.randrange(min(len(bad), 2000))
                        bad[at] = r.randrange(256)
                with self.subTest(name, trial=trial):
                    path = self.work / ("bad" + whole.suffix)
                    path.write_bytes(bad)
                    out = f"out-{name}-{trial}"
                    done = self.dedup([path], "--no-verify", out=out, check=False)
                    self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                    if done.returncode == 1:
                        self.assertRegex(done.stderr, "bad.*(damaged|cannot be copied|fewer rows|not a readable|UTF-8)")
                    else:
                        report = json.loads((self.work / out / "report.json").read_text())["records"]
                        self.assertEqual(report["read"], report["kept"] + report["removed"] + report["rejected"])
                        self.assertEqual(report["rejected"], len(lines(self.work / out / "rejects.jsonl")))

    def test_files_that_are_not_tables_are_refused(self):
        for name in "x.parquet", "x.arrow":
            for content in b"", b"PAR1", b"{\"text\": \"x\"}\n" * 100, b"PAR1" + b"\x00" * 50 + b"\xff\xff\xff\x7fPAR1", b"ARROW1\0\0" + b"\xff" * 40 + b"ARROW1":
                with self.subTest(name, content=content[:20]):
                    (self.work / name).write_bytes(content)
                    done = self.dedup([self.work / name], check=False)
                    self.assertEqual(done.returncode, 1)
                    self.assertRegex(done.stderr, f"{name}:1: not a")


if __name__ == "__main__":
    unittest.main()
