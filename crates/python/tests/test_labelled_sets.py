"""The labelled sets: every type of data gives the clusters of the command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import twinprint

SETS = [
    "articles-en", "causes-en", "causes-zh", "docs-mixed", "headlines-zh", "licences-multi", "news-topics-zh",
    "newswire-en", "paper-variants-zh", "poems-zh", "reuse-answers-en", "revisions-en", "revisions-zh", "webpages-en",
    "webpages-zh",
]  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_clusters_equal_those_of_the_command(name: str, shared: Path, command: str, tmp_path: Path) -> None:
    packed = shared / f"{name}.docs.jsonl.zst"
    subprocess.run(
        [
            command,
            "dedup",
            packed,
            "-o",
            tmp_path / "cli",
            "--mode",
            "report",
            "--clusters",
            "jsonl",
            "--quiet",
        ],
        check=True,
    )
    expected = (tmp_path / "cli" / "clusters.jsonl").read_bytes()
    lines = subprocess.run(["zstd", "-dc", packed], capture_output=True, check=True).stdout.splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    columns = {key: [record.get(key) for record in records] for key in ("id", "text")}
    clusters = {}
    for kind, data in (
        ("list", records),
        ("pandas", pandas.DataFrame(columns)),
        ("polars", polars.DataFrame(columns)),
        ("arrow", pyarrow.table(columns)),
        ("file", packed),
    ):
        result = twinprint.dedup(data, id="id", name=str(packed))
        if kind != "file":
            result.save(tmp_path / kind)
            clusters[kind] = (tmp_path / kind / "clusters.jsonl").read_bytes()
        else:
            rows = [json.loads(row) for row in expected.splitlines()]
            position = {row["id"]: at for at, row in enumerate(rows)}
            leaders = [position[row["duplicate_of"]] if row["duplicate_of"] else at for at, row in enumerate(rows)]
            assert result.leader.tolist() == leaders
    assert all(of_kind == expected for of_kind in clusters.values()), [k for k, v in clusters.items() if v != expected]
