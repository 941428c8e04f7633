"""datatrove, datasets, polars and DuckDB, each with the real library. A test whose library is missing is skipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinprint
from conftest import corpus


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


class TestDatatrove:
    @pytest.fixture
    def pipeline(self, tmp_path: Path) -> Any:
        """Runs a step on documents, and returns the ids of the documents that come out, and the statistics."""
        library("datatrove")
        library("orjson")
        library("regex")
        from datatrove.executor import LocalPipelineExecutor
        from datatrove.pipeline.readers import JsonlReader
        from datatrove.pipeline.writers import JsonlWriter

        runs = iter(range(100))

        def run(documents: list[dict[str, str]], step: Any, tasks: int = 1) -> tuple[list[str], dict[str, Any]]:
            place = tmp_path / f"run{next(runs)}"
            (place / "in").mkdir(parents=True)
            for task in range(tasks):
                rows = "".join(json.dumps(row) + "\n" for row in documents[task::tasks])
                (place / "in" / f"{task}.jsonl").write_text(rows)
            steps = [JsonlReader(str(place / "in")), step, JsonlWriter(str(place / "out"), compression=None)]
            stats = LocalPipelineExecutor(
                steps, tasks=tasks, workers=1, logging_dir=str(place / "logs"), skip_completed=False
            ).run()
            return [row["id"] for row in read(place / "out")], {
                name: metric.total for name, metric in stats.stats[1].stats.items()
            }

        return run

    def test_one_document_of_each_group_is_kept(self, pipeline: Any, tmp_path: Path) -> None:
        from datatrove.pipeline.writers import JsonlWriter

        from twinprint.datatrove import DedupFilter

        texts = corpus()
        expected = twinprint.dedup(texts)
        rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
        excluded = JsonlWriter(str(tmp_path / "excluded"), compression=None)
        kept, stats = pipeline(rows, DedupFilter(exclusion_writer=excluded))
        # datatrove's reader leaves out empty texts.
        empty = {f"d{i}" for i, text in enumerate(texts) if not text}
        assert kept == [f"d{i}" for i in expected.kept_index if f"d{i}" not in empty]
        removed = {row["id"]: row["metadata"] for row in read(tmp_path / "excluded")}
        assert list(removed) == [f"d{i}" for i in expected.removed_index if f"d{i}" not in empty]
        for name, metadata in removed.items():
            number = int(name[1:])
            assert metadata["duplicate_of"] == f"d{expected.leader[number]}"
            assert metadata["jaccard"] == pytest.approx(expected.jaccard[number])
            assert metadata["filter_reason"] == "near_duplicate"
        assert stats["total"] == len(texts) - len(empty)
        assert stats["forwarded"] == len(kept)
        assert stats["dropped_near_duplicate"] == len(removed) == stats["dropped"]

    def test_tasks_are_compared_each_for_itself(self, pipeline: Any) -> None:
        from twinprint.datatrove import DedupFilter

        text = corpus()[0]
        rows = [{"id": f"d{i}", "text": text} for i in range(6)]
        assert len(pipeline(rows, DedupFilter(), tasks=2)[0]) == 2

    def test_options_are_those_of_dedup(self, pipeline: Any) -> None:
        from twinprint.datatrove import DedupFilter

        words = corpus()[0].split()
        rows = [{"id": "short", "text": " ".join(words)}, {"id": "long", "text": " ".join([*words, *words[:5]])}]
        assert pipeline(rows, DedupFilter(0.8, keep="longest"))[0] == ["long"]
        assert pipeline(rows, DedupFilter(0.99, profile="tp1-words-tf"))[0] == ["short", "long"]
        with pytest.raises(TypeError, match="unknown"):
            pipeline(rows, DedupFilter(unknown=1))

    def test_texts_that_are_not_unicode_are_removed_with_a_reason(self) -> None:
        library("datatrove")
        library("regex")
        from datatrove.data import Document

        from twinprint.datatrove import DedupFilter

        step = DedupFilter()
        documents = [Document(text="half a pair \ud800", id="a"), Document(text="a text", id="b")]
        assert [document.id for document in step(iter(documents))] == ["b"]
        assert step.stats.to_dict()["stats"]["dropped_rejected"] == 1
        assert list(step(iter([]))) == []

    def test_a_collection_remembers_earlier_runs(self, pipeline: Any, tmp_path: Path) -> None:
        if not hasattr(twinprint, "Collection"):
            pytest.skip("this build has no collections")
        from datatrove.pipeline.writers import JsonlWriter

        from twinprint.datatrove import CollectionFilter

        texts = [text for text in corpus() if len(text.split()) > 20]
        rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
        excluded = JsonlWriter(str(tmp_path / "excluded"), compression=None)
        step = CollectionFilter(tmp_path / "seen", exclusion_writer=excluded, batch_size=50)
        first, stats = pipeline(rows[:200], step, tasks=2)
        assert 50 < len(first) < 200
        assert stats["dropped_near_duplicate"] == 200 - len(first)
        removed = list(read(tmp_path / "excluded"))
        assert all(row["metadata"]["duplicate_of"] in first for row in removed)
        # A task that runs again keeps what it kept, and other ids of the same texts are duplicates.
        assert sorted(pipeline(rows[:200], CollectionFilter(tmp_path / "seen"), tasks=2)[0]) == sorted(first)
        again = [{"id": "again " + row["id"], "text": row["text"]} for row in rows[:200]]
        assert pipeline(again, CollectionFilter(tmp_path / "seen"))[0] == []
        assert pipeline(rows[200:], CollectionFilter(tmp_path / "seen"))[0] != []
        with pytest.raises(ValueError, match="other settings"):
            pipeline(rows, CollectionFilter(tmp_path / "seen", threshold=0.5))


def read(directory: Path) -> list[dict[str, Any]]:
    files = sorted(directory.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


class TestDatasets:
    def test_a_column_of_fingerprints(self) -> None:
        datasets = library("datasets")
        texts = corpus()

        def add(batch: dict[str, list[str]]) -> dict[str, Any]:
            return {"fingerprint": twinprint.fingerprint(batch["text"])}

        data = datasets.Dataset.from_dict({"text": texts})
        for processes in (None, 2):
            mapped = data.map(add, batched=True, num_proc=processes)
            assert mapped.features["fingerprint"].dtype == "uint64"
            assert list(mapped["fingerprint"]) == twinprint.fingerprint(texts).tolist()
        streamed = data.to_iterable_dataset().map(add, batched=True, batch_size=70)
        assert [row["fingerprint"] for row in streamed] == twinprint.fingerprint(texts).tolist()

    def test_kept_rows_are_a_dataset(self) -> None:
        datasets = library("datasets")
        texts = corpus()
        expected = twinprint.dedup(texts)
        data = datasets.Dataset.from_dict({"body": texts, "number": list(range(len(texts)))})
        kept = twinprint.dedup(data, text="body").kept
        assert isinstance(kept, datasets.Dataset)
        assert list(kept["number"]) == expected.kept_index.tolist()
        assert kept.features == data.features
        with_large = data.add_column("large", np.arange(len(texts), dtype=np.uint64) << np.uint64(56))
        streamed = twinprint.dedup(with_large.to_iterable_dataset(), text="body").kept
        assert isinstance(streamed, datasets.Dataset)
        assert streamed.features == with_large.features
        assert list(streamed["number"]) == expected.kept_index.tolist()
        with pytest.raises(TypeError, match="splits"):
            twinprint.dedup(datasets.DatasetDict(train=data), text="body")


class TestPolars:
    @pytest.fixture
    def frame(self) -> Any:
        polars = library("polars")
        import twinprint.polars  # noqa: F401

        texts: list[str | None] = [*corpus(count=40), None, ""]
        return polars.DataFrame({"text": texts, "group": [i % 3 for i in range(len(texts))]})

    def test_the_column_equals_the_function(self, frame: Any) -> None:
        import polars as pl

        expected = [*twinprint.fingerprint(frame["text"].to_list()[:40]).tolist(), None, 0]
        column = pl.col("text").twinprint.fingerprint()
        for got in (
            frame.with_columns(f=column),
            frame.lazy().with_columns(f=column).collect(),
            frame.lazy().with_columns(f=column).collect(engine="streaming"),
        ):
            assert got["f"].dtype == pl.UInt64
            assert got["f"].to_list() == expected
        grouped = frame.group_by("group", maintain_order=True).agg(column.alias("f"))
        assert grouped["f"].to_list() == [expected[group::3] for group in range(3)]
        assert frame.lazy().select(column).collect_schema() == {"text": pl.UInt64}

    def test_distances_equal_numpy(self, frame: Any) -> None:
        import polars as pl

        fingerprint = pl.col("text").twinprint.fingerprint()
        got = frame.lazy().head(40).with_columns(f=fingerprint, g=fingerprint.reverse()).collect()
        expected = twinprint.hamming(got["f"].to_numpy(), got["g"].to_numpy()).tolist()
        for other in ("g", pl.col("g")):
            assert got.select(d=pl.col("f").twinprint.hamming(other))["d"].to_list() == expected
        one = int(got["f"][7])
        assert got.select(pl.col("f").twinprint.hamming(one))["f"][7] == 0
        assert frame.select(fingerprint.twinprint.hamming(fingerprint))["text"].to_list() == [0] * 40 + [None, 0]

    def test_128_bits_are_two_halves(self, frame: Any) -> None:
        import polars as pl

        halves = twinprint.fingerprint(frame["text"].to_list()[:40], bits=128)
        column = pl.col("text").twinprint.fingerprint(bits=128)
        got = frame.with_columns(f=column, g=column.reverse()).with_columns(
            d=pl.col("f").twinprint.hamming("g", bits=128), e=pl.col("f").twinprint.hamming(2**127 + 1, bits=128)
        )
        assert got["f"].dtype == pl.Struct({"low": pl.UInt64, "high": pl.UInt64})
        first = got.head(40).unnest("f").select("low", "high").to_numpy()
        assert (first == halves).all()
        assert got["f"][40] is None
        assert got["d"].to_list()[2:40] == twinprint.hamming(halves[2:], halves[:1:-1]).tolist()
        one = np.array([1, 2**63], dtype=np.uint64)
        assert got["e"].to_list()[:40] == twinprint.hamming(halves, one).tolist()
        assert got["d"].to_list()[40] is None

    def test_other_columns_are_refused(self, frame: Any) -> None:
        import polars as pl

        with pytest.raises(Exception, match="'group' has the type Int64, not String"):
            frame.select(pl.col("group").twinprint.fingerprint())
        empty = frame.head(0).select(pl.col("text").twinprint.fingerprint())
        assert empty.schema == {"text": pl.UInt64}


class TestDuckdb:
    def test_clusters_join_back_by_id(self, tmp_path: Path) -> None:
        duckdb, polars = library("duckdb"), library("polars")
        texts = corpus()
        documents = polars.DataFrame({"id": range(1000, 1000 + len(texts)), "text": texts})
        result = twinprint.dedup(documents, id="id")
        result.save(tmp_path / "out")
        clusters = f"'{tmp_path / 'out' / 'clusters.parquet'}'"
        kept = duckdb.sql(
            f"""SELECT id, text FROM documents JOIN {clusters} USING (id)
                WHERE duplicate_of IS NULL AND text <> '' ORDER BY id"""
        ).fetchall()
        assert kept == [row for row in result.kept.rows() if row[1]]
        distances = duckdb.sql(
            f"""SELECT c.id, c.hamming, bit_count(xor(c.fingerprint::BIT, leader.fingerprint::BIT))
                FROM {clusters} c JOIN {clusters} leader ON c.duplicate_of = leader.id"""
        ).fetchall()
        assert len(distances) > 50
        for id, stated, computed in distances:
            assert stated == computed == result.hamming[id - 1000]

    def test_distances_of_columns(self) -> None:
        duckdb, pyarrow = library("duckdb"), library("pyarrow")
        texts = corpus(count=50)
        narrow = twinprint.fingerprint(texts)
        wide = twinprint.fingerprint(texts, bits=128)
        table = pyarrow.table(
            {
                "f": narrow,
                "low": wide[:, 0],
                "high": wide[:, 1],
                "bytes": twinprint.fingerprint(pyarrow.array(texts), bits=128),
            }
        )
        assert table["bytes"].type == pyarrow.binary(16)
        rows = duckdb.sql(
            """SELECT bit_count(xor(a.f, b.f)), bit_count(xor(a.low, b.low)) + bit_count(xor(a.high, b.high)),
                      bit_count(xor(a.bytes::BIT, b.bytes::BIT))
               FROM (FROM "table" LIMIT 1) a CROSS JOIN "table" b"""
        ).fetchall()
        assert [row[0] for row in rows] == twinprint.hamming(narrow, narrow[0]).tolist()
        assert [row[1] for row in rows] == [row[2] for row in rows] == twinprint.hamming(wide, wide[0]).tolist()
