#!/usr/bin/env python3
"""Crawls generated sites with the package in integrations/scrapy, as pip installs it.

The service has tokens, and the crawls use one that reads and writes. The service is killed in the middle of a crawl, is away from the start,
is busy, or is called with wrong settings. Each time the crawl ends in order, reports the problem once, and does not hang.

Needs the release binary (TWINPRINT), and PyPI for the dependencies of the package. SCRAPY names another version of Scrapy, such as scrapy==2.11.2."""

import hashlib
import http.server
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
PACKAGE = ROOT / "integrations/scrapy"
TOKENS = {"owner": ["read", "write", "admin"], "crawler": ["read", "write"], "reader": ["read"]}
PAGES, COPIES = 24, 8

SPIDER = '''
import scrapy
from scrapy_twinprint import page_dropped

class Spider(scrapy.Spider):
    name = "site"
    custom_settings = {
        "SPIDER_MIDDLEWARES": {"scrapy_twinprint.TwinprintMiddleware": 100},
        "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "DEBUG", "RETRY_ENABLED": False, "ROBOTSTXT_OBEY": True,
        # Pages in the order of their links, so the test knows which of two is the copy.
        "DEPTH_PRIORITY": 1, "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.dropped = []
        crawler.signals.connect(spider.note, page_dropped)
        crawler.signals.connect(spider.write_summary, scrapy.signals.spider_closed)
        return spider

    def note(self, response, answer):
        self.dropped.append([response.url, answer.get("best", {}).get("id")])

    def write_summary(self, spider, reason):
        import json
        stats = {key: value for key, value in self.crawler.stats.get_stats().items()
                 if key.startswith("twinprint/") or key in ("log_count/ERROR", "downloader/request_count")}
        with open("summary.json", "w") as file:
            json.dump({"reason": reason, "stats": stats, "dropped": self.dropped}, file)

    def parse(self, response):
        yield {"path": response.url.split("/", 3)[3], "verdict": response.meta.get("twinprint", {}).get("verdict")}
        yield from response.follow_all(css="a")
'''


def words(seed, count=1000):
    rng = random.Random(seed)
    return [f"w{rng.randrange(4000)}" for _ in range(count)]


def site():
    """Returns pages by path: words and links. copy-* repeat pages, every second one with an edit; only they link to trap-*."""
    pages = {"": (words("front"), [f"page-{n}" for n in range(PAGES)])}
    for n in range(PAGES):
        links = [f"copy-{n}"] if n < COPIES else []
        pages[f"page-{n}"] = (words(n), links)
    for n in range(COPIES):
        edited = words(n)
        if n % 2:
            edited[50] = "edited"
        pages[f"copy-{n}"] = (edited, [f"trap-{n}"])
        pages[f"trap-{n}"] = (words(f"trap {n}"), [])
    return pages


class Site:
    """A server of pages that records the requested paths. `when` is called with every path."""

    def __init__(self, pages):
        self.pages, self.requested, self.when = pages, [], lambda path: None
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.lstrip("/")
                site.requested.append(path)
                site.when(path)
                text, links = site.pages.get(path, ([], []))
                anchors = "".join(f'<li><a href="/{link}">{link}</a></li>' for link in links)
                body = f"<html><body><nav><ul>{anchors}</ul></nav><main><p>{' '.join(text)}</p></main></body></html>".encode()
                self.send_response(200 if path in site.pages else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = serve(Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"


def serve(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Service:
    """A running service with tokens."""

    def __init__(self, work, listen="127.0.0.1:0"):
        hashes = [(name, scopes, hashlib.sha256(name.encode()).hexdigest()) for name, scopes in TOKENS.items()]
        tokens = [f'[[token]]\nname = "{name}"\nscopes = {json.dumps(scopes)}\nsha256 = "{sha256}"\n' for name, scopes, sha256 in hashes]
        (work / "tokens.toml").write_text("\n".join(tokens))
        command = [BINARY, "serve", "collections", "--listen", listen, "--log", "quiet", "--tokens", "tokens.toml"]
        self.process = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def call(self, method, path, body=None):
        headers = {"Authorization": "Bearer owner", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def collection(self, name, **settings):
        self.call("PUT", f"/v1/collections/{name}", settings)
        return f"{self.address}/v1/collections/{name}"

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=60)

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=60)


class Crawl:
    """One run of the spider: its log, stats, items and dropped pages."""

    def __init__(self, python, work, site, collection, token="crawler", ends=0, **settings):
        site.requested.clear()
        for name in ("items.jsonl", "summary.json"):
            (work / name).unlink(missing_ok=True)
        (work / "spider.py").write_text(SPIDER + f'\n    start_urls = ["{site.address}"]\n')
        settings = {"COLLECTION": collection, "TOKEN": token, "PATIENCE": 1, **settings}
        options = [part for name, value in settings.items() for part in ("-s", f"TWINPRINT_{name}={value}")]
        command = [python, "-m", "scrapy", "runspider", "spider.py", "-o", "items.jsonl", *options]
        run = subprocess.run(command, cwd=work, stderr=subprocess.PIPE, text=True, timeout=120)
        self.log = run.stderr
        assert run.returncode == ends, self.log
        summary = json.loads((work / "summary.json").read_text())
        self.reason, self.stats, self.requested = summary["reason"], summary["stats"], set(site.requested)
        self.dropped = {url.rsplit("/", 1)[1]: best and best.rsplit("/", 1)[1] for url, best in summary["dropped"]}
        lines = (work / "items.jsonl").read_text().splitlines()
        self.items = {item["path"]: item["verdict"] for item in map(json.loads, lines)}
        assert not re.search("Traceback|Unhandled|twinprint.*Warning|signal.*Warning", self.log), self.log

    def count(self, name):
        return self.stats.get(f"twinprint/{name}", 0)

    def errors(self):
        return [line for line in self.log.splitlines() if "] ERROR: " in line or "] CRITICAL: " in line]


COPY_OF = {f"copy-{n}": f"page-{n}" for n in range(COPIES)}
NEW = {"", *(f"page-{n}" for n in range(PAGES))}


def crawl_and_crawl_again(crawl, service):
    """Two crawls drop the same pages, with a token that may not create collections. A changed page is compared by its current text."""
    site_ = Site(site())
    collection = service.collection("again")
    first = crawl(site_, collection)
    assert (first.dropped, set(first.items)) == (COPY_OF, NEW), (first.dropped, first.items)
    assert not [path for path in first.requested if path.startswith("trap")], "the links of a dropped page were followed"
    assert set(first.items.values()) == {"new"} and first.count("exact") == first.count("near") == COPIES // 2, first.stats
    assert first.count("documents") == len(NEW) + COPIES > first.count("batches"), first.stats
    # robots.txt, the pages, and nothing else: requests to the service do not count as the crawl's.
    assert first.stats["downloader/request_count"] == 1 + len(NEW) + COPIES, first.stats
    assert all(not re.search(r"\d", name) for name in first.stats), "there is a stat for a single page"
    assert re.search(r"DEBUG: Dropped \S+/copy-1: near copy of \S+/page-1\b", first.log), first.log

    again = crawl(site_, collection)
    assert (again.dropped, set(again.items)) == (COPY_OF, NEW), (again.dropped, again.items)
    assert set(again.items.values()) == {"updated"}, again.items

    # If a page and its copy both change a little, only one of them passes.
    for path in ("page-3", "copy-3"):
        site_.pages[path][0][120] = "changed"
    # A page that becomes a copy is dropped like a new one. Its former copy is no longer a copy, and passes.
    site_.pages["page-5"] = (words(9), ["copy-5"])
    changed = crawl(site_, collection)
    # page-9 may be checked before or after page-5; it was in the collection before in either case.
    assert changed.dropped.get("page-5") == "page-9", changed.dropped
    assert "page-3" in changed.items and changed.dropped["copy-3"] == "page-3", changed.dropped

    # With DROP_UNCHANGED only changed pages pass.
    site_.pages = site()
    collection = service.collection("changes")
    crawl(site_, collection)
    for n in range(COPIES, PAGES):
        site_.pages[f"page-{n}"][0].append("more")
    changes = crawl(site_, collection, DROP_UNCHANGED="True")
    # The links of the front page, which has not changed, are still followed.
    assert set(changes.items) == {f"page-{n}" for n in range(COPIES, PAGES)}, changes.items
    assert changes.count("unchanged") == 1 + COPIES and set(changes.dropped) == {"", *COPY_OF, *COPY_OF.values()}, changes.dropped


def verdicts_chosen(crawl, service):
    """Near-duplicates that pass are stored, so a second crawl drops the same pages, whatever the canonical of a group."""
    site_ = Site(site())
    for name, canonical in (("exact", "first"), ("shortest", "shortest-url")):
        collection = service.collection(name, canonical=canonical)
        exact = {copy: page for copy, page in COPY_OF.items() if int(page[5:]) % 2 == 0}
        for _ in range(2):
            run = crawl(site_, collection, DROP="exact")
            assert run.dropped == exact, run.dropped


def busy(crawl, service):
    """Requests to a busy service are repeated after the time that it names. Pages that it refuses pass."""
    times = []

    class Handler(http.server.BaseHTTPRequestHandler):
        """A proxy between crawl and service: it answers every second request with 429, and refuses one page."""

        protocol_version = "HTTP/1.1"

        def do_POST(self):
            times.append((time.monotonic(), self.headers["Origin"], self.headers["Content-Type"]))
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            code, body = 429, {"detail": "too much at a time"}
            if len(times) % 2 == 0:
                answers = service.call("POST", self.path, sent)["items"]
                refused = {"problem": {"status": 422, "detail": "not this one"}}
                items = [refused if document["url"].endswith("page-7") else answer
                         for document, answer in zip(sent["documents"], answers)]
                code, body = 200, {"items": items}
            self.send_response(code)
            if code == 429:
                self.send_header("Retry-After", "1")
            data = json.dumps(body).encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    service.collection("busy")
    between = serve(Handler)
    run = crawl(Site(site()), f"http://127.0.0.1:{between.server_port}/v1/collections/busy", PATIENCE=10)
    assert run.dropped == {copy: page for copy, page in COPY_OF.items()}, run.dropped
    assert set(run.items) == NEW and run.count("refused") == 1, (run.items, run.stats)
    assert run.count("retries") == run.count("batches") == len(times) / 2, (run.stats, len(times))
    assert all(b[0] - a[0] >= 0.99 for a, b in zip(times[::2], times[1::2])), times
    assert {seen[1:] for seen in times} == {(None, "application/json")}, times


def killed_in_the_middle(crawl, service, work):
    """The service is killed during a crawl: the crawl ends in order, and uses the service again once it runs again."""
    pages = {"": (words("front"), ["chain-0"])}
    for n in range(40):
        pages[f"chain-{n}"] = (words(f"chain {n}"), [f"chain-{n + 1}"] if n < 39 else [])
    site_ = Site(pages)
    for when_away in ("pass", "drop", "stop"):
        collection = service.collection(f"kill-{when_away}")
        site_.when = lambda path: service.kill() if path == "chain-10" else None
        run = crawl(site_, collection, WHEN_AWAY=when_away)
        assert run.count("documents") >= 10 and run.count("away") >= 1, run.stats
        assert not run.errors(), run.errors()
        if when_away == "pass":
            assert len(run.items) == 41 and run.reason == "finished", (run.items, run.reason)
            # Patience is used up once, not for each of thirty pages.
            assert run.count("retries") <= 5, run.stats
        else:
            assert 10 <= len(run.items) <= 11, run.items
            assert run.reason == ("finished" if when_away == "drop" else "twinprint_away"), run.reason
        service = Service(work, service.address.removeprefix("http://"))

    back = []

    def when(path):
        if path == "chain-10":
            service.kill()
        if path == "chain-20":
            back.append(Service(work, service.address.removeprefix("http://")))
        if path in ("chain-20", "chain-25", "chain-30"):
            # Longer than the pause between probes of the service.
            time.sleep(2.5)

    site_.when = when
    collection = service.collection("back")
    run = crawl(site_, collection)
    assert len(run.items) == 41 and run.count("away") >= 9 and run.count("documents") >= 18, run.stats
    assert len(re.findall("service is away", run.log)) == len(re.findall("service is back", run.log)) == 1, run.log
    return back[0]


def refused(crawl, service):
    """With wrong settings the crawl reports one error, not one for each page, and ends without items."""
    collection = service.collection("refused")
    for collection, token, message in (
        (collection, "nobody", "401: this token is unknown. Set TWINPRINT_TOKEN"),
        (collection, "", "401: the request has no token"),
        (collection, "reader", "403: token \"reader\" does not have the scope write"),
        (f"{service.address}/v1/collections/nothing", "crawler", "Make the collection, or set TWINPRINT_CREATE"),
        (f"{service.address}/elsewhere", "crawler", "404"),
    ):
        run = crawl(Site(site()), collection, token)
        errors = run.errors()
        assert len(errors) == 1 and message in errors[0], errors
        assert run.reason == "twinprint_misused" and not run.items, (run.reason, run.items)
    run = crawl(Site(site()), f"{service.address}/v1/collections/made", "owner", CREATE="True")
    assert run.dropped == COPY_OF and not run.errors(), run.dropped


def away_from_the_start(crawl):
    """No service runs: all pages pass, and are counted."""
    with http.server.HTTPServer(("127.0.0.1", 0), None) as free:
        port = free.server_port
    run = crawl(Site(site()), f"http://127.0.0.1:{port}/v1/collections/none")
    everything = len(site())
    assert len(run.items) == run.count("away") == everything and not run.errors(), (run.stats, run.errors())


def main():
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        venv.create(work / "venv", with_pip=True)
        python = str(work / "venv/bin/python")
        scrapy = os.environ.get("SCRAPY", "scrapy").split()
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(PACKAGE), *scrapy], check=True)
        subprocess.run([python, "-m", "unittest", "discover", "--quiet", "-s", str(PACKAGE / "tests")], cwd=work, check=True)

        def crawl(*args, **settings):
            return Crawl(python, work, *args, **settings)

        service = Service(work)
        try:
            for part in (crawl_and_crawl_again, verdicts_chosen, busy, refused):
                part(crawl, service)
                print(f"{part.__name__}: passed", flush=True)
            service = killed_in_the_middle(crawl, service, work)
        finally:
            service.end()
        away_from_the_start(crawl)
    print("crawls with a service that is running, busy, killed and away: passed")


if __name__ == "__main__":
    main()
