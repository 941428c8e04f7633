"""The main job: types in and out, equality with the command, decisions, and errors."""

from __future__ import annotations

import json
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinprint
from conftest import corpus

LAMP = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."


def tables(texts: list[str | None]) -> Iterator[tuple[str, Any]]:
    """The texts in every type of data."""
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    ids = [f"n{i}" for i in range(len(texts))]
    columns = {"id": ids, "text": texts}
    yield "records", [{"id": id, "text": text} for id, text in zip(ids, texts, strict=True)]
    yield "generator", ({"id": id, "text": text} for id, text in zip(ids, texts, strict=True))
    yield "pandas", pandas.DataFrame(columns)
    yield "polars", polars.DataFrame(columns)
    yield "lazy polars", polars.LazyFrame(columns)
    yield "pyarrow", pyarrow.table(columns)
    table = pyarrow.table(columns)
    yield "batches", iter(table.to_batches(max_chunksize=37))
    yield "reader", pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=50))


def listed(rows: Any) -> list[str | None]:
    """The ids of rows of any type."""
    if type(rows).__name__ == "LazyFrame":
        rows = rows.collect()
    if isinstance(rows, list):
        return [row["id"] for row in rows]
    column = rows["id"]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def test_every_type_gives_the_same_result_in_its_own_type(texts: list[str | None]) -> None:
    texts[5] = None
    texts[6] = "half of a pair \udc00"
    expected = twinprint.dedup(texts, pairs=True)
    for name, data in tables([text if text != texts[6] else None for text in texts]):
        kind = type(data).__name__
        result = twinprint.dedup(data, id="id", pairs=True)
        assert (result.leader == expected.leader).all(), name
        assert (result.pairs.a == expected.pairs.a).all(), name
        assert listed(result.kept) == [f"n{i}" for i in expected.kept_index], name
        assert listed(result.removed) == [f"n{i}" for i in expected.removed_index], name
        assert [it.position for it in result.rejected] == [5, 6], name
        if kind in ("DataFrame", "LazyFrame", "Table", "list"):
            assert type(result.kept).__name__ == kind, name
    series = pytest.importorskip("polars").Series("body", texts[:5])
    assert twinprint.dedup(series).kept.name == "body"


def test_the_counts_add_up_and_the_reasons_are_told(texts: list[str | None]) -> None:
    texts[5] = None
    texts[6] = "half of a pair \ud83d"
    result = twinprint.dedup(texts)
    kept, removed = len(result.kept), len(result.removed)
    assert kept + removed + len(result.rejected) == len(result) == len(texts)
    assert "null" in result.rejected[0].reason
    assert "UTF-8" in result.rejected[1].reason
    assert result.rejected[1][:3] == (6, "data", 7)
    assert result.report()["records"]["kept"] == kept
    assert f"{kept} kept" in repr(result)


def test_columns_agree_with_one_another(texts: list[str]) -> None:
    result = twinprint.dedup(texts, pairs="all")
    at = np.arange(len(texts))
    assert (result.kept_mask == (result.leader == at)).all()
    assert result.kept_mask[result.leader].all()
    assert (result.jaccard[result.removed_index] >= 0.8).all()
    assert sum(len(group) - 1 for group in result.clusters.values()) == len(result.removed)
    for leader, members in result.clusters.items():
        assert members == sorted(members)
        assert set(result.leader[members]) == {leader}
    rows = set(zip(result.pairs.a.tolist(), result.pairs.b.tolist(), strict=True))
    for removed in result.removed_index.tolist():
        leader = int(result.leader[removed])
        assert (min(leader, removed), max(leader, removed)) in rows
    fingerprints = twinprint.fingerprint(texts, bits=result.radius.bits)
    assert (result.fingerprints == fingerprints).all()
    distances = twinprint.hamming(fingerprints, fingerprints[result.leader])
    assert (distances == result.hamming).all()
    assert result.exact_duplicate_ratio <= result.duplicate_ratio < 1
    frame = result.to_pandas()
    assert (frame["fate"] == "kept").sum() == len(result.kept)


@pytest.mark.parametrize("keep", ["first", "longest", "shortest", "newest"])
def test_keep_rules(keep: Any) -> None:
    texts = [LAMP, LAMP + " Lit in May.", LAMP.upper(), LAMP + " Lit."]
    times = ["2026-03-01", "2026-01-01", "2026-04-01", "2026-02-01"]
    result = twinprint.dedup(texts, keep=keep, sort=times if keep == "newest" else None)
    expected = {"first": 0, "longest": 1, "shortest": 0, "newest": 2}[keep]
    assert result.kept_index.tolist() == [expected]


def test_sort_values_of_every_kind() -> None:
    from datetime import datetime, timedelta

    pandas, pyarrow = map(pytest.importorskip, ("pandas", "pyarrow"))
    start = datetime(2026, 1, 31, 23, 59)
    times = [start + timedelta(days=day) for day in (0, 9, 10)]
    texts = [LAMP, LAMP + " Lit.", LAMP + " Lit in May."]
    for values in (times, [3, 9, 10], [0.5, 0.75, 1e9], ["a", "b", "c"]):
        assert twinprint.dedup(texts, keep="newest", sort=values).kept_index.tolist() == [2]
        for table in (
            pandas.DataFrame({"text": texts, "time": values}),
            pyarrow.table({"text": texts, "time": values}),
            [{"text": text, "time": value} for text, value in zip(texts, values, strict=True)],
        ):
            assert twinprint.dedup(table, keep="newest", sort="time").kept_index.tolist() == [2]


def test_records_without_a_sort_value_count_as_the_oldest() -> None:
    with pytest.warns(UserWarning, match="2 of 3 documents have no field"):
        result = twinprint.dedup([LAMP, LAMP + " Lit.", LAMP], keep="newest", sort=[None, 1, None])
    assert result.kept_index.tolist() == [1]


@pytest.mark.parametrize("threshold", [0.8, 0.85, 0.9, 0.95, 1.0])
@pytest.mark.parametrize("pairs", ["all", "distinct"])
def test_rethreshold_equals_a_run_at_the_threshold(threshold: float, pairs: Any) -> None:
    for keep in ("first", "longest"):
        texts: list[str | None] = [*corpus(seed=9, count=500)]
        texts[20] = None
        first = twinprint.dedup(texts, pairs=pairs, keep=keep)
        again, expected = (
            first.rethreshold(threshold),
            twinprint.dedup(texts, threshold=threshold, keep=keep, pairs=pairs),
        )
        assert (again.leader == expected.leader).all()
        assert (again.hamming == expected.hamming).all()
        assert np.array_equal(again.jaccard, expected.jaccard, equal_nan=True)
        assert again.clusters == expected.clusters
        assert again.kept == expected.kept
        assert len(again.pairs) == len(expected.pairs)
        assert again.threshold == threshold
        assert first.threshold == 0.8


def test_rethreshold_refuses() -> None:
    with pytest.raises(twinprint.NoPairsError, match="pairs=True"):
        twinprint.dedup([LAMP]).rethreshold(0.9)
    with pytest.raises(ValueError, match="^threshold: 0.7 is not between"):
        twinprint.dedup([LAMP], pairs=True).rethreshold(0.7)
    with pytest.raises(ValueError, match="did not verify"):
        twinprint.dedup([LAMP], pairs=True, verify=False).rethreshold(0.9)


def test_least_similar(texts: list[str]) -> None:
    matches = twinprint.dedup(texts).least_similar(5)
    jaccards = [match.jaccard for match in matches]
    assert jaccards == sorted(jaccards)
    assert all(match.removed_text == texts[match.removed] for match in matches)
    assert all(match.kept_text == texts[match.kept] for match in matches)


def test_pickled_results_keep_their_columns(texts: list[str]) -> None:
    result = twinprint.dedup(texts, pairs=True)
    copy = pickle.loads(pickle.dumps(result))
    assert (copy.leader == result.leader).all()
    assert copy.kept == result.kept
    assert copy.clusters == result.clusters
    assert copy.report() == result.report()
    assert copy.report().html == result.report().html
    assert (copy.rethreshold(0.9).leader == result.rethreshold(0.9).leader).all()
    with pytest.raises(ValueError, match="^save"):
        copy.save("never")
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    for table in (pandas.Series(texts), polars.Series(texts), pyarrow.array(texts)):
        tabled = pickle.loads(pickle.dumps(twinprint.dedup(table)))
        assert list(tabled.kept) == list(twinprint.dedup(table).kept)


def test_the_report_is_a_page(texts: list[str]) -> None:
    report = twinprint.dedup(texts).report()
    assert report["records"]["read"] == len(texts)
    assert report.html.startswith("<!")
    assert "<iframe" in report._repr_html_()
    assert str(report) == report.markdown != ""


def test_one_result_for_any_number_of_threads(texts: list[str]) -> None:
    one, four = (twinprint.dedup(texts, threads=threads, pairs=True) for threads in (1, 4))
    assert (one.leader == four.leader).all()
    assert (one.pairs.jaccard == four.pairs.jaccard).all()


def test_small_and_empty_data() -> None:
    assert twinprint.dedup([LAMP]).kept == [LAMP]
    assert twinprint.dedup(["x", "y", "x"]).leader.tolist() == [0, 1, 0]
    assert twinprint.dedup(["", "", "!"]).kept == ["", "", "!"]
    assert twinprint.dedup(["", "", "!"], empty="remove").kept == []
    empty = twinprint.dedup([])
    assert (len(empty), empty.kept, empty.duplicate_ratio) == (0, [], 0.0)


def test_errors_name_their_argument(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"threshold": 0}, ValueError, "^threshold"),
        ({"threshold": 1.5}, ValueError, "^threshold"),
        ({"keep": "best"}, ValueError, "^keep: .best. is none of"),
        ({"keep": "newest"}, ValueError, "^sort"),
        ({"pairs": "some"}, ValueError, "^pairs"),
        ({"empty": "maybe"}, ValueError, "^empty"),
        ({"bits": 100}, ValueError, "^bits"),
        ({"hamming": 99, "bits": 64}, ValueError, "^hamming"),
        ({"profile": "none"}, ValueError, "^profile"),
        ({"memory": "a lot"}, ValueError, "^memory"),
        ({"memory": 1000}, MemoryError, "memory"),
        ({"against": tmp_path / "nothing"}, (ValueError, OSError), "nothing"),  # type: ignore[list-item]
        ({"id": "id"}, TypeError, "^id"),
        ({"id": [1]}, ValueError, "^id: 1 values for 2 texts"),
        ({"progress": 3}, TypeError, "^progress"),
    ]
    for arguments, kind, message in cases:
        with pytest.raises(kind, match=message) as raised:
            twinprint.dedup([LAMP, LAMP], **arguments)
        assert "--" not in str(raised.value), "a flag of the command line"
    for data, kind, message in (
        ([{"body": LAMP}], KeyError, "text: no record has a field 'text'"),
        (b"bytes", TypeError, "^data"),
        ({"text": [LAMP]}, TypeError, "^data: a mapping"),
        ([LAMP, 3], TypeError, r"data\[1\] is int"),
        (tmp_path / "missing.jsonl", FileNotFoundError, "missing.jsonl"),
        ("-", ValueError, "stdin"),
    ):
        with pytest.raises(kind, match=message):
            twinprint.dedup(data)
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    for table in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        for arguments, message in (({}, "text: "), ({"text": "body", "id": "key"}, "id: ")):
            with pytest.raises(KeyError, match=message):
                twinprint.dedup(table({"body": [LAMP]}), **arguments)
    with pytest.raises(ValueError, match="^text: .*Int64"):
        twinprint.dedup(pyarrow.table({"text": [1, 2]}))


def test_an_exception_of_an_iterator_is_raised() -> None:
    def broken() -> Iterator[str]:
        yield LAMP
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        twinprint.dedup(broken())


def test_progress_is_reported(texts: list[str]) -> None:
    stages = []
    twinprint.dedup(texts * 20, progress=lambda stage, done, total, unit: stages.append(stage))
    assert stages

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        twinprint.dedup(texts * 20, progress=fails)


def test_saved_files_equal_those_of_the_command(command: str, tmp_path: Path) -> None:
    texts = corpus(seed=4)
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps({"id": f"n{i}", "text": text if i % 50 else None}) for i, text in enumerate(texts)]
    path.write_text("\n".join(lines))
    run = subprocess.run([command, "dedup", path, "-o", tmp_path / "cli", "--pairs", "--quiet"])
    assert run.returncode == 3, "some records are rejected"
    twinprint.dedup(path, pairs=True).save(tmp_path / "files")
    records = [json.loads(line) for line in lines]
    twinprint.dedup(records, id="id", pairs=True, name=str(path)).save(tmp_path / "memory")
    tables = ["clusters.jsonl", "clusters.parquet", "pairs.jsonl", "rejects.jsonl"]
    copies = ["kept/rows.jsonl", "removed/rows.jsonl"]
    for name in tables + copies:
        assert (tmp_path / "cli" / name).read_bytes() == (tmp_path / "files" / name).read_bytes(), name
    for name in tables:
        assert (tmp_path / "cli" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes(), name
    with pytest.raises(twinprint.TwinprintError, match="memory"):
        twinprint.dedup(texts).save(tmp_path / "memory")
    of_files = twinprint.dedup([path])
    assert of_files.kept == [f"n{i}" for i in of_files.kept_index]
    assert len(of_files.rejected) == 6


def test_integer_ids_stay_integers(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [LAMP, LAMP, "The ferry runs every other hour."]
    ids = [7, 2**40, 9]
    pyarrow = pytest.importorskip("pyarrow")
    for name, data in (
        ("records", [{"id": id, "text": text} for id, text in zip(ids, texts, strict=True)]),
        ("table", pyarrow.table({"id": ids, "text": texts})),
    ):
        twinprint.dedup(data, id="id").save(tmp_path / name)
        table = parquet.read_table(tmp_path / name / "clusters.parquet")
        assert table.schema.field("id").type == pyarrow.int64()
        assert table["id"].to_pylist() == ids
        assert table["duplicate_of"].to_pylist() == [None, 7, None]


def test_explain_compares_two_records() -> None:
    result = twinprint.dedup([LAMP, "The ferry runs every other hour.", LAMP + " Lit in May.", None])
    explained = result.explain(2)
    assert explained == result.explain(2, 0)
    assert explained.jaccard == pytest.approx(result.jaccard[2])
    assert explained.hamming == result.hamming[2]
    assert explained.explanation is not None
    with pytest.raises(ValueError, match="b: the text of record 3"):
        result.explain(0, 3)
    for a, b in ((4, 0), (0, 4), (-1, 0)):
        with pytest.raises(IndexError, match="no record"):
            result.explain(a, b)


def test_rows_are_those_of_the_call() -> None:
    texts = [LAMP, LAMP, "The ferry runs every other hour."]
    given = list(texts)
    result = twinprint.dedup(given)
    given.reverse()
    assert result.kept == [LAMP, texts[2]]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": texts}, index=[30, 10, 20])
    result = twinprint.dedup(frame)
    frame.drop(index=[30], inplace=True)
    assert result.kept.index.tolist() == [30, 20]
    assert result.to_pandas().loc[10, "fate"] == "removed"


def test_ids_are_never_dropped_silently(tmp_path: Path) -> None:
    texts = [LAMP, LAMP, "The ferry runs every other hour."]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame({"id": [1, None, 3], "text": texts})
    assert [twinprint.dedup(frame, id="id").ids[at] for at in (0, 2)] == ["1", "3"]
    for column in ([0.5, 1.5, 2.5], [True, False, True]):
        for data in (pandas.DataFrame({"id": column, "text": texts}), polars.DataFrame({"id": column, "text": texts})):
            with pytest.raises(TypeError, match="^id: "):
                twinprint.dedup(data, id="id")
    path = tmp_path / "docs.jsonl"
    path.write_text(json.dumps({"text": LAMP}))
    with pytest.raises(TypeError, match="^id: name a field"):
        twinprint.dedup(path, id=[1])


def test_names_with_dots_lead_into_records() -> None:
    records = [{"page": {"body": LAMP, "n": at}} for at in range(2)]
    result = twinprint.dedup(records, text="page.body", id="page.n")
    assert result.kept == records[:1]
    assert result.ids == ["0", "1"]


def test_data_without_any_text_is_no_failure() -> None:
    result = twinprint.dedup([None, None])
    assert (len(result), len(result.kept), len(result.removed)) == (2, 0, 0)
    assert result.rejected_index.tolist() == [0, 1]
    assert [rejected.position for rejected in result.rejected] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"keep": False}, TypeError),
        ({"bits": 64.0}, TypeError),
        ({"hamming": -1}, (TypeError, OverflowError)),
        ({"threads": -1}, (TypeError, OverflowError)),
        ({"profile": None}, TypeError),
        ({"threshold": "0.8"}, TypeError),
        ({"memory": [1]}, TypeError),
        ({"sort": ["1"]}, ValueError),
        ({"threshold": float("nan")}, ValueError),
    ],
)
def test_errors_begin_with_the_name_of_the_argument(arguments: dict[str, Any], kind: Any) -> None:
    (name,) = arguments
    with pytest.raises(kind, match=f"^{name}: "):
        twinprint.dedup([LAMP], **arguments)
