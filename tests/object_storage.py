#!/usr/bin/env python3
"""Reads inputs from an S3-compatible server and a web server: the results must be those of the same files on disk.

    tests/object_storage.py

Needs a binary with object storage (TWINPRINT; `cargo build --release --features object-storage`), and the packages
moto[server] and boto3."""

import functools
import http.server
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import boto3
import zstandard

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
BUCKET = "corpora"
# More objects than copies that a run keeps.
FILES = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def documents(number):
    """The lines of a file: new texts, and copies of earlier ones with one other word."""
    draw = random.Random(number // 2)
    lines = []
    for i in range(60):
        words = [f"w{draw.randrange(5000)}" for _ in range(80)]
        words[number % 80] = f"file{number}"
        lines.append(json.dumps({"id": f"{number}-{i}", "text": " ".join(words)}) + "\n")
    return "".join(lines).encode()


class ObjectStorage(unittest.TestCase):
    """One server with one bucket for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="twinprint-objects-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.port = free_port()
        cls.endpoint = f"http://127.0.0.1:{cls.port}"
        # The server of the environment that this script runs in.
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(cls.port)]
        cls.server = subprocess.Popen(command, cwd=cls.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.kill)
        cls.environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": cls.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }
        cls.s3 = boto3.client(
            "s3",
            endpoint_url=cls.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        for _ in range(200):
            try:
                cls.s3.create_bucket(Bucket=BUCKET)
                break
            except Exception:  # The server has not started yet.
                time.sleep(0.1)
        local = cls.folder / "crawl"
        for number in range(FILES):
            path = local / f"part {number % 3}" / f"{number:02}.jsonl.zst"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(zstandard.compress(documents(number)))
        (local / "notes.bin").write_bytes(b"\0no corpus")
        for path in local.rglob("*"):
            if path.is_file():
                cls.s3.upload_file(str(path), BUCKET, f"crawl/{path.relative_to(local)}")

    def run_command(self, *arguments):
        command = [BINARY, *arguments]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def dedup(self, given, out, *options):
        done = self.run_command("dedup", given, "-o", out, "--quiet", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.files(out)

    def files(self, out):
        """The files of a result by name, with the names of the inputs cut to those in their folder."""
        folder = self.folder / out
        files = {}
        for path in folder.rglob("*"):
            name = str(path.relative_to(folder))
            # clusters.parquet has the rows of clusters.jsonl.
            if path.is_file() and not name.startswith(("report.", ".twinprint", "config.toml", "clusters.parquet")):
                content = path.read_bytes()
                if name.endswith(".zst"):
                    content = zstandard.ZstdDecompressor().stream_reader(content).read()
                for prefix in (f"s3://{BUCKET}/", f"{self.endpoint}/{BUCKET}/"):
                    content = content.replace(prefix.encode(), b"")
                files[name] = content
        shutil.rmtree(folder)
        self.assertEqual(list(self.folder.glob("*/objects-*")), [], "copies of objects are left")
        return files

    def test_a_folder_of_objects_gives_the_result_of_the_folder_on_disk(self):
        expected = self.dedup("crawl", "local")
        self.assertTrue(any(name.startswith("kept/part 0/") for name in expected), expected.keys())
        self.assertGreater(len(expected["clusters.jsonl"]), 1000)
        for given in (f"s3://{BUCKET}/crawl", f"s3://{BUCKET}/crawl/", f"s3://{BUCKET}/crawl/**/*.jsonl.zst"):
            self.assertEqual(self.dedup(given, "remote"), expected, given)
        self.assertEqual(self.dedup(f"s3://{BUCKET}/crawl", "staged", "--on-disk"), expected)

    def test_globs_and_patterns_choose_objects(self):
        expected = self.dedup("crawl/part 1", "local")
        self.assertEqual(self.dedup(f"s3://{BUCKET}/crawl/part 1/*.zst", "remote"), expected)
        expected = self.dedup("crawl", "local", "--exclude", "part 2/")
        self.assertEqual(self.dedup(f"s3://{BUCKET}/crawl", "remote", "--exclude", "part 2/"), expected)

    def test_one_object_and_one_file_of_a_web_server(self):
        expected = self.dedup("crawl/part 0/00.jsonl.zst", "local")
        self.assertEqual(self.dedup(f"s3://{BUCKET}/crawl/part 0/00.jsonl.zst", "remote"), expected)
        handler = functools.partial(QuietHandler, directory=str(self.folder / "crawl" / "part 0"))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/00.jsonl.zst"
            found = self.dedup(url, "remote")
            server.shutdown()
        self.assertEqual(found.keys(), expected.keys())
        self.assertEqual(found["kept/00.jsonl.zst"], expected["kept/00.jsonl.zst"])

    def test_errors_name_the_input_and_the_remedy(self):
        for given, words in [
            (f"s3://{BUCKET}/nothing", "no such object"),
            (f"s3://{BUCKET}/crawl/*.txt", "matches no file"),
            ("s3://no-such-bucket/crawl", "no-such-bucket"),
        ]:
            done = self.run_command("dedup", given, "-o", "failed")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / "failed" / "report.json").exists())

    def test_an_object_that_changes_during_the_run_is_an_error(self):
        for stage in ("analyse", "classes"):
            done = self.run_command("shard", stage, f"s3://{BUCKET}/crawl", "-o", "changing", "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
        key = "crawl/part 0/00.jsonl.zst"
        before = self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=zstandard.compress(documents(77)))
        try:
            done = self.run_command("dedup", f"s3://{BUCKET}/crawl", "-o", "changing", "--on-disk")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("other files", done.stderr)
        finally:
            self.s3.put_object(Bucket=BUCKET, Key=key, Body=before)
            shutil.rmtree(self.folder / "changing.stages")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A web server of a folder that logs nothing."""

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
