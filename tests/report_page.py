"""Tests of report.html and stories.html in a browser: wide and narrow, light and dark, English and Chinese, with scripts and without.

The pages write nothing to the console, fetch nothing, fit the window, and markup in a corpus has no effect. With `--screenshots DIR` the
script also writes pictures of the pages to DIR, as in docs/.

Needs the binary (TWINPRINT, by default target/release/twinprint), Chromium, and the package playwright without its browsers.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (1280, 768, 360, 320)

ATTACK = "</script></style><img src=x onerror=\"document.title='taken'\"> <script>document.title='taken'</script> \u202e\u2066{{ 7*7 }}"

PLACES = ["the old harbour", "the university campus", "the market hall", "the northern suburbs", "the river bank", "the airport"]
THINGS = ["tram line", "cycle path", "public library", "flood wall", "fish market", "music school", "night bus"]
WHO = ["The city council", "The regional parliament", "A group of residents", "The harbour authority", "The mayor's office"]
DID = ["voted to extend", "agreed to repair", "decided to close", "promised to rebuild", "refused to pay for", "asked for plans of"]
WHY = [
    "Critics say that the money would be better spent on schools",
    "Work is to begin in spring and will take about two years",
    "Shopkeepers along the route fear that customers will stay away",
    "An earlier plan had failed in court after neighbours complained",
    "Engineers found cracks in the foundations during an inspection last summer",
    "The costs are shared between the state and the city",
    "A decision had been put off three times because of the weather",
    "Supporters gathered in front of the town hall and sang until late",
    "Tickets are to cost no more than they do today",
    "Visitors will find a small exhibition about the history of the place",
    "The last public hearing drew more people than the hall could hold",
    "Several trees have to be felled, for each of which two are to be planted",
]
地点 = ["老港口", "大学校园", "中央市场", "北部郊区", "河岸公园", "机场航站楼"]
事物 = ["有轨电车线路", "自行车道", "公共图书馆", "防洪堤", "水产市场", "音乐学校", "夜间公交"]
谁 = ["市议会", "省议会", "一批居民", "港务局", "市长办公室"]
做 = ["投票决定延长", "同意修缮", "决定关闭", "承诺重建", "拒绝出资修建", "要求重新规划"]
缘由 = [
    "批评者认为，这笔钱用在学校上会更好",
    "工程将于明年春天开始，预计需要两年左右",
    "沿线商户担心顾客会因此减少",
    "此前的方案因邻近居民投诉而被法院驳回",
    "工程师去年夏天检查时发现地基出现裂缝",
    "费用由国家和城市共同承担",
    "由于天气原因，这一决定曾三次推迟",
    "支持者聚集在市政厅前，歌声持续到深夜",
    "票价不会高于目前的水平",
    "参观者还可以看到一个介绍当地历史的小型展览",
    "最近一次听证会的人数超过了会场的容量",
    "有几棵树必须砍伐，每砍一棵将补种两棵",
]

# Returns the elements outside pictures whose text has a contrast below 4.5.
FAINT = """() => {
const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
const rgb = c => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
                   return [...canvas.getImageData(0, 0, 1, 1).data]; };
const luminance = c => { const [r, g, b] = rgb(c).map(v => (v /= 255, v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4));
                         return .2126 * r + .7152 * g + .0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
                      if (rgb(c)[3] > 0) return c; } return 'white'; };
const faint = new Set();
for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(behind(e))];
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) faint.add(e.className + ' ' + e.tagName + ' ' + contrast.toFixed(2));
}
return [...faint]; }"""


def article(draw, chinese):
    """Returns a report as a list of sentences."""
    number = draw.randint(2, 97)
    if chinese:
        first = f"{draw.choice(谁)}星期二晚上{draw.choice(做)}通往{draw.choice(地点)}的{draw.choice(事物)}，预算为{number}00万元"
        return [first] + draw.sample(缘由, 8)
    first = f"{draw.choice(WHO)} {draw.choice(DID)} the {draw.choice(THINGS)} near {draw.choice(PLACES)} for {number} million"
    return [first] + draw.sample(WHY, 8)


def edited(draw, sentences, chinese):
    """Returns the report with up to three edits, as another newspaper might print it."""
    sentences = list(sentences)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 2, 3])):
        at = draw.randrange(1, len(sentences))
        kind = draw.randrange(4)
        if kind == 0:
            del sentences[at]
        elif kind == 1:
            sentences.insert(at, draw.choice(缘由 if chinese else WHY))
        elif kind == 2:
            sentences[at] += "，本报记者报道" if chinese else ", as this paper has learned"
        else:
            sentences[at] = sentences[at].replace("将", "计划") if chinese else sentences[at].replace("will", "is expected to")
    return sentences


def corpus(folder):
    """Writes a thousand reports, half of them in Chinese, many of them in several editions, and invalid records."""
    draw = random.Random(7)
    rows = []
    for story in range(420):
        chinese = story % 2 == 1
        sentences = article(draw, chinese)
        for copy in range(draw.choice([1, 1, 1, 2, 2, 3, 4, 9] if story % 60 else [30])):
            version = sentences if copy == 0 or draw.random() < 0.2 else edited(draw, sentences, chinese)
            text = "。".join(version) + "。" if chinese else ". ".join(version) + "."
            row = {"id": f"{'zh' if chinese else 'en'}/{story:03}/{copy + 1}", "text": text}
            # Only stories use the time and the title.
            row |= {"time": f"2024-05-{1 + story // 15:02}T{copy % 24:02}:00:00Z", "title": version[0]}
            rows.append(json.dumps(row, ensure_ascii=False))
    draw.shuffle(rows)
    rows[40:40] = ['{"id": "cut off', '{"id": "no text"}', '{"id": 3, "text": 3}', "", '"no object"']
    (folder / "reports.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "notes.txt").write_text("Short notes.\n", encoding="utf-8")
    (folder / "map.png").write_bytes(b"\x89PNG")


def write_markup(folder):
    """Writes texts, ids and file names that contain markup and scripts."""
    draw = random.Random(8)
    rows = []
    for story in range(12):
        sentences = [ATTACK] + article(draw, story % 2 == 1)
        for copy in range(3):
            version = edited(draw, sentences, False) if copy else sentences
            row = {"id": f"{ATTACK}{story}-{copy}{'x' * 300 * copy}", "text": ". ".join(version)}
            rows.append(json.dumps(row | {"title": ATTACK * (copy + 1), "time": f"2024-05-{story + 1:02}"}))
    rows += [json.dumps({ATTACK: 1}), ATTACK]
    name = "<img src=x onerror=\"document.title='taken'\">.jsonl"
    (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def run(work, *arguments):
    """Runs twinprint and accepts rejected records."""
    subprocess.run([BINARY, *arguments, "--quiet", "--max-rejected", "100%"], cwd=work, check=True)


def dedup(work, name, fill):
    """Writes a corpus with `fill` and returns the page of its report."""
    folder = work / name
    folder.mkdir()
    fill(folder)
    run(work, "dedup", name, "-o", f"{name}-out")
    return work / f"{name}-out" / "report.html"


def cluster(work, name, out, *options):
    """Returns the page of stories of the corpus in the directory `name`."""
    run(work, "cluster", name, "-o", out, *options)
    return work / out / "stories.html"


class ReportPage(unittest.TestCase):
    screenshots = None

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        work = Path(cls.work.name)
        cls.pages = {"reports": dedup(work, "reports", corpus), "hostile": dedup(work, "hostile", write_markup)}
        given = ("--story-threshold", "0.5", "--merge", "0.9")
        cls.pages |= {f"stories of {name}": cluster(work, name, f"{name}-stories", *given) for name in cls.pages}
        cls.pages["stories with cosines"] = cluster(work, "reports", "cosines")
        cls.playwright = sync_playwright().start()
        # Most containers forbid the sandbox, and the page is trusted.
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        cls.work.cleanup()

    def open(self, name, width=1280, scheme="light", locale="en-US", scripts=True):
        """Returns the page, and a list that collects its forbidden actions."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, locale=locale, java_script_enabled=scripts
        )
        self.addCleanup(context.close)
        # The first page takes more than the usual 30 seconds while compilers use all cores.
        context.set_default_timeout(180_000)
        page = context.new_page()
        problems = []
        url = self.pages[name].as_uri()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: request.url not in (url, "data:,") and problems.append(f"fetched: {request.url}"))
        page.goto(url)
        return page, problems

    def test_it_fits_every_window_and_writes_nothing_to_the_console(self):
        for name in self.pages:
            for width in WIDTHS:
                for scheme in ("light", "dark"):
                    for locale in ("en-US", "zh-CN"):
                        with self.subTest(name=name, width=width, scheme=scheme, locale=locale):
                            page, problems = self.open(name, width, scheme, locale)
                            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                            wide = page.evaluate(
                                "[...document.querySelectorAll('body *')].filter(e => e.getClientRects().length"
                                " && !e.closest('.scroll') && !e.closest('svg') && e.getBoundingClientRect().right > innerWidth + 1)"
                                ".map(e => e.outerHTML.slice(0, 120))"
                            )
                            self.assertEqual(wide, [])
                            self.assertLessEqual(page.evaluate("document.scrollingElement.scrollWidth"), width)
                            self.assertNotEqual(page.title(), "taken")
                            self.assertEqual(problems, [])
                            page.context.close()

    def test_the_browsers_language_is_chosen_and_can_be_switched(self):
        for locale, other, words in (("en-US", "中文", ("records read", "读入")), ("zh-CN", "English", ("读入", "records read"))):
            page, problems = self.open("reports", locale=locale)
            self.assertIn(words[0], page.inner_text("body"))
            self.assertNotIn(words[1], page.inner_text("body"))
            page.get_by_text(other, exact=True).click()
            self.assertIn(words[1], page.inner_text("body"))
            self.assertNotIn(words[0], page.inner_text("body"))
            self.assertEqual(page.get_attribute("html", "lang"), "zh-Hans" if locale == "en-US" else "en")
            self.assertEqual(problems, [])

    def test_it_works_without_scripts(self):
        page, _ = self.open("reports", scripts=False)
        self.assertIn("records read", page.inner_text("body"))
        page.get_by_text("中文", exact=True).click()
        self.assertIn("读入", page.inner_text("body"))

    def test_every_picture_and_table_has_a_description(self):
        page, _ = self.open("reports")
        bare = page.evaluate(
            "[...document.querySelectorAll('svg[role=img]')].filter(s => !document.getElementById("
            "s.getAttribute('aria-labelledby'))?.innerText.trim()).length"
            " + [...document.querySelectorAll('table')].filter(t => !t.caption && !t.closest('figure')).length"
        )
        self.assertEqual(bare, 0)
        self.assertGreaterEqual(page.locator("svg[role=img]").count(), 4)
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
        self.assertEqual(levels[0], 1)
        self.assertEqual(levels.count(1), 1)
        self.assertGreater(page.locator("mark").count(), 10)

    def test_stories_are_drawn_over_time_and_link_to_their_members(self):
        page, problems = self.open("stories of reports")
        bars = page.locator(".over-time a")
        self.assertGreaterEqual(bars.count(), 2)
        bars.last.locator("text").click()
        self.assertGreaterEqual(page.locator("details.group:target").count(), 1)
        self.assertGreaterEqual(page.locator(".topic li").count(), 10)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        self.assertIn("Some of its members", page.inner_text("body"))
        self.assertEqual(problems, [])

    def test_the_cosines_are_drawn_with_the_threshold(self):
        page, problems = self.open("stories with cosines")
        chart = page.locator("svg[aria-labelledby=c-cosine]")
        for bars in (".near", ".known"):
            self.assertGreater(chart.locator(bars).count(), 3)
        threshold = page.locator("#h-cosine + p b").first.inner_text()
        self.assertIn(f"threshold {threshold}", chart.text_content())
        self.assertEqual(self.open("stories of reports")[0].locator("#c-cosine").count(), 0)
        self.assertEqual(problems, [])

    def test_text_has_enough_contrast(self):
        """Requires a contrast of at least 4.5 (WCAG AA) for all text outside pictures."""
        for scheme in ("light", "dark"):
            for name in ("reports", "stories of reports", "stories with cosines"):
                page, _ = self.open(name, scheme=scheme)
                self.assertEqual(page.evaluate(FAINT), [], f"{name} {scheme}")

    def test_screenshots(self):
        if self.screenshots is None:
            self.skipTest("only with --screenshots DIR")
        into = Path(self.screenshots)
        for file, width, height, scheme, locale in (
            ("report-wide.png", 1280, 1500, "light", "en-US"),
            ("report-narrow.png", 360, 1500, "dark", "zh-CN"),
        ):
            page, _ = self.open("reports", width, scheme, locale)
            page.set_viewport_size({"width": width, "height": height})
            page.screenshot(path=str(into / file))
        page, _ = self.open("stories of reports", 1280)
        page.screenshot(path=str(into / "stories.png"), clip={"x": 0, "y": 0, "width": 1280, "height": 1500}, full_page=True)


if __name__ == "__main__":
    if "--screenshots" in sys.argv:
        at = sys.argv.index("--screenshots")
        ReportPage.screenshots = sys.argv[at + 1]
        del sys.argv[at : at + 2]
    unittest.main()
