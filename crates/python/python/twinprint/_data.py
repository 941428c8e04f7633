"""The types of data that calls accept, and the way back to them.

A call reads its data once, in one of three forms: names of files, Python lists, or an Arrow stream. `Rows` also selects
rows of the data, in the type in which the data came.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ._documents import is_missing

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Paths:
    """Names of files, folders and globs."""

    paths: list[str]


@dataclass(frozen=True)
class Lists:
    """Lists of equal length."""

    texts: list[Any]
    ids: list[Any] | None
    sort: list[Any] | None


Take = Callable[[Any, Positions], Any]


@dataclass(frozen=True)
class Rows:
    """The data of a call."""

    source: Any
    """What the extension module reads: `Paths`, `Lists`, or an object with an Arrow stream. None after the call."""
    data: Any = None
    """The data as it came. None for files, whose rows are not in memory."""
    take: Take | None = None
    """Returns the rows of `data` at positions, in ascending order. A function of this module, so that it pickles."""
    texts: Any = None
    """The column of texts."""

    def text(self, at: int) -> str | None:
        """The text of a row; None if the row has none, or if the rows are not in memory."""
        if self.texts is None:
            return None
        value = self.texts[at]
        value = value.as_py() if hasattr(value, "as_py") else value
        return value if isinstance(value, str) else None

    def read(self) -> Rows:
        """The rows without the source, once it was read."""
        return replace(self, source=None)


def _take_items(data: Any, at: Positions) -> list[Any]:
    return [data[i] for i in at]


def _take_index(data: Any, at: Positions) -> Any:
    return data[at]


def _take_iloc(data: Any, at: Positions) -> Any:
    return data.iloc[at]


def _take_arrow(data: Any, at: Positions) -> Any:
    return data.take(_arrow_module().array(at))


def _take_lazy(data: Any, at: Positions) -> Any:
    return data[at].lazy()


def _take_dataset(data: Any, at: Positions) -> Any:
    return data.select(at)


def _take_records(data: Any, at: Positions, features: Any = None) -> Any:
    import datasets
    from datasets.table import InMemoryTable

    chosen = [data[i] for i in at]
    if features is None:
        return datasets.Dataset.from_list(chosen)
    # A schema, because types that are inferred may be too narrow: a fingerprint of 64 bits does not fit into int64.
    columns = features.encode_batch({name: [row[name] for row in chosen] for name in features})
    table = _arrow_module().table(columns, schema=features.arrow_schema)
    return datasets.Dataset(InMemoryTable(table))


def rows(data: Any, text: str, id: str | Sequence[Any] | None, sort: str | Sequence[Any] | None) -> Rows:
    """Recognises the type of `data`.

    `text`, `id` and `sort` name columns. For lists of strings, `id` and `sort` may be lists of equal length.

    Raises:
        TypeError: the type is none of those that are supported.
    """
    if isinstance(data, (str, os.PathLike)):
        return Rows(Paths([_path(data)]))
    kind = type(data).__module__.split(".")[0]
    if is_pandas(data):
        return _pandas(data, text, id, sort)
    if kind == "polars":
        return _polars(data, text, id, sort)
    if kind == "datasets":
        return _datasets(data, text, id, sort)
    if kind == "pyarrow":
        return _pyarrow(data, text, id, sort)
    if isinstance(data, np.ndarray):
        return replace(_sequence(data.tolist(), text, id, sort), data=data.copy(), take=_take_index)
    if hasattr(data, "__arrow_c_stream__"):
        return _pyarrow(_arrow_module().table(data), text, id, sort)
    if isinstance(data, Mapping):
        raise TypeError("data: a mapping has no order of rows; pass a list, a table or paths")
    if isinstance(data, (bytes, bytearray)) or not isinstance(data, Iterable):
        raise TypeError(
            f"data: {type(data).__name__} is not supported; pass texts or dicts (a list or any iterable), a pandas, "
            "polars or pyarrow table, a dataset of Hugging Face, or paths"
        )
    # A copy, because kept and removed rows are selected later, and the caller may change the list.
    items: list[Any] = list(data)
    if items and all(isinstance(item, os.PathLike) for item in items):
        return Rows(Paths([_path(item) for item in items]))
    batch = next((item for item in items if item is not None), None)
    if batch is not None and hasattr(batch, "__arrow_c_array__") and not isinstance(batch, str):
        return _pyarrow(_arrow_module().Table.from_batches(items), text, id, sort)
    if batch is not None and hasattr(batch, "__arrow_c_stream__"):
        tables = [_arrow_module().table(item) for item in items]
        return _pyarrow(_arrow_module().concat_tables(tables), text, id, sort)
    return _sequence(items, text, id, sort)


def is_pandas(data: Any) -> bool:
    """True for a table or a column of pandas."""
    return type(data).__module__.split(".")[0] == "pandas"


def _path(path: str | os.PathLike[Any]) -> str:
    name = os.fsdecode(path)
    if name == "-":
        raise ValueError("data: '-' would be stdin; pass sys.stdin, or the name of a file")
    return name


def _arrow_module() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow tables need the package pyarrow: pip install 'twinprint[arrow]'") from error
    return pyarrow


def _sequence(items: list[Any], text: str, id: str | Sequence[Any] | None, sort: str | Sequence[Any] | None) -> Rows:
    first = next((item for item in items if item is not None), "")
    if not isinstance(first, Mapping):
        source = Lists(items, _ids(_column(id, "id")), _sort_values(_column(sort, "sort")))
        return Rows(source, items, _take_items, items)
    if not any(_has(item, text) for item in items):
        raise KeyError(f"text: no record has a field {text!r}; the first has {', '.join(map(str, first))}")
    texts = [_get(item, text) for item in items]
    source = Lists(texts, _ids(_field(items, id, "id")), _sort_values(_field(items, sort, "sort")))
    return Rows(source, items, _take_items, texts)


def _get(item: Mapping[str, Any] | None, name: str, default: Any = None) -> Any:
    """The value of a field, or of a field of a field by a name with dots; `default` if there is none."""
    if item is None or name in item:
        return default if item is None else item[name]
    first, _, rest = name.partition(".")
    inner = item.get(first)
    return _get(inner, rest, default) if rest and isinstance(inner, Mapping) else default


def _has(item: Mapping[str, Any] | None, name: str) -> bool:
    nothing = object()
    return _get(item, name, nothing) is not nothing


def _ids(values: list[Any] | None) -> list[Any] | None:
    """Ids as texts or whole numbers. A library that holds missing numbers as NaN makes whole numbers to floats."""
    if values is None or all(type(value) in (str, int) for value in values):
        return values
    return [_id(value, at) for at, value in enumerate(values)]


def _id(value: Any, at: int) -> Any:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, float):
        if value.is_integer():
            return int(value)
    elif hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_)):
        return int(value)
    elif isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"id: the id of record {at} is {value!r}; expected a str or an int")


def _field(items: list[Any], name: str | Sequence[Any] | None, argument: str) -> list[Any] | None:
    if name is None or not isinstance(name, str):
        return _column(name, argument)
    if not any(_has(item, name) for item in items):
        raise KeyError(f"{argument}: no record has a field {name!r}")
    return [_get(item, name) for item in items]


def _column(values: str | Sequence[Any] | None, argument: str) -> list[Any] | None:
    if values is None:
        return None
    if isinstance(values, str):
        raise TypeError(f"{argument}: texts have no field {values!r}; pass a list with one value for each text")
    return values if isinstance(values, list) else list(values)


def _sort_values(values: list[Any] | None) -> list[Any] | None:
    """Converts times to text, which sorts like the times if they are of one time zone."""
    if values is None or not any(isinstance(value, date) for value in values):
        return values
    return [_moment(value) for value in values]


def _moment(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value.isoformat() if isinstance(value, date) else value


def _named(column: str | Sequence[Any] | None, argument: str) -> str | None:
    if column is None or isinstance(column, str):
        return column
    raise TypeError(f"{argument}: name a column of the table")


def _table(table: Any, text: str, id: Any, sort: Any, data: Any, take: Take) -> Rows:
    """Rows of a table with an Arrow stream. Only the columns that are read are passed on."""
    names = {name for name in (text, _named(id, "id"), _named(sort, "sort")) if name is not None}
    columns = [name for name in table.columns if name in names] if hasattr(table, "with_columns") else None
    if columns is None:
        columns = [name for name in table.column_names if name in names]
    if id is not None and id in columns and hasattr(table, "schema"):
        kind = str(table.schema[id] if hasattr(table, "with_columns") else table.schema.field(id).type).lower()
        if kind.startswith(("float", "double", "date", "bool", "struct", "halffloat", "list")):
            raise TypeError(f"id: the column {id!r} is {kind}; cast it to integers or strings")
    # A name that is no column may lead into a struct, which the extension module resolves.
    narrow = table.select(columns) if len(columns) == len(names) else table
    return Rows(narrow, data, take, table[text] if text in columns else None)


def _pyarrow(data: Any, text: str, id: Any, sort: Any) -> Rows:
    pyarrow = _arrow_module()
    table = data
    if isinstance(data, (pyarrow.Array, pyarrow.ChunkedArray)):
        table = pyarrow.table({text: data})
    elif isinstance(data, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([data])
    elif not isinstance(data, pyarrow.Table):
        # A reader or a dataset can be read only once, so its rows are held.
        data = table = data.read_all() if hasattr(data, "read_all") else pyarrow.table(data)
    return _table(table, text, id, sort, data, _take_arrow)


def _polars(data: Any, text: str, id: Any, sort: Any) -> Rows:
    import polars

    if isinstance(data, polars.LazyFrame):
        frame = data.collect()
        return _table(frame, text, id, sort, frame, _take_lazy)
    if isinstance(data, polars.Series):
        return _table(data.to_frame(text), text, id, sort, data, _take_index)
    return _table(data, text, id, sort, data, _take_index)


def _pandas(data: Any, text: str, id: Any, sort: Any) -> Rows:
    import pandas

    if not isinstance(data, (pandas.DataFrame, pandas.Series)):
        return _sequence(list(data), text, id, sort)
    # Its own frame, because the caller may change the data before kept rows are selected.
    data = data.copy(deep=False)
    if isinstance(data, pandas.Series):
        texts = _values(data)
        source = Lists(texts, _column(id, "id"), _sort_values(_column(sort, "sort")))
        return Rows(source, data, _take_iloc, texts)
    columns: dict[str, list[Any] | None] = {}
    for argument, name in (("text", text), ("id", _named(id, "id")), ("sort", _named(sort, "sort"))):
        if name is not None and name not in data.columns:
            names = ", ".join(map(str, data.columns))
            raise KeyError(f"{argument}: no column {name!r}; the columns are {names}")
        if name is not None and data.columns.tolist().count(name) > 1:
            raise KeyError(f"{argument}: several columns are named {name!r}")
        columns[argument] = None if name is None else _values(data[name])
    texts = columns["text"] or []
    return Rows(Lists(texts, _ids(columns["id"]), _sort_values(columns["sort"])), data, _take_iloc, texts)


def _values(series: Any) -> list[Any]:
    """The values of a pandas series, with None for every kind of missing value."""
    values: list[Any] = series.tolist()
    missing = series.isna()
    if not missing.any():
        return values
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def _datasets(data: Any, text: str, id: Any, sort: Any) -> Rows:
    import datasets

    if isinstance(data, datasets.DatasetDict):
        raise TypeError("data: a DatasetDict has several splits; pass one of them, such as data['train']")
    if isinstance(data, datasets.Dataset):
        return _table(data.with_format("arrow")[:], text, id, sort, data, _take_dataset)
    if not hasattr(data, "features") or not hasattr(data.features, "encode_batch"):
        return _sequence(list(data), text, id, sort)
    return replace(_sequence(list(data), text, id, sort), take=partial(_take_records, features=data.features))
