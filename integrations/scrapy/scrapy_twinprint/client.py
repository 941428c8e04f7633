"""A client of the service: sends pages in batches, in order, and sends nothing while the service is away.

One batch is in flight at a time. So pages are sent in the order in which they arrived, and pages that arrive meanwhile form the next batch.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import deferLater

from scrapy_twinprint.http import Http, Reply

logger = logging.getLogger(__name__)

Answer = dict[str, Any]

# Seconds that a page waits for others if no batch is in flight.
BATCH_SECONDS = 0.02
BATCH_DOCUMENTS = 100
BATCH_BYTES = 2_000_000
# Seconds between two attempts of a batch, doubled each time unless the service names another time.
FIRST_WAIT = 0.25
# Seconds between two probes of a service that is away: the first and the longest.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
# A body that is too large or cannot be parsed. One page may be the cause, so each page is then sent alone.
REFUSED = (400, 413, 422)
FIXES = {
    401: "Set TWINPRINT_TOKEN to a token of the service.",
    403: "The token needs the scopes read and write (and admin, once, if TWINPRINT_CREATE is set).",
    404: "Make the collection, or set TWINPRINT_CREATE = True if the token has the scope admin.",
}


class Refused(Exception):
    """The service refuses this page."""


class Away(Exception):
    """The service is unreachable, overloaded or failing."""


class Misused(Exception):
    """The settings are wrong, so the service refuses every page."""


@dataclass
class _Page:
    body: bytes
    answered: Deferred[Answer] = field(default_factory=Deferred)

    def fail(self, error: Exception) -> None:
        if not self.answered.called:
            self.answered.errback(error)


class Client:
    """A client of one collection, for one crawl."""

    def __init__(
        self,
        reactor: Any,
        http: Http,
        count: Callable[[str, int], None],
        *,
        patience: float = 10.0,
        only_new: bool = True,
        create: bool = False,
    ) -> None:
        self._reactor = reactor
        self._http = http
        self._count = count
        self._patience = patience
        self._path = "/documents?only_new=true" if only_new else "/documents"
        self._create = create
        self._waiting: deque[_Page] = deque()
        self._sending = False
        self._misused: Misused | None = None
        # The reason why the service is away, the time of the next probe, and the seconds between probes: 0 once a batch is answered.
        self._away: Away | None = None
        self._back_at = 0.0
        self._pause = 0.0
        self._probe: Deferred[None] = succeed(None)

    def ask(self, document: dict[str, str]) -> Deferred[Answer]:
        """Returns the answer to a document, which may also be stored. Fails with Refused, Away or Misused."""
        if self._misused:
            return fail(self._misused)
        if away := self._away:
            if self._probe.called and self._reactor.seconds() >= self._back_at:
                self._probe = Deferred.fromCoroutine(self._probe_service())
            return fail(away)
        # Some decoders turn damaged pages into lone surrogates, which UTF-8 cannot encode.
        page = _Page(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
        self._waiting.append(page)
        if not self._sending:
            self._sending = True
            Deferred.fromCoroutine(self._send_all())
        return page.answered

    def close(self) -> Deferred[None]:
        """Cancels the probe and closes the connections."""
        self._probe.cancel()
        return self._http.close()

    async def _send_all(self) -> None:
        await deferLater(self._reactor, BATCH_SECONDS)
        while self._waiting:
            batch = self._take()
            try:
                await self._ask(batch)
            except Exception as error:  # No page may wait for ever, whatever the error.
                if isinstance(error, (Away, Misused)):
                    batch.extend(self._waiting)
                    self._waiting.clear()
                for page in batch:
                    page.fail(error)
        self._sending = False

    def _take(self) -> list[_Page]:
        """Takes the next batch: as many pages as fit, and at least one."""
        batch: list[_Page] = []
        size = 0
        while self._waiting and len(batch) < BATCH_DOCUMENTS:
            size += len(self._waiting[0].body)
            if batch and size > BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _ask(self, batch: list[_Page]) -> None:
        """Sends a batch and resolves its pages."""
        body = b'{"documents":[' + b",".join(page.body for page in batch) + b"]}"
        reply, once = await self._send(b"POST", self._path, body)
        if reply.code == 404 and self._create:
            self._create = False
            created, _ = await self._send(b"PUT", "", b"{}")
            # 409: another client has created it meanwhile.
            if created.code not in (200, 201, 409):
                raise self._misuse(created)
            reply, once = await self._send(b"POST", self._path, body)
        if reply.code in REFUSED and len(batch) > 1:
            for page in batch:
                await self._ask([page])
            return
        if reply.code in REFUSED:
            return batch[0].fail(Refused(reply.detail()))
        try:
            items = reply.json()["items"] if reply.code == 200 else []
        except (ValueError, KeyError, TypeError):
            items = []
        if len(items) != len(batch):
            raise self._misuse(reply)
        self._count("batches", 1)
        self._count("documents", len(batch))
        for page, item in zip(batch, items):
            if answer := item.get("answer"):
                if not once:
                    # An earlier attempt may have stored the page, so it need not be from a previous crawl.
                    answer["unchanged"] = False
                page.answered.callback(answer)
            else:
                page.fail(Refused(item["problem"]["detail"]))

    async def _send(self, method: bytes, path: str, body: bytes) -> tuple[Reply, bool]:
        """Returns the final reply, and whether the request was executed only once. Retries until patience ends."""
        # After an outage there is no patience until the service has answered a batch.
        end = self._reactor.seconds() + (0 if self._pause else self._patience)
        wait, once = FIRST_WAIT, True
        while True:
            asked_for = 0.0
            try:
                reply = await self._http.request(method, path, body)
                if not reply.is_retryable:
                    self._pause = 0.0
                    return reply, once
                why, asked_for = reply.detail(), min(reply.retry_after, LONGEST_PAUSE)
                once = once and reply.code == 429
            except Exception as error:  # The errors of Twisted's client have no common base class.
                why, once = _describe(error), False
            pause = max(wait, asked_for)
            if self._reactor.seconds() + pause > end:
                raise self._mark_away(why, asked_for)
            self._count("retries", 1)
            await deferLater(self._reactor, pause)
            wait *= 2

    def _misuse(self, reply: Reply) -> Misused:
        fix = FIXES.get(reply.code, "Is TWINPRINT_COLLECTION the address of a collection?")
        self._misused = Misused(f"{reply.detail()}. {fix}")
        return self._misused

    def _mark_away(self, why: str, asked_for: float = 0.0) -> Away:
        """Records that the service is away. No page is sent until a probe succeeds."""
        self._pause = min(max(2 * self._pause, FIRST_PAUSE, asked_for), LONGEST_PAUSE)
        self._back_at = self._reactor.seconds() + self._pause
        if self._away is None:
            logger.warning("The twinprint service is away: %s", why)
        self._away = Away(why)
        return self._away

    async def _probe_service(self) -> None:
        """Checks whether the service is back. No page waits for the result."""
        try:
            reply = await self._http.request(b"GET")
            if reply.is_retryable:
                self._mark_away(reply.detail(), reply.retry_after)
            else:
                self._away = None
                logger.info("The twinprint service is back")
        except Exception as error:
            self._mark_away(_describe(error))


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
