"""Drop-in replacement for the package `simhash` 2.1.2 on PyPI: the same values, distances and index keys.

Change the import and keep the rest of your code, your stored fingerprints and your subclasses:

>>> from twinprint.compat.simhash import Simhash, SimhashIndex
>>> a = Simhash("How are you? I am fine. Thanks.")
>>> b = Simhash("How are you? I am fine. Thank you.")
>>> a.distance(b)
7
>>> index = SimhashIndex([("a", a)], k=20)
>>> index.get_near_dups(b)
['a']

The module works with numpy 2, where the original raises `OverflowError` for weights above 255. It keeps the recipe of
the original, MD5 of windows of four characters. `twinprint.fingerprint` has another recipe, so fingerprints of the two
must not be compared.

Reference: M. Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

try:
    # Python's own MD5 takes half the time of OpenSSL's on short strings, and FIPS mode does not refuse it.
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:
    from hashlib import md5

__all__ = ["Simhash", "SimhashIndex"]

Hash = Callable[[bytes], Any]
Feature = str | tuple[str, Any]
Features = Iterable[Feature] | Mapping[str, Any]

# Rows of bits that a sum of single bytes can hold.
_ROWS_PER_BYTE = 255


class Fingerprinted(Protocol):
    """Anything with a fingerprint of `f` bits as an integer: this module's `Simhash`, the original's, or your own."""

    f: int
    value: Any


def _hashfunc(feature: bytes) -> bytes:
    digest: bytes = md5(feature).digest()
    return digest


class Simhash:
    """The SimHash of a text or of features, an integer of `f` bits in the attribute `value`.

    `value` is a text, an iterable of features, a fingerprint as an integer, or another `Simhash`. A feature is a string
    of weight 1 or a pair of a string and its weight; a dict maps strings to weights. The weight of a pair also applies
    to the plain strings after it, as in the original. A bit is set if the weights of the features whose hash has this
    bit are more than half of all weights.

    `f` is a multiple of 8. `reg` finds the letters of a text. `hashfunc` maps the bytes of a feature to bytes, of which
    the last `f / 8` count, or to an integer, of which the last `f` bits count.

    Raises `ValueError` if `f` is not a multiple of 8, or if the hashes have fewer than `f` bits, and `Exception` for a
    value of another type, as the original does.

    >>> Simhash(["aaa", "bbb"]).value
    57087923692560392
    >>> Simhash({"aaa": 0.25, "bbb": 3}, f=32).value == Simhash(["bbb"], f=32).value
    True
    """

    # Weights above the cutoff are multiplied. Hashes of lower weights are repeated, and added in batches.
    large_weight_cutoff = 50
    batch_size = 200

    def __init__(
        self,
        value: Any,
        f: int = 64,
        reg: str | re.Pattern[str] = r"[\w\u4e00-\u9fcc]+",
        hashfunc: Hash = _hashfunc,
        log: logging.Logger | None = None,
    ) -> None:
        if f % 8:
            raise ValueError(f"f must be a multiple of 8, not {f}")
        self.f = f
        self.f_bytes = f // 8
        self.reg = reg
        self.hashfunc = hashfunc
        self.hashfunc_returns_int = hashfunc is not _hashfunc and isinstance(hashfunc(b"test"), Integral)
        self.log = logging.getLogger("simhash") if log is None else log
        self.value: Any = None
        if isinstance(value, Simhash):
            self.value = value.value
        elif isinstance(value, str):
            self.build_by_text(str(value))
        elif isinstance(value, Iterable):
            self.build_by_features(value)
        elif isinstance(value, Integral):
            self.value = value
        else:
            # Callers of the original may catch this type.
            raise Exception(f"a Simhash is made of a text, features or an integer, not of {type(value)}")

    # Equal fingerprints are equal, whatever their width. Without `__hash__`, instances cannot be keys of a dict.
    def __eq__(self, other: object) -> bool:
        return bool(self.value == other.value)  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Simhash({self.value!r}, f={self.f})"

    def _slide(self, content: str, width: int = 4) -> list[str]:
        """The windows of `width` characters; a shorter text is one window."""
        return [content[start : start + width] for start in range(max(len(content) - width, 0) + 1)]

    def _tokenize(self, content: str) -> list[Any]:
        """The features of a text. Subclasses replace this method to cut texts otherwise."""
        return self._slide("".join(re.findall(self.reg, content.lower())))

    def build_by_text(self, content: str) -> None:
        """Sets `value` to the fingerprint of a text, whose features weigh as often as they occur."""
        counts = Counter(self._tokenize(content))
        self.build_by_features({feature: counts[feature] for feature in sorted(counts)})

    def build_by_features(self, features: Features) -> None:
        """Sets `value` to the fingerprint of features."""
        votes = _Votes(self.f, self.batch_size)
        digest_of = self._digests()
        cutoff = self.large_weight_cutoff
        total: Any = 0
        weight: Any = 1
        feature: Any
        for feature in features.items() if isinstance(features, dict) else features:
            multiplied = False
            if not isinstance(feature, str):
                feature, weight = feature
                multiplied = weight > cutoff or not isinstance(weight, int)
            total += weight
            digest = digest_of(feature.encode())
            if multiplied:
                votes.multiply(digest, weight)
            else:
                votes.repeat(digest, weight)
        self.value = votes.majority(total)

    def _digests(self) -> Hash:
        """A function that returns the last `f` bits of the hash of a feature, as bytes."""
        hashfunc, size, bits = self.hashfunc, self.f_bytes, self.f
        if self.hashfunc_returns_int:
            return lambda feature: int(hashfunc(feature) & ((1 << bits) - 1)).to_bytes(size, "big")
        return lambda feature: hashfunc(feature)[-size:]

    def distance(self, another: Fingerprinted) -> int:
        """The Hamming distance to a fingerprint of the same width: an integer from 0 to `f`."""
        assert self.f == another.f, f"the fingerprints have {self.f} and {another.f} bits"
        return int((self.value ^ another.value) & ((1 << self.f) - 1)).bit_count()


class _Votes:
    """The weighted sum at each bit of a fingerprint.

    Rows are added in the order in which they were given, because sums of floating-point weights depend on it. A batch
    takes its place in this order when it is full.
    """

    def __init__(self, width: int, batch_size: int) -> None:
        self.width = width
        self.batch_size = batch_size
        # Digests repeated by their weights.
        self.batch: list[bytes] = []
        # Digests with floating-point weights, and these weights. They come before the batch.
        self.digests: list[bytes] = []
        self.weights: list[float] = []
        self.rows: list[npt.NDArray[Any]] = []

    def repeat(self, digest: bytes, times: int) -> None:
        """Adds a digest with a small whole weight. A weight below one adds nothing."""
        self.batch.append(digest * times)
        if len(self.batch) >= self.batch_size:
            self._flush_batch()

    def multiply(self, digest: Any, weight: Any) -> None:
        """Adds a digest with any weight."""
        if isinstance(weight, float) and isinstance(digest, bytes):
            self.digests.append(digest)
            self.weights.append(weight)
            if len(self.digests) >= self.batch_size:
                self._flush_products()
            return
        self._flush_products()
        # numpy 2 refuses to multiply bytes by a larger Python integer, so the type of the product is explicit.
        kind: npt.DTypeLike = object
        if isinstance(weight, np.floating):
            kind = weight.dtype
        elif isinstance(weight, float):
            kind = np.float64
        elif isinstance(weight, Integral):
            weight = int(weight)
            if 0 <= weight < 1 << 64:
                kind = np.uint64
            elif -(1 << 63) <= weight < 0:
                kind = np.int64
        self._add_rows([np.multiply(_bits(digest), weight, dtype=kind)])

    def _flush_products(self) -> None:
        if not self.digests:
            return
        if len(set(map(len, self.digests))) == 1:
            bits = _bits(b"".join(self.digests)).reshape(len(self.digests), -1)
            self._add_rows(bits * np.array(self.weights)[:, np.newaxis])
        else:
            # The sum of these rows fails, unless an error of a later feature comes first.
            self._add_rows(_bits(digest) * weight for digest, weight in zip(self.digests, self.weights, strict=True))
        self.digests, self.weights = [], []

    def _flush_batch(self) -> None:
        self._flush_products()
        rows = _bits(b"".join(self.batch)).reshape(-1, self.width)
        self.batch = []
        if len(rows) > _ROWS_PER_BYTE:
            rows = np.add.reduceat(rows, range(0, len(rows), _ROWS_PER_BYTE), axis=0, dtype=np.uint8)
            self._add_rows([rows.sum(axis=0, dtype=np.uint64)])
        else:
            self._add_rows([rows.sum(axis=0, dtype=np.uint8).astype(np.uint64)])

    def _add_rows(self, rows: Iterable[npt.NDArray[Any]]) -> None:
        self.rows.extend(rows)
        if len(self.rows) >= self.batch_size:
            self.rows = [np.sum(self.rows, axis=0)]

    def majority(self, total: Any) -> int:
        """The bits whose sum is more than half of the total weight, as an integer."""
        self._flush_products()
        if self.batch:
            self._flush_batch()
        sums = np.sum(self.rows, axis=0)
        return int.from_bytes(np.packbits(sums > total / 2).tobytes(), "big")


def _bits(digest: bytes) -> npt.NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(digest, np.uint8))


class SimhashIndex:
    """An index of fingerprints that finds all within `k` bits of a query.

    A fingerprint is divided into `k + 1` blocks, of which two fingerprints within `k` bits share at least one. `bucket`
    maps each block, as text, to the entries `"value,id"` that have it. `objs` is a list of pairs of an id and a
    `Simhash` of `f` bits. Ids are stored and returned as text.

    `twinprint.Index` holds millions of fingerprints in a fraction of this memory and reads them from disk.
    """

    # Size of a bucket above which a query logs a warning.
    _BIG_BUCKET = 200
    _PROGRESS = 10_000

    def __init__(
        self,
        objs: Sequence[tuple[Any, Fingerprinted]],
        f: int = 64,
        k: int = 2,
        log: logging.Logger | None = None,
    ) -> None:
        self.k = k
        self.f = f
        self.log = logging.getLogger("simhash") if log is None else log
        self.bucket: defaultdict[str, set[str]] = defaultdict(set)
        count = len(objs)
        self.log.info("adding %s fingerprints", count)
        for number, entry in enumerate(objs, 1):
            self.add(*entry)
            if number % self._PROGRESS == 0 or number == count:
                self.log.info("added %s of %s", number, count)

    def get_near_dups(self, simhash: Simhash) -> list[str]:
        """The ids of the fingerprints within `k` bits, in any order."""
        assert simhash.f == self.f, f"this index is of {self.f} bits, the query of {simhash.f} bits"
        found = set()
        for key in self.get_keys(simhash):
            entries = self.bucket[key]
            self.log.debug("key %s: %s entries", key, len(entries))
            if len(entries) > self._BIG_BUCKET:
                self.log.warning("big bucket: %s entries have the key %s", len(entries), key)
            for entry in entries:
                value, obj_id = entry.split(",", 1)
                if simhash.distance(Simhash(int(value, 16), self.f)) <= self.k:
                    found.add(obj_id)
        return list(found)

    def add(self, obj_id: Any, simhash: Fingerprinted) -> None:
        """Adds a fingerprint under an id. A second addition of the same pair has no effect."""
        assert simhash.f == self.f, f"this index is of {self.f} bits, the fingerprint of {simhash.f} bits"
        entry = self._entry(obj_id, simhash)
        for key in self.get_keys(simhash):
            self.bucket[key].add(entry)

    def delete(self, obj_id: Any, simhash: Fingerprinted) -> None:
        """Removes a fingerprint from under an id, if it is there."""
        assert simhash.f == self.f, f"this index is of {self.f} bits, the fingerprint of {simhash.f} bits"
        entry = self._entry(obj_id, simhash)
        for key in self.get_keys(simhash):
            self.bucket[key].discard(entry)

    @staticmethod
    def _entry(obj_id: Any, simhash: Fingerprinted) -> str:
        return f"{simhash.value:x},{obj_id}"

    @property
    def offsets(self) -> list[int]:
        """The first bit of each block, counted from the lowest bit of the fingerprint."""
        return [self.f // (self.k + 1) * block for block in range(self.k + 1)]

    def get_keys(self, simhash: Fingerprinted) -> Iterator[str]:
        """The key of each block: its bits and its number, in hexadecimal digits. The last block takes the rest."""
        offsets = self.offsets
        ends = [*offsets[1:], self.f]
        for block, (start, end) in enumerate(zip(offsets, ends, strict=False)):
            yield f"{simhash.value >> start & (1 << (end - start)) - 1:x}:{block:x}"

    def bucket_size(self) -> int:
        """The number of buckets, with the empty ones that queries and deletions have made."""
        return len(self.bucket)
