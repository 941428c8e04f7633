#!/usr/bin/env python3
"""The service from outside: held against its own OpenAPI description, under clients that send the same pages at once, and killed.

    tests/service.py            runs of a size for CI
    tests/service.py --full     20 runs of 8 clients with 1,000 pages, 1,000 kills

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
                document = {"id": f"d{n}", "text": page(n % 3, n), "url": f"http://a.example/{n}"}
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
                    documents = [{"id": f"{number}/{n}", "text": page(f"{run} {n}", number)} for n in batch]
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
    # Of every id the text that was acknowledged last, none where it is deleted, and what was sent without an answer.
    acknowledged, doubtful, stories = {}, {}, {}
    slowest, count = 0.0, 0
    for cycle in range(cycles):
        began = time.monotonic()
        with Service(work) as service:
            slowest = max(slowest, time.monotonic() - began)
            assert service.call("PUT", "/v1/collections/c", {"stories": True})[0] in (200, 201)

            def client(number):
                nonlocal count
                rng = random.Random(f"{cycle} {number}")
                connection = http.client.HTTPConnection(service.host, timeout=60)
                mine = [one for one in acknowledged if one.startswith(f"{number}-")]
                for batch in range(10_000):
                    # New ones, other texts for old ones, and deletions, of leaders too: few pages, so that groups form.
                    if rng.random() < 0.25 and mine:
                        one = rng.choice(mine)
                        sent = {one: None}
                        method, path, body = "DELETE", f"/v1/collections/c/documents/{one}", None
                    else:
                        ids = [f"{number}-{cycle}-{batch}-{n}" for n in range(rng.choice([1, 10]))]
                        ids += rng.sample(mine, min(len(mine), 2))
                        sent = {one: page(rng.randrange(200), rng.randrange(30)) for one in ids}
                        method, path = "POST", "/v1/collections/c/documents"
                        body = {"documents": [{"id": one, "text": text} for one, text in sent.items()]}
                    doubtful.update({one: [*doubtful.get(one, []), text] for one, text in sent.items()})
                    try:
                        status, answer = service.call(method, path, body, connection)
                    except (OSError, http.client.HTTPException):
                        return
                    if status not in (200, 404):
                        for one in sent:
                            doubtful[one].pop()
                        continue
                    count += len(sent)
                    acknowledged.update(sent)
                    for one in sent:
                        doubtful.pop(one)
                    mine += [one for one, text in sent.items() if text is not None]
                    if body:
                        stories.update({one: item["answer"]["story_id"] for one, item in zip(sent, answer["items"])})

            threads = [threading.Thread(target=client, args=(number,)) for number in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0.02, 0.5))
            service.process.kill()
            for thread in threads:
                thread.join()
        if cycle % 10 == 9 or cycle == cycles - 1:
            lines = subprocess.run([BINARY, "collection", "export", "collections/c"], cwd=work, check=True, capture_output=True).stdout
            rows = {row["id"]: row for row in map(json.loads, lines.splitlines())}
            for one in {*acknowledged, *doubtful, *rows}:
                found = rows[one]["text"] if one in rows else None
                may = [acknowledged.get(one), *doubtful.pop(one, [])]
                assert found in may, f"cycle {cycle}: {one} is {found!r}, and was sent as {may!r}"
                acknowledged[one] = found
            command = [BINARY, "collection", "stories", "collections/c", "--min-size", "1", "--limit", "10000000"]
            told = [json.loads(line) for line in subprocess.run(command, cwd=work, check=True, capture_output=True).stdout.splitlines()]
            became = {part: story["story_id"] for story in told for part in [story["story_id"], *story.get("merged", [])]}
            for one, row in rows.items():
                if one in stories and row["text"] == acknowledged[one]:
                    moved = became.get(stories[one]) not in (None, row["story_id"])
                    assert not moved, f"cycle {cycle}: {one} is in another story than it was told"
            leaders = {row["group_id"]: one for one, row in rows.items() if row["leads"]}
            for one, row in rows.items():
                best = row.get("best")
                assert (best is None) == row["leads"], row
                assert best is None or (best["id"] == leaders[row["group_id"]] and best["jaccard"] >= 0.8), row
            subprocess.run([BINARY, "collection", "check", "collections/c"], cwd=work, check=True, capture_output=True)
    assert count, "nothing was acknowledged"
    print(f"{cycles} kills: {count} writes acknowledged, none lost and nothing else there; slowest start {slowest:.2f} s")


def main():
    for part, numbers in [(described, ()), (one_new_each, (20, 8, 1000) if FULL else (2, 8, 150)), (kills, (1000,) if FULL else (12,))]:
        with tempfile.TemporaryDirectory() as work:
            part(work, *numbers)


if __name__ == "__main__":
    main()
