"""The spider middleware: asks about each page before anything that the spider makes of it goes on."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_twinprint.client import Answer, Away, Client, Misused, Refused
from scrapy_twinprint.http import Http

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

ALL, LINKS, NOTHING = "all", "links", "nothing"

# Sent with `response` and `answer` for every page that is dropped.
page_dropped = object()


def likeness(answer: Answer) -> str | None:
    """`exact` or `near` where the page duplicates another one, also where it is an update.

    The verdict of a page that was there before is `updated`; `as_new` tells what it is beside the others.
    """
    verdict = answer.get("as_new") or answer["verdict"]
    return verdict if verdict in ("exact", "near") else None


class TwinprintMiddleware:
    """Drops pages that duplicate another one: their items, and their links."""

    def __init__(self, crawler: Crawler) -> None:
        # Imported here, since the import installs a reactor.
        from twisted.internet import reactor

        settings = crawler.settings
        self._crawler = crawler
        self._drop = _among("TWINPRINT_DROP", settings.getlist("TWINPRINT_DROP", ["exact", "near"]), {"exact", "near"})
        self._drop_unchanged = settings.getbool("TWINPRINT_DROP_UNCHANGED")
        self._when_away = settings.get("TWINPRINT_WHEN_AWAY") or "pass"
        _among("TWINPRINT_WHEN_AWAY", [self._when_away], {"pass", "drop", "stop"})
        self._told = False
        self._collection = settings.get("TWINPRINT_COLLECTION", "http://127.0.0.1:8080/v1/collections/crawl").rstrip("/")
        timeout = settings.getfloat("TWINPRINT_TIMEOUT", 30)
        http = Http(reactor, self._collection, settings.get("TWINPRINT_TOKEN"), timeout)
        self._client = Client(
            reactor,
            http,
            self._count,
            patience=settings.getfloat("TWINPRINT_PATIENCE", 10),
            # A copy that is dropped need not be kept. Where near-duplicates pass they are kept, so that copies of them are known.
            only_new="near" in self._drop,
            create=settings.getbool("TWINPRINT_CREATE"),
        )
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TwinprintMiddleware:
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        passes = await self._passes(response)
        # Of a page that is dropped, `result` is left unread: a callback that is a generator is never run.
        if passes != NOTHING:
            async for each in result:
                if passes == ALL or isinstance(each, Request):
                    yield each

    async def _passes(self, response: Response) -> str:
        """Tells how much of a page's results passes: all, the links or nothing."""
        is_page = isinstance(response, HtmlResponse) and 200 <= response.status < 300
        if not is_page or response.meta.get("twinprint_skip"):
            return ALL
        document = {"id": response.url, "url": response.url, "html": response.text}
        try:
            answer = await maybe_deferred_to_future(self._client.ask(document))
        except Refused as error:
            self._count("refused")
            logger.info("Not asked about %s, which passes: %s", response.url, error)
            return ALL
        except Away:
            self._count("away")
            if self._when_away == "stop":
                raise CloseSpider("twinprint_away") from None
            return ALL if self._when_away == "pass" else NOTHING
        except Misused as error:
            if not self._told:
                self._told = True
                logger.error("The twinprint service cannot be used at %s: %s", self._collection, error)
            raise CloseSpider("twinprint_misused") from None
        return self._judge(response, answer)

    def _judge(self, response: Response, answer: Answer) -> str:
        """Tells how much passes by the answer."""
        response.meta["twinprint"] = answer
        self._count(answer["verdict"])
        like = likeness(answer)
        if like in self._drop:
            passes, name, why = NOTHING, "dropped", f"{like} copy of {answer['best']['id']}"
        elif self._drop_unchanged and answer.get("unchanged"):
            # Behind its links may be pages that have changed.
            passes, name, why = LINKS, "unchanged", "unchanged"
        else:
            return ALL
        self._count(name)
        logger.debug("Dropped %s: %s", response.url, why, extra={"spider": self._crawler.spider})
        self._crawler.signals.send_catch_log(page_dropped, response=response, answer=answer)
        return passes

    def _count(self, name: str, by: int = 1) -> None:
        self._crawler.stats.inc_value(f"twinprint/{name}", by)

    async def _closed(self) -> None:
        await maybe_deferred_to_future(self._client.close())


def _among(name: str, values: list[str], allowed: set[str]) -> set[str]:
    chosen = {value for value in values if value}
    if not chosen <= allowed:
        raise ValueError(f"{name} is {', '.join(sorted(chosen))}; it takes {', '.join(sorted(allowed))}")
    return chosen
