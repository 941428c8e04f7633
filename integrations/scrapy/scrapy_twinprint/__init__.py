"""Drops pages from a Scrapy crawl that a twinprint service has seen, near-duplicates too, and does not follow their links."""

from scrapy_twinprint.middleware import TwinprintMiddleware, page_dropped

__all__ = ["TwinprintMiddleware", "page_dropped"]
