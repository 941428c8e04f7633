"""Runs on disk in stages, and joins of fingerprints."""

from __future__ import annotations

import json
import pickle
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinprint
from conftest import corpus
from twinprint._work import WorkFolder
from twinprint.stages import STAGES, StagedRun


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of seven files."""
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [json.dumps({"id": f"d{number}", "text": text}) + "\n" for number, text in enumerate(corpus())]
    for number in range(7):
        share = rows[number * len(rows) // 7 : (number + 1) * len(rows) // 7]
        (folder / f"{number}.jsonl").write_text("".join(share), encoding="utf-8")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """The files of a result that do not tell of the run itself."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    named = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    return {name: data for name, data in named.items() if not name.startswith(("report.", "config.", ".twinprint"))}


def run_share(arguments: tuple[StagedRun, str, int]) -> int:
    run, stage, task = arguments
    return run.run_task(stage, task, 3).ended


@pytest.mark.parametrize("blocks", [1, 3, 7])
def test_tasks_of_several_processes_give_the_result_of_one_call(notes: Path, tmp_path: Path, blocks: int) -> None:
    options: dict[str, Any] = {"pairs": "all", "keep": "longest", "hamming": 20}
    twinprint.dedup(notes, **options).save(tmp_path / "expected")
    run = StagedRun(notes, tmp_path / "out", blocks=blocks, **options)
    assert [state.stage for state in run.states()] == list(STAGES)
    with get_context("spawn").Pool(2) as pool:
        for stage in STAGES:
            pool.map(run_share, [(run, stage, task) for task in (2, 0, 1)])
    states = run.states()
    assert all(state.is_whole for state in states)
    assert run.state("join").tasks == blocks * (blocks + 1) // 2
    assert run.state("verify").tasks >= min(blocks, 2)
    assert not run.is_finished()
    report = run.write()
    assert run.is_finished() and not Path(run.folder).exists()
    assert report["records"]["removed"] > 20
    assert files(tmp_path / "out") == files(tmp_path / "expected")


def test_partial_copies_are_found(notes: Path, tmp_path: Path) -> None:
    run = StagedRun(notes, tmp_path / "out", parts=0.5, mode="report")
    report = run.write()
    assert report["parts"] is not None
    rows = (tmp_path / "out/parts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 10
    assert all(max(row["share_of_a"], row["share_of_b"]) >= 0.5 for row in map(json.loads, rows))
    with pytest.raises(ValueError, match="parts"):
        StagedRun(notes, tmp_path / "out", parts=2)


def test_a_task_that_has_ended_is_not_run_again(notes: Path, tmp_path: Path) -> None:
    run = StagedRun(notes, tmp_path / "out")
    first = run.run_task("analyse", 3)
    assert (first.stage, first.ended, first.is_whole) == ("analyse", 1, False)
    made = (Path(run.folder) / "1-analyse/00003").stat().st_ino
    assert run.run_task("analyse", 3).ended == 1
    assert (Path(run.folder) / "1-analyse/00003").stat().st_ino == made


def test_run_stages_runs_what_is_missing_and_notices_what_stays_missing(notes: Path, tmp_path: Path) -> None:
    run = StagedRun(notes, tmp_path / "out")
    run.run_task("analyse", 0, 2)
    ran: list[str] = []

    def each(stage: str, tasks: int) -> None:
        ran.append(stage)
        for task in range(tasks):
            run.run_task(stage, task)

    run.run_stages(each)
    assert ran[0] == "analyse" and "against" not in ran
    other = StagedRun(notes, tmp_path / "other")
    with pytest.raises(RuntimeError, match=r"0 of 7 tasks of the stage analyse .*other\.stages"):
        other.run_stages(lambda stage, tasks: None)


def test_runs_can_be_pickled_and_errors_name_the_argument(notes: Path, tmp_path: Path) -> None:
    run = StagedRun([notes], tmp_path / "out", threshold=0.9)
    copy = pickle.loads(pickle.dumps(run))
    assert copy.state("analyse") == run.state("analyse") == ("analyse", 7, 0)
    for options, message in [
        ({"blocks": 0}, "blocks: 0"),
        ({"mode": "delete"}, "mode: "),
        ({"threshold": 2}, "threshold: 2"),
        ({"sort": "time"}, "sort: "),
        ({"memory": "much"}, "memory: "),
    ]:
        with pytest.raises(ValueError, match=message):
            StagedRun(notes, tmp_path / "out", **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="data: no paths"):
        StagedRun([], tmp_path / "out")
    with pytest.raises(ValueError, match="stage: 'sort'"):
        run.state("sort")
    with pytest.raises(twinprint.TwinprintError, match="analyse"):
        run.run_task("classes", 0, 1)
    with pytest.raises(FileNotFoundError):
        StagedRun(tmp_path / "missing", tmp_path / "out").states()


def test_a_finished_run_stays_finished(notes: Path, tmp_path: Path) -> None:
    run = StagedRun(f"file://{notes}", tmp_path / "out")
    with pytest.raises(ValueError, match="task: 7 is none of the 7 tasks of the stage analyse"):
        run.run_task("analyse", 7)
    run.write()
    for look in (run.states, lambda: run.run_task("analyse"), lambda: run.run_stages(lambda stage, tasks: None)):
        with pytest.raises(FileExistsError, match="out: .* has the whole result"):
            look()
    run.finish()
    assert run.is_finished()
    with pytest.raises(ValueError, match="out: 'dbfs:/out' is no path"):
        StagedRun(notes, "dbfs:/out")


def test_a_work_folder_keeps_the_files_of_others(notes: Path, tmp_path: Path) -> None:
    for folder, data in [(tmp_path, notes), (notes.parent / "in", notes)]:
        with pytest.raises(ValueError, match="work: .* has (the input|files that no run has written)"):
            WorkFolder(folder).begin(data, overwrite=True)
    assert len(list(notes.iterdir())) == 7
    work = WorkFolder(tmp_path / "work")
    with pytest.raises(FileNotFoundError, match="no whole result"):
        work.read(lambda place, form: place)
    assert not work.path.exists()
    work.begin(notes, overwrite=False).write()
    (work.path / "result/kept/more").mkdir()
    with pytest.raises(FileNotFoundError, match="give the folder above it"):
        WorkFolder(work.result).read(lambda place, form: place)
    # An argument that cannot be used deletes nothing.
    for options, message in [
        ({"treshold": 0.9}, "treshold: no such option; did you mean threshold?"),
        ({"keep": "longst"}, "keep: "),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            work.begin(notes, overwrite=True, **options)
    with pytest.raises(ValueError, match="has the input"):
        work.begin(None, reads=[f"file://{work.result}/kept/0.jsonl"], columns=["text"], overwrite=True)
    with pytest.raises(FileExistsError, match="has a whole result"):
        work.begin(notes, overwrite=False)
    assert work.read(lambda place, form: place).report["records"]["kept"] > 0
    work.begin(notes, overwrite=True)
    assert not work.result.exists()


def test_a_table_is_written_once_and_its_columns_are_checked(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path / "work")
    for options, message in [
        ({"text": "body"}, "text: the table has no column 'body'; its columns are text, id"),
        ({"id": "url"}, "id: the table has no column 'url'"),
        ({"incremental": True}, "incremental: give the paths"),
    ]:
        with pytest.raises(ValueError, match=message):
            work.begin(None, columns=["text", "id"], overwrite=False, **options)  # type: ignore[arg-type]
    work.begin(None, columns=["text"], overwrite=False)
    with pytest.raises(ValueError, match="data: the table has no records"):
        work.write_input(["text"], lambda path: None)
    work.write_input(["text"], lambda path: Path(path).mkdir())
    with pytest.warns(UserWarning, match="continues with the records"):
        work.write_input(["text"], lambda path: pytest.fail("written again"))
    with pytest.raises(ValueError, match="has records with the columns text"):
        work.write_input(["text", "id"], lambda path: None)


def test_the_tables_of_a_result_are_opened_when_they_are_asked_for(notes: Path, tmp_path: Path) -> None:
    opened: list[tuple[str, str]] = []

    def table(place: Path, form: str) -> str:
        opened.append((place.name, form))
        return place.name

    for mode, clusters, found in [
        (
            "remove",
            "both",
            [("kept", "json"), ("removed", "json"), ("clusters.parquet", "parquet"), ("pairs.jsonl", "json")],
        ),
        ("annotate", "jsonl", [("annotated", "json"), ("clusters.jsonl", "json"), ("pairs.jsonl", "json")]),
        ("report", "none", [("pairs.jsonl", "json")]),
    ]:
        work = WorkFolder(tmp_path / mode)
        work.begin(notes, overwrite=False, mode=mode, clusters=clusters, pairs="all").write()
        result = work.read(table)
        assert opened == []
        for name in ("kept", "removed", "annotated", "clusters", "pairs"):
            assert (getattr(result, name) is None) == (name not in {name.split(".")[0] for name, _ in found})
        assert opened == found
        assert f"{result.report['records']['kept']} kept" in repr(result)
        opened.clear()


def naive(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], k: int) -> set[tuple[int, int, int]]:
    distances = np.array([[int(x ^ y).bit_count() for y in b.tolist()] for x in a.tolist()])
    return {(int(i), int(j), int(distances[i, j])) for i, j in np.argwhere(distances <= k)}


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_join_finds_all_pairs_of_one_array_and_of_two(kind: Any) -> None:
    draw = np.random.default_rng(7)
    bits = np.dtype(kind).itemsize * 8
    a = draw.integers(0, 2**bits, 300, dtype=kind)
    flips = np.array([sum(1 << int(bit) for bit in draw.choice(bits, 3)) for _ in range(150)], dtype=kind)
    b = np.concatenate([a[:150] ^ flips, a[:3]])
    for k in (0, 3, 6):
        pairs = twinprint.join(a, b, k=k, threads=1)
        assert set(zip(*(column.tolist() for column in pairs), strict=True)) == naive(a, b, k)
        both = np.concatenate([a, b])
        pairs = twinprint.join(both, k=k)
        expected = {pair for pair in naive(both, both, k) if pair[0] < pair[1]}
        assert set(zip(*(column.tolist() for column in pairs), strict=True)) == expected
    assert pairs.a.tolist() == sorted(pairs.a.tolist())


def test_join_of_wide_fingerprints_and_wrong_arguments() -> None:
    wide = twinprint.fingerprint(corpus(), bits=128)
    pairs = twinprint.join(wide, k=12)
    distances = twinprint.hamming(wide[pairs.a], wide[pairs.b])
    assert len(pairs.a) > 20 and distances.tolist() == pairs.hamming.tolist() and max(distances) <= 12
    assert len(twinprint.join(np.empty(0, dtype=np.uint64)).a) == 0
    for arguments, message in [({"k": 65}, "k: 65"), ({"k": -1}, "k: -1"), ({"threads": 9999}, "threads: ")]:
        with pytest.raises(ValueError, match=message):
            twinprint.join(np.zeros(2, dtype=np.uint64), **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="b: "):
        twinprint.join(np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint32))
