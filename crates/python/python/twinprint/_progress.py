"""Progress of long calls: a bar on the terminal, or a function of the caller."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int, str], None]
"""Called with the name of the stage, the part done, the whole (0 if unknown), and the unit."""


def reporter(progress: bool | Progress | None) -> Progress | None:
    """The function that a call reports its progress to: none, a bar, or that of the caller."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if callable(progress):
        return progress
    raise TypeError("progress: pass True, False, or a function of (stage, done, total, unit)")


@contextmanager
def reporting(progress: bool | Progress | None) -> Iterator[Progress | None]:
    """Gives the function that a call reports its progress to, and clears the bar when the call has ended."""
    report = reporter(progress)
    try:
        yield report
    finally:
        if isinstance(report, Bar):
            report.close()


class Bar:
    """One line on stderr with the stage, the part done, the rate and the time left."""

    def __init__(self) -> None:
        self._stage = ""
        self._started = 0.0
        self._width = 0

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started = stage, now
        seconds = now - self._started
        line = f"{stage}: {_count(done)}"
        if total:
            line += f" of {_count(total)}"
        line += f" {unit}" if total or done else ""
        if seconds > 0.5 and done:
            line += f", {_count(int(done / seconds))}/s"
            if total > done:
                line += f", {_time(seconds * (total - done) / done)} left"
        self._show(line)

    def _show(self, line: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = len(line)

    def close(self) -> None:
        """Clears the line."""
        self._show("")
        if sys.stderr.isatty():
            sys.stderr.write("\r")


def _count(number: int) -> str:
    for size, suffix in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if number >= size:
            return f"{number / (1000 if suffix == 'k' else size):.1f} {suffix}"
    return str(number)


def _time(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
