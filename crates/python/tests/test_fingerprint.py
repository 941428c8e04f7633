"""Fingerprints: types in and out, equality with the command, and arithmetic on columns."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import twinprint
from conftest import corpus

LAMP = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."


def test_types_in_and_out(texts: list[str]) -> None:
    expected = twinprint.fingerprint(texts)
    assert expected.dtype == np.uint64
    assert expected.shape == (len(texts),)
    assert twinprint.fingerprint(texts[7]) == int(expected[7])
    assert (twinprint.fingerprint(iter(texts)) == expected).all()
    assert (twinprint.fingerprint(tuple(texts)) == expected).all()
    assert (twinprint.fingerprint(np.array(texts, dtype=object)) == expected).all()
    assert (twinprint.fingerprint([{"body": text} for text in texts], text="body") == expected).all()
    wide = twinprint.fingerprint(texts, bits=128)
    assert wide.shape == (len(texts), 2)
    assert (wide[:, 0] == expected).all()
    assert twinprint.fingerprint(texts[7], bits=128) == int(wide[7, 1]) << 64 | int(wide[7, 0])
    for bits in (16, 32):
        assert (twinprint.fingerprint(texts, bits=bits) == expected & np.uint64(2**bits - 1)).all()


def test_tables(texts: list[str]) -> None:
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    expected = twinprint.fingerprint(texts)
    for table in (
        pandas.Series(texts),
        pandas.DataFrame({"text": texts}),
        polars.Series(texts),
        polars.DataFrame({"text": texts}),
        polars.LazyFrame({"text": texts}),
    ):
        assert (twinprint.fingerprint(table) == expected).all()
    for array in (
        pyarrow.array(texts),
        pyarrow.chunked_array([texts[:9], texts[9:]]),
        pyarrow.table({"text": texts}),
    ):
        made = twinprint.fingerprint(array)
        assert made.type == pyarrow.uint64()
        assert (made.to_numpy() == expected).all()
    types = (
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.binary(),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    )
    for kind in types:
        assert (twinprint.fingerprint(pyarrow.array(texts).cast(kind)).to_numpy() == expected).all()
    wide = twinprint.fingerprint(pyarrow.array(texts), bits=128)
    assert wide.type == pyarrow.binary(16)
    assert (twinprint.from_bytes(wide.to_pylist()) == twinprint.fingerprint(texts, bits=128)).all()


def test_missing_texts() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.warns(UserWarning, match="2 of 4 texts have no fingerprint"):
        made = twinprint.fingerprint(["a lamp", None, "half of a pair \ud800", "a lamp"])
    assert made[1] == made[2] == 0
    assert made[0] == made[3] != 0
    assert twinprint.fingerprint(pyarrow.array(["a lamp", None])).null_count == 1


def test_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="^profile"):
        twinprint.fingerprint(["a"], profile="none")
    with pytest.raises(ValueError, match="bits|profile"):
        twinprint.fingerprint(["a"], bits=63)
    with pytest.raises(ValueError, match="^threads"):
        twinprint.fingerprint(["a"], threads=10**6)
    with pytest.raises(TypeError, match=r"data\[1\] is int"):
        twinprint.fingerprint(["a", 1])
    with pytest.raises(TypeError, match="^data: int"):
        twinprint.fingerprint(1)
    with pytest.raises(TypeError, match="^data"):
        twinprint.fingerprint(b"bytes")


def test_empty_data() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert twinprint.fingerprint([]).shape == (0,)
        assert twinprint.fingerprint([], bits=128).shape == (0, 2)
        assert twinprint.fingerprint(["", "x"]).shape == (2,)


def test_profiles_equal_the_command(command: str, tmp_path: Path) -> None:
    texts = corpus(seed=5)
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for profile in ("tp1-words-lntf-64", "tp1-chars4-tf-64", "tp1-words-lntf-128"):
        rows = subprocess.run(
            [command, "fingerprint", path, "--profile", profile, "--quiet"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.splitlines()
        bits = int(profile.rsplit("-", 1)[1])
        made = twinprint.as_bytes(twinprint.fingerprint(path, profile=profile, bits=bits))
        assert [row.hex() for row in made] == [json.loads(row)["fingerprint"] for row in rows]


def test_hamming_and_bytes() -> None:
    chosen = np.random.default_rng(3)
    for shape in ((50,), (50, 2)):
        a, b = chosen.integers(0, 2**64, size=(2, *shape), dtype=np.uint64)
        expected = [
            (int.from_bytes(x, "big") ^ int.from_bytes(y, "big")).bit_count()
            for x, y in zip(twinprint.as_bytes(a), twinprint.as_bytes(b), strict=True)
        ]
        assert twinprint.hamming(a, b).tolist() == expected
        assert (twinprint.from_bytes(twinprint.as_bytes(a)) == a).all()
        assert twinprint.hamming(a, a).sum() == 0


def test_hamming_takes_columns_and_numbers() -> None:
    texts = [LAMP, "The ferry runs.", LAMP.upper(), LAMP + " Lit in May."]
    narrow, wide = twinprint.fingerprint(texts), twinprint.fingerprint(texts, bits=128)
    of_narrow, of_wide = twinprint.hamming(narrow, narrow[0]), twinprint.hamming(wide, wide[0])
    assert of_narrow.shape == of_wide.shape == (4,)
    assert twinprint.hamming(narrow[:, None], narrow[None, :]).tolist()[0] == of_narrow.tolist()
    assert twinprint.hamming(wide[:, None], wide[None]).tolist()[0] == of_wide.tolist()
    assert twinprint.hamming(wide, twinprint.fingerprint(texts[0], bits=128)).tolist() == of_wide.tolist()
    assert twinprint.hamming(twinprint.as_bytes(wide), wide[0]).tolist() == of_wide.tolist()
    for values, message in (([1.5], "whole numbers"), ([None, 1], "missing"), ([-1], "negative"), ("ab", "array")):
        with pytest.raises((TypeError, ValueError), match=f"^a: .*{message}"):
            twinprint.hamming(values, 1)
    with pytest.raises(ValueError, match="64 bits and of 128"):
        twinprint.hamming(wide, narrow)
    with pytest.raises(ValueError, match="item 1 is not 8 or 16 bytes"):
        twinprint.from_bytes([b"12345678", b"1234567812345678"])


def test_hamming_refuses_columns_with_missing_values() -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    texts = [LAMP, "The ferry runs.", LAMP.upper()]
    expected = twinprint.hamming(twinprint.fingerprint(texts), twinprint.fingerprint(LAMP)).tolist()
    column = twinprint.fingerprint(pyarrow.array(texts))
    for full in (column, polars.from_arrow(column), pandas.Series(twinprint.fingerprint(texts))):
        assert twinprint.hamming(full, twinprint.fingerprint(LAMP)).tolist() == expected
    column = twinprint.fingerprint(pyarrow.array([*texts, None]))
    for with_null in (column, polars.from_arrow(column), pandas.Series([*texts[:0], 1, None])):
        for call in (twinprint.as_bytes, lambda values: twinprint.hamming(values, 1)):
            with pytest.raises(ValueError, match="missing"):
                call(with_null)
    wide = twinprint.fingerprint(pyarrow.array(texts), bits=128)
    assert twinprint.from_bytes(wide).tolist() == twinprint.fingerprint(texts, bits=128).tolist()
    assert twinprint.as_bytes(wide) == wide.to_pylist()
    assert twinprint.from_bytes(polars.from_arrow(wide)).tolist() == twinprint.from_bytes(wide).tolist()
