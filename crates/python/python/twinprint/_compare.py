"""Comparison of two documents: texts, fingerprints, weighted features or vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex, overload

from . import _documents as d
from . import _twinprint

__all__ = [
    "Comparison",
    "Explanation",
    "FeatureComparison",
    "FingerprintComparison",
    "VectorComparison",
    "compare",
]


@dataclass(frozen=True)
class Explanation:
    """The features and bits in which two texts differ."""

    #: For each differing bit: its number, and the votes of a and b. A bit whose vote is close to 0 flips easily.
    bits: tuple[tuple[int, int, int], ...]
    #: The formula of weights, such as "1 + ln tf, in sixteenths".
    weight_formula: str
    #: Features of different weight in a and b, the largest difference first. The weight is 0 in a text without it.
    features: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class FingerprintComparison:
    """Two fingerprints and their distance."""

    #: The two fingerprints as numbers; None if they were made under a secret key.
    fingerprints: tuple[int, int] | None
    #: Width of the fingerprints in bits.
    bits: int
    #: Number of differing bits.
    hamming: int
    #: The angle between the feature vectors that the Hamming distance estimates, in degrees from 0 to 180.
    angle: float
    #: The cosine of that angle.
    estimated_cosine: float


@dataclass(frozen=True)
class Comparison(FingerprintComparison):
    """The distances and similarities of two texts. For equal texts all distances are 0 and all similarities 1."""

    #: Exact Jaccard of the two shingle sets. It decides whether the texts are duplicates.
    jaccard: float
    #: Common shingles over the shingles of the smaller text.
    containment: float
    #: "word 3-grams" or "character 5-grams".
    shingles: str
    #: Cosine of the two vectors of term counts.
    cosine: float
    #: Cosine of the term counts multiplied by idf; None if the profile has no idf table.
    tfidf_cosine: float | None
    #: Jaccard, Dice and overlap coefficient of the two sets of terms.
    term_jaccard: float
    dice: float
    overlap_coefficient: float
    #: Edit distance of the canonical texts in characters; None if they are too long and too different.
    edit: int | None
    #: Distances of the two vectors of term counts.
    euclidean: float
    manhattan: float
    chebyshev: float
    #: Number of distinct features of each text.
    features: tuple[int, int]
    #: Id of the profile of the fingerprints.
    profile: str
    #: The differences, if they were asked for.
    explanation: Explanation | None = None


@dataclass(frozen=True)
class FeatureComparison(FingerprintComparison):
    """Two documents that are given as weighted features."""

    #: Cosine of the two vectors of weights.
    cosine: float
    #: Jaccard, Dice and overlap coefficient of the two sets of features.
    jaccard: float
    dice: float
    overlap_coefficient: float
    #: Distances of the two vectors of weights.
    euclidean: float
    manhattan: float
    chebyshev: float
    #: Number of features of each document.
    features: tuple[int, int]


@dataclass(frozen=True)
class VectorComparison(FingerprintComparison):
    """Two vectors."""

    cosine: float
    #: Pearson correlation; None if all values of a vector are equal.
    pearson: float | None
    euclidean: float
    manhattan: float
    chebyshev: float


def _base(value: dict[str, Any]) -> dict[str, Any]:
    angle = value.pop("angle")
    value["angle"], value["estimated_cosine"] = angle["degrees"], angle["cosine"]
    a, b = value["fingerprints"]
    value["fingerprints"] = (int(a, 16), int(b, 16)) if a and b else None
    if "features" in value:
        value["features"] = tuple(value["features"])
    return value


def comparison(value: dict[str, Any]) -> Comparison:
    """Returns the comparison of two texts from the object of the extension module."""
    bits = len(value["fingerprints"][0]) * 4 or int(value["profile"].split("+")[0].rsplit("-", 1)[1])
    explanation = value.pop("explanation", None)
    if explanation is not None:
        explanation = Explanation(
            tuple((bit["bit"], *bit["sums"]) for bit in explanation["bits"]),
            explanation["weight_formula"],
            tuple((feature["feature"], *feature["weights"]) for feature in explanation["features"]),
        )
    value.setdefault("tfidf_cosine", None)
    return Comparison(bits=bits, explanation=explanation, **_base(value))


@overload
def compare(a: str, b: str, *, profile: str = ..., bits: int | None = ..., explain: bool = ...) -> Comparison: ...


@overload
def compare(a: SupportsIndex, b: SupportsIndex, *, bits: int | None = ...) -> FingerprintComparison: ...


@overload
def compare(
    a: Mapping[str, float], b: Mapping[str, float], *, profile: str = ..., bits: int | None = ...
) -> FeatureComparison: ...


@overload
def compare(a: Iterable[float], b: Iterable[float], *, bits: int | None = ...) -> VectorComparison: ...


def compare(
    a: Any,
    b: Any,
    *,
    profile: str = "tp1-words-lntf",
    bits: int | None = None,
    explain: bool = False,
) -> FingerprintComparison:
    """Compares two documents: two texts, fingerprints, dictionaries of weighted features, or vectors.

    Args:
        a, b: two texts; two fingerprints (int); two dictionaries of features and their weights; or two sequences or
            arrays of numbers. Two arrays of uint64 of shape (2,) are fingerprints of 128 bits, low half first.
        profile: the profile of the fingerprints, for texts and features.
        bits: width of the fingerprints: 16, 32, 64 or 128. The default is the width in ``profile``, or 64.
        explain: for texts: also return the features and bits that differ.

    Returns:
        Comparison, FingerprintComparison, FeatureComparison or VectorComparison.

    Examples:
        >>> import twinprint
        >>> c = twinprint.compare("one two three four five", "one two three four six")
        >>> c.jaccard, c.bits
        (0.5, 64)
        >>> twinprint.compare(0b100111, 0b101010).hamming
        3
        >>> twinprint.compare([1.0, 0.0], [1.0, 1.0]).euclidean
        1.0
    """
    width = None if bits is None else d.natural(bits, "bits", 128)
    if isinstance(a, str) and isinstance(b, str):
        compared = _twinprint.compare_two_texts(a, b, profile, width, bool(explain))
        return comparison(json.loads(compared))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        compared = _twinprint.compare_two_features(_json(a, "a"), _json(b, "b"), profile, width)
        return FeatureComparison(**_base(json.loads(compared)))
    first, second = _fingerprint(a), _fingerprint(b)
    if first is not None and second is not None:
        wide = 128 if any(getattr(side, "shape", None) for side in (a, b)) else 64
        compared = _twinprint.compare_two_fingerprints(f"{first:x}", f"{second:x}", width or wide)
        return FingerprintComparison(**_base(json.loads(compared)))
    for name, side in (("a", a), ("b", b)):
        if isinstance(side, (str, bytes, Mapping)) or not isinstance(side, Iterable):
            raise TypeError(
                f"{name}: expected two texts, two int, two dictionaries or two vectors, not "
                f"{type(a).__name__} and {type(b).__name__}"
            )
    compared = _twinprint.compare_two_vectors(_json(_floats(a, "a"), "a"), _json(_floats(b, "b"), "b"), width)
    return VectorComparison(**_base(json.loads(compared)))


def _fingerprint(value: Any) -> int | None:
    """Returns a fingerprint as a number; None if the value is something else."""
    if hasattr(value, "dtype") and getattr(value, "shape", None) == (2,) and value.dtype.kind == "u":
        return int(value[0]) | int(value[1]) << 64
    if isinstance(value, bool) or not hasattr(value, "__index__") or getattr(value, "shape", None):
        return None
    return d.natural(value, "a fingerprint", 2**128 - 1)


def _floats(values: Iterable[Any], name: str) -> list[float]:
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: expected numbers: {error}") from None


def _json(value: object, name: str) -> str:
    def number(value: Any) -> float:
        if hasattr(value, "__float__"):
            return float(value)
        raise TypeError(f"{type(value).__name__} is not a number")

    try:
        return json.dumps(dict(value) if isinstance(value, Mapping) else value, allow_nan=False, default=number)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
