#!/usr/bin/env python3
"""Reads inputs from an S3-compatible server, a web server and a stand-in for the Hugging Face Hub, and writes results to the
S3-compatible server: the results must be those of the same files on disk.

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
from urllib.parse import parse_qs, unquote, urlsplit

import boto3
import zstandard

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
BUCKET = "corpora"
# More objects than copies that a run keeps.
FILES = 20
DATASET = "ferries/times"
TOKEN = "hf_secret"
COMMIT = "c0ffee" * 6 + "c0ff"


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
                for prefix in (f"s3://{BUCKET}/", f"{self.endpoint}/{BUCKET}/", f"hf://datasets/{DATASET}/"):
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

    def names(self, folder):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{folder}/")
        return [entry["Key"].removeprefix(f"{folder}/") for page in pages for entry in page.get("Contents", [])]

    def objects(self, folder):
        """The objects below a folder of the bucket by their names in it."""
        read = functools.partial(self.s3.get_object, Bucket=BUCKET)
        return {name: read(Key=f"{folder}/{name}")["Body"].read() for name in self.names(folder)}

    def same_as_on_disk(self, given, to, *options):
        """Runs with the result in a directory and in the bucket, and compares all files but those that tell of the run."""
        done = self.run_command("dedup", given, "-o", "local", "--quiet", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        local = self.folder / "local"
        expected = {str(path.relative_to(local)): path.read_bytes() for path in local.rglob("*") if path.is_file()}
        shutil.rmtree(local)
        url = f"s3://{BUCKET}/{to}"
        done = self.run_command("dedup", given, "-o", url, "--work-dir", "work", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(url, done.stdout)
        found = self.objects(to)
        self.assertEqual(found.keys(), expected.keys())
        for name in expected:
            if not name.startswith("report.") and name != "config.toml":
                self.assertEqual(found[name], expected[name], name)
        self.assertEqual(json.loads(found["report.json"])["records"], json.loads(expected["report.json"])["records"])
        self.assertEqual(list(self.folder.glob("work/*")), [])

    def test_a_result_in_the_bucket_is_that_on_disk(self):
        self.same_as_on_disk("crawl", "results/plain", "--pairs")
        self.same_as_on_disk(f"s3://{BUCKET}/crawl", "results/both", "--on-disk")
        # A folder with results in it is read without them.
        done = self.run_command("dedup", f"s3://{BUCKET}/results", "-o", "none")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("earlier", done.stderr)

    def test_a_large_file_is_uploaded_in_parts(self):
        large = self.folder / "large.jsonl"
        draw = random.Random(5)
        with large.open("w") as lines:
            for i in range(9000):
                text = " ".join(f"{draw.getrandbits(64):x}" for _ in range(150))
                lines.write(json.dumps({"id": i, "text": text}) + "\n")
        self.assertGreater(large.stat().st_size, 20 << 20)
        self.same_as_on_disk("large.jsonl", "results/large")

    def test_a_result_is_replaced_only_with_overwrite_and_other_objects_stay(self):
        url, work = f"s3://{BUCKET}/again", ["--work-dir", "work", "--quiet"]
        self.assertEqual(self.run_command("dedup", "crawl", "-o", url, *work).returncode, 0)
        before = self.objects("again")
        done = self.run_command("dedup", "crawl/part 1", "-o", url, *work)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("is not empty", done.stderr)
        self.assertEqual(self.objects("again"), before)
        done = self.run_command("dedup", "crawl/part 1", "-o", url, *work, "--overwrite")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = self.objects("again")
        self.assertLess(len(after), len(before))
        self.assertNotIn(".twinprint-unfinished", after)
        self.s3.put_object(Bucket=BUCKET, Key="again/notes", Body=b"mine")
        done = self.run_command("dedup", "crawl", "-o", url, *work, "--overwrite")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("again/notes", done.stderr)
        self.assertEqual(self.objects("again"), {**after, "notes": b"mine"})

    def test_a_copy_that_was_killed_is_made_again(self):
        url = f"s3://{BUCKET}/killed"
        command = ["dedup", "crawl", "-o", url, "--work-dir", "killed", "--on-disk", "--quiet"]
        expected = None
        kills = 0
        for delay in (0.0, 0.02, 0.05, 0.1):
            process = subprocess.Popen([BINARY, *command], cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL)
            while process.poll() is None and ".twinprint-unfinished" not in self.names("killed"):
                time.sleep(0.005)
            time.sleep(delay)
            kills += process.poll() is None
            process.kill()
            process.wait()
            # If the copy became whole before the kill, the same command refuses it, and the files on disk may still be there.
            if ".twinprint-unfinished" in self.names("killed"):
                done = self.run_command(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                shutil.rmtree(self.folder / "killed", ignore_errors=True)
            found = {name: content for name, content in self.objects("killed").items() if not name.startswith("report.")}
            self.assertIn("kept/part 0/00.jsonl.zst", found)
            self.assertNotIn(".twinprint-unfinished", found)
            expected = expected or found
            self.assertEqual(found, expected)
            self.assertEqual(list(self.folder.glob("killed/*")), [])
            for name in self.names("killed"):
                self.s3.delete_object(Bucket=BUCKET, Key=f"killed/{name}")
        self.assertGreater(kills, 0)

    def test_errors_of_a_result_in_the_bucket_come_before_the_run(self):
        self.s3.put_object(Bucket=BUCKET, Key="full/notes", Body=b"mine")
        for output, work, words in [
            (f"s3://{BUCKET}/full", ["--work-dir", "work"], "is not empty"),
            (f"s3://{BUCKET}/new", [], "--work-dir"),
            (f"s3://{BUCKET}", ["--work-dir", "work"], "s3://BUCKET/FOLDER"),
            (f"hf://datasets/{DATASET}/out", ["--work-dir", "work"], "s3://BUCKET/FOLDER"),
            ("s3://no-such-bucket/out", ["--work-dir", "work"], "no-such-bucket"),
        ]:
            done = self.run_command("dedup", "crawl", "-o", output, *work)
            self.assertIn(done.returncode, (1, 2), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / output).exists())

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

    def hub(self):
        """Starts a stand-in for the Hub with the folder as a dataset, and points the command to it."""
        hub = Hub(self.folder / "crawl")
        self.addCleanup(hub.stop)
        before = dict(self.environment)
        self.addCleanup(lambda: (self.environment.clear(), self.environment.update(before)))
        self.environment.update(HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
        return hub

    def test_a_dataset_of_the_hub_gives_the_result_of_the_folder_on_disk(self):
        hub = self.hub()

        def local(folder):
            """The result of a folder on disk. The dataset has no folder `crawl`."""
            return {name: content.replace(b"crawl/", b"") for name, content in self.dedup(folder, "local").items()}

        expected = local("crawl")
        base = f"hf://datasets/{DATASET}"
        for given in (base, f"{base}/", f"{base}/**/*.jsonl.zst"):
            self.assertEqual(self.dedup(given, "remote"), expected, given)
        self.assertEqual(self.dedup(base, "staged", "--on-disk"), expected)
        self.assertGreater(hub.pages, 4)
        one = local("crawl/part 1")
        self.assertEqual(self.dedup(f"{base}/part 1", "remote"), one)
        self.assertEqual(self.dedup(f"{base}/part 1/*.zst", "remote"), one)
        single = self.dedup("crawl/part 0/00.jsonl.zst", "local")
        found = self.dedup(f"{base}@refs%2Fpr%2F1/part 0/00.jsonl.zst", "remote")
        self.assertEqual(found["kept/00.jsonl.zst"], single["kept/00.jsonl.zst"])
        # The folder of `hf auth login` has the token, too.
        home = self.folder / "hf"
        home.mkdir()
        (home / "token").write_text(f"{TOKEN}\n")
        del self.environment["HF_TOKEN"]
        self.environment["HF_HOME"] = str(home)
        self.assertEqual(self.dedup(base, "remote"), expected)
        self.assertGreater(hub.served, FILES)
        self.assertEqual(hub.leaked, [])

    def test_a_hub_that_fails_for_a_time_is_asked_again(self):
        hub = self.hub()
        hub.failures = 3
        base = f"hf://datasets/{DATASET}"
        self.dedup(f"{base}/part 1", "remote")
        self.assertEqual(hub.failures, 0)

    def test_errors_of_the_hub_name_the_input_and_the_reason(self):
        self.hub()
        base = f"hf://datasets/{DATASET}"
        for given, words in [
            (f"{base}/nothing", "no such object"),
            (f"{base}/part 0/*.txt", "matches no file"),
            (f"{base}@v9", "404 Not Found: no such revision"),
            ("hf://datasets/ferries/none", "401 Unauthorized: no such dataset"),
            ("hf://ferries/times", "hf://datasets/OWNER/NAME"),
        ]:
            done = self.run_command("dedup", given, "-o", "failed")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertIn(given, done.stderr)
            self.assertFalse((self.folder / "failed" / "report.json").exists())
        self.environment["HF_TOKEN"] = "hf_other"
        done = self.run_command("dedup", base, "-o", "failed")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("401", done.stderr)
        self.assertNotIn("hf_other", done.stderr)

    def test_a_dataset_with_another_commit_is_another_input(self):
        hub = self.hub()
        given = f"hf://datasets/{DATASET}"
        done = self.run_command("shard", "analyse", given, "-o", "committed", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        hub.version = "2"
        done = self.run_command("dedup", given, "-o", "committed", "--on-disk")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("other files", done.stderr)
        shutil.rmtree(self.folder / "committed.stages")

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


class Hub:
    """Two servers: the API of the Hub for one dataset, and the one that keeps the files, which must not get the token.

    The list has pages of five entries. The form of the answers is that of https://huggingface.co/docs/hub/api."""

    def __init__(self, folder):
        self.folder, self.pages, self.failures, self.version = folder, 0, 0, "1"
        # The files that were sent, and those that were asked for with a token.
        self.served, self.leaked = 0, []
        hub = self

        class Api(QuietHandler):
            def do_GET(self):
                hub.answer(self)

            def do_POST(self):
                hub.answer(self)

            do_HEAD = do_GET

        class Files(QuietHandler):
            def do_GET(self):
                hub.served += 1
                if self.headers["Authorization"]:
                    hub.leaked.append(self.path)
                super().do_GET()

        def serve(handler):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return server

        self.api = serve(Api)
        # Another host, so that it is not the one to which the token belongs.
        self.files = serve(functools.partial(Files, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.api.server_port}"

    def stop(self):
        for server in (self.api, self.files):
            server.shutdown()
            server.server_close()

    def entry(self, path):
        name = str(path.relative_to(self.folder))
        if path.is_dir():
            return {"type": "directory", "oid": "0", "size": 0, "path": name}
        return {"type": "file", "oid": f"{name}-{self.version}", "size": path.stat().st_size, "path": name}

    def answer(self, request):
        length = int(request.headers["Content-Length"] or 0)
        body = request.rfile.read(length)
        url = urlsplit(request.path)
        dataset = f"/api/datasets/{DATASET}/"
        if self.failures:
            self.failures -= 1
            return self.refuse(request, 503, "try again")
        if request.headers["Authorization"] != f"Bearer {TOKEN}" or DATASET not in url.path:
            return self.refuse(request, 401, "no such dataset, or no right to read it")
        if url.path.startswith(f"{dataset}revision/"):
            revision = unquote(url.path.removeprefix(f"{dataset}revision/"))
            if revision not in ("main", "refs/pr/1"):
                return self.refuse(request, 404, "no such revision")
            return self.send(request, {"sha": COMMIT})
        if url.path == f"{dataset}paths-info/{COMMIT}":
            paths = [self.folder / path for path in json.loads(body)["paths"]]
            return self.send(request, [self.entry(path) for path in paths if path.exists()])
        if url.path.startswith(f"{dataset}tree/{COMMIT}"):
            folder = self.folder / unquote(url.path.removeprefix(f"{dataset}tree/{COMMIT}")).strip("/")
            if not folder.is_dir():
                return self.refuse(request, 404, "no such folder")
            query = parse_qs(url.query)
            found = folder.rglob("*") if query["recursive"] == ["true"] else folder.iterdir()
            entries = [self.entry(path) for path in sorted(found)]
            start = int(query.get("cursor", ["0"])[0])
            self.pages += 1
            link = {}
            if start + 5 < len(entries):
                link["Link"] = f'<{self.url}{url.path}?recursive=true&cursor={start + 5}>; rel="next"'
            return self.send(request, entries[start : start + 5], link)
        files = f"/datasets/{DATASET}/resolve/{COMMIT}/"
        if url.path.startswith(files):
            request.send_response(302)
            to = f"http://localhost:{self.files.server_port}/{url.path.removeprefix(files)}"
            request.send_header("Location", to)
            request.send_header("Content-Length", "0")
            return request.end_headers()
        return self.refuse(request, 404, f"no such address, {request.path}")

    def refuse(self, request, status, why):
        self.send(request, {"error": why}, {"X-Error-Message": why}, status)

    def send(self, request, answer, headers=None, status=200):
        content = json.dumps(answer).encode()
        request.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A web server of a folder that logs nothing."""

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
