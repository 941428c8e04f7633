"""What the tests share: generated texts, and the command whose results the package must equal."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest


def words(seed: int, count: int) -> list[str]:
    """Pronounceable words that depend on the seed only."""
    random_words = random.Random(seed)
    syllables = [
        "ba",
        "ce",
        "di",
        "fo",
        "gu",
        "ha",
        "je",
        "ki",
        "lo",
        "mu",
        "na",
        "pe",
        "ri",
        "so",
        "tu",
        "va",
    ]
    return ["".join(random_words.choices(syllables, k=3)) for _ in range(count)]


def corpus(seed: int = 1, count: int = 300, length: int = 60) -> list[str]:
    """Texts in two scripts, with near and equal copies, short texts and empty ones."""
    chosen = random.Random(seed)
    vocabulary = words(seed, 4000)
    texts: list[list[str]] = []
    for number in range(count):
        kind = chosen.random()
        if number > 5 and kind < 0.4:
            units = list(chosen.choice(texts))
            for _ in range(chosen.randrange(4)):
                if units:
                    units[chosen.randrange(len(units))] = chosen.choice(vocabulary)
        elif kind < 0.5:
            units = [chr(0x4E00 + chosen.randrange(2000)) for _ in range(length)]
        elif kind < 0.55:
            units = chosen.choices(vocabulary, k=chosen.randrange(4))
        else:
            units = chosen.choices(vocabulary, k=chosen.randrange(length // 2, length * 2))
        texts.append(units)
    return [" ".join(units) for units in texts]


@pytest.fixture
def texts() -> list[str]:
    return corpus()


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Interrupts raise KeyboardInterrupt, also in a background job of a shell, which starts with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def command() -> str:
    """The command-line tool, whose results are compared with those of the package."""
    named = os.environ.get("TWINPRINT") or shutil.which("twinprint")
    if not named or not Path(named).exists():
        pytest.skip("the command twinprint is not built (TWINPRINT names it)")
    return named


@pytest.fixture(scope="session")
def shared() -> Path:
    """The labelled sets, which are not part of the repository."""
    named = Path(os.environ.get("TWINPRINT_SHARED", Path(__file__).parents[4] / "shared")) / "data"
    if not named.is_dir():
        pytest.skip(f"the labelled sets are not in {named} (TWINPRINT_SHARED names their directory)")
    return named
