"""Quality measured on labelled documents, and width and radius chosen from a sample."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import _twinprint
from ._documents import natural, real
from ._progress import Progress, reporting

__all__ = ["Figures", "calibrate", "evaluate", "evaluate_clusters"]

#: One path, or several: files, folders and globs.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Figures(dict[str, Any]):
    """The figures of a measurement as a dictionary, with a page of HTML that shows them."""

    #: A page of HTML with plots and tables, without references to other files.
    html: str

    def __init__(self, figures: dict[str, Any], html: str) -> None:
        super().__init__(figures)
        self.html = html

    def __reduce__(self) -> tuple[Any, ...]:
        return Figures, (dict(self), self.html)

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)


def _paths(paths: Paths, name: str) -> list[str]:
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    for path in listed:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"{name}: expected paths, not {type(path).__name__}")
    result = [os.fspath(path) for path in listed]
    if not result:
        raise ValueError(f"{name}: give at least one path")
    if "-" in result:
        raise ValueError(f"{name}: give paths of files; the standard input cannot be read")
    return result


def _measure(
    paths: list[str],
    text: str,
    id: str | None,
    limit: int | None,
    profile: str,
    bits: int | None,
    threads: int,
) -> dict[str, Any]:
    width = None if bits is None else natural(bits, "bits", 128)
    if width not in (None, 64, 128):
        raise ValueError(f"bits: {width} is not allowed; give 64, 128 or None")
    return {
        "inputs": paths,
        "text": text,
        "id": id,
        "limit": None if limit is None else natural(limit, "limit"),
        "profile": profile,
        "bits": width,
        "threads": natural(threads, "threads", 2**16),
    }


def evaluate(
    documents: Paths,
    pairs: str | os.PathLike[str] | None = None,
    *,
    text: str = "text",
    id: str | None = None,
    limit: int | None = None,
    truth: str = "jaccard",
    complete: float | None = None,
    thresholds: Iterable[float] = (0.5, 0.7, 0.8, 0.9),
    also: Iterable[str] = (),
    profile: str = "tp1-words-lntf",
    bits: int | None = None,
    hamming: int | None = None,
    threads: int = 0,
    progress: bool | Progress | None = None,
) -> Figures:
    """Measures precision, recall and F1 of the engine and of baselines (MinHash, cosine) on labelled documents.

    Args:
        documents: files, folders or globs of at most 50,000 documents.
        pairs: A file of labelled pairs: rows ``{"a": id, "b": id, "jaccard": J}``, one per line. Without it, the
            exact Jaccard of every pair is the truth.
        text, id: the fields of text and id. By default the id is in ``id`` or a field of a similar name.
        limit: largest number of records to read.
        truth: the field of ``pairs`` with the true Jaccard.
        complete: jaccard from which the list of pairs is complete. Without it, the Jaccard of other pairs is
            measured.
        thresholds: minimum Jaccards of a duplicate, each evaluated by itself.
        also: further profiles to evaluate.
        profile, bits, hamming: profile, width (64 or 128) and radius of the engine, which chooses the last two if
            they are None.
        threads: number of threads; 0 uses all cores.
        progress: True shows a line on the terminal; a function is called as ``progress(stage, done, total, unit)``.

    Returns:
        A dictionary, the same as ``twinprint eval --json``: ``documents``, ``truth``, ``thresholds``, ``true_pairs``
        and ``methods``. Each method has its ``name`` and, for each threshold, an entry of ``cells`` with ``setting``,
        ``precision``, ``recall``, ``f1``, ``bytes`` and ``seconds``.

    Examples:
        >>> import json, os, tempfile, twinprint
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "docs.jsonl")
        ...     with open(path, "w") as file:
        ...         for i, text in enumerate(["a b c d e", "A b c d e!", "something else"]):
        ...             print(json.dumps({"id": i, "text": text}), file=file)
        ...     figures = twinprint.evaluate(path, thresholds=[0.8])
        >>> figures["documents"], figures["true_pairs"]
        (3, [1])
    """
    inputs = _paths(documents, "documents")
    measure = _measure(inputs, text, id, limit, profile, bits, threads)
    settings = {
        "pairs": None if pairs is None else os.fspath(pairs),
        "truth": truth,
        "complete": None if complete is None else real(complete, "complete"),
        "thresholds": [real(threshold, "thresholds") for threshold in thresholds],
        "also": [also] if isinstance(also, str) else list(also),
        "hamming": None if hamming is None else natural(hamming, "hamming", 128),
    }
    with reporting(progress) as report:
        figures, html = _twinprint.evaluate_files(measure, settings, report)
    return Figures(json.loads(figures), html)


def calibrate(
    documents: Paths,
    *,
    n: int | None = None,
    threshold: float = 0.8,
    text: str = "text",
    id: str | None = None,
    limit: int | None = None,
    profile: str = "tp1-words-lntf",
    bits: int | None = None,
    threads: int = 0,
    progress: bool | Progress | None = None,
) -> Figures:
    """Chooses width and radius for a corpus from a sample, and reports their recall and cost.

    Args:
        documents: files, folders or globs of a sample of at most 50,000 documents.
        n: number of documents of the whole corpus. The default is the number of documents read.
        threshold: minimum Jaccard of a duplicate.
        text, id, limit, profile, bits, threads, progress: as for `evaluate`.

    Returns:
        A dictionary with the choice, ``bits``, ``k`` and ``reason``, and the figures of each width and radius in
        ``widths``.
    """
    inputs = _paths(documents, "documents")
    least = real(threshold, "threshold")
    if not 0 < least <= 1:
        raise ValueError(f"threshold: {least} is not allowed; give a number above 0 and at most 1")
    measure = _measure(inputs, text, id, limit, profile, bits, threads)
    count = None if n is None else natural(n, "n")
    with reporting(progress) as report:
        figures, html = _twinprint.calibrate_files(measure, least, count, report)
    return Figures(json.loads(figures), html)


def evaluate_clusters(
    documents: Paths,
    clusters: Paths,
    *,
    labels: str,
    by: str = "story_id",
    text: str = "text",
    id: str | None = None,
) -> list[dict[str, Any]]:
    """Compares clusters with a field of the documents: B-cubed, pairwise F1, adjusted Rand index and others.

    Args:
        documents: files, folders or globs of the documents.
        clusters: files of rows ``{"id": …, "story_id": …}``, one per line.
        labels: the field of the documents with the true cluster.
        by: the field of the rows of ``clusters`` with the cluster.

    Returns:
        The agreement of each file of ``clusters``, on the documents that have a label and a cluster.
        ``without_cluster`` is the number of documents with a label that have no cluster in the file.
    """
    measure = _measure(_paths(documents, "documents"), text, id, None, "tp1-words-lntf", None, 0)
    reports = _twinprint.agreement_of_files(measure, labels, _paths(clusters, "clusters"), by)
    result: list[dict[str, Any]] = json.loads(reports)
    return result
