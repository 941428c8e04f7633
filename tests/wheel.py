"""Installs a wheel of the Python package into a fresh virtual environment, and runs the Python lines of the README.

    wheel.py WHEEL

The environment has the wheel and its dependency numpy only. The lines run on 10,000 generated documents. Their groups
must be those of the command.

Needs the binary (TWINPRINT, by default target/release/twinprint), and PyPI for numpy.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
DOCUMENTS = 10_000


def documents():
    """Texts of generated words, of which a third are edited copies of earlier ones."""
    chosen = random.Random(7)
    syllables = [first + second for first in "bdfgklmnprstv" for second in "aeiou"]
    vocabulary = ["".join(chosen.choices(syllables, k=3)) for _ in range(20_000)]
    texts = []
    for _ in range(DOCUMENTS):
        if texts and chosen.random() < 1 / 3:
            words = list(chosen.choice(texts))
            for _ in range(chosen.randrange(6)):
                words[chosen.randrange(len(words))] = chosen.choice(vocabulary)
        else:
            words = chosen.choices(vocabulary, k=chosen.randrange(40, 200))
        texts.append(words)
    return [{"id": f"doc-{number}", "text": " ".join(words)} for number, words in enumerate(texts)]


def readme_lines():
    """The Python block of the README."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 1, f"the README has {len(blocks)} Python blocks"
    assert blocks[0].count("\n") <= 10, "the Python block of the README has more than ten lines"
    return blocks[0]


def main(wheel):
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        venv.create(place / "venv", with_pip=True)
        python = str(place / "venv/bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
        packages = subprocess.run(
            [python, "-m", "pip", "list", "--format=json"], stdout=subprocess.PIPE, encoding="utf-8", check=True
        )
        installed = {package["name"] for package in json.loads(packages.stdout)} - {"pip", "setuptools"}
        assert installed == {"numpy", "twinprint"}, f"the environment has {sorted(installed)}"

        rows = "".join(json.dumps(row) + "\n" for row in documents())
        (place / "docs.jsonl").write_text(rows, encoding="utf-8")
        done = subprocess.run(
            [python, "-c", readme_lines()], cwd=place, stdout=subprocess.PIPE, encoding="utf-8", check=True
        )
        print(done.stdout)
        assert f"{DOCUMENTS} records" in done.stdout
        subprocess.run([BINARY, "dedup", "docs.jsonl", "-o", "command", "--quiet"], cwd=place, check=True)
        ours, expected = groups(place / "out"), groups(place / "command")
        duplicates = sum(row["duplicate_of"] is not None for row in expected)
        assert duplicates > DOCUMENTS // 10, f"only {duplicates} documents are duplicates"
        assert ours == expected, "the groups differ from those of the command"


def groups(directory):
    """The rows of clusters.jsonl without the name of the file, which a list does not have."""
    rows = (directory / "clusters.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(row).items() if key != "source"} for row in rows]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
