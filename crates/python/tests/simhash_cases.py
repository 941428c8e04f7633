"""Odd inputs for `Simhash` and `SimhashIndex`, and what an implementation makes of them.

A case is JSON, so that two interpreters with different versions of numpy can run the same cases:

    python simhash_cases.py < cases.json > outcomes.json

runs them on the module `simhash` of that interpreter.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import random
import re
import sys
import zlib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

Case = dict[str, Any]

# Fingerprints of f bits need a hash of at least f bits; MD5 has 128.
WIDTHS = [8, 16, 24, 32, 40, 64, 64, 64, 64, 96, 128, 192, 256]
CUSTOM_HASHES = {
    "md5": lambda feature: hashlib.md5(feature).digest(),
    "md5 integer": lambda feature: int(hashlib.md5(feature).hexdigest(), 16),
    "sha256": lambda feature: hashlib.sha256(feature).digest(),
    "sha512 integer": lambda feature: int.from_bytes(hashlib.sha512(feature).digest(), "little"),
    "crc": zlib.crc32,
    "negative": lambda feature: -zlib.crc32(feature) << 20,
    "bytearray": lambda feature: bytearray(hashlib.sha256(feature).digest()),
    "four bytes": lambda feature: hashlib.sha256(feature).digest()[:4],
    "empty": lambda feature: b"",
    "lengths differ": lambda feature: hashlib.sha256(feature).digest()[: 4 + len(feature) % 3 * 4],
    "boolean": lambda feature: len(feature) % 2 == 1,
    "text": lambda feature: hashlib.sha256(feature).hexdigest(),
    "list": list,
    "none": lambda feature: None,
    "fails": lambda feature: {}[feature],
    "fails later": lambda feature: b"test" if feature == b"test" else {}[feature],
    "changes to bytes": lambda feature: 7 if feature == b"test" else b"12345678",
}
PATTERNS = [r"\w", r"[a-z]+", r"(\w)(\w)", r"(\w+)", r".", r"[\u3400-\u9fff]", r"(?i)[A-Z0-9]+", r"$^", r"("]
ALPHABETS = [
    "abcdefghij",
    "ab",
    "Straße İstanbul ΟΔΟΣ ﬁ",
    "的一是在不了有和人这中大为上个国我以要他",
    "日本語ひらがなカタカナ한국어",
    "😀🎉👩‍👩‍👧‍👦🇩🇪",
    " \t\n\u3000\u00a0.,;!?—…「」",
    "0123456789_²½٣",
    "e\u0301\u0308\u200b\u200d\u0000\ufeff",
    "\ud800\udfff",
]


def generate(count: int, seed: int) -> list[Case]:
    """`count` cases that depend only on the seed."""
    rng = random.Random(seed)
    kinds = [_text_case] * 6 + [_feature_case] * 8 + [_value_case, _distance_case] + [_index_case] * 2
    # JSON joins the halves of surrogate pairs.
    return [json.loads(json.dumps(rng.choice(kinds)(rng))) for _ in range(count)]


def _text(rng: random.Random) -> str:
    if rng.random() < 0.05:
        return ""
    # Surrogates are rare: nearly every text with one is refused.
    alphabets = rng.sample(ALPHABETS[:-1], rng.randint(1, 3)) + ALPHABETS[-1:] * (rng.random() < 0.02)
    length = rng.choice([1, 2, 3, 4, 5, 8, 20, 60, 300, 1500] if rng.random() < 0.5 else [1, 3, 5, 12, 40])
    return "".join(rng.choice(rng.choice(alphabets)) for _ in range(length))


def _options(rng: random.Random) -> Case:
    options: Case = {}
    if rng.random() < 0.6:
        options["f"] = rng.choice(WIDTHS)
    if rng.random() < 0.03:
        options["f"] = rng.choice([0, 1, 7, 12, 63])
    if rng.random() < 0.35:
        options["hashfunc"] = rng.choice(list(CUSTOM_HASHES))
    return options


def _text_case(rng: random.Random) -> Case:
    options = _options(rng)
    if rng.random() < 0.2:
        options["reg"] = rng.choice(PATTERNS)
        options["compiled"] = rng.random() < 0.5
    subclass = rng.choice(["words", "wide", "pairs", "generator", "mixed"]) if rng.random() < 0.2 else None
    return {"kind": "simhash", "value": {"text": _text(rng)}, "options": options, "subclass": subclass}


def _weight(rng: random.Random, kind: str) -> Any:
    match kind:
        case "small":
            return rng.choice([0, 1, 1, 2, 3, 10, 49, 50])
        case "negative":
            return rng.choice([-1, -3, 1, 5, 60, -100])
        case "large":
            return rng.choice([50, 51, 100, 255, 256, 1000, 65535, 65536, 2**31, 2**40, 2**53 + 1])
        case "huge":
            return rng.choice([2**62, 2**63, 2**63 + 1, 2**64 - 1, 2**64, 2**100, 7, 10**400, -(2**70)])
        case "float":
            return rng.choice([rng.random(), rng.uniform(-2, 2), rng.lognormvariate(0, 8), 0.0, -0.0, 0.1, 1.0])
        case "odd float":
            return rng.choice([float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, 0.5, 1.5])
        case "mixed":
            return _weight(rng, rng.choice(["small", "negative", "large", "huge", "float"]))
        case "decimal":
            return {"decimal": str(round(rng.uniform(-1, 9), 3))}
        case "fraction":
            return {"fraction": [rng.randint(-5, 50), rng.randint(1, 9)]}
        case "numpy":
            return rng.choice([{"int64": rng.randint(-60, 60)}, {"float64": rng.uniform(-1, 5)}])
        case _:
            return rng.choice([None, "3", True, False, {"complex": 1}, [], {"int64": 3}])


def _feature_case(rng: random.Random) -> Case:
    kinds = ["small", "small", "negative", "large", "huge", "float", "float", "odd float", "mixed"]
    kind = rng.choice([*kinds, "decimal", "fraction", "numpy", "odd"])
    length = rng.choice([0, 1, 2, 3, 8, 8, 30, 30, 199, 200, 201, 450])
    plain = rng.choice([0, 0, 0.5, 0.9, 1])
    features: list[Any] = []
    weight: Any = 1
    for _ in range(length):
        token = _text(rng)[:12] if rng.random() < 0.3 else f"{rng.getrandbits(24):x}"
        # The original would repeat the hash of a plain feature after a large weight in memory.
        if rng.random() < plain and not (isinstance(weight, int) and 1000 < weight < 2**64):
            features.append(token)
        else:
            weight = _weight(rng, kind)
            features.append([token, weight])
    if rng.random() < 0.04:
        features.insert(
            rng.randint(0, len(features)), rng.choice([5, None, [], ["a"], ["a", 1, 2], [1, 1], [["a"], 1]])
        )
    container = rng.choice(["list", "list", "tuple", "generator", "dict", "items"])
    return {"kind": "simhash", "value": {container: features}, "options": _options(rng), "subclass": None}


def _value_case(rng: random.Random) -> Case:
    value: Case = rng.choice(
        [
            {"integer": rng.choice([0, 1, -1, -5, 2**63, 2**64 - 1, 2**64, 2**200, rng.getrandbits(64)])},
            {"boolean": rng.random() < 0.5},
            {"float": 1.5},
            {"none": None},
            {"bytes": rng.choice(["", "61", "6162"])},
            {"simhash": {"value": {"text": _text(rng)}, "options": _options(rng)}},
            {"set": [_text(rng).replace("\ud800", "").replace("\udfff", "") for _ in range(rng.randint(0, 20))]},
        ]
    )
    # The order of a set differs between processes. It matters for hashes that are too short, and for no others.
    options = {} if "set" in value else _options(rng)
    return {"kind": "simhash", "value": value, "options": options, "subclass": None}


def _distance_case(rng: random.Random) -> Case:
    widths = [rng.choice(WIDTHS)] * 2 if rng.random() < 0.8 else [rng.choice(WIDTHS) for _ in range(2)]
    values = [rng.choice([-1, 1]) * rng.getrandbits(rng.choice([8, 32, 64, 128, 300])) for _ in range(2)]
    if rng.random() < 0.3:
        values[1] = values[0] ^ (1 << rng.randrange(64))
    return {"kind": "distance", "values": values, "widths": widths}


def _index_case(rng: random.Random) -> Case:
    width = rng.choice(WIDTHS)
    ks = [0, 1, 2, 2, 3, 3, 5, 7, 10, -1, -2]
    if width <= 16:
        ks += [width - 1, width, width + 3]
    k = rng.choice(ks)
    centres = [rng.getrandbits(width) for _ in range(rng.randint(1, 3))]
    ids: list[Any] = ["a", "b", "x,y", ",", "", "文", "%s", 7, 7.5, None, ["list"], *range(20)]

    def fingerprint() -> Case:
        value = rng.choice(centres)
        for _ in range(rng.choice([0, 0, 1, 2, 4, 9])):
            value ^= 1 << rng.randrange(width)
        if rng.random() < 0.02:
            value = -value
        return {"integer": value, "f": rng.choice(WIDTHS) if rng.random() < 0.01 else width}

    def entry() -> list[Any]:
        return [rng.choice(ids), fingerprint()]

    start = [entry() for _ in range(rng.choice([0, 1, 5, 20, 60]))]
    if rng.random() < 0.03:
        start += [[number, {"integer": centres[0], "f": width}] for number in range(250)]
    operations: list[Any] = []
    for _ in range(rng.randint(0, 30)):
        repeated = rng.choice(start) if start and rng.random() < 0.5 else entry()
        operations.append([rng.choice(["add", "delete", "query", "query"]), *repeated])
    return {"kind": "index", "f": width, "k": k, "start": start, "operations": operations}


def run(simhash: Any, case: Case) -> Any:
    """What the module makes of a case: JSON, or the name of the built-in exception that it raises."""
    try:
        with np.errstate(all="ignore"):
            return {"simhash": _run_simhash, "distance": _run_distance, "index": _run_index}[case["kind"]](
                simhash, case
            )
    except Exception as error:
        return "raises " + next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def _run_simhash(simhash: Any, case: Case) -> Any:
    kind = simhash.Simhash
    if case["subclass"] is not None:
        kind = _subclass(kind, case["subclass"])
    made = kind(_value(simhash, case["value"]), **_arguments(case["options"]))
    same = made == kind(made.value, **_arguments(case["options"]))
    return [str(int(made.value)), made.f, same, getattr(kind, "__hash__", None) is None]


def _run_distance(simhash: Any, case: Case) -> Any:
    a, b = (simhash.Simhash(value, f=f) for value, f in zip(case["values"], case["widths"], strict=True))
    return [a == b, a != b, a.distance(a), a.distance(b)]


def _run_index(simhash: Any, case: Case) -> Any:
    warnings = _Warnings()
    log = logging.Logger("cases")
    log.addHandler(warnings)

    def entry(name: Any, fingerprint: Case) -> Any:
        return tuple(name) if isinstance(name, list) else name, simhash.Simhash(
            fingerprint["integer"], f=fingerprint["f"]
        )

    trace: list[Any] = []
    try:
        index = simhash.SimhashIndex([entry(*item) for item in case["start"]], f=case["f"], k=case["k"], log=log)
        trace.append([index.bucket_size(), index.offsets])
        for operation, name, fingerprint in case["operations"]:
            name, made = entry(name, fingerprint)
            if operation == "query":
                trace.append(sorted(index.get_near_dups(made)))
            else:
                getattr(index, operation)(name, made)
                trace.append(index.bucket_size())
        trace.append(sorted([key, sorted(entries)] for key, entries in index.bucket.items()))
    except Exception as error:
        trace.append("raises " + type(error).__name__)
    return [warnings.count, trace]


class _Warnings(logging.Handler):
    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.levelno == logging.WARNING


def _arguments(options: Case) -> Case:
    arguments = {name: value for name, value in options.items() if name != "compiled"}
    if "hashfunc" in arguments:
        arguments["hashfunc"] = CUSTOM_HASHES[arguments["hashfunc"]]
    if options.get("compiled"):
        arguments["reg"] = re.compile(arguments["reg"])
    return arguments


def _value(simhash: Any, spec: Case) -> Any:
    ((kind, value),) = spec.items()
    if kind in ("list", "tuple", "generator", "dict", "items"):
        features = [_feature(feature) for feature in value]
        match kind:
            case "list":
                return features
            case "tuple":
                return tuple(features)
            case "generator":
                return (feature for feature in features)
        pairs = {feature[0]: feature[1] for feature in features if isinstance(feature, tuple)}
        return pairs if kind == "dict" else pairs.items()
    if kind == "bytes":
        return bytes.fromhex(value)
    if kind == "set":
        return set(value)
    if kind == "simhash":
        return simhash.Simhash(_value(simhash, value["value"]), **_arguments(value["options"]))
    return value


def _feature(feature: Any) -> Any:
    if not isinstance(feature, list):
        return feature
    token, *rest = feature if feature else [None]
    if not rest:
        return tuple(feature)
    return (token, *(_decoded(weight) for weight in rest))


def _decoded(weight: Any) -> Any:
    if not isinstance(weight, dict):
        return weight
    ((kind, value),) = weight.items()
    match kind:
        case "decimal":
            return Decimal(value)
        case "fraction":
            return Fraction(*value)
        case "complex":
            return complex(value)
    return getattr(np, kind)(value)


def _subclass(base: Any, name: str) -> Any:
    """A subclass that cuts texts in its own way."""

    def tokenize(self: Any, content: str) -> Any:
        words = content.split()
        return {
            "words": words,
            "pairs": list(itertools.pairwise(words)),
            "generator": (word for word in words),
            "mixed": [*words, 5],
        }[name]

    def slide(self: Any, content: str, width: int = 7) -> Any:
        return [content[start : start + width] for start in range(len(content))]

    return type(name, (base,), {"_slide": slide} if name == "wide" else {"_tokenize": tokenize})


if __name__ == "__main__":
    import simhash  # type: ignore[import-not-found]

    json.dump([run(simhash, case) for case in json.load(sys.stdin)], sys.stdout)
