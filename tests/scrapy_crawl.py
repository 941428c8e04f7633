#!/usr/bin/env python3
"""Crawls a site made for the test with the Scrapy middleware: what is a copy is dropped, and so are its links.

Needs the release binary (TWINPRINT) and scrapy."""

import http.server
import os
import random
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))

SPIDER = '''
import scrapy

class Spider(scrapy.Spider):
    name = "site"
    custom_settings = {
        "SPIDER_MIDDLEWARES": {"twinprint_seen.SeenMiddleware": 100},
        "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 1,
        # Pages in the order of their links, so that it is known which of two is the copy.
        "DEPTH_PRIORITY": 1, "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
'''


def words(seed, count=200):
    rng = random.Random(seed)
    return [f"w{rng.randrange(4000)}" for _ in range(count)]


def site():
    """Pages by path. /copy-* are pages again with an edit; what only they link to is never asked for."""
    pages = {"/": (words("front"), [f"/page-{n}" for n in range(8)] + ["/copy-0", "/copy-1"])}
    for n in range(8):
        pages[f"/page-{n}"] = (words(n), [f"/page-{(n + 1) % 8}"])
    for n in range(2):
        edited = words(n)
        edited[50] = "edited"
        pages[f"/copy-{n}"] = (edited, [f"/trap-{n}"])
        pages[f"/trap-{n}"] = (words(f"trap {n}"), [])
    return pages


def main():
    pages, asked = site(), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            text, links = pages.get(self.path, ([], []))
            anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
            body = f"<html><body><nav><ul>{anchors}</ul></nav><main><p>{' '.join(text)}</p></main></body></html>".encode()
            self.send_response(200 if self.path in pages else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as work:
        service = subprocess.Popen([BINARY, "serve", "collections", "--listen", "127.0.0.1:0", "--log", "quiet"],
                                   cwd=work, stdout=subprocess.PIPE, text=True)
        try:
            address = service.stdout.readline().strip()
            start = f'\n    start_urls = ["http://127.0.0.1:{server.server_port}/"]\n'
            (Path(work) / "spider.py").write_text(SPIDER + start)
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "examples/scrapy")}
            command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-o", "items.jsonl",
                       "-s", f"TWINPRINT_COLLECTION={address}/v1/collections/crawl"]
            subprocess.run(command, cwd=work, env=environment, check=True, timeout=170)
            items = (Path(work) / "items.jsonl").read_text().count("\n")
        finally:
            service.terminate()
            service.wait(timeout=40)
    reached = set(asked)
    assert {f"/page-{n}" for n in range(8)} <= reached, sorted(reached)
    assert {"/copy-0", "/copy-1"} <= reached, sorted(reached)
    assert not reached & {"/trap-0", "/trap-1"}, "the links of a dropped page were followed"
    assert items == 9, f"{items} items, and 9 pages are new"
    print(f"{len(reached)} pages asked for, {items} new, 2 dropped with their links")


if __name__ == "__main__":
    main()
