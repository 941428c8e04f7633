"""Drops pages that twinprint has seen, near-duplicates too, and the links of dropped pages.

A Scrapy spider middleware over a twinprint service. Each page goes to the service before anything that the spider made of it goes on:
of a page that is new, items and links pass; of one that is an exact or near copy of another page, neither does. The answer is
remembered in the same step, so any number of crawlers may share a collection.

    SPIDER_MIDDLEWARES = {"twinprint_seen.SeenMiddleware": 100}
    TWINPRINT_COLLECTION = "http://127.0.0.1:8080/v1/collections/crawl"
    TWINPRINT_TOKEN = "…"            # where the service asks for one
    TWINPRINT_DROP = ["exact", "near"]

A page that the service cannot be asked about passes, and is counted under twinprint/failed.
"""

import json
import time
import urllib.error
import urllib.request

from scrapy.http import TextResponse
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.threads import deferToThread


class SeenMiddleware:
    """Asks of every page whether it is new."""

    def __init__(self, crawler):
        settings = crawler.settings
        self.collection = settings.get("TWINPRINT_COLLECTION", "http://127.0.0.1:8080/v1/collections/crawl").rstrip("/")
        self.token = settings.get("TWINPRINT_TOKEN")
        self.drop = set(settings.getlist("TWINPRINT_DROP", ["exact", "near"]))
        self.stats = crawler.stats
        self._call("PUT", self.collection)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def _call(self, method, url, body=None):
        """One request; where the service has too much to do, again after the time it asks for."""
        for _ in range(60):
            try:
                return self._ask(method, url, body)
            except urllib.error.HTTPError as error:
                if error.code != 429:
                    raise
                time.sleep(float(error.headers.get("Retry-After", 1)))
        raise OSError(f"{url}: the service has too much to do")

    def _ask(self, method, url, body):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None
        if body is None:
            # Tells a request without a body from what a web page could send.
            headers["X-Twinprint"] = "1"
        else:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    async def _verdict(self, response):
        document = {"doc_id": response.url, "url": response.url, "html": response.text}
        ask = deferToThread(self._call, "POST", self.collection + "/check-and-insert", document)
        try:
            answer = await maybe_deferred_to_future(ask)
        except (OSError, ValueError) as error:
            self.stats.inc_value("twinprint/failed")
            return "failed", str(error)
        return answer["verdict"], (answer.get("best") or {}).get("doc_id")

    async def process_spider_output(self, response, result, spider=None):
        if isinstance(response, TextResponse):
            verdict, why = await self._verdict(response)
            self.stats.inc_value(f"twinprint/{verdict}")
            if verdict in self.drop:
                self.stats.set_value(f"twinprint/dropped/{response.url}", why)
                # What the spider made of the page is not even made: the generator is left unread.
                return
        async for each in result:
            yield each
