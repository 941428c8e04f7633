"""The package itself: examples in docstrings, types, and the version."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import twinprint


def modules() -> list[str]:
    found = pkgutil.walk_packages(twinprint.__path__, "twinprint.")
    return sorted(module.name for module in found)


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "twinprint._twinprint":
        pytest.skip("the extension module has no examples of its own")
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} needs {error.name}")
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


def test_public_names_have_docstrings() -> None:
    for name in twinprint.__all__:
        if not name.startswith("__"):
            assert getattr(twinprint, name).__doc__, name


def test_the_version_is_that_of_the_crates() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", twinprint.__version__)
