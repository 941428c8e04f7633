"""Documents of callers as rows: from strings, dictionaries, named tuples and the tables of other libraries.

No library is imported for this. Tables are recognised by the methods that they have.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._twinprint import parse_span, parse_time

#: A document: its text, or a mapping with the text and other keys.
Document = str | Mapping[str, Any]

#: Documents are passed on in batches of at most this number,
BATCH_DOCUMENTS = 500
#: and of about this number of characters.
BATCH_CHARACTERS = 4 << 20


class Row(NamedTuple):
    """A document as the extension module takes it."""

    #: The id, or the position if ``has_id`` is False.
    id: str
    has_id: bool
    kind: str
    content: str
    details: str | None
    ttl: int | None


class Refused(NamedTuple):
    """A document that has no content, and the reason."""

    id: str | None
    reason: str


class Keys(NamedTuple):
    """The keys of a document's id and text, and of the values that are stored with it as ``fields``."""

    id: str = "id"
    text: str = "text"
    fields: tuple[str, ...] = ()

    def content(self) -> tuple[str, ...]:
        """The keys of which a document has at least one."""
        return (self.text, "html", "fingerprint")


#: The keys of details whose values are stored as they are.
_TEXTS = ("url", "source")
#: All keys that a document can have in addition to its id and its text.
DETAILS = ("doc_id", "html", "fingerprint", "time", "score", "title", "ttl", "fields", *_TEXTS)


def is_missing(value: object) -> bool:
    """Returns True for None, NaN, and the missing values of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def rows(data: Any, name: str, wanted: Iterable[str] | None = None, content: Sequence[str] = ()) -> Iterator[Document]:
    """Returns the documents of a table, a column, an iterable, or an iterable of these.

    ``wanted`` are the names of the columns to read; others of a table are skipped. A table needs a column of
    ``content``, of which the first is the text. ``name`` is the argument that errors name.
    """
    if isinstance(data, (str, Mapping)):
        yield data
    elif hasattr(data, "iter_rows") and hasattr(data, "columns"):  # polars.DataFrame
        yield from data.select(_columns(data.columns, wanted, content)).iter_rows(named=True)
    elif hasattr(data, "to_pylist") and hasattr(data, "schema"):  # pyarrow.Table, pyarrow.RecordBatch
        table = data.select(_columns(data.schema.names, wanted, content))
        for batch in table.to_batches(max_chunksize=4096) if hasattr(table, "to_batches") else (table,):
            yield from batch.to_pylist()
    elif hasattr(data, "to_pylist"):  # pyarrow.Array, pyarrow.ChunkedArray
        yield from rows(data.to_pylist(), name)
    elif hasattr(data, "itertuples"):  # pandas.DataFrame
        columns = _columns(list(data.columns), wanted, content)
        for values in data[columns].itertuples(index=False, name=None):
            yield dict(zip(columns, values, strict=True))
    elif isinstance(data, (bytes, bytearray)) or not isinstance(data, Iterable):
        raise TypeError(f"{name}: expected texts, dictionaries or a table, not {type(data).__name__}")
    else:
        for item in data:
            if isinstance(item, (str, Mapping)):
                yield item
            elif hasattr(item, "_asdict"):  # a named tuple
                yield item._asdict()
            elif is_missing(item):
                yield {}
            elif hasattr(item, "iter_rows") or hasattr(item, "to_pylist") or hasattr(item, "itertuples"):
                yield from rows(item, name, wanted, content)
            else:
                raise TypeError(f"{name}: expected a text or a dictionary for each document, not {type(item).__name__}")


def _columns(names: Sequence[str], wanted: Iterable[str] | None, content: Sequence[str]) -> list[str]:
    if content and not set(content) & set(names):
        raise KeyError(f"text: no column {content[0]!r}; the columns are {', '.join(map(str, names))}")
    if wanted is None:
        return list(names)
    chosen = set(wanted)
    return [name for name in names if name in chosen]


def text_id(value: object, name: str) -> str | None:
    """Returns an id as text; None if it is missing."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name}: {value!r} is not valid Unicode") from None
        return str(value) or None
    if is_missing(value):
        return None
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a str or an int, not {type(value).__name__}") from None


def text_time(value: object, name: str) -> str | None:
    """Returns a time as text: a str, a number of seconds, a date or a datetime. None if it is missing."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if hasattr(value, "astype") and type(value).__name__ == "datetime64":
        return str(value)
    if isinstance(value, (int, float)) or hasattr(value, "__index__"):
        return str(value)
    raise TypeError(f"{name}: expected a str, a datetime or seconds, not {type(value).__name__}")


def seconds(value: object, name: str) -> int | None:
    """Returns a time in seconds since 1970. Without a zone it is in UTC."""
    text = text_time(value, name)
    return None if text is None else parse_time(name, text)


def span(value: object, name: str) -> int | None:
    """Returns a length of time in seconds: a number of seconds, a timedelta, or a text such as "36h"."""
    if value is None:
        return None
    if isinstance(value, datetime.timedelta):
        whole = int(value.total_seconds())
    elif isinstance(value, str):
        return parse_span(name, value)
    else:
        whole = integer(value, name)
    if whole < 1:
        raise ValueError(f"{name}: {whole} seconds is too short; give at least 1")
    return whole


def integer(value: object, name: str) -> int:
    """Returns a whole number."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected an int, not {type(value).__name__}") from None


def natural(value: object, name: str, largest: int = 2**64 - 1) -> int:
    """Returns a whole number from 0 to ``largest``."""
    number = integer(value, name)
    if not 0 <= number <= largest:
        raise ValueError(f"{name}: {number} is not allowed; give a number from 0 to {largest}")
    return number


def real(value: Any, name: str) -> float:
    """Returns a number."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name}: expected a float, not {type(value).__name__}")
    return float(value)


def choice(value: object, name: str, allowed: Sequence[str]) -> str:
    """Returns one of the allowed texts."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, not {type(value).__name__}")
    if value not in allowed:
        raise ValueError(f"{name}: {value!r} is not allowed; give one of {', '.join(map(repr, allowed))}")
    return value


def string(value: object, name: str) -> str | None:
    """Returns a text; None if it is missing."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    raise TypeError(f"{name}: expected a str, not {type(value).__name__}")


def row(document: Document, keys: Keys, number: int) -> Row | Refused:
    """Returns a document as the extension module takes it.

    ``number`` is the position of the document, which errors name.
    """
    if isinstance(document, str):
        return Row(str(number), False, "text", document, None, None)
    where = f" of document {number}"
    get = document.get
    id_key = "doc_id" if keys.id == "id" and "id" not in document else keys.id
    id_ = text_id(get(id_key), id_key + where)
    kind, content = "text", string(get(keys.text), keys.text + where)
    html, fingerprint = get("html"), get("fingerprint")
    if content is not None:
        pass
    elif not is_missing(html):
        kind, content = "html", string(html, "html" + where)
    elif not is_missing(fingerprint):
        bits = natural(fingerprint, "fingerprint" + where, 2**128 - 1)
        kind, content = "fingerprint", f"{bits:x}"
    if content is None:
        return Refused(id_, f"{keys.text}: the value is missing")
    details: dict[str, Any] = {}
    for key in _TEXTS:
        value = get(key)
        if not is_missing(value):
            details[key] = string(value, key + where)
    time, score, title, ttl = get("time"), get("score"), get("title"), get("ttl")
    if not is_missing(time):
        details["time"] = text_time(time, "time" + where)
    if not is_missing(score):
        details["score"] = real(score, "score" + where)
    given = get("fields")
    fields = dict(given) if isinstance(given, Mapping) else {}
    if not is_missing(title):
        fields.setdefault("title", title)
    fields.update((key, document[key]) for key in keys.fields if not is_missing(get(key)))
    if fields:
        details["fields"] = fields
    return Row(
        str(number) if id_ is None else id_,
        id_ is not None,
        kind,
        content,
        _json(details, "fields" + where) if details else None,
        None if is_missing(ttl) else natural(ttl, "ttl" + where),
    )


def _json(value: object, name: str) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: {error}") from None


def with_ids(documents: Iterator[Document], ids: Iterable[object], keys: Keys) -> Iterator[Document]:
    """Gives each document the id at its position."""
    nothing = object()
    for document, id_ in itertools.zip_longest(documents, ids, fillvalue=nothing):
        if document is nothing or id_ is nothing:
            raise ValueError("ids: expected as many ids as documents")
        if isinstance(document, str):
            yield {keys.text: document, keys.id: id_}
        elif isinstance(document, Mapping):
            yield {**document, keys.id: id_}


def batches(documents: Iterable[Document], keys: Keys) -> Iterator[list[Row | Refused]]:
    """Returns documents as the extension module takes them, in batches of bounded size."""
    batch: list[Row | Refused] = []
    characters = 0
    for number, document in enumerate(documents):
        prepared = row(document, keys, number)
        batch.append(prepared)
        characters += len(prepared.content) if isinstance(prepared, Row) else 0
        if len(batch) == BATCH_DOCUMENTS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
