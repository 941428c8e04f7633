#!/usr/bin/env python3
"""Checks that twinprint computes and finds the fingerprints that other libraries have stored.

The first test stores fingerprints of the Python package `simhash` and computes them by `--profile 1e0ng`. The second reads fingerprints that
gosimhash and jiebaR have published and computes them by `--profile cppjieba-top2`. Both also build an index of the stored fingerprints
(`twinprint index build --profile`) and query it with texts. The second test needs the vectors and dictionaries of $TWINPRINT_SHARED, and is
skipped with a message without them.
"""

import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from simhash import Simhash, SimhashIndex

TWINPRINT = os.environ["TWINPRINT"]
DATA = Path(os.environ.get("TWINPRINT_SHARED", "../shared")) / "data"

WORDS = re.findall(
    r"\w+",
    "The keeper of the lighthouse wrote down the weather every evening wind from the west rain after dark no ships she added and then "
    "an hour later one ship with a broken mast which nobody had expected before the spring tide 灯塔 看守人 每天 晚上 记下 天气 "
    "西风 入夜 有雨 没有船 一小时后 来了一艘船 déjà Straße ΣΊΣΥΦΟΣ İstanbul x_1 42 ½ かな ไทย",
)


def fingerprints(texts, *options):
    """Returns the fingerprints that twinprint computes for the texts, as numbers."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        command = [TWINPRINT, "fingerprint", str(path), "--quiet", "--strict", *options]
        rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [int(json.loads(row)["fingerprint"], 16) for row in rows]


def found_in_index(store, texts, profile, *options, radius=3):
    """Builds an index of `store` and queries it with the texts. Returns for each text the positions of the fingerprints found."""
    with tempfile.TemporaryDirectory() as directory:
        def twinprint(*command):
            return subprocess.run([TWINPRINT, *command], cwd=directory, check=True, capture_output=True, text=True).stdout

        (Path(directory) / "store.u64").write_bytes(struct.pack(f"<{len(store)}Q", *store))
        lines = [json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)]
        (Path(directory) / "texts.jsonl").write_text("".join(lines), encoding="utf-8")
        twinprint("index", "build", "store.u64", "-o", "seen", "--profile", profile, "--quiet")
        rows = twinprint("index", "query", "seen", "--text", "texts.jsonl", "-k", str(radius), "--quiet", *options)
    found = [set() for _ in texts]
    for row in map(json.loads, rows.splitlines()):
        found[int(row["query"])].add(row["id"])
    return found


class OtherLibraries(unittest.TestCase):
    def test_a_store_of_the_python_package_is_found(self):
        chance = random.Random(1)
        stored = [" ".join(chance.choices(WORDS, k=chance.randrange(80, 200))) for _ in range(200)]
        # The package itself fails if a feature occurs more than 255 times.
        queries = [text.replace("ship", "boat", 1) + "." for text in stored] + ["", "a", "ab cd", "!?", "x" * 250]
        store = {str(i): Simhash(text) for i, text in enumerate(stored)}
        index = SimhashIndex(list(store.items()), k=3)
        ours = fingerprints(queries, "--profile", "1e0ng")
        self.assertEqual(ours, [Simhash(text).value for text in queries])
        found = 0
        for text, fingerprint in zip(queries, ours):
            near = {name for name, other in store.items() if (other.value ^ fingerprint).bit_count() <= 3}
            self.assertEqual(near, set(index.get_near_dups(Simhash(text))))
            found += bool(near)
        self.assertGreater(found, 100)
        values = [other.value for other in store.values()]
        # A text without features is not searched.
        queries = queries[: len(stored)]
        in_index = found_in_index(values, queries, "1e0ng")
        self.assertEqual(in_index, [set(map(int, index.get_near_dups(Simhash(text)))) for text in queries])

    def test_a_store_of_gosimhash_is_found(self):
        if not (DATA / "compat-vectors.json").is_file():
            self.skipTest(f"no {DATA}")
        vectors = json.loads((DATA / "compat-vectors.json").read_text())["cppjieba"]
        store = {row["from"].split(" of ")[-1].split(" (")[0]: int(row["fingerprint"]) for row in vectors["raw_features"]}
        queries = [text for text in store if re.match(r"[\u4e00-\u9fff]", text)]
        self.assertGreater(len(queries), 1)
        with tempfile.TemporaryDirectory() as dictionary:
            for packed in (DATA / "cppjieba-dict").iterdir():
                target = Path(dictionary) / packed.name.removesuffix(".zst")
                if packed.suffix == ".zst":
                    subprocess.run(["zstd", "-dq", "--long=27", packed, "-o", target], check=True)
                else:
                    target.write_bytes(packed.read_bytes())
            ours = fingerprints(queries, "--profile", "cppjieba-top2", "--dictionary", dictionary)
            values = list(store.values())
            in_index = found_in_index(values, queries, "cppjieba-top2", "--dictionary", dictionary, radius=0)
        self.assertEqual(in_index, [{i for i, value in enumerate(values) if value == store[text]} for text in queries])
        for text, fingerprint in zip(queries, ours):
            self.assertEqual(fingerprint, store[text], text)


if __name__ == "__main__":
    if not Path(TWINPRINT).is_file():
        sys.exit(f"{TWINPRINT} not found: build it with cargo build --release")
    unittest.main()
