"""The spider middleware: checks each page before the spider's items and requests from it are processed."""

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

# The signal for every dropped page, sent with `response` and `answer`.
page_dropped = object()


def duplicate_kind(answer: Answer) -> str | None:
    """Returns `exact` or `near` if the page duplicates another one, also if it is an update.

    The verdict of a page that is in the collection already is `updated`. Its `as_new` is the verdict for a new page.
    """
    verdict = answer.get("as_new") or answer["verdict"]
    return verdict if verdict in ("exact", "near") else None


class TwinprintMiddleware:
    """Drops the items and links of pages that duplicate another page."""

    def __init__(self, crawler: Crawler) -> None:
        # Imported here, because the import installs a reactor.
        from twisted.internet import reactor

        settings = crawler.settings
        self._crawler = crawler
        self._drop = _among("TWINPRINT_DROP", settings.getlist("TWINPRINT_DROP", ["exact", "near"]), {"exact", "near"})
        self._drop_unchanged = settings.getbool("TWINPRINT_DROP_UNCHANGED")
        self._when_away = settings.get("TWINPRINT_WHEN_AWAY") or "pass"
        _among("TWINPRINT_WHEN_AWAY", [self._when_away], {"pass", "drop", "stop"})
        self._misuse_logged = False
        self._collection = settings.get("TWINPRINT_COLLECTION", "http://127.0.0.1:8080/v1/collections/crawl").rstrip("/")
        timeout = settings.getfloat("TWINPRINT_TIMEOUT", 30)
        http = Http(reactor, self._collection, settings.get("TWINPRINT_TOKEN"), timeout)
        self._client = Client(
            reactor,
            http,
            self._count,
            patience=settings.getfloat("TWINPRINT_PATIENCE", 10),
            # A dropped copy need not be stored. If near-duplicates pass, they are stored, so that copies of them are found.
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
        # The result of a dropped page is not read, so a callback that is a generator never runs.
        if passes != NOTHING:
            async for each in result:
                if passes == ALL or isinstance(each, Request):
                    yield each

    async def _passes(self, response: Response) -> str:
        """Decides which of a page's results pass: all, the links or nothing."""
        is_page = isinstance(response, HtmlResponse) and 200 <= response.status < 300
        if not is_page or response.meta.get("twinprint_skip"):
            return ALL
        document = {"id": response.url, "url": response.url, "html": response.text}
        try:
            answer = await maybe_deferred_to_future(self._client.ask(document))
        except Refused as error:
            self._count("refused")
            logger.info("The service refused %s, which passes: %s", response.url, error)
            return ALL
        except Away:
            self._count("away")
            if self._when_away == "stop":
                raise CloseSpider("twinprint_away") from None
            return ALL if self._when_away == "pass" else NOTHING
        except Misused as error:
            if not self._misuse_logged:
                self._misuse_logged = True
                logger.error("The twinprint service cannot be used at %s: %s", self._collection, error)
            raise CloseSpider("twinprint_misused") from None
        return self._judge(response, answer)

    def _judge(self, response: Response, answer: Answer) -> str:
        """Decides by the answer which results pass."""
        response.meta["twinprint"] = answer
        self._count(answer["verdict"])
        kind = duplicate_kind(answer)
        if kind in self._drop:
            passes, name, why = NOTHING, "dropped", f"{kind} copy of {answer['best']['id']}"
        elif self._drop_unchanged and answer.get("unchanged"):
            # Its links may lead to pages that have changed.
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
        raise ValueError(f"{name} is {', '.join(sorted(chosen))}; allowed: {', '.join(sorted(allowed))}")
    return chosen
