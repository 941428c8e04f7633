#!/usr/bin/env python3
"""The service from outside: held against its own OpenAPI description, under clients that send the same pages at once, and killed.

    tests/service.py            runs of a size for CI
    tests/service.py --full     20 runs of 8 clients with 1,000 pages, 200 kills

Needs the release binary (TWINPRINT) and schemathesis."""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = os.environ.get("TWINPRINT", str(ROOT / "target/release/twinprint"))
FULL = "--full" in sys.argv[1:]


class Service:
    """A running service and its directory."""

    def __init__(self, work):
        self.process = subprocess.Popen([BINARY, "serve", "collections", "--listen", "127.0.0.1:0", "--log", "quiet"],
                                        cwd=work, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.host = self.address.removeprefix("http://")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.wait(timeout=60) in (0, -signal.SIGKILL), self.process.returncode

    def call(self, method, path, body=None, connection=None):
        connection = connection or http.client.HTTPConnection(self.host, timeout=60)
        headers = {"Content-Type": "application/json"} if body is not None else {"X-Twinprint": "1"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None


def page(seed, edit=0):
    rng = random.Random(seed)
    words = [f"w{rng.randrange(20_000)}" for _ in range(150)]
    if edit:
        words[edit * 11 % 150] = f"edited{edit}"
    return " ".join(words)


# How schemathesis is to send lines of JSON.
HOOKS = """
import json
import schemathesis

@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
"""

# Names of what is there, so that more than "not found" is answered.
NAMES = """
[parameters]
"path.collection" = "c"
"path.id" = "d1"
"path.source" = "a.example"
"path.story" = 1
"query.since" = "2024-05-01"
"query.a" = "d2"
"query.b" = "d3"
"""


def described(work):
    """Schemathesis sends what the description allows and what it does not; no answer may be other than described."""
    tool = Path(sys.executable).parent / "schemathesis"
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    (Path(work) / "hooks.py").write_text(HOOKS)
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": work}
    for names, more in [("", []), (NAMES, ["--exclude-operation-id", "delete_collection"])]:
        (Path(work) / "schemathesis.toml").write_text(names)
        with Service(work) as service:
            service.call("DELETE", "/v1/collections/c")
            assert service.call("PUT", "/v1/collections/c", {"stories": True})[0] == 201
            for n in range(5):
                document = {"doc_id": f"d{n}", "text": page(n % 3, n), "url": f"http://a.example/{n}"}
                assert service.call("POST", "/v1/collections/c/check-and-insert", document)[0] == 200
            command = [str(tool), "run", service.address + "/openapi.json", "--checks", checks, "--phases", "coverage,fuzzing",
                       "--max-examples", "60" if FULL else "10", "--seed", "1", "--request-timeout", "30", "--no-color",
                       "--max-failures", "10", *more]
            result = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=900)
            if result.returncode != 0:
                print(result.stdout[-8000:], result.stderr[-2000:])
            assert result.returncode == 0, "the service is not as it describes itself"
            assert service.call("GET", "/readyz")[0] == 200
        cases = [line.strip() for line in result.stdout.splitlines() if " generated, " in line]
        print("schemathesis," if not names else "with names of what is there,", cases[0])


def one_new_each(work, runs, clients, pages):
    """Every client sends every page, lightly edited and in an order of its own: each page is new for one of them."""
    with Service(work) as service:
        for run in range(runs):
            name = f"/v1/collections/run{run}"
            # The widest radius: a word exchanged turns 16 bits or more once in some thousand pages, and this is about who comes first.
            assert service.call("PUT", name, {"k": 24})[0] == 201
            new, errors = [0] * clients, []

            def client(number):
                rng = random.Random(f"{run} {number}")
                connection = http.client.HTTPConnection(service.host, timeout=120)
                order = list(range(pages))
                rng.shuffle(order)
                while order:
                    batch = [order.pop() for _ in range(min(len(order), rng.choice([1, 5, 40])))]
                    documents = [{"doc_id": f"{number}/{n}", "text": page(f"{run} {n}", number)} for n in batch]
                    status, answer = service.call("POST", name + "/documents", {"documents": documents}, connection)
                    if status == 429:
                        order += batch
                        time.sleep(0.05)
                        continue
                    if status != 200:
                        errors.append((status, answer))
                        return
                    new[number] += sum(item["answer"]["verdict"] == "new" for item in answer["items"])

            threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not errors, errors[0]
            assert sum(new) == pages, f"run {run}: {sum(new)} new of {pages} pages"
            groups = service.call("GET", name + "/stats")[1]["groups"]
            assert groups == pages, f"run {run}: {groups} groups of {pages} pages"
    print(f"{runs} runs of {clients} clients with the same {pages} pages: each page new once")


def kills(work, cycles):
    """Killed at random under load: what was acknowledged is there, in the story it was told, and nothing that was not sent."""
    rng = random.Random(5)
    sent, acknowledged = set(), {}
    slowest = 0.0
    for cycle in range(cycles):
        began = time.monotonic()
        with Service(work) as service:
            slowest = max(slowest, time.monotonic() - began)
            assert service.call("PUT", "/v1/collections/c", {"stories": True})[0] in (200, 201)

            def client(number):
                connection = http.client.HTTPConnection(service.host, timeout=60)
                for batch in range(10_000):
                    ids = [f"{cycle}-{number}-{batch}-{n}" for n in range(rng.choice([1, 10]))]
                    sent.update(ids)
                    documents = [{"doc_id": one, "text": page(one)} for one in ids]
                    try:
                        status, answer = service.call("POST", "/v1/collections/c/documents", {"documents": documents}, connection)
                    except (OSError, http.client.HTTPException):
                        return
                    if status == 200:
                        acknowledged.update({one: item["answer"]["story_id"] for one, item in zip(ids, answer["items"])})

            threads = [threading.Thread(target=client, args=(number,)) for number in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0.02, 0.5))
            service.process.kill()
            for thread in threads:
                thread.join()
        if cycle % 10 == 9 or cycle == cycles - 1:
            lines = subprocess.run([BINARY, "collection", "export", "collections/c"], cwd=work, check=True, capture_output=True).stdout
            there = {row["doc_id"]: row["story_id"] for row in map(json.loads, lines.splitlines())}
            lost = acknowledged.keys() - there.keys()
            assert not lost, f"cycle {cycle}: {len(lost)} acknowledged and lost"
            assert there.keys() <= sent, f"cycle {cycle}: {len(there.keys() - sent)} never sent"
            command = [BINARY, "collection", "stories", "collections/c", "--min-size", "1", "--limit", "10000000"]
            stories = [json.loads(line) for line in subprocess.run(command, cwd=work, check=True, capture_output=True).stdout.splitlines()]
            became = {part: story["story_id"] for story in stories for part in [story["story_id"], *story.get("merged", [])]}
            moved = [one for one, story in acknowledged.items() if became[story] != there[one]]
            assert not moved, f"cycle {cycle}: {len(moved)} in other stories than they were told"
            subprocess.run([BINARY, "collection", "check", "collections/c"], cwd=work, check=True, capture_output=True)
    assert acknowledged, "nothing was acknowledged"
    print(f"{cycles} kills: {len(acknowledged)} documents acknowledged, all there; slowest start {slowest:.2f} s")


def main():
    for part, numbers in [(described, ()), (one_new_each, (20, 8, 1000) if FULL else (2, 8, 150)), (kills, (200,) if FULL else (12,))]:
        with tempfile.TemporaryDirectory() as work:
            part(work, *numbers)


if __name__ == "__main__":
    main()
