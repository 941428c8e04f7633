#!/usr/bin/env python3
"""Measures whether the memory of a service grows over a long run that deletes as many documents as it adds.

    bench/soak.py TWINPRINT SOURCE.jsonl [--warm-up 8] [--minutes 30] [--documents 20000] [--rate 150] [--stories]

Serves a collection in a temporary directory and adds DOCUMENTS documents. Then it adds RATE documents of 2 kB a second in batches of 50; a tenth of
them are earlier ones with one word replaced. After each batch it queries 50 documents, reads groups and stories, and deletes the oldest batch, so the
number of documents stays constant. During the minutes of the warm-up it does so as fast as it can, so the bounded caches are full when the measurement
begins. Every ten seconds it records the memory of the service (VmRSS and its part RssAnon), the size of the store, and the time of the slowest batch
since the last record. It prints a row each minute, and at the end the slope of a line fitted to the second half, in MB an hour. It needs only the
standard library.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path

LENGTH = 2000
BATCH = 50
SAMPLE = 10


def words_of(source):
    """Returns the words of the texts of a file, about ten million at most."""
    words = []
    with open(source, encoding="utf-8") as lines:
        for line in lines:
            words += json.loads(line)["text"].split()
            if len(words) > 10_000_000:
                break
    return words


class Soak:
    def __init__(self, address, words, stories):
        self.connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=120)
        self.words, self.draw = words, random.Random(3)
        self.kept, self.next, self.slowest = deque(), 0, 0.0
        self.recent = deque(maxlen=1000)
        settings = {"stories": True, "story_window": 3600, "story_half_life": 1800} if stories else {}
        self.stories = stories
        self.call("PUT", "", settings)

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body is not None else {"X-Twinprint": "1"}
        sent = json.dumps(body) if body is not None else None
        try:
            self.connection.request(method, "/v1/collections/soak" + path, sent, headers)
            answer = self.connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError):
            # The service closes connections that are idle for ten seconds, which happens if the client is delayed.
            self.connection.close()
            self.connection.request(method, "/v1/collections/soak" + path, sent, headers)
            answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status in (200, 201, 202), (answer.status, content[:300])
        return json.loads(content)

    def text(self):
        if self.recent and self.draw.random() < 0.1:
            words = self.draw.choice(self.recent).split()
            words[self.draw.randrange(len(words))] = "exchanged"
            return " ".join(words)
        parts, length = [], 0
        while length < LENGTH:
            at = self.draw.randrange(len(self.words) - 20)
            parts.append(" ".join(self.words[at:at + 20]))
            length += len(parts[-1]) + 1
        self.recent.append(" ".join(parts))
        return self.recent[-1]

    def add_batch(self):
        """Adds a batch."""
        batch = [{"id": f"d{self.next + n}", "source": f"b{self.next}", "text": self.text()} for n in range(BATCH)]
        self.kept.append(self.next)
        self.next += BATCH
        began = time.monotonic()
        items = self.call("POST", "/documents", {"documents": batch})["items"]
        self.slowest = max(self.slowest, time.monotonic() - began)
        assert all("answer" in item for item in items)

    def turn(self, most):
        """Adds a batch, queries another one, and deletes the oldest documents until `most` are left."""
        self.add_batch()
        self.call("POST", "/checks", {"documents": [{"id": "asked", "text": self.text()} for _ in range(BATCH)]})
        self.call("GET", "/groups?limit=20")
        if self.stories:
            self.call("GET", "/stories?limit=20")
        while len(self.kept) * BATCH > most:
            self.call("DELETE", f"/sources/b{self.kept.popleft()}")


def memory_of(process):
    """Returns the resident and the anonymous memory of a process in MB."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return [int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")]


def slope(rows):
    """Returns the slope, in MB an hour, of a line through the anonymous memory in the second half."""
    points = [(row[0] / 3600, row[2]) for row in rows[len(rows) // 2:]]
    mean = [sum(column) / len(points) for column in zip(*points)]
    spread = sum((x - mean[0]) ** 2 for x, _ in points)
    return sum((x - mean[0]) * (y - mean[1]) for x, y in points) / spread if spread else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("twinprint")
    parser.add_argument("source")
    parser.add_argument("--warm-up", type=float, default=0)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=150)
    parser.add_argument("--stories", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        service = subprocess.Popen([os.path.abspath(args.twinprint), "serve", "collections", "--listen", "127.0.0.1:0", "--log", "quiet"],
                                   cwd=work, stdout=subprocess.PIPE, text=True)
        try:
            soak = Soak(service.stdout.readline().strip(), words_of(args.source), args.stories)
            while len(soak.kept) * BATCH < args.documents:
                soak.add_batch()
            print(f"{args.documents} documents present; from now on one is deleted for each one added", flush=True)
            began = time.monotonic()
            while time.monotonic() - began < args.warm_up * 60:
                soak.turn(args.documents)
            print(f"{soak.next} documents added in {time.monotonic() - began:.0f} s of warm-up", flush=True)
            soak.slowest = 0.0
            began, rows, turns = time.monotonic(), [], 0
            while (elapsed := time.monotonic() - began) < args.minutes * 60:
                soak.turn(args.documents)
                turns += 1
                if elapsed >= len(rows) * SAMPLE:
                    store = Path(work, "collections/soak/collection.redb").stat().st_size / 1e6
                    rows.append([elapsed, *memory_of(service.pid), store, soak.slowest, soak.next])
                    soak.slowest = 0.0
                    if len(rows) % 6 == 1:
                        print("| {:.0f} s | {:.0f} | {:.0f} | {:.0f} | {:.3f} | {} |".format(*rows[-1]), flush=True)
                time.sleep(max(0.0, began + turns * BATCH / args.rate - time.monotonic()))
            half = [row[2] for row in rows[len(rows) // 2:]]
            time.sleep(5)
            documents = soak.call("GET", "/stats")["documents"]
            print(f"{turns * BATCH} documents added and deleted, {documents} present; anonymous memory in the second half {min(half):.0f} to {max(half):.0f} MB, "
                  f"{slope(rows):+.1f} MB an hour; {len(rows)} samples")
        finally:
            service.terminate()
            service.wait(timeout=60)


if __name__ == "__main__":
    main()
