"""Comparisons of texts, fingerprints, features and vectors."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import twinprint
from twinprint import compare

A = "one two three four five six seven eight nine ten"
B = "one two three four five six seven eight nine eleven"


def test_texts() -> None:
    c = compare(A, B)
    a, b = A.split(), B.split()
    x, y = set(zip(a, a[1:], a[2:], strict=False)), set(zip(b, b[1:], b[2:], strict=False))
    assert c.jaccard == pytest.approx(len(x & y) / len(x | y))
    assert c.containment == pytest.approx(len(x & y) / min(len(x), len(y)))
    assert c.shingles == "word 3-grams" and c.features == (10, 10)
    # Nine of ten words are common, each occurs once.
    assert c.cosine == pytest.approx(0.9) and c.euclidean == pytest.approx(math.sqrt(2))
    assert c.manhattan == 2 and c.dice == pytest.approx(0.9)
    assert c.fingerprints is not None
    assert c.hamming == bin(c.fingerprints[0] ^ c.fingerprints[1]).count("1")
    assert c.angle == pytest.approx(180 * c.hamming / 64)
    assert c.estimated_cosine == pytest.approx(math.cos(math.radians(c.angle)))
    assert c.explanation is None
    assert pickle.loads(pickle.dumps(c)) == c


def test_equal_texts_have_no_distance() -> None:
    c = compare(A, A.upper() + "!")
    assert (c.hamming, c.jaccard, c.containment, c.cosine, c.edit) == (0, 1, 1, pytest.approx(1), 0)


def test_widths_and_profiles() -> None:
    assert compare(A, B, bits=128).profile == "tp1-words-lntf-128"
    assert compare(A, B, profile="tp1-words-lntf-32").bits == 32
    narrow, wide = compare(A, B, bits=64), compare(A, B, bits=128)
    assert narrow.fingerprints is not None and wide.fingerprints is not None
    assert narrow.fingerprints[0] == wide.fingerprints[0] % 2**64
    with pytest.raises(ValueError, match="profile"):
        compare(A, B, profile="nonsense")
    with pytest.raises(ValueError, match="bits"):
        compare(A, B, profile="tp1-words-lntf-32", bits=64)


def test_explanations_name_the_words_that_differ() -> None:
    c = compare(A, B, explain=True)
    assert c.explanation is not None
    assert {feature for feature, _, _ in c.explanation.features} == {"ten", "eleven"}
    assert len(c.explanation.bits) == c.hamming
    assert all((x > 0) != (y > 0) for _, x, y in c.explanation.bits)


def test_fingerprints() -> None:
    assert compare(0b100111, 0b101010).hamming == 3
    assert compare(np.uint64(2**63), 0).hamming == 1
    assert compare(2**100, 1, bits=128).hamming == 2
    low_and_high = np.array([1, 2**63], dtype=np.uint64)
    c = compare(low_and_high, np.zeros(2, dtype=np.uint64))
    assert (c.bits, c.hamming, c.fingerprints) == (128, 2, (1 | 2**127, 0))
    for a, b in ((2**64, 0), (-1, 0)):
        with pytest.raises(ValueError, match="fingerprint"):
            compare(a, b)
    with pytest.raises(ValueError, match="bits"):
        compare(1, 2, bits=20)


def test_features_and_vectors() -> None:
    f = compare({"a": 3.0, "b": 4}, {"a": 3.0})
    assert (f.cosine, f.jaccard, f.features) == (pytest.approx(0.6), 0.5, (2, 1))
    a, b = np.array([1.0, 2.0, 3.0]), [2.0, 2.0, 5.0]
    v = compare(a, b)
    assert v.cosine == pytest.approx(float(a @ np.array(b)) / (np.linalg.norm(a) * np.linalg.norm(b)))
    assert v.euclidean == pytest.approx(float(np.linalg.norm(a - b)))
    assert v.pearson == pytest.approx(float(np.corrcoef(a, b)[0, 1]))
    assert (v.manhattan, v.chebyshev) == (3, 2)
    assert compare(a, b, bits=128).bits == 128


def test_wrong_types_are_named() -> None:
    for a, b in ((A, 1), (A, b"bytes"), (1, None), ({}, "x"), (["a"], ["b"])):
        with pytest.raises(TypeError, match="^[ab]: "):
            compare(a, b)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="^[ab]: "):
        compare([float("nan")], [1.0])
    with pytest.raises(ValueError, match="^a: "):
        compare({"a": "heavy"}, {"a": 1})  # type: ignore[dict-item]


def test_odd_texts() -> None:
    for text in ("", "\ud800", "x", "日本語のテキスト", "\x00"):
        assert isinstance(compare(text, A), twinprint.Comparison)
