#!/usr/bin/env python3
"""Tests of the service's page in a browser: wide and narrow, light and dark, English and Chinese.

The page writes nothing to the console, fetches nothing from elsewhere, fits the window, and markup in documents has no effect. With
`--screenshots DIR` the script also writes pictures of the page to DIR, as in docs/.

Needs the binary (TWINPRINT, by default target/release/twinprint), Chromium, and the package playwright without its browsers.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from report_page import ATTACK, ROOT, article, edited

import random

BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (1280, 768, 360, 320)


def joined(sentences, chinese):
    return ("。" if chinese else ". ").join(sentences) + ("。" if chinese else ".")


SUBJECTS = ["quake coast harbour rescue tremor", "final stadium goal striker cup", "rates inflation loan market bond", "彗星 望远镜 轨道 天文台"]


def fill(host, with_markup):
    """Adds reports in both languages, each in one to five editions, and `with_markup` documents that contain markup. Returns them."""
    draw = random.Random(11)
    documents = []
    for n in range(40):
        chinese = n % 3 == 0
        sentences = article(draw, chinese)
        for copy in range(draw.choice([1, 1, 2, 3, 5])):
            version = sentences
            while copy and version == sentences:
                version = edited(draw, sentences, chinese)
            text = joined(version, chinese)
            if n % 2 == 0:
                text = f"{SUBJECTS[3 if chinese else n // 2 % 3]} ".title() * 4 + text
            url = f"https://{draw.choice(['news', 'herald', 'xinwen', 'tribune'])}.example/{n}/{copy}"
            documents.append({"id": f"report-{n}-{copy}", "url": url, "time": f"2024-05-{1 + n // 2:02}", "text": text,
                              "fields": {"title": text[:60]}})
    for n in range(with_markup):
        documents.append({"id": f"{ATTACK}{n}", "url": "javascript:alert(1)", "source": ATTACK, "time": "2024-05-20",
                          "fields": {"title": ATTACK}, "text": f"{ATTACK} {ATTACK} {n}"})
    # One group has more members than one page of its list, and there are more sources than one page of theirs.
    for n in range(120 if with_markup else 0):
        documents.append({"id": f"copy-{n}", "source": f"site{n % 60}.example", "time": "2024-05-20", "text": "the same notice on every site " * 5})
    connection = http.client.HTTPConnection(host)

    def call(method, path, body):
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status in (200, 201), content

    call("PUT", "/v1/collections/news", {"stories": True, "story_threshold": 0.5, "story_window": 10 * 86_400})
    call("POST", "/v1/collections/news/documents", {"documents": documents})
    return documents


def wait_until(page, condition):
    """Waits until a condition is true. The page's content security policy forbids a script that waits for it."""
    for _ in range(200):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("the condition did not become true in time")


def visit(browser, address, documents, language, width, dark, shots):
    context = browser.new_context(viewport={"width": width, "height": 900}, locale=language, color_scheme="dark" if dark else "light")
    # The first page takes more than the usual 30 seconds while compilers use all cores.
    context.set_default_timeout(180_000)
    page = context.new_page()
    messages, requested = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(address)
    page.wait_for_selector("#groups tr")
    chinese = language.startswith("zh")
    assert page.evaluate("document.documentElement.lang") == ("zh" if chinese else "en")
    assert page.locator("#counts").inner_text().strip(), "no counts"

    near = next(d for d in documents if d["id"].endswith("-1"))
    page.fill("#text", near["text"] + (" 又及" if chinese else " And more"))
    page.click("#ask button")
    page.wait_for_selector("#answer .verdict")
    verdict = page.locator("#answer .verdict").first.inner_text()
    assert verdict == ("近似重复" if chinese else "near-duplicate"), verdict
    assert page.locator("#answer li").count() > 0, "no similar documents"

    page.fill("#size", "3")
    page.click("#filter button")
    page.wait_for_function("document.querySelectorAll('#groups tr').length < 15")
    page.locator("#groups button").first.click()
    page.wait_for_selector("#groups li button")
    page.locator("#groups li button").last.click()
    page.wait_for_selector("#comparison .texts")
    assert page.locator("#comparison mark").count() > 0, "no differences marked between two editions"
    if any(d["id"].startswith("copy-") for d in documents):
        page.locator("#groups button").last.click()
        members = page.locator("#groups tr:last-child li").count
        wait_until(page, lambda: members() == 100)
        page.locator("#groups tr:last-child td > button").click()
        wait_until(page, lambda: members() == 120)
        assert page.locator("#sources tr").count() == 50
        page.click("#more-sources")
        wait_until(page, lambda: page.locator("#sources tr").count() > 60)
        assert page.locator("#more-sources").is_hidden()
    assert page.locator("#stories > li").count() > 3, "no stories"
    page.locator("#stories > li > button").first.click()
    page.wait_for_selector("#stories ul li")
    page.select_option("#state", "ended")
    listed = page.locator("#stories > li").count
    wait_until(page, lambda: listed() > 0 and all("ended" in fact or "已结束" in fact for fact in page.locator("#stories .hint").all_inner_texts()))
    page.select_option("#state", "")
    wait_until(page, lambda: listed() > 3)
    assert page.locator("#problem").is_hidden(), page.locator("#problem").inner_text()
    page.wait_for_timeout(600)

    across = page.evaluate("document.documentElement.scrollWidth")
    assert across <= width, f"{across} px in a window of {width}"
    assert page.title() == "twinprint", page.title()
    assert not messages, messages
    assert all(url.startswith((address, "data:")) for url in requested), requested
    if shots:
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=shots, full_page=True)
    context.close()


def main():
    into = Path(sys.argv[2]).resolve() if sys.argv[1:2] == ["--screenshots"] else None
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        service = subprocess.Popen([BINARY, "serve", "collections", "--listen", "127.0.0.1:0", "--log", "quiet"],
                                   cwd=work, stdout=subprocess.PIPE, text=True)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            address = service.stdout.readline().strip()
            documents = fill(address.removeprefix("http://"), 0 if into else 2)
            visits = 0
            for language in ("en-GB", "zh-CN"):
                for width in WIDTHS:
                    for dark in (False, True):
                        shots = None
                        if into and (language, width, dark) == ("en-GB", 1280, False):
                            shots = str(into / "service.png")
                        visit(browser, address, documents, language, width, dark, shots)
                        visits += 1
        finally:
            browser.close()
            service.terminate()
            service.wait(timeout=60)
    print(f"{visits} visits: both languages, {len(WIDTHS)} widths, light and dark")


if __name__ == "__main__":
    main()
