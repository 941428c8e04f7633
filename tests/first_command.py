"""Runs the README's first command on the real sources that cargo has unpacked, and checks its result.

Needs the binary (TWINPRINT, by default target/release/twinprint). No packages.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))


class FirstCommand(unittest.TestCase):
    def test_the_first_command_deduplicates_the_sources_of_the_dependencies(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        command = re.search(r"^cargo run --release -- (dedup .*)$", readme, re.MULTILINE)
        self.assertIsNotNone(command, "the README has no first command")
        with tempfile.TemporaryDirectory() as work:
            done = subprocess.run(
                ["bash", "-euc", f'"$0" {command[1]}', BINARY],
                cwd=work,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                check=True,
            )
            out = Path(work) / "out"
            report = json.loads((out / "report.json").read_text())
            rejects = (out / "rejects.jsonl").read_text().splitlines()
            clusters = [json.loads(line) for line in (out / "clusters.jsonl").read_text(encoding="utf-8").splitlines()]
        print(done.stdout)
        records = report["records"]
        self.assertGreater(records["read"], 1000)
        self.assertGreater(records["removed"], 100, "the sources share at least their licences")
        self.assertEqual(records["read"], records["kept"] + records["removed"] + records["rejected"])
        self.assertEqual(len(rejects), records["rejected"])
        self.assertEqual(len(clusters), records["kept"] + records["removed"])
        kept = {row["id"] for row in clusters if row["is_leader"]}
        self.assertEqual(len(kept), records["kept"])
        for row in clusters:
            if not row["is_leader"]:
                self.assertIn(row["duplicate_of"], kept)
                self.assertGreaterEqual(row["jaccard"], 0.8)
        self.assertIn("groups of near-duplicates", done.stdout)


if __name__ == "__main__":
    unittest.main()
