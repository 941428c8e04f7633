"""`twinprint.compat.simhash` behaves as the package `simhash` 2.1.2.

Two tests need parts that are not in this repository:

* The original's own tests are not in its release on PyPI. `TWINPRINT_SIMHASH_TESTS` names a copy of the file
  tests/test_simhash.py of https://github.com/1e0ng/simhash at commit 78f3b8d5b810d93443269b6e227cae7b95e67316. Its
  checksum is checked, so it is unchanged. It needs scikit-learn.
* The original runs in an interpreter of its own, because it needs numpy 1. `TWINPRINT_SIMHASH_PYTHON` names a Python
  that has it. Otherwise a virtual environment is made in cargo's target directory, or in a temporary one.
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simhash_cases
from twinprint.compat import simhash
from twinprint.compat.simhash import Simhash, SimhashIndex

SUITE_SHA256 = "fdf75050a7b0e96713e83a314aa04c9eb8735b13d38466e76e824f5844740dca"
ORIGINAL = ["simhash==2.1.2", "numpy==1.26.4"]
CASES = 10_000 if os.environ.get("TWINPRINT_TESTS") == "full" else 2_000


def test_values_are_those_of_the_original() -> None:
    assert Simhash(["aaa", "bbb"]).value == 57087923692560392
    assert Simhash("").value == 16825458760271544958
    assert Simhash([]).value == 0
    assert Simhash(["a", ("b", 3), "c"], f=16).value == 22307


def test_large_weights_work_with_every_numpy() -> None:
    weights = {"a": 300, "b": 2**40, "c": 70_000}
    assert Simhash(weights).value == Simhash(["b"]).value
    assert Simhash({"a": 2**80, "b": 1}).value == Simhash(["a"]).value


def test_a_weight_applies_to_the_plain_features_after_it() -> None:
    assert Simhash([("a", 3), "b", "c"]).value == Simhash({"a": 3, "b": 3, "c": 3}).value
    assert Simhash(["b", ("a", 3), "c"]).value == Simhash({"b": 1, "a": 3, "c": 3}).value


def test_a_tie_leaves_the_bit_unset() -> None:
    hashes = {b"test": b"\0", b"a": b"\xf0", b"b": b"\x0f", b"c": b"\x3c"}
    assert Simhash(["a", "b"], f=8, hashfunc=hashes.__getitem__).value == 0
    assert Simhash(["a", "b", "c"], f=8, hashfunc=hashes.__getitem__).value == 0x3C
    assert Simhash([("a", 2), "b", ("c", 1)], f=8, hashfunc=hashes.__getitem__).value == 0x3C


@pytest.mark.parametrize("f", [8, 24, 64, 128])
def test_hash_functions_may_return_integers_or_bytes(f: int) -> None:
    def integer(feature: bytes) -> int:
        return int(hashlib.md5(feature).hexdigest(), 16)

    assert Simhash("a text of some words", f=f) == Simhash("a text of some words", f=f, hashfunc=integer)


def test_a_hash_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="reshape"):
        Simhash(["a", "b", "c"], f=256)
    with pytest.raises(ValueError, match="multiple of 8"):
        Simhash("a", f=12)


def test_other_types_are_refused_as_in_the_original() -> None:
    for value in (None, 1.5, object()):
        with pytest.raises(Exception, match="is made of") as caught:
            Simhash(value)
        assert type(caught.value) is Exception
    with pytest.raises(TypeError):
        Simhash([1, 2])


def test_subclasses_cut_texts_otherwise() -> None:
    class Words(Simhash):
        def _tokenize(self, content: str) -> list[str]:
            return content.split()

    class Wide(Simhash):
        def _slide(self, content: str, width: int = 9) -> list[str]:
            return super()._slide(content, width)

    assert Words("b a b").value == Simhash({"b": 2, "a": 1}).value
    assert Wide("a longer text").value == Simhash(["alongerte", "longertex", "ongertext"]).value


def test_decimals_are_exact() -> None:
    assert Simhash([("a", Decimal("0.1")), ("b", Decimal("0.1"))]).value == Simhash(["a", "b"]).value


def test_equality_needs_no_width_and_gives_no_hash() -> None:
    assert Simhash(5, f=64) == Simhash(5, f=32)
    with pytest.raises(TypeError):
        hash(Simhash(5))
    with pytest.raises(AssertionError):
        Simhash(5, f=64).distance(Simhash(5, f=32))


def test_numpy_integers_are_fingerprints() -> None:
    a, b = Simhash(np.uint64(2**64 - 1)), Simhash(np.uint64(2**63))
    assert a.distance(b) == 63


def test_objects_can_be_copied_and_pickled() -> None:
    a = Simhash("a text", f=32)
    index = SimhashIndex([("a", a)], f=32)
    for copied, copied_index in (copy.deepcopy((a, index)), pickle.loads(pickle.dumps((a, index)))):
        assert copied == a and copied.f == 32
        assert copied_index.get_near_dups(a) == ["a"]


def test_ids_come_back_as_text() -> None:
    a = Simhash("a text")
    index = SimhashIndex([(1, a), ("x,y", a), (None, a)])
    assert sorted(index.get_near_dups(a)) == ["1", "None", "x,y"]
    assert index.bucket[next(index.get_keys(a))] == {
        f"{a.value:x},1",
        f"{a.value:x},x,y",
        f"{a.value:x},None",
    }


def test_additions_and_deletions_may_be_repeated() -> None:
    a, b = Simhash("a text"), Simhash("another one")
    index = SimhashIndex([])
    index.delete("a", a)
    for _ in range(2):
        index.add("a", a)
        index.add("b", b)
        assert index.get_near_dups(a) == ["a"]
    for _ in range(2):
        index.delete("a", a)
        assert index.get_near_dups(a) == []
    assert index.get_near_dups(b) == ["b"]


def test_a_big_bucket_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    a = Simhash("a text")
    index = SimhashIndex([(number, a) for number in range(200)])
    with caplog.at_level(logging.WARNING, "simhash"):
        index.get_near_dups(a)
        assert not caplog.records
        index.add(200, a)
        assert len(index.get_near_dups(a)) == 201
    assert {record.name for record in caplog.records} == {"simhash"}
    assert len(caplog.records) == 3


def test_the_tests_of_the_original_pass() -> None:
    path = os.environ.get("TWINPRINT_SIMHASH_TESTS")
    if not path:
        pytest.skip("TWINPRINT_SIMHASH_TESTS does not name the original's tests (see the top of this file)")
    pytest.importorskip("sklearn", reason="the original's tests need scikit-learn")
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == SUITE_SHA256, f"{path} is not the original's file"
    # The file imports `simhash`. It runs in a process of its own, so that no other test sees this name.
    runner = (
        "import sys, runpy, unittest, twinprint.compat.simhash as ours\n"
        "sys.modules['simhash'] = ours\n"
        "names = runpy.run_path(sys.argv[1], run_name='tests')\n"
        "load = unittest.defaultTestLoader.loadTestsFromTestCase\n"
        "cases = [load(kind) for kind in names.values() if isinstance(kind, type)\n"
        "         and issubclass(kind, unittest.TestCase) and kind is not unittest.TestCase]\n"
        "result = unittest.TextTestRunner(sys.stdout, verbosity=2).run(unittest.TestSuite(cases))\n"
        "print('passed', result.testsRun - len(result.failures) - len(result.errors) - len(result.skipped), 'of 10')\n"
    )
    done = subprocess.run([sys.executable, "-c", runner, path], check=False, capture_output=True, text=True)
    assert "passed 10 of 10" in done.stdout, done.stdout + done.stderr


def test_odd_inputs_give_what_the_original_gives(tmp_path_factory: pytest.TempPathFactory) -> None:
    python = _original(tmp_path_factory)
    cases = simhash_cases.generate(CASES, seed=20)
    done = subprocess.run(
        [python, simhash_cases.__file__], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    expected = json.loads(done.stdout)
    assert len(expected) == CASES
    differing = []
    for case, outcome in zip(cases, expected, strict=True):
        ours = json.loads(json.dumps(simhash_cases.run(simhash, case)))
        if ours != outcome:
            differing.append((case, outcome, ours))
    first = json.dumps(differing[0])[:2000] if differing else ""
    assert not differing, f"{len(differing)} of {CASES} cases differ, the first: {first}"
    # Most cases must end in a value, and all kinds of endings must occur.
    failed = sum(isinstance(outcome, str) for outcome in expected)
    assert CASES // 20 < failed < CASES // 2, f"{failed} of {CASES} cases end in an exception"


def _original(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with the original and a numpy that it works with."""
    named = os.environ.get("TWINPRINT_SIMHASH_PYTHON")
    if named:
        return named
    root = Path(__file__).resolve().parents[3]
    target = root / "target" if (root / "target").is_dir() else tmp_path_factory.mktemp("original")
    place = target / "simhash-2.1.2"
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (place / "complete").exists():
        base = _python_for_numpy_1()
        if base is None:
            pytest.skip("no Python from 3.10 to 3.12 for numpy 1, and TWINPRINT_SIMHASH_PYTHON names none")
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([base, "-m", "venv", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *ORIGINAL]
        done = subprocess.run(install, check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{' '.join(ORIGINAL)} cannot be installed: {done.stderr.strip()[-300:]}")
        (place / "complete").touch()
    return str(python)


def _python_for_numpy_1() -> str | None:
    """A Python from 3.10 to 3.12, for which numpy 1.26 has wheels."""
    if sys.version_info < (3, 13):
        return sys.executable
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: list[Any] = [shutil.which(f"python3.{minor}") for minor in (12, 11, 10)]
    found += sorted(versions.glob("3.1[0-2].*/bin/python"))
    for python in found:
        # A launcher of pyenv is on the path for versions that are not active, too, and fails.
        if python and not subprocess.run([python, "-c", "import venv"], check=False, capture_output=True).returncode:
            return str(python)
    return None
