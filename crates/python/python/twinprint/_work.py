"""The folder of a run that an engine drives: the records that it wrote, and the result."""

from __future__ import annotations

import difflib
import inspect
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from .stages import StagedRun, is_whole, local_path

# The file that tells that a folder belongs to runs of this module.
_MARKER = ".twinprint-work"


class Result:
    """The result of a run on an engine, as tables of the engine over the files of the result.

    A table is opened when it is asked for. The records can be opened if their files are Parquet or JSON lines; files of
    other formats are under `path`.
    """

    def __init__(self, path: Path, table: Callable[[Path, str], Any]) -> None:
        self.path = str(path)
        """The directory of the result, with the report as a page, the rejected records and `parts.jsonl`."""
        self._place, self._table = path, table

    @cached_property
    def report(self) -> dict[str, Any]:
        """The figures of the report."""
        figures: dict[str, Any] = json.loads((self._place / "report.json").read_text(encoding="utf-8"))
        return figures

    @cached_property
    def kept(self) -> Any:
        """The records that are kept, with all their columns. None with mode="report" and mode="annotate"."""
        return self._records("kept")

    @cached_property
    def removed(self) -> Any:
        """The records that duplicate a kept one, or a document of `against`. None where `kept` is."""
        removed = self._records("removed")
        return self.kept.limit(0) if removed is None and self.kept is not None else removed

    @cached_property
    def annotated(self) -> Any:
        """All records with the columns of their groups. None unless mode="annotate"."""
        return self._records("annotated")

    @cached_property
    def clusters(self) -> Any:
        """One row for each document: its group, and the kept document that it duplicates. None with clusters="none"."""
        for name, form in (("clusters.parquet", "parquet"), ("clusters.jsonl", "json")):
            if (self._place / name).exists():
                return self._table(self._place / name, form)
        return None

    @cached_property
    def pairs(self) -> Any:
        """The verified pairs. None unless `pairs` asked for them."""
        pairs = self._place / "pairs.jsonl"
        return self._table(pairs, "json") if pairs.exists() else None

    def _records(self, name: str) -> Any:
        form = form_of(self._place / name)
        return self._table(self._place / name, form) if form else None

    def __repr__(self) -> str:
        records = self.report["records"]
        return f"Result({self.path!r}: {records['kept']} kept, {records['removed']} removed)"


class WorkFolder:
    """The folder of a run, which all machines must see under the same path.

    `input` has the records of a table that is no file yet, `result` the result, and `result.stages` the stages. The
    folder was made by a run, or was empty, so nothing of others is deleted.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(local_path(path, "work"))

    @property
    def input(self) -> Path:
        """The folder of the records."""
        return self.path / "input"

    @property
    def result(self) -> Path:
        """The directory of the result."""
        return self.path / "result"

    def begin(
        self, paths: Any, *, reads: Iterable[str] = (), columns: Sequence[str] = (), overwrite: bool, **options: Any
    ) -> StagedRun:
        """The run over files, or over the records of a table if `paths` is None.

        Args:
            reads: the files that the table is read from.
            columns: the columns of the table.
            overwrite: True deletes what earlier runs have left. An incremental run replaces only the result, and goes
                on from the stages of the earlier one.

        Raises:
            FileExistsError: the folder has a whole result, and `overwrite` is False.
            ValueError, TypeError: an argument cannot be used.
        """
        _check_names(options)
        incremental = bool(options.get("incremental", False))
        if paths is None:
            if incremental:
                raise ValueError("incremental: give the paths of files that later runs find again, not a table")
            _check_columns(columns, options)
        self._claim([*([paths] if isinstance(paths, (str, os.PathLike)) else paths or []), *reads])
        # The stages of an incremental run stay beside its result, so the result alone tells that it is whole. A lost
        # task may have written it already, and may write it again.
        run = StagedRun(self.input if paths is None else paths, self.result, overwrite=incremental, **options)
        if overwrite and not incremental:
            self._clear()
        elif not overwrite and (is_whole(run.out) if incremental else run.is_finished()):
            raise FileExistsError(
                f"work: {self.path} has a whole result; read it with `result`, use another folder, or overwrite=True"
            )
        return run

    def _claim(self, reads: Iterable[str | os.PathLike[str]]) -> None:
        """Makes the folder one of this module, unless it has files of others or of the input."""
        for name in map(os.fsdecode, reads):
            place = Path(os.path.abspath(name.removeprefix("file://").removeprefix("file:")))
            if self.path == place or self.path in place.parents:
                raise ValueError(f"work: {self.path} has the input {name}; use another folder")
        marker = self.path / _MARKER
        if not marker.exists():
            if self.path.exists() and any(self.path.iterdir()):
                raise ValueError(f"work: {self.path} has files that no run has written; use a new folder")
            self.path.mkdir(parents=True, exist_ok=True)
            marker.touch()

    def _clear(self) -> None:
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
            ValueError: the folder has records with other columns, or there are no records.
        """
        marker = self.path / "input.json"
        if marker.exists():
            found = json.loads(marker.read_text(encoding="utf-8"))["columns"]
            if found != list(columns):
                raise ValueError(
                    f"work: {self.path} has records with the columns {', '.join(found)}; use another folder, or "
                    "overwrite=True"
                )
            warnings.warn(
                f"work: continues with the records that an earlier call has written to {self.input}; overwrite=True "
                "starts over",
                stacklevel=3,
            )
            return
        shutil.rmtree(self.input, ignore_errors=True)
        write(str(self.input))
        if not self.input.exists():
            raise ValueError("data: the table has no records")
        partial = marker.with_suffix(".partial")
        partial.write_text(json.dumps({"columns": list(columns)}), encoding="utf-8")
        partial.replace(marker)

    def read(self, table: Callable[[Path, str], Any]) -> Result:
        """The result.

        Args:
            table: reads a file, or the files of a folder and of its folders, given the path and the format, "parquet"
                or "json" for JSON lines. A name such as `day=1` is no column.

        Raises:
            FileNotFoundError: there is no whole result.
        """
        if not is_whole(self.result):
            hint = "; give the folder above it" if is_whole(self.path) else ""
            raise FileNotFoundError(f"work: {self.path} has no whole result{hint}")
        return Result(self.result, table)


def _check_names(options: dict[str, Any]) -> None:
    """Raises TypeError if an option is no argument of `StagedRun`."""
    known = [name for name in inspect.signature(StagedRun).parameters if name not in ("data", "out", "overwrite")]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; the options are {', '.join(known)}"
            raise TypeError(f"{name}: no such option{hint}")


def _check_columns(columns: Sequence[str], options: dict[str, Any]) -> None:
    """Raises ValueError if the table has no column that an option names."""
    named = {"text": options.get("text", "text"), "id": options.get("id"), "sort": options.get("sort")}
    for option, name in named.items():
        if isinstance(name, str) and name not in columns and "." not in name:
            raise ValueError(f"{option}: the table has no column {name!r}; its columns are {', '.join(columns)}")


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
