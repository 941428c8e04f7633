"""Steps for pipelines of `datatrove` that remove near-duplicates.

`steps` makes the steps of a `StagedRun`, whose tasks compare all documents of a corpus on any number of machines. The
filters work inside a pipeline. `DedupFilter` compares the documents of one task with one another. `CollectionFilter`
compares documents with everything that earlier tasks, runs and pipelines have added to a collection. Both have the
statistics and the `exclusion_writer` of other filters. A removed document has the metadata `duplicate_of`, the id of
the document that stands for it, and `jaccard`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from datatrove.data import Document
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.writers.disk_base import DiskWriter
from datatrove.utils.logging import logger

from ._dedup import dedup
from ._twinprint import TwinprintError
from .stages import SINGLE_STAGES, STAGES, StagedRun

__all__ = ["CollectionFilter", "DedupFilter", "StageStep", "WriteStep", "steps"]

REASON = "near_duplicate"


class DedupFilter(BaseFilter):  # type: ignore[misc]
    """Keeps one document of each group of near-duplicates among the documents of a task.

    The texts of the task are held in memory. Documents of different tasks are not compared: run the step in one task,
    or use `CollectionFilter`. A document whose text is not valid Unicode is removed with the reason `rejected`.

    Args:
        threshold: the least Jaccard of two duplicates, above 0 and at most 1.
        keep: the document of each group that is kept.
        exclusion_writer: a writer of the removed documents.
        options: further arguments of `twinprint.dedup`, such as `profile`, `against` or `memory`.
    """

    name = "👯 twinprint"

    def __init__(
        self,
        threshold: float = 0.8,
        keep: Literal["first", "longest", "shortest"] = "first",
        exclusion_writer: DiskWriter | None = None,
        **options: Any,
    ) -> None:
        # Its default is None, which its type leaves out.
        super().__init__(exclusion_writer)  # pyright: ignore[reportArgumentType]
        self.options = {**options, "threshold": threshold, "keep": keep}
        # A wrong argument fails here, and not in the task. Known documents are needed in the task only.
        dedup(["a"], **{**self.options, "against": None})

    def run(self, data: Iterable[Document] | None, rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        documents = list(data or ())
        with self.track_time("task"):
            self._verdicts = iter(self._decide(documents))
        yield from super().run(documents, rank, world_size)

    def _decide(self, documents: list[Document]) -> list[bool | tuple[bool, str]]:
        """The verdict on each document, in order."""
        if not documents:
            return []
        result = dedup([document.text for document in documents], **self.options)
        verdicts: list[bool | tuple[bool, str]] = result.kept_mask.tolist()
        for at in result.removed_index.tolist():
            verdicts[at] = (False, REASON)
            # An empty text has no leader but itself.
            leader = int(result.leader[at])
            stands = result.known.get(at, documents[leader].id if leader != at else None)
            _describe(documents[at], stands, float(result.jaccard[at]))
        for rejected in result.rejected:
            verdicts[rejected.position] = (False, "rejected")
        return verdicts

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        return next(self._verdicts)


class CollectionFilter(BaseFilter):  # type: ignore[misc]
    """Keeps the documents that are new to a collection, and adds them to it.

    The collection is made if it does not exist. Only one process at a time can write to it, so run the step with one
    worker. A task that is run again keeps the documents that it kept before, because they have the same ids.

    Args:
        path: the directory of the collection.
        exclusion_writer: a writer of the removed documents.
        batch_size: the number of documents that are added at a time.
        prefix: comes before the ids of the documents. Ids must be unique over all runs, and those that readers make
            are the name of a file and a number. So give each crawl a prefix. A document whose id was added before
            replaces the earlier one, with a warning.
        settings: the settings of a new collection, as in `twinprint.Collection.create`; an existing one must have them.
    """

    name = "👯 twinprint collection"

    def __init__(
        self,
        path: str | os.PathLike[str],
        exclusion_writer: DiskWriter | None = None,
        batch_size: int = 500,
        prefix: str = "",
        **settings: Any,
    ) -> None:
        # Its default is None, which its type leaves out.
        super().__init__(exclusion_writer, batch_size)  # pyright: ignore[reportArgumentType]
        self.path = os.fspath(path)
        self.prefix = prefix
        self.settings = settings

    def run(self, data: Iterable[Document] | None, rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        from . import Collection

        with Collection.create(self.path, **self.settings, exist_ok=True) as self._collection:
            yield from super().run(data or (), rank, world_size)

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        rows = [{"id": f"{self.prefix}{document.id}", "text": document.text} for document in batch]
        verdicts: list[bool | tuple[bool, str]] = []
        for document, answer in zip(batch, self._collection.add(rows, only_new=True), strict=True):
            if answer.verdict == "rejected":
                raise TwinprintError(f"document {document.id!r}: {answer.error}")
            if answer.verdict == "updated":
                logger.warning(f"document {answer.id!r} replaces an earlier one of this id; give each crawl a prefix")
            if answer.is_duplicate:
                best = answer.best
                _describe(document, best.id if best else None, best.jaccard if best else None)
                verdicts.append((False, REASON))
            else:
                verdicts.append(True)
        return verdicts


def steps(run: StagedRun) -> list[StageStep | WriteStep]:
    """The steps of a run, in order. Each is a pipeline of its own, which depends on the one before.

    The documents must be in files that all machines share, such as those of a `JsonlWriter`.

        before = None
        for step in steps(StagedRun("filtered/", "deduplicated", memory="4GiB")):
            logs = f"logs/{step.stage}"
            before = SlurmPipelineExecutor([step], tasks=step.tasks(100), depends=before, logging_dir=logs, …)
        before.run()
    """
    return [*(StageStep(run, stage) for stage in STAGES), WriteStep(run)]


class StageStep(PipelineStep):  # type: ignore[misc]
    """Runs one stage of a run: each task of the pipeline runs its share of the tasks of the stage.

    Args:
        run: the run.
        stage: the name of the stage.
    """

    type = "🫂 - DEDUPS"
    name = "👯 twinprint stage"

    def __init__(self, run: StagedRun, stage: str) -> None:
        super().__init__()
        self.staged, self.stage = run, stage

    def tasks(self, most: int) -> int:
        """The number of tasks that the pipeline should have: `most`, or 1 for a stage with one task."""
        return 1 if self.stage in SINGLE_STAGES else most

    def run(self, data: Iterable[Document] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        with self.track_time():
            state = self.staged.run_task(self.stage, rank, world_size)
        logger.info(f"stage {self.stage}: {state.ended} of {state.tasks} tasks have ended")
        yield from data or ()


class WriteStep(PipelineStep):  # type: ignore[misc]
    """Writes the result of a run whose stages have ended.

    Args:
        run: the run.
    """

    type = "🫂 - DEDUPS"
    name = "👯 twinprint result"
    stage = "write"

    def __init__(self, run: StagedRun) -> None:
        super().__init__()
        self.staged = run

    def tasks(self, most: int) -> int:
        """The number of tasks that the pipeline should have, which is 1."""
        return 1

    def run(self, data: Iterable[Document] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        if rank == 0 and not self.staged.is_finished():
            with self.track_time():
                records = self.staged.write()["records"]
            for fate in ("kept", "removed", "rejected"):
                self.stat_update(fate, value=records[fate])
        yield from data or ()


def _describe(document: Document, stands: str | None, jaccard: float | None) -> None:
    """Notes the document that stands for a removed one in its metadata."""
    if stands is not None:
        document.metadata["duplicate_of"] = stands
    if jaccard is not None and jaccard == jaccard:
        document.metadata["jaccard"] = jaccard
