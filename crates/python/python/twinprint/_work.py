"""The folder of a run that an engine drives: the records that it wrote, and the result."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .stages import StagedRun, is_whole


@dataclass(frozen=True)
class Result:
    """The result of a run on an engine, as tables of the engine over the files of the result."""

    kept: Any
    """The records that are kept, with all their columns. None with mode="report"."""
    removed: Any
    """The records that duplicate a kept one, or a document of `against`."""
    clusters: Any
    """One row for each document: its group, and the kept document that it duplicates."""
    pairs: Any
    """The verified pairs; None unless `pairs` asked for them."""
    report: dict[str, Any]
    """The figures of the report."""
    path: str
    """The directory of the result, with the report as a page and the rejected records."""


class WorkFolder:
    """The folder of a run, which all machines must see under the same path.

    `input` has the records of a table that is no file yet, `result` the result, and `result.stages` the stages.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fsdecode(path)
        if "://" in name and not name.startswith("file://"):
            raise ValueError(f"work: {name!r} is no folder of a file system that all machines share")
        name = name.removeprefix("file://")
        self.path = Path(os.path.abspath(name))
        self.path.mkdir(parents=True, exist_ok=True)

    @property
    def input(self) -> Path:
        """The folder of the records."""
        return self.path / "input"

    @property
    def result(self) -> Path:
        """The directory of the result."""
        return self.path / "result"

    def clear(self) -> None:
        """Deletes what an earlier run has left."""
        for name in ("input.json", "input", "result.stages", "result"):
            place = self.path / name
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)

    def write_input(self, columns: Sequence[str], write: Callable[[str], Any]) -> None:
        """Writes the records, unless an earlier run with the same work folder has written all of them.

        Args:
            columns: the names of the columns.
            write: writes the records as Parquet files to a folder that does not exist yet.

        Raises:
            ValueError: the folder has records with other columns.
        """
        marker = self.path / "input.json"
        if marker.exists():
            found = json.loads(marker.read_text(encoding="utf-8"))["columns"]
            if found != list(columns):
                raise ValueError(
                    f"work: {self.path} has records with the columns {', '.join(found)}; use another folder, or "
                    "overwrite=True"
                )
            return
        shutil.rmtree(self.input, ignore_errors=True)
        write(str(self.input))
        partial = marker.with_suffix(".partial")
        partial.write_text(json.dumps({"columns": list(columns)}), encoding="utf-8")
        partial.replace(marker)

    def begin(self, paths: Any, *, overwrite: bool, **options: Any) -> StagedRun:
        """The run over files, or over the records of a table if `paths` is None.

        Args:
            overwrite: True deletes what earlier runs have left. An incremental run replaces only the result, and goes
                on from the stages of the earlier one.

        Raises:
            FileExistsError: the folder has a whole result, and `overwrite` is False.
            ValueError: the run is incremental, and there are no paths.
        """
        incremental = bool(options.get("incremental", False))
        if incremental and paths is None:
            raise ValueError("incremental: give the paths of files that later runs find again, not a table")
        if overwrite and not incremental:
            self.clear()
        # The stages of an incremental run stay beside its result, so the result alone tells that it is whole. A lost
        # task may have written it already, and may write it again.
        run = StagedRun(self.input if paths is None else paths, self.result, overwrite=incremental, **options)
        if not overwrite and (is_whole(run.out) if incremental else run.is_finished()):
            raise FileExistsError(
                f"work: {self.path} has a whole result; read it with `result`, use another folder, or overwrite=True"
            )
        return run

    def read(self, table: Callable[[Path, str], Any]) -> Result:
        """The result.

        Args:
            table: reads a file, or the files of a folder and of its folders, given the path and the format, "parquet"
                or "json" for JSON lines. A name such as `day=1` is no column.

        Raises:
            FileNotFoundError: there is no whole result.
        """
        path = self.result
        if not is_whole(path):
            raise FileNotFoundError(f"work: {path} is no whole result")

        def records(name: str) -> Any:
            form = form_of(path / name)
            return table(path / name, form) if form else None

        pairs = path / "pairs.jsonl"
        return Result(
            kept=records("kept"),
            removed=records("removed"),
            clusters=table(path / "clusters.parquet", "parquet"),
            pairs=table(pairs, "json") if pairs.exists() else None,
            report=json.loads((path / "report.json").read_text(encoding="utf-8")),
            path=str(path),
        )


def is_paths(data: Any) -> bool:
    """True for a path or a list of paths."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(it, (str, os.PathLike)) for it in data)


def files_of(place: Path) -> list[str]:
    """The paths of the files of a folder and of its folders, in order; of a file, its own."""
    return sorted(str(path) for path in place.rglob("*") if path.is_file()) if place.is_dir() else [str(place)]


def form_of(folder: Path) -> str | None:
    """The format of the files of a part of a result, "parquet" or "json"; None if there are no files.

    Raises:
        ValueError: the files have another format.
    """
    names = files_of(folder) if folder.is_dir() else []
    if not names:
        return None
    if all(name.endswith(".parquet") for name in names):
        return "parquet"
    if all(name.endswith((".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz", ".ndjson.gz")) for name in names):
        return "json"
    raise ValueError(f"the records are in files such as {names[0]}; read them with a reader of their format")


def blocks_for(cores: int) -> int:
    """The least number of blocks whose pairs are as many as the cores."""
    blocks = 1
    while blocks * (blocks + 1) // 2 < cores:
        blocks += 1
    return blocks
