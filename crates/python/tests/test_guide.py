"""The Python blocks of the guide and of the README run as written.

The blocks of a page run in order, in one namespace and one temporary directory. A block `text output` after a Python
block is what it prints; `…` matches any text within a line, and a line of `…` any number of lines. A block that needs a
library that is not installed, or a model that cannot be downloaded, is skipped.
"""

from __future__ import annotations

import contextlib
import fnmatch
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CRATE = Path(__file__).resolve().parents[1]
PAGES = [*(CRATE.parents[1] / f"docs/guide/{name}.md" for name in ("python", "clusters")), CRATE / "README.md"]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: Path
    line: int
    code: str
    output: str | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    for fence, following in zip(fences, [*fences[1:], None], strict=False):
        if fence[1] == "python":
            adjacent = following is not None and following[1] == "text output"
            output = following[2] if following is not None and adjacent else None
            yield Block(page, text.count("\n", 0, fence.start()) + 2, fence[2], output)


BLOCKS = [block for page in PAGES for block in blocks(page)]


@pytest.fixture(scope="module")
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, dict[str, Any]]:
    made = {}
    for page in PAGES:
        made[page] = {"__name__": "__main__", "place": tmp_path_factory.mktemp(page.stem)}
    return made


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{block.page.name}:{block.line}" for block in BLOCKS])
def test_block(block: Block, namespaces: dict[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    names = namespaces[block.page]
    monkeypatch.chdir(names["place"])
    monkeypatch.setenv("HF_HUB_DOWNLOAD_TIMEOUT", "10")
    # The workers of Spark need this Python.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    # Lines of a traceback are those of the page.
    code = compile("\n" * (block.line - 1) + block.code, str(block.page), "exec")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, names)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("twinprint"):
            raise
        pytest.skip(f"{error.name} is not installed")
    except ImportError as error:
        # datatrove names its missing parts so.
        if "pip install" not in str(error) or "twinprint" in str(error):
            raise
        pytest.skip(str(error))
    except OSError as error:
        if not type(error).__module__.startswith("huggingface_hub"):
            raise
        pytest.skip(f"the model cannot be downloaded: {error}")
    if block.output is not None:
        shown, wanted = printed.getvalue().splitlines(), block.output.splitlines()
        assert matches(wanted, shown), f"the page shows:\n{block.output}\nthe block prints:\n{printed.getvalue()}"


def matches(pattern: list[str], lines: list[str]) -> bool:
    """True if lines match a pattern in which `…` stands for any text within a line, or for any lines."""
    if not pattern:
        return not lines
    if pattern[0] == "…":
        return any(matches(pattern[1:], lines[skipped:]) for skipped in range(len(lines) + 1))
    if not lines:
        return False
    line = "".join("*" if part == "…" else re.sub(r"([*?[])", r"[\1]", part) for part in re.split("(…)", pattern[0]))
    return fnmatch.fnmatchcase(lines[0].rstrip(), line) and matches(pattern[1:], lines[1:])


def test_the_pages_have_blocks() -> None:
    assert sum(block.page == PAGES[0] for block in BLOCKS) > 15


@pytest.mark.parametrize(
    ("pattern", "lines", "expected"),
    [
        (["a…c", "…", "d"], ["abc", "x", "y", "d"], True),
        (["[1] a?"], ["[1] a?"], True),
        (["[1]"], ["1"], False),
        (["…"], [], True),
        (["a"], ["a", "b"], False),
    ],
)
def test_patterns_of_output(pattern: list[str], lines: list[str], expected: bool) -> None:
    assert matches(pattern, lines) == expected
