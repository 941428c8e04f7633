"""Tests of web archives written by warcio, intact and damaged, of all versions and statuses: counts, groups, rejects, and copies that other tools read.

Needs the binary (TWINPRINT, by default target/release/twinprint), zstd, and warcio and brotli, which `./test` installs. The script
generates the pages.
"""

import collections
import gzip
import io
import json
import os
import random
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path

import brotli
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
PAGES = 120
# Each page of the second half contains the article of a page of the first half, with other chrome.
DISTINCT = PAGES // 2


def article(number):
    chosen = random.Random(number % DISTINCT)
    words = ["".join(chosen.choice("aeioubcdfglmnprst") for _ in range(chosen.randint(3, 8))) for _ in range(150)]
    return "".join(f"<p>{' '.join(words[i:i + 15])}.</p>\n" for i in range(0, 150, 15))


def page(number):
    if number < DISTINCT:
        return f"<html><nav><a href=/>Home</a></nav><main>{article(number)}</main><footer>Page {number}</footer></html>"
    return f"<html><div class=menu>Start</div><div>{article(number)}</div><div class=ad>Offer {number}</div></html>"


CHINESE = "<html><head><title>页</title></head><p>" + "网页的主要内容在这里，一共有很多句话，每一句都不一样。" * 3 + "</p></html>"


def write(packed):
    """Writes a WARC file with pages, Chinese pages in two charsets, and records of other kinds. Returns their counts."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=packed)
    writer.write_record(writer.create_warcinfo_record("test.warc", {"software": "tests"}))

    def response(url, body, content_type="text/html; charset=utf-8", extra=()):
        headers = StatusAndHeaders("200 OK", [("Content-Type", content_type), *extra], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=headers))

    for number in range(PAGES):
        url = f"http://pages.example/{number}"
        request = StatusAndHeaders("GET / HTTP/1.1", [("Host", "pages.example")], is_http_request=True)
        writer.write_record(writer.create_warc_record(url, "request", http_headers=request))
        body = page(number).encode()
        if number % 5 == 1:
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:1000], body[1000:])) + b"0\r\n\r\n"
            response(url, chunks, extra=[("Transfer-Encoding", "chunked")])
        elif number % 5 == 2:
            response(url, gzip.compress(body), extra=[("Content-Encoding", "gzip")])
        elif number % 5 == 3:
            response(url, brotli.compress(body), extra=[("Content-Encoding", "br")])
        else:
            response(url, body)
    response("http://pages.example/gbk", CHINESE.encode("gbk"), "text/html; charset=gb2312")
    meta = CHINESE.replace("<head>", "<head><meta http-equiv=Content-Type content='text/html; charset=gbk'>")
    response("http://pages.example/meta", meta.encode("gbk"), "text/html")
    response("http://pages.example/utf8", CHINESE.encode(), "text/html")
    response("http://pages.example/picture", b"\x89PNG" + bytes(2_000_000), "image/png")
    revisit = writer.create_revisit_record("http://pages.example/0", "sha1:AAAA", "http://pages.example/0", "2020-01-01T00:00:00Z")
    writer.write_record(revisit)
    plain = writer.create_warc_record(
        "http://pages.example/text", "conversion", payload=io.BytesIO(b"Plain text of its own."), warc_content_type="text/plain"
    )
    writer.write_record(plain)
    return out.getvalue()


DOCUMENTS = PAGES + 4
KEPT = DISTINCT + 2
OTHER = {"warcinfo": 1, "request": PAGES, "revisit": 1, "no text": 1}


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def members(data):
    """Returns the members of a gzip file, compressed."""
    found = []
    while data:
        member = zlib.decompressobj(31)
        member.decompress(data)
        found.append(data[: len(data) - len(member.unused_data)])
        data = member.unused_data
    return found


class Archive(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = Path(work.name)

    def dedup(self, name, data, *options, limit=None, code=0):
        (self.work / name).write_bytes(data)
        out = self.work / f"out-{name}"
        command = [BINARY, "dedup", self.work / name, "-o", out, "--quiet", *options]
        if limit:
            command = ["bash", "-c", f'ulimit -v {limit >> 10}; exec "$@"', "-", *command]
        self.assertEqual(subprocess.run(command).returncode, code)
        report = json.loads((out / "report.json").read_text())
        records = report["records"]
        self.assertEqual(records["read"], records["kept"] + records["removed"] + records["rejected"])
        return out, report

    def check_archive(self, name, data):
        """Deduplicates an intact archive and checks counts, groups and other records. Returns the output directory."""
        out, report = self.dedup(name, data)
        self.assertEqual(report["records"]["read"], DOCUMENTS)
        self.assertEqual(report["records"]["rejected"], 0)
        self.assertEqual(report["records"]["kept"], KEPT)
        self.assertEqual(report["input"]["other_records"], OTHER)
        clusters = {row["id"]: row["duplicate_of"] for row in rows(out / "clusters.jsonl")}
        for number in range(DISTINCT):
            self.assertIsNone(clusters[f"http://pages.example/{number}"])
            self.assertEqual(clusters[f"http://pages.example/{number + DISTINCT}"], f"http://pages.example/{number}")
        self.assertEqual(clusters["http://pages.example/meta"], "http://pages.example/gbk")
        self.assertEqual(clusters["http://pages.example/utf8"], "http://pages.example/gbk")
        return out

    def read_back(self, out, name):
        """Returns the records that warcio reads from both sides. warcio fails on a file without a member for each record."""
        sides = []
        for side in ["kept", "removed"]:
            with open(out / side / name, "rb") as stream:
                records = ArchiveIterator(stream, no_record_parse=True)
                sides.append(collections.Counter(record.rec_type for record in records))
        self.assertEqual(sides[0], {"warcinfo": 1, "request": PAGES, "revisit": 1, "response": KEPT, "conversion": 1})
        self.assertEqual(sides[1], {"response": DOCUMENTS - KEPT})

    def test_plain(self):
        data = write(False)
        out = self.check_archive("a.warc", data)
        self.read_back(out, "a.warc")
        sizes = [len((out / side / "a.warc").read_bytes()) for side in ["kept", "removed"]]
        self.assertEqual(sum(sizes), len(data), "every byte is copied to one side")

    def test_gzip(self):
        data = write(True)
        out = self.check_archive("a.warc.gz", data)
        self.read_back(out, "a.warc.gz")
        # Each record is copied to one side with its compressed bytes. A record too long for memory is compressed again.
        sides = [members((out / side / "a.warc.gz").read_bytes()) for side in ["kept", "removed"]]
        before = collections.Counter(members(data))
        recompressed = collections.Counter(sides[0] + sides[1]) - before
        self.assertEqual([zlib.decompress(member, 31).count(bytes(2_000_000)) for member in recompressed], [1])
        self.assertEqual(len(sides[1]), DOCUMENTS - KEPT)
        self.assertEqual(len(sides[0]) + len(sides[1]), before.total())

    def test_gzip_of_several_records_a_member(self):
        plain = write(False)
        for data in [gzip.compress(plain), gzip.compress(plain[:5000]) + gzip.compress(plain[5000:])]:
            out = self.check_archive("b.warc.gz", data)
            self.read_back(out, "b.warc.gz")
            subprocess.run(["rm", "-r", out], check=True)

    def test_zstd(self):
        # A frame for each record, as the format requires.
        members = []
        data = write(False)
        for part in data.split(b"WARC/1.0\r\n")[1:]:
            packed = subprocess.run(["zstd", "-qc"], input=b"WARC/1.0\r\n" + part, stdout=subprocess.PIPE, check=True)
            members.append(packed.stdout)
        out = self.check_archive("a.warc.zst", b"".join(members))
        kept = subprocess.run(["zstd", "-dc", out / "kept/a.warc.zst"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(kept.count(b"WARC/1.0\r\n"), len(members) - (DOCUMENTS - KEPT))

    def test_zstd_with_a_dictionary(self):
        data = write(False)
        for number in range(50):
            (self.work / f"sample{number}").write_text(page(number))
        samples = [self.work / f"sample{number}" for number in range(50)]
        dictionary = self.work / "dictionary"
        subprocess.run(["zstd", "-q", "--train", "--maxdict=20000", *samples, "-o", dictionary], check=True)
        packed = subprocess.run(["zstd", "-qc", "-D", dictionary], input=data, stdout=subprocess.PIPE, check=True).stdout
        for stored in [dictionary.read_bytes(), subprocess.run(["zstd", "-qc", dictionary], stdout=subprocess.PIPE).stdout]:
            head = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little")
            self.check_archive("b.warc.zst", head + stored + packed)
            subprocess.run(["rm", "-r", self.work / "out-b.warc.zst"], check=True)

    def test_ids_and_order(self):
        out, _ = self.dedup("a.warc", write(False), "--id-key", "warc-record-id", "--keep", "newest", "--keep-key", "date")
        self.assertTrue(all(row["id"].startswith("<urn:uuid:") for row in rows(out / "clusters.jsonl")))

    def test_damage(self):
        data = write(False)
        cut = data[: data.rindex(b"Plain text") + 5]
        out, report = self.dedup("cut.warc", cut, code=3)
        self.assertEqual((report["records"]["read"], report["records"]["rejected"]), (DOCUMENTS, 1))
        reject = rows(out / "rejects.jsonl")[0]
        self.assertIn("cut off", reject["reason"])
        self.assertEqual(reject["line"], DOCUMENTS + sum(OTHER.values()))

        # A wrong length in one record in the middle, too small or too large: one reject, and reading continues.
        start = data.index(b"WARC-Target-URI: http://pages.example/30\r\n", data.index(b"pages.example/29"))
        start = data.index(b"WARC-Type: response", start) if b"request" in data[start - 80 : start] else start
        field = data.index(b"Content-Length: ", start)
        end = data.index(b"\r\n", field)
        for length in [b"10", b"99999", b"999999999999"]:
            out, report = self.dedup(f"length{length.decode()}.warc", data[:field] + b"Content-Length: " + length + data[end:], code=3)
            self.assertEqual(report["records"]["read"], DOCUMENTS, length)
            self.assertEqual(report["records"]["rejected"], 1, length)

        middle = data.index(b"WARC/1.0\r\n", len(data) // 4)
        _, report = self.dedup("garbage.warc", data[:middle] + b"\x00garbage\r\n\r\nand more\n" + data[middle:], code=3)
        self.assertEqual((report["records"]["read"], report["records"]["rejected"]), (DOCUMENTS + 1, 1))

        packed = write(True)
        _, report = self.dedup("cut.warc.gz", packed[: len(packed) // 2], code=3)
        self.assertEqual(report["records"]["rejected_by"], {"truncated stream": 1})

    def test_status(self):
        """Error pages, redirects, partial pages, and responses without a head or a body."""
        out = io.BytesIO()
        writer = WARCWriter(out, gzip=False)

        def response(url, head, body, protocol="HTTP/1.1", fields=()):
            headers = StatusAndHeaders(head, [("Content-Type", "text/html"), *fields], protocol=protocol)
            record = writer.create_warc_record(url, "response", payload=io.BytesIO(body.encode()), http_headers=headers)
            writer.write_record(record)

        response("http://x.example/ok", "200 OK", page(1))
        response("http://x.example/two", "200", page(2), protocol="HTTP/2")
        response("http://x.example/whole", "206 Partial Content", page(3), fields=[("Content-Range", "bytes 0-99/100")])
        response("http://x.example/part", "206 Partial Content", page(4), fields=[("Content-Range", "bytes 0-99/200")])
        response("http://x.example/moved", "301 Moved Permanently", page(5))
        response("http://x.example/same", "304 Not Modified", "")
        response("http://x.example/gone", "404 Not Found", page(6))
        response("http://x.example/broken", "500 Internal Server Error", page(7))
        response("http://x.example/odd", "999 Request denied", page(8))
        bare = [("http://x.example/bare", "<p>no head"), ("http://x.example/empty", ""), ("dns:x.example", "20200101000000\n192.0.2.1\n")]
        for url, content in bare:
            # Written without warcio, which refuses to write them.
            head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(content)}\r\n\r\n"
            out.write(f"{head}{content}\r\n\r\n".encode())
        _, report = self.dedup("status.warc", out.getvalue())
        self.assertEqual(report["records"]["kept"], 3)
        self.assertEqual(
            report["input"]["other_records"],
            {
                "status 206": 1,
                "status 3xx": 2,
                "status 4xx": 1,
                "status 5xx": 1,
                "other status": 1,
                "no http head": 1,
                "empty response": 1,
                "other protocol": 1,
            },
        )
        kept = (self.work / "out-status.warc/kept/status.warc").read_bytes()
        self.assertEqual(kept, out.getvalue(), "records that are no documents are copied unchanged")
        _, report = self.dedup("any.warc", out.getvalue(), "--any-status")
        self.assertEqual(report["records"]["read"], 9)

    def test_versions(self):
        """All versions since 0.17, with line ends between the records and without."""
        plain = write(False)
        for version in [b"0.17", b"0.18", b"1.1"]:
            data = plain.replace(b"WARC/1.0\r\n", b"WARC/%s\r\n" % version)
            out = self.check_archive(f"v{version.decode()}.warc", data)
            kept, removed = ((out / side / f"v{version.decode()}.warc").read_bytes() for side in ["kept", "removed"])
            self.assertEqual(len(kept) + len(removed), len(data))
            joined = data.replace(b"\r\n\r\nWARC/", b"WARC/")
            self.assertLess(len(joined), len(data))
            out = self.check_archive(f"j{version.decode()}.warc", joined)
            kept, removed = ((out / side / f"j{version.decode()}.warc").read_bytes() for side in ["kept", "removed"])
            self.assertEqual(len(kept) + len(removed), len(joined))

    def test_bombs(self):
        """Bodies that decompress to far more than the limit of a document use little memory."""
        out = io.BytesIO()
        writer = WARCWriter(out, gzip=False)
        zeros = gzip.compress(bytes(300_000_000), 9)
        bodies = {"gzip": zeros, "br": brotli.compress(bytes(300_000_000), quality=5), "compress": zeros}
        for encoding, body in bodies.items():
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), ("Content-Encoding", encoding)], protocol="HTTP/1.1")
            record = writer.create_warc_record("http://x.example/", "response", payload=io.BytesIO(body), http_headers=headers)
            writer.write_record(record)
        deep = "<div>" * 100_000
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(
            writer.create_warc_record("http://x.example/deep", "response", payload=io.BytesIO(deep.encode()), http_headers=headers)
        )
        page = io.BytesIO(b"<html><p>A page among the bombs.</p></html>")
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record("http://x.example/page", "response", payload=page, http_headers=headers))
        _, report = self.dedup("bomb.warc", out.getvalue(), "--threads", "2", limit=1 << 30, code=3)
        self.assertEqual(
            report["records"]["rejected_by"], {"too long": 2, "content-encoding": 1, "page beyond limits": 1}
        )


if __name__ == "__main__":
    # warcio leaves its buffers to the garbage collector.
    unittest.main(warnings="ignore")
