"""A Scrapy spider middleware that drops pages a twinprint service has seen, including near-duplicates, and their links."""

from scrapy_twinprint.middleware import TwinprintMiddleware, page_dropped

__all__ = ["TwinprintMiddleware", "page_dropped"]
