"""Requests to the service, on Twisted's own client.

Scrapy's downloader would apply rules for pages to them: robots.txt, throttling, caches, other middlewares, stats.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from twisted.internet.defer import Deferred
from twisted.web.client import Agent, FileBodyProducer, HTTPConnectionPool, readBody
from twisted.web.http_headers import Headers

# The service closes idle connections after ten seconds. A shorter time here avoids sending a request at that moment.
IDLE_SECONDS = 5


@dataclass(frozen=True)
class Reply:
    """A reply of the service: its status, the seconds of Retry-After, and its body."""

    code: int
    retry_after: float
    body: bytes

    @property
    def is_retryable(self) -> bool:
        """True if the same request may succeed later: the service is overloaded, too slow or failing."""
        return self.code in (408, 429) or self.code >= 500

    def json(self) -> Any:
        return json.loads(self.body)

    def detail(self) -> str:
        """Returns the status, and the detail of a problem object."""
        try:
            return f"{self.code}: {self.json()['detail']}"
        except (ValueError, KeyError, TypeError):
            return f"status {self.code}"


class Http:
    """Requests about one collection, on persistent connections."""

    def __init__(self, reactor: Any, collection: str, token: str | None, timeout: float) -> None:
        self._reactor = reactor
        self._collection = collection
        self._timeout = timeout
        self._pool = HTTPConnectionPool(reactor)
        self._pool.cachedConnectionTimeout = IDLE_SECONDS
        self._agent = Agent(reactor, connectTimeout=timeout, pool=self._pool)
        self._headers = {"User-Agent": ["scrapy-twinprint"]}
        if token:
            self._headers["Authorization"] = [f"Bearer {token}"]

    def request(self, method: bytes, path: str = "", body: bytes | None = None) -> Deferred[Reply]:
        """Sends one request, with the timeout. Fails with the errors of Twisted's client."""
        exchange = Deferred.fromCoroutine(self._exchange(method, path, body))
        return exchange.addTimeout(self._timeout, self._reactor)

    async def _exchange(self, method: bytes, path: str, body: bytes | None) -> Reply:
        headers, producer = self._headers, None
        if body is not None:
            headers = {**headers, "Content-Type": ["application/json"]}
            producer = FileBodyProducer(BytesIO(body))
        url = (self._collection + path).encode()
        response = await self._agent.request(method, url, Headers(headers), producer)
        wait = response.headers.getRawHeaders("retry-after", ["0"])[0]
        # Retry-After may also be a date, but the service sends seconds.
        seconds = float(wait) if wait.isdigit() else 0.0
        return Reply(response.code, seconds, await readBody(response))

    def close(self) -> Deferred[None]:
        return self._pool.closeCachedConnections()
