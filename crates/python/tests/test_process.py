"""The package as a part of a process: Ctrl-C, threads, forks, memory, imports."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import twinprint
from conftest import corpus, words


def test_nothing_is_started_at_import() -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("the system does not list threads")
    code = "import numpy, os; before = len(os.listdir('/proc/self/task')); import twinprint; " + (
        "print(len(os.listdir('/proc/self/task')) - before)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "0\n"


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_stops_a_run() -> None:
    texts = [" ".join(words(seed, 400)) for seed in range(1500)] * 40
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(50):
            twinprint.dedup(texts, threads=1)
    timer.join()
    # The limit is generous, because other programs may be running. A run of this size takes longer.
    assert time.monotonic() - started < 10
    assert len(twinprint.dedup(["still", "alive"]).kept) == 2


def test_other_threads_run_meanwhile() -> None:
    texts = [" ".join(words(seed, 300)) for seed in range(2000)]
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    twinprint.dedup(texts, threads=1)
    stop.set()
    ticker.join()
    assert ticks > 10


def test_calls_from_many_threads() -> None:
    corpora = [corpus(seed=seed, count=80) for seed in range(8)]
    expected = [twinprint.dedup(texts, threads=1).leader.tolist() for texts in corpora]
    with ThreadPoolExecutor(8) as pool:
        assert [result.leader.tolist() for result in pool.map(twinprint.dedup, corpora)] == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_call() -> None:
    texts = corpus(count=60)
    expected = twinprint.dedup(texts).leader.tolist()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        leader = b"failed"
        try:
            leader = pickle.dumps(twinprint.dedup(texts).leader.tolist())
        finally:
            os.write(writer, leader)
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pickle.loads(pipe.read()) == expected
    os.waitpid(child, 0)


def test_no_memory_is_lost_over_many_calls() -> None:
    texts = corpus(count=60)

    def peak() -> int:
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def calls(count: int) -> None:
        for _ in range(count):
            result = twinprint.dedup(texts, pairs=True, threads=1)
            assert result.pairs.a.size and result.report().html and result.kept
            twinprint.fingerprint(texts, threads=1)

    calls(200)
    before = peak()
    calls(1000)
    # The peak grows by fragments at most. One result of these texts takes some 100 kB, so a leak would be 100 MB.
    assert peak() - before < 12_000


def test_no_files_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    twinprint.dedup(corpus(), pairs=True)
    assert list(tmp_path.iterdir()) == []


def test_a_million_rows() -> None:
    vocabulary = words(2, 3000)
    texts = [f"{vocabulary[i % 2999]} {vocabulary[i % 2003]} {vocabulary[i % 997]} {i % 900_000}" for i in range(10**6)]
    result = twinprint.dedup(iter(texts))
    assert len(result) == 10**6
    assert len(result.kept) + len(result.removed) == 10**6
