#!/usr/bin/env python3
"""Tests of the running service.

A validator checks its OpenAPI description, schemathesis compares the service with the description, a generated client calls it, and the
parser of Prometheus reads its metrics. Clients send the same pages at the same time. The service is killed under load.

    tests/service.py            a short form for CI
    tests/service.py --full     20 runs of 8 clients with 1,000 pages, 1,000 kills

Needs the release binary (TWINPRINT), schemathesis, openapi-spec-validator, openapi-python-client and prometheus-client."""

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
from collections import Counter
from pathlib import Path

import openapi_spec_validator
from prometheus_client.parser import text_string_to_metric_families

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


# Lets schemathesis send lines of JSON.
HOOKS = """
import json
import schemathesis

@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode()
"""

# Existing names, so that answers other than "not found" are tested too.
NAMES = """
[parameters]
"path.collection" = "c"
"path.id" = "d1"
"path.source" = "a.example"
"path.story" = 1
"query.since" = "2024-05-01"
"path.job" = 1
"query.a" = "d2"
"query.b" = "d3"
"""


def matches_its_description(work):
    """Schemathesis sends requests that the description allows, and others. Every answer must match the description."""
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
            assert result.returncode == 0, "the service does not match its description"
            assert service.call("GET", "/readyz")[0] == 200
        cases = [line.strip() for line in result.stdout.splitlines() if " generated, " in line]
        print("schemathesis," if not names else "with names that exist,", cases[0])


# The configuration of the client generator: lines of JSON are bytes.
GENERATOR = """
content_type_overrides:
  application/x-ndjson: application/octet-stream
"""

# Calls of the generated client. Its functions parse answers into the types of the description.
CALLS = """
import io, sys, time
from made import Client
from made.api.collections import create_collection, delete_collection, list_collections, show_collection
from made.api.documents import add_documents, check, check_and_insert, delete_document, delete_source, export, import_, show_document
from made.api.jobs import cancel_job, list_jobs, show_job
from made.api.questions import groups, group, similar, stats
from made.models import (Answer, BatchAnswer, CollectionInfo, Deleted, Document, DocumentBody, DocumentsBody, Group, GroupList, Imported, Job, JobList,
                         JobState, Problem, Settings, Similar, SimilarBody, Stats, Verdict)
from made.types import File

client = Client(base_url=sys.argv[1])
words = [f"w{n}" for n in range(150)]

def page(*edits):
    return " ".join("edited" if n in edits else word for n, word in enumerate(words))

def ask(call, kind, *path, **more):
    answer = call.sync(*path, client=client, **more)
    assert isinstance(answer, kind), (call, answer)
    return answer

assert ask(create_collection, CollectionInfo, "made", body=Settings(k=24, threshold=0.9)).name == "made"
assert ask(show_collection, CollectionInfo, "made").settings.k == 24
one = lambda id, *edits: DocumentBody(id=id, text=page(*edits), url="http://a.example/" + id)
first = ask(check_and_insert, Answer, "made", body=one("a"), idempotency_key="first")
assert first.verdict == Verdict.NEW and first.durable
assert ask(check_and_insert, Answer, "made", body=one("a"), idempotency_key="first").seq == first.seq
batch = ask(add_documents, BatchAnswer, "made", body=DocumentsBody(documents=[one("b", 3), one("c", *range(40, 55))]))
assert [item.answer.verdict for item in batch.items] == [Verdict.NEAR, Verdict.NEW], batch
assert ask(check, Answer, "made", body=one("x")).best.id == "a"
near = ask(similar, Similar, "made", body=SimilarBody(document=one("x")))
assert [(hit.id, hit.duplicate) for hit in near.hits] == [("a", True), ("c", False)], near
listed = ask(groups, GroupList, "made").groups
assert [found.size for found in listed] == [2], listed
assert [member.id for member in ask(group, Group, "made", listed[0].group_id, limit=1).members] == ["a"]
assert ask(stats, Stats, "made").sources[0].source == "a.example"
assert ask(show_document, Document, "made", "b").text == page(3)
lines = ask(export, File, "made").payload.read()
assert lines.count(b"\\n") == 3, lines
taken = ask(import_, Imported, "made", body=File(payload=io.BytesIO(lines + b"rubbish\\n")))
assert (taken.lines, taken.taken, taken.rejected) == (4, 3, 1), taken
assert isinstance(ask(delete_document, Deleted, "made", "b", x_twinprint="1").seq, int)
assert ask(show_document, Problem, "made", "b").status == 404
job = ask(delete_source, Job, "made", "a.example", x_twinprint="1")
while job.state == JobState.RUNNING:
    time.sleep(0.02)
    job = ask(show_job, Job, job.id)
assert (job.state, job.done) == (JobState.DONE, 2), job
assert ask(cancel_job, Job, job.id, x_twinprint="1").state == JobState.DONE
assert ask(list_jobs, JobList).jobs[0].id == job.id
assert ask(delete_collection, type(None), "made", x_twinprint="1") is None
assert "made" not in [found.name for found in list_collections.sync(client=client).collections]
"""


def serves_a_generated_client(work):
    """The description is valid, and the client generated from it works."""
    with Service(work) as service:
        description = service.call("GET", "/openapi.json")[1]
        openapi_spec_validator.validate(description)
        (Path(work) / "openapi.json").write_text(json.dumps(description))
        (Path(work) / "config.yml").write_text(GENERATOR)
        (Path(work) / "calls.py").write_text(CALLS)
        # The tool calls others in the same directory.
        tools = Path(sys.executable).parent
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        command = [str(tools / "openapi-python-client"), "generate", "--path", "openapi.json", "--config", "config.yml", "--meta", "none",
                   "--output-path", "made", "--fail-on-warning"]
        for command in (command, [sys.executable, "calls.py", service.address]):
            result = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=300)
            assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
            assert "arning" not in result.stdout + result.stderr, result.stdout
    operations = sum(len(item) for item in description["paths"].values())
    print(f"a valid description of {operations} operations; the calls of a generated client succeeded")


def reports_metrics(work):
    """The parser of Prometheus reads the metrics: every family has one type and one help text."""
    with Service(work) as service:
        for name in ("c", "d"):
            assert service.call("PUT", f"/v1/collections/{name}", {})[0] == 201
        for n in range(4):
            assert service.call("POST", "/v1/collections/c/check-and-insert", {"id": str(n), "text": page(n % 3)})[0] == 200
        assert service.call("GET", "/nothing")[0] == 404
        connection = http.client.HTTPConnection(service.host, timeout=60)
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers["Content-Type"]
        families = list(text_string_to_metric_families(answer.read().decode()))
    names = Counter(family.name for family in families)
    assert max(names.values()) == 1, names.most_common(3)
    for family in families:
        assert family.type != "unknown" and family.documentation and family.samples, family
    values = {(sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples}
    assert values["twinprint_verdicts_total", ("verdict", "new")] == 3
    assert values["twinprint_collection_documents", ("collection", "c")] == 4
    assert values["twinprint_requests_total", ("route", "none"), ("status", "404")] == 1
    assert "process_resident_memory_bytes" in names or sys.platform != "linux", names
    assert [label for label in values if label[0] == "twinprint_build_info"], names
    buckets = {}
    for (name, *labels), value in values.items():
        if name.endswith("_bucket"):
            labels = dict(labels)
            buckets.setdefault((name, labels["route"]), []).append((float(labels["le"]), value))
    for (name, route), counts in buckets.items():
        counts.sort()
        assert [count for _, count in counts] == sorted(count for _, count in counts), counts
        total = values[name.replace("_bucket", "_count"), ("route", route)]
        assert counts[-1] == (float("inf"), total), counts
    print(f"{len(families)} families of metrics, {len(values)} samples, {len(buckets)} histograms")


def each_page_is_new_once(work, runs, clients, pages):
    """Every client sends every page, with small edits and in its own order. Each page is new for exactly one client."""
    with Service(work) as service:
        for run in range(runs):
            name = f"/v1/collections/run{run}"
            # The widest radius: a replaced word flips 16 bits or more once in some thousand pages, and this test is about concurrency.
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
    """Kills the service at random times under load. Acknowledged documents are present and in the story of their answer. No document is
    present that was not sent."""
    rng = random.Random(5)
    # For every id: the text acknowledged last (None after a deletion), and texts that were sent but not answered.
    acknowledged, unanswered, stories = {}, {}, {}
    slowest, count = 0.0, 0
    for cycle in range(cycles):
        began = time.monotonic()
        with Service(work) as service:
            slowest = max(slowest, time.monotonic() - began)
            assert service.call("PUT", "/v1/collections/c", {"stories": True})[0] in (200, 201)

            present = list(acknowledged)

            def client(number):
                nonlocal count
                rng = random.Random(f"{cycle} {number}")
                connection = http.client.HTTPConnection(service.host, timeout=60)
                mine = [one for one in present if one.startswith(f"{number}-")]
                for batch in range(10_000):
                    # Adds new documents, replaces texts and deletes documents, leaders included. Pages are few, so groups form.
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
                    unanswered.update({one: [*unanswered.get(one, []), text] for one, text in sent.items()})
                    try:
                        status, answer = service.call(method, path, body, connection)
                    except (OSError, http.client.HTTPException):
                        return
                    if status not in (200, 404):
                        for one in sent:
                            unanswered[one].pop()
                        continue
                    count += len(sent)
                    acknowledged.update(sent)
                    for one in sent:
                        unanswered.pop(one)
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
            for one in {*acknowledged, *unanswered, *rows}:
                found = rows[one]["text"] if one in rows else None
                if one in unanswered:
                    # No answer has named the story of its last text.
                    stories.pop(one, None)
                possible = [acknowledged.get(one), *unanswered.pop(one, [])]
                assert found in possible, f"cycle {cycle}: {one} is {found!r}, and was sent as {possible!r}"
                acknowledged[one] = found
            command = [BINARY, "collection", "stories", "collections/c", "--min-size", "1", "--limit", "10000000"]
            stories_read = [json.loads(line) for line in subprocess.run(command, cwd=work, check=True, capture_output=True).stdout.splitlines()]
            became = {part: story["story_id"] for story in stories_read for part in [story["story_id"], *story.get("merged", [])]}
            for one, row in rows.items():
                if one in stories and row["text"] == acknowledged[one]:
                    moved = became.get(stories[one]) not in (None, row["story_id"])
                    assert not moved, f"cycle {cycle}: {one} is not in the story that the answer named"
            leaders = {row["group_id"]: one for one, row in rows.items() if row["leads"]}
            for one, row in rows.items():
                best = row.get("best")
                assert (best is None) == row["leads"], row
                assert best is None or (best["id"] == leaders[row["group_id"]] and best["jaccard"] >= 0.8), row
            subprocess.run([BINARY, "collection", "check", "collections/c"], cwd=work, check=True, capture_output=True)
    assert count, "nothing was acknowledged"
    print(f"{cycles} kills: {count} writes acknowledged, none lost, no other document present; slowest start {slowest:.2f} s")


def main():
    parts = [
        (serves_a_generated_client, ()),
        (reports_metrics, ()),
        (matches_its_description, ()),
        (each_page_is_new_once, (20, 8, 1000) if FULL else (2, 8, 150)),
        (kills, (1000,) if FULL else (12,)),
    ]
    for part, numbers in parts:
        with tempfile.TemporaryDirectory() as work:
            part(work, *numbers)


if __name__ == "__main__":
    main()
