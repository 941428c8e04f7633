"""Comparison of what two binaries wrote: which files and fields count, and where the first difference is."""

import json
import re
import subprocess

# Files that are not compared, by name, and why. Both sides must have them.
EXCLUDED_FILES = {
    "report.html": "a page for people",
    "report.md": "a text for people, with the times of the run",
    "stories.html": "a page for people",
    "summary.txt": "stdout of dedup and cluster: a text for people, with times and memory; the files have its figures",
    "table.txt": "stdout of eval and calibrate: a text for people, with times; eval.json and calibrate.json have its figures",
    "collection.redb": "times of arrival and random secrets; answers, exports, changes and statistics are compared",
}

# Fields of JSON that are not compared, by the name of the file, and why.
EXCLUDED_FIELDS = {
    "report.json": {
        "run": "times, memory, and the machine's kernels and plan",
        "version": "the version of the binary",
        "rejects.reason": "a text for people",
        "input.damaged_files.reason": "a text for people",
    },
    "rejects.jsonl": {"reason": "a text for people"},
    "export.jsonl": {"added": "the time of arrival", "changed": "the time of the last change"},
    "answers.jsonl": {
        "added": "the time of arrival",
        "changed": "the time of the last change",
        "detail": "a text for people, of problem objects",
    },
    "eval.json": {"version": "the version of the binary", "*.seconds": "times of each method"},
    "calibrate.json": {"version": "the version of the binary", "*.seconds": "times"},
    "state": {
        "groups.counts.passed_over": "a count of texts not compared, which depends on a random hash key of each run"
    },
    "stat.json": {
        "stats.bytes": "the size of the store's file, which depends on when pages were freed",
        "stats.commits": "the number and the times of commits; concurrent documents share one",
    },
}

STATE_HEADER_BYTES = 8 + 4 + 8 + 16


def without(value, names, path=""):
    """Returns a JSON value, read as lists of pairs, without the fields of these paths.

    A list has no step of its own in a path. `*.NAME` is any field NAME.
    """
    if isinstance(value, tuple) and value[0] == "object":
        fields = [
            (name, field) for name, field in value[1] if f"{path}{name}" not in names and f"*.{name}" not in names
        ]
        return ("object", [(name, without(field, names, f"{path}{name}.")) for name, field in fields])
    if isinstance(value, list):
        return [without(item, names, path) for item in value]
    return value


def with_fields_removed(text, names):
    """Returns a JSON text without the fields of these paths. Numbers and the order of fields do not change."""
    number = lambda written: ("number", written)
    value = json.loads(text, parse_float=number, parse_int=number, object_pairs_hook=lambda pairs: ("object", pairs))
    return json.dumps(without(value, names), ensure_ascii=False)


def compared_bytes(path):
    """Returns the bytes of a file that are compared, or None if the file is excluded."""
    if path.name in EXCLUDED_FILES:
        return None
    content = path.read_bytes()
    if path.suffix == ".status":
        # A text for people: only its numbers are compared.
        return b"\n".join(re.findall(rb"\d[\d.,]*", content))
    if path.name == "state":
        # The payload, a JSON object compressed by zstd, follows a header whose checksum depends on the payload.
        content = subprocess.run(
            ["zstd", "-dcq"], input=content[STATE_HEADER_BYTES:], stdout=subprocess.PIPE, check=True
        ).stdout
    if path.name in EXCLUDED_FIELDS:
        texts = content.decode().split("\n") if path.suffix == ".jsonl" else [content]
        return "\n".join(with_fields_removed(text, EXCLUDED_FIELDS[path.name]) for text in texts if text).encode()
    return content


def files_of(directory):
    return {str(path.relative_to(directory)): path for path in sorted(directory.rglob("*")) if path.is_file()}


def first_difference(old, new):
    """Returns the first file and byte that differ between two directories, as a text, or None."""
    old_files, new_files = files_of(old), files_of(new)
    for name in sorted(old_files.keys() | new_files.keys()):
        if name not in new_files:
            return f"{name}: only OLD writes it"
        if name not in old_files:
            return f"{name}: only NEW writes it"
        ours, theirs = compared_bytes(old_files[name]), compared_bytes(new_files[name])
        if ours == theirs:
            continue
        at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
        excerpt = lambda content: content[max(0, at - 40) : at + 40].decode(errors="replace").replace("\n", "⏎")
        return f"{name}: byte {at}: OLD …{excerpt(ours)}…, NEW …{excerpt(theirs)}…"
    return None
