"""The case that runs a service: requests, and their answers as a file."""

import http.client
import json
import shutil
import subprocess
import time
import urllib.parse

from same.inputs import collection_name


def run_service(side):
    """Runs a service, and writes the answers to requests: verdicts, groups, stories and the feed of changes."""
    for name, options in [("news", "--stories --window 7d"), ("shingles", "--store shingles")]:
        shutil.copytree(
            side.directory / "../../data/collections" / collection_name(options), side.directory / "collections" / name
        )
    command = [side.binary, "serve", "collections", "--listen", "127.0.0.1:0", "--log", "quiet", "--backups", "backups"]
    service = subprocess.Popen(command, cwd=side.directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        requests(side, service.stdout.readline().decode().strip().removeprefix("http://"))
    finally:
        service.terminate()
        service.wait(timeout=60)
        service.stdout.close()
    # The name of a backup contains the time. Its documents are compared instead.
    for copy in (side.directory / "backups").iterdir():
        side.run(f"collection export backups/{copy.name} > export.jsonl")
        shutil.rmtree(copy)
    # Names of backups are in the list of jobs, too.
    (side.directory / "collections/.jobs.json").unlink()


def requests(side, address):
    connection = http.client.HTTPConnection(address, timeout=120)
    answers = open(side.directory / "answers.jsonl", "w", encoding="utf-8")

    def call(method, path, body=None, kept=True):
        headers = {"X-Twinprint": "1"} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read().decode()
        if kept:
            row = json.dumps({"request": f"{method} {path}", "status": answer.status})
            answers.write(f"{row}\n{content.strip() or 'null'}\n")
        return content

    rows = [
        json.loads(line)
        for line in (side.directory / "../../data/newswire-en.jsonl").read_text(encoding="utf-8").split("\n")[:400]
        if line
    ]
    documents = [
        {
            "id": row["id"],
            "text": row["text"],
            "url": row["url"],
            "time": row["time"],
            "fields": {"title": row["title"]},
        }
        for row in rows
    ]
    base = "/v1/collections/news"
    call("PUT", "/v1/collections/made", {"stories": True, "story_window": 86400})
    call("GET", "/v1/collections/made")
    call("POST", f"{base}/checks", {"documents": documents[:20]})
    call("POST", f"{base}/documents", {"documents": documents[:300]})
    call("POST", "/v1/collections/shingles/documents?durability=buffered", {"documents": documents[:100]})
    for document in documents[290:330]:
        call("POST", f"{base}/check", document)
        call("POST", f"{base}/check-and-insert?only_new=true", document)
    for document in documents[:5]:
        call("POST", f"{base}/similar", {"document": document, "k": 24, "limit": 5})
        call("GET", f"{base}/documents/{urllib.parse.quote(document['id'], safe='')}")
    call("DELETE", f"{base}/documents/{urllib.parse.quote(documents[3]['id'], safe='')}")
    call("POST", f"{base}/check", {"id": "x", "text": 7})
    call("POST", f"{base}/collapse", {"documents": documents[:200]})
    call("GET", f"{base}/explain?" + urllib.parse.urlencode({"a": documents[0]["id"], "b": documents[1]["id"]}))
    call("GET", f"{base}/groups?min_size=1&limit=1000")
    call("GET", f"{base}/groups")
    call("GET", f"{base}/groups/1")
    call("GET", f"{base}/stories?min_size=1&limit=1000")
    call("GET", f"{base}/stories/1")
    for first in [0, 100, 300]:
        call("GET", f"{base}/changes?since={first}&limit=200")
    call("GET", f"{base}/export")
    call("GET", base)
    stats = json.loads(call("GET", f"{base}/stats", kept=False))
    (side.directory / "stat.json").write_text(json.dumps({"stats": stats}))
    for method, path in [("POST", f"{base}/backup"), ("DELETE", f"{base}/sources/wire.example")]:
        job = json.loads(call(method, path, kept=False))
        while json.loads(call("GET", f"/v1/jobs/{job['id']}", kept=False))["state"] == "running":
            time.sleep(0.02)
    call("GET", f"{base}/changes?since=0&limit=1000")
    call("GET", f"{base}/groups")
    call("GET", "/v1/collections")
    call("GET", "/nothing")
    answers.close()
    connection.close()
