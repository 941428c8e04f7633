"""Indexes: results equal to brute force in NumPy, types of arrays, ids, errors, threads, processes."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import twinprint
from twinprint import Index


def sample(count: int, bits: int, seed: int = 0) -> npt.NDArray[np.generic]:
    """Fingerprints with many close pairs: random ones, copies of some with a few bits changed, and equal ones."""
    rng = np.random.default_rng(seed)
    dtype = np.uint32 if bits == 32 else np.uint64
    words = 2 if bits == 128 else 1
    rows = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize), (count, words), dtype=dtype)
    half = count // 2
    rows[half:] = rows[: count - half]
    width = 8 * np.dtype(dtype).itemsize
    for _ in range(4):
        changes = rng.random(count - half) < 0.6
        bit = rng.integers(0, width, count - half).astype(dtype)
        word = rng.integers(0, words, count - half)
        changed = np.flatnonzero(changes)
        rows[half + changed, word[changed]] ^= np.left_shift(dtype(1), bit[changed])
    return rows if bits == 128 else rows[:, 0]


def distances(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """The Hamming distance of each row of a and each row of b, of the shape (len(a), len(b))."""
    a, b = (x.reshape(len(x), -1).view(np.uint8) for x in (np.ascontiguousarray(a), np.ascontiguousarray(b)))
    ones = np.array([bin(n).count("1") for n in range(256)], dtype=np.uint8)
    result = np.zeros((len(a), len(b)), dtype=np.uint16)
    for byte in range(a.shape[1]):
        result += ones[a[:, byte, None] ^ b[None, :, byte]]
    return result


@pytest.mark.parametrize("bits", [32, 64, 128])
@pytest.mark.parametrize("k", [0, 3, 6])
def test_queries_and_joins_equal_brute_force(tmp_path: Path, bits: int, k: int) -> None:
    stored, queries = sample(1000, bits), sample(700, bits, 1)
    queries[:300] = stored[200:500]
    with Index.build(tmp_path / "index", stored, k=3) as index:
        assert (index.bits, index.k, len(index)) == (bits, 3, 1000)
        every = distances(queries, stored)
        matches = index.query(queries, k)
        query, position = np.nonzero(every <= k)
        expected = sorted(zip(query.tolist(), every[query, position].tolist(), position.tolist(), strict=True))
        assert list(zip(matches.query.tolist(), matches.hamming.tolist(), matches.id.tolist(), strict=True)) == expected
        assert (matches.query.dtype, matches.id.dtype, matches.hamming.dtype) == (
            np.int64,
            np.uint64,
            np.uint8,
        )
        own = distances(stored, stored)
        a, b = np.nonzero(np.triu(own <= k, 1))
        pairs = index.join(k)
        assert sorted(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.hamming.tolist(), strict=True)) == sorted(
            zip(a.tolist(), b.tolist(), own[a, b].tolist(), strict=True)
        )
        with Index.build(tmp_path / "other", queries, k=3) as other:
            pairs = index.join(k, other)
            b, a = np.nonzero(every <= k)
            assert sorted(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.hamming.tolist(), strict=True)) == sorted(
                zip(a.tolist(), b.tolist(), every[b, a].tolist(), strict=True)
            )


@pytest.mark.parametrize("codec", ["packed", "elias-fano", "huffman"])
def test_all_codecs_find_the_same(tmp_path: Path, codec: str) -> None:
    stored = sample(2000, 64)
    with Index.build(tmp_path / "index", stored, k=4, codec=codec) as index:  # type: ignore[arg-type]
        assert index.stats()["codec"] == codec
        assert index.stats()["exact"] is True
        matches = index.query(stored)
        assert len(matches.id) == int((distances(stored, stored) <= 4).sum())
        ids, fingerprints = index.to_numpy()
        assert np.array_equal(ids, np.arange(2000)) and np.array_equal(fingerprints, stored)


def test_additions_deletions_and_compaction(tmp_path: Path) -> None:
    stored = sample(500, 128)
    index = Index.build(tmp_path / "index", stored[:300])
    assert index.add(stored[300:]).tolist() == list(range(300, 500))
    assert index.delete([0, 1, 9999]) == 2 and index.delete(2) == 1
    assert len(index) == 497
    # An id that exists gets its new fingerprint.
    assert index.add(stored[:1], ids=[499]).tolist() == [499]
    assert len(index) == 497
    living = np.setdiff1d(np.arange(500), [0, 1, 2])
    expected = stored.copy()
    expected[499] = stored[0]
    for _ in range(2):
        ids, fingerprints = index.to_numpy()
        assert np.array_equal(ids, living) and np.array_equal(fingerprints, expected[living])
        within = distances(stored, expected[living]) <= 3
        assert len(index.query(stored).id) == int(within.sum())
        index.compact()
    assert index.stats()["segments"] == 1 and index.stats()["deleted"] == 0
    assert index.check() == {"segments": 1, "ids": 497}
    assert len(index.add(stored[:0])) == 0
    index.close()


def test_ids_of_both_types(tmp_path: Path) -> None:
    stored = sample(50, 64)
    numbers = np.arange(50, dtype=np.int64) * 7 + 3
    with Index.build(tmp_path / "numbers", stored, ids=numbers) as index:
        found = index.query(stored[:1], 0)
        assert found.id.tolist()[0] == 3
        with pytest.raises(ValueError, match="ids"):
            index.add(stored[:1], ids=["a"])
        with pytest.raises(ValueError, match="ids"):
            index.delete("a")
    names = [f"page-{n}" for n in range(50)]
    with Index.build(tmp_path / "names", stored, ids=names, profile="tp1-words-lntf") as index:
        assert index.profile == "tp1-words-lntf-64"
        assert index.query(stored[5:6], 0).id.tolist() == ["page-5"]
        pairs = index.join(6)
        assert set(pairs.a) <= set(names) and len(pairs.a) > 0
        assert index.add(stored[:2], ids=["page-5", "new"]).tolist() == ["page-5", "new"]
        assert len(index) == 51
        assert sorted(index.query(stored[:1], 0).id) == ["page-0", "page-5"]
        assert index.delete(["new", "none"]) == 1
        ids, _ = index.to_numpy()
        assert ids.tolist() == names
        with pytest.raises(ValueError, match="ids"):
            index.add(stored[:1])
    for number, (ids, kind) in enumerate(
        [
            ([1, 1], ValueError),
            (["a", "a"], ValueError),
            ([1], ValueError),
            ([-1, 2], ValueError),
            ([2**64 - 1, 2], ValueError),
            ([1.5, 2.5], TypeError),
            (["a", 1], TypeError),
            (["a", None], ValueError),
            (np.array([[1], [2]]), TypeError),
        ]
    ):
        with pytest.raises(kind, match="ids"):
            Index.build(tmp_path / str(number), stored[:2], ids=ids)
        assert not (tmp_path / str(number) / "manifest").exists()


def test_fingerprints_of_other_libraries(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    stored = sample(20, 64)
    wide = sample(20, 128)
    index = Index.build(tmp_path / "index", stored)
    expected = index.query(stored)
    for values in [
        stored.tolist(),
        iter(stored.tolist()),
        stored.view(np.int64),
        stored.astype(">u8"),
        np.repeat(stored, 2)[::2],
        pandas.Series(stored),
        polars.Series(stored),
        pyarrow.array(stored),
        pyarrow.chunked_array([stored[:7], stored[7:]]),
    ]:
        found = index.query(values)
        assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))
    index = Index.build(tmp_path / "wide", wide)
    expected = index.query(wide)
    binary = twinprint.as_bytes(wide)
    for values in [
        binary,
        pyarrow.array(binary, pyarrow.binary(16)),
        pyarrow.chunked_array([pyarrow.array(binary, pyarrow.binary(16))]),
        polars.Series(binary),
        np.asfortranarray(wide),
    ]:
        found = index.query(values)
        assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))
    names = pyarrow.array([f"n{n}" for n in range(20)])
    assert Index.build(tmp_path / "names", pyarrow.array(stored), ids=names).query(stored[:1], 0).id[0] == "n0"


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    stored = sample(20, 64)
    index = Index.build(tmp_path / "index", stored)
    for values, kind in [
        (np.zeros((3, 3), dtype=np.uint64), TypeError),
        (np.zeros(3), TypeError),
        (np.zeros(3, dtype=np.uint16), TypeError),
        ([-1], ValueError),
        ([2**64], ValueError),
        (["a"], TypeError),
        ([1.5], TypeError),
        ([None], ValueError),
        ("text", TypeError),
        (5, TypeError),
        (sample(3, 128), ValueError),
        ([b"short"], ValueError),
    ]:
        with pytest.raises(kind, match="fingerprints"):
            index.query(values)
    for k in (-1, 65):
        with pytest.raises(ValueError, match="k"):
            index.query(stored, k)
    with pytest.raises(TypeError, match="k"):
        index.query(stored, "3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="codec"):
        Index.build(tmp_path / "new", stored, codec="zip")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="profile"):
        Index.build(tmp_path / "new", stored, profile="nonsense")
    with pytest.raises(ValueError, match="memory"):
        Index.build(tmp_path / "new", stored, memory=1)
    with pytest.raises(ValueError, match="max_rows"):
        index.join(20, max_rows=1)
    with pytest.raises(TypeError, match="other"):
        index.join(3, stored)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="other"):
        index.join(3, Index.build(tmp_path / "wide", sample(3, 128)))
    with pytest.raises(FileExistsError):
        Index.build(tmp_path / "index", stored)
    with pytest.raises(FileNotFoundError):
        Index(tmp_path / "none")
    index.close()
    for call in (lambda: index.query(stored), lambda: len(index), lambda: index.add(stored)):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_empty_indexes_and_queries(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "index", np.empty(0, dtype=np.uint64))
    assert len(index) == 0 and len(index.query([5]).id) == 0 and len(index.join().a) == 0
    assert index.add([5, 7]).tolist() == [0, 1]
    assert len(index.query([]).id) == 0
    assert index.query([5], 0).id.tolist() == [0]


def test_readers_see_the_last_commit(tmp_path: Path) -> None:
    stored = sample(30, 64)
    one = Index.build(tmp_path / "index", stored[:10])
    two = pickle.loads(pickle.dumps(one))
    one.add(stored[10:])
    assert (len(one), len(two)) == (30, 10)
    two.refresh()
    assert len(two) == 30
    matches = one.query(stored)
    same = pickle.loads(pickle.dumps(matches))
    assert all(np.array_equal(x, y) for x, y in zip(matches, same, strict=True))


def test_threads_query_at_the_same_time(tmp_path: Path) -> None:
    stored = sample(3000, 64)
    index = Index.build(tmp_path / "index", stored)
    expected = index.query(stored)
    results: list[object] = [None] * 4

    def work(number: int) -> None:
        results[number] = index.query(stored)
        index.add(sample(10, 64, 100 + number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    failed: list[BaseException] = []
    threading.excepthook = lambda arguments: failed.append(arguments.exc_value)  # type: ignore[assignment]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = threading.__excepthook__
    # One writer at a time: an addition may find the index in use.
    assert all(isinstance(error, twinprint.TwinprintError) for error in failed)
    index.refresh()
    assert len(index) == 3000 + 10 * (4 - len(failed))
    first = results[0]
    assert first is not None
    assert len(first.id) >= len(expected.id)  # type: ignore[attr-defined]


def test_progress_is_reported(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int, str]] = []
    index = Index.build(tmp_path / "index", sample(1000, 64), progress=lambda *report: seen.append(report))
    assert seen and seen[-1][3] == "fingerprints" and seen[-1][1] == 1000

    def fail(*report: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        index.query(sample(1000, 64), progress=fail)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_can_query(tmp_path: Path) -> None:
    program = f"""
import os, warnings
warnings.simplefilter("ignore")
import numpy as np, twinprint
stored = np.arange(3000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
index = twinprint.Index.build({str(tmp_path / "index")!r}, stored)
expected = index.query(stored).id.tolist()
child = os.fork()
if child == 0:
    same = index.query(stored).id.tolist() == expected
    added = index.add([1, 2]).tolist() == [3000, 3001]
    os._exit(7 if same and added else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
index.refresh()
assert len(index) == 3002
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_stops_a_long_query(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    stored = rng.integers(0, 2**64, 200_000, dtype=np.uint64)
    index = Index.build(tmp_path / "index", stored)
    began: list[float] = []

    def interrupt() -> None:
        time.sleep(0.3)
        began.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        # A radius far beyond that of the index compares every fingerprint with every other.
        index.query(stored, 20)
    ended = time.monotonic()
    thread.join()
    # The limit is generous: a loaded machine delays threads.
    assert ended - began[0] < 5
    assert len(index.query(stored[:10], 0).id) >= 10


def test_the_same_matches_and_pairs_as_the_command(command: str, tmp_path: Path) -> None:
    stored, queries = sample(3000, 128), sample(1000, 128, 1)
    queries[:500] = stored[1000:1500]
    (tmp_path / "stored.u128").write_bytes(stored.astype("<u8").tobytes())
    (tmp_path / "queries.u128").write_bytes(queries.astype("<u8").tobytes())

    def run(*arguments: str) -> list[list[int]]:
        subprocess.run([command, "index", *arguments], check=True, timeout=120, cwd=tmp_path, capture_output=True)
        if "-o" not in arguments or "rows.bin" not in arguments:
            return []
        rows = np.frombuffer((tmp_path / "rows.bin").read_bytes(), dtype="<u8").reshape(-1, 3)
        (tmp_path / "rows.bin").unlink()
        return rows.tolist()

    run("build", "stored.u128", "-o", "index", "-k", "5", "--quiet")
    found = run("query", "index", "--queries", "queries.u128", "-o", "rows.bin", "--quiet")
    joined = run("join", "index", "--all-pairs", "-o", "rows.bin", "--quiet")
    # The directories of the command and of the package are the same format.
    for index in (Index(tmp_path / "index"), Index.build(tmp_path / "own", stored, k=5)):
        assert index.k == 5
        assert np.column_stack(index.query(queries)).tolist() == found
        assert np.column_stack(index.join()).tolist() == joined
    assert len(found) >= 1000 and len(joined) >= 100
