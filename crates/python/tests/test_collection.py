"""Collections: verdicts, types in and out, errors, threads, processes."""

from __future__ import annotations

import collections
import datetime
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import twinprint
from twinprint import Answer, Collection

WORDS = [f"word{n}" for n in range(400)]
BASE = " ".join(WORDS[:200])
NEAR = BASE + " corrected"
OTHER = " ".join(WORDS[200:])


@pytest.fixture
def seen(tmp_path: Path):
    with Collection.create(tmp_path / "seen") as collection:
        yield collection


def verdicts(answers: list[Answer]) -> list[str]:
    return [answer.verdict for answer in answers]


def test_verdicts_of_new_equal_similar_and_changed_documents(seen: Collection) -> None:
    answers = seen.add(
        [
            {"id": "a", "text": BASE, "url": "https://a.example/1"},
            {"id": "b", "text": NEAR},
            {"id": "c", "text": BASE.upper() + "!"},
            {"id": "d", "text": OTHER},
            {"id": "a", "text": BASE},
        ]
    )
    assert verdicts(answers) == ["new", "near", "exact", "new", "updated"]
    assert [answer.is_duplicate for answer in answers] == [False, True, True, False, False]
    near = answers[1]
    assert near.best is not None and near.best.id == "a"
    # 198 of 199 shingles of three words are common.
    assert near.best.jaccard == pytest.approx(198 / 199)
    assert near.best.containment == 1.0
    assert near.canonical is not None and near.canonical.url == "https://a.example/1"
    assert answers[4].unchanged and answers[4].as_new == "new"
    assert len(seen) == 4 and "a" in seen and "z" not in seen


def test_jaccard_is_that_of_the_sets_of_shingles(seen: Collection) -> None:
    rng = np.random.default_rng(1)
    words = BASE.split()
    changed = list(words)
    for at in rng.choice(len(words), 5, replace=False):
        changed[at] = "different"

    def shingles(words: list[str]) -> set[tuple[str, ...]]:
        return set(zip(words, words[1:], words[2:], strict=False))

    a, b = shingles(words), shingles(changed)
    seen.add({"id": "a", "text": BASE})
    best = seen.check(" ".join(changed)).best
    assert best is not None
    assert best.jaccard == pytest.approx(len(a & b) / len(a | b))
    assert best.containment == pytest.approx(len(a & b) / min(len(a), len(b)))
    assert seen.similar(" ".join(changed))[0].jaccard == best.jaccard


def test_a_check_stores_nothing(seen: Collection) -> None:
    assert seen.check(BASE).verdict == "new"
    assert len(seen) == 0
    seen.add(BASE)
    answer = seen.check(BASE)
    assert (answer.verdict, answer.seq, len(seen)) == ("exact", None, 1)
    assert verdicts(seen.check([BASE, OTHER, NEAR])) == ["exact", "new", "near"]


def test_one_document_gives_one_answer_and_several_give_a_list(seen: Collection) -> None:
    assert isinstance(seen.add(BASE), Answer)
    assert isinstance(seen.add({"id": 1, "text": OTHER}), Answer)
    assert seen.add([]) == []
    assert len(seen.add([BASE])) == 1


def test_ids_and_other_arguments(seen: Collection) -> None:
    answers = seen.add([BASE, OTHER], ids=[7, "x"])
    assert [answer.id for answer in answers] == ["7", "x"]
    assert 7 in seen and seen["7"].text == BASE
    answer = seen.add({"key": "k", "body": NEAR, "lang": "en"}, id="key", text="body", fields=["lang"])
    assert answer.id == "k" and seen["k"].fields == {"lang": "en"}
    assert seen.add(NEAR, only_new=True).seq is None
    assert seen.add([OTHER], durable=False)[0].durable is False
    with pytest.raises(ValueError, match="ids"):
        seen.add([BASE, OTHER], ids=[1])
    with pytest.raises(ValueError, match="ids"):
        seen.add([BASE], ids=[1, 2])


def test_documents_without_an_id_get_new_ones(seen: Collection) -> None:
    first = seen.add([BASE, OTHER])
    again = seen.add([BASE, OTHER])
    assert verdicts(again) == ["exact", "exact"]
    assert len({answer.id for answer in first + again}) == 4
    assert [answer.best.id for answer in again if answer.best] == [answer.id for answer in first]


def test_details_of_every_type(seen: Collection) -> None:
    when = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone.utc)
    seen.add(
        {
            "id": "a",
            "text": BASE,
            "time": when,
            "score": np.float32(0.5),
            "title": "Title",
            "source": "feed",
            "ttl": 60,
            "fields": {"lang": "en", "tags": [1, 2]},
        }
    )
    document = seen["a"]
    assert document.time == "2024-05-01T12:00:00+00:00"
    assert (document.score, document.source) == (0.5, "feed")
    assert document.fields == {"lang": "en", "tags": [1, 2], "title": "Title"}
    assert document.expires is not None and document.expires - document.added == 60
    assert document.leads and document.verdict == "new"
    assert seen.get("none") is None and seen.get("none", 3) == 3
    with pytest.raises(KeyError):
        seen["none"]


def test_missing_texts_are_rejected_and_wrong_types_are_errors(seen: Collection) -> None:
    answers = seen.add([{"id": 1, "text": None}, {"id": 2, "text": BASE}, {"id": 3}, None])
    assert verdicts(answers) == ["rejected", "new", "rejected", "rejected"]
    assert [answer.id for answer in answers] == ["1", "2", "3", None]
    assert answers[0].error is not None and "text" in answers[0].error
    with pytest.raises(ValueError, match="text"):
        seen.add({"id": 1, "text": float("nan")})
    for document, name in [
        ({"id": 1, "text": 5}, "text of document 0"),
        ({"id": 1.5, "text": BASE}, "id of document 0"),
        ({"id": 1, "text": BASE, "url": 3}, "url of document 0"),
        ({"id": 1, "text": BASE, "time": []}, "time of document 0"),
        ({"id": 1, "text": BASE, "ttl": "x"}, "ttl of document 0"),
        ({"id": 1, "text": BASE, "fields": {"a": object()}}, "fields of document 0"),
    ]:
        with pytest.raises(TypeError, match=name):
            seen.add([document])
    for documents in (5, b"bytes", [5]):
        with pytest.raises(TypeError, match="documents"):
            seen.add(documents)


def test_refused_documents_do_not_affect_the_others(seen: Collection) -> None:
    answers = seen.add([{"id": "x" * 3000, "text": BASE}, {"id": "b", "text": BASE}])
    assert verdicts(answers) == ["rejected", "new"]
    assert answers[0].error is not None and "id" in answers[0].error
    with pytest.raises(ValueError, match="id"):
        seen.add({"id": "x" * 3000, "text": BASE})


def test_surrogates_and_short_texts(seen: Collection) -> None:
    answers = seen.add(["x", "", "\ud800 alone", "\x00", "日本"])
    assert verdicts(answers) == ["new"] * 5
    with pytest.raises(ValueError, match="id"):
        seen.add({"id": "\ud800", "text": BASE})


def test_tables_of_all_libraries_are_the_same_documents(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "id": [1, 2, 3],
        "text": [BASE, NEAR, None],
        "url": ["https://a.example", None, None],
        "unused": [object, object, object],
    }
    plain = {name: values for name, values in columns.items() if name != "unused"}
    table = pyarrow.table(plain)
    row = collections.namedtuple("row", list(plain))
    given = [
        [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)],
        (dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)),
        [row(*values) for values in zip(*plain.values(), strict=True)],
        pandas.DataFrame(columns),
        pandas.DataFrame(plain).convert_dtypes(),
        polars.DataFrame(plain),
        table,
        table.to_batches()[0],
        iter([polars.DataFrame(plain)[:1], pandas.DataFrame(plain)[1:]]),
    ]
    for number, documents in enumerate(given):
        with Collection.create(tmp_path / str(number)) as seen:
            answers = seen.add(documents)
            assert verdicts(answers) == ["new", "near", "rejected"], number
            assert [answer.id for answer in answers] == ["1", "2", "3"]
            assert seen["1"].url == "https://a.example" and seen["2"].url is None
    texts = [BASE, NEAR]
    for number, documents in enumerate(
        [pandas.Series(texts), polars.Series(texts), pyarrow.array(texts), np.array(texts), iter(texts)]
    ):
        with Collection.create(tmp_path / f"text{number}") as seen:
            assert verdicts(seen.add(documents)) == ["new", "near"]


def test_fingerprints_as_documents(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "seen", store="none") as seen:
        assert seen.settings["k"] == 3
        seen.add({"id": "a", "text": BASE})
        fingerprint = seen["a"].fingerprint
        assert fingerprint is not None and seen["a"].text is None
        answer = seen.check({"fingerprint": fingerprint ^ 0b101})
        assert answer.verdict == "near" and not answer.verified
        assert answer.best is not None and answer.best.hamming == 2
        assert seen.check({"fingerprint": fingerprint ^ 0xFFFF}).verdict == "new"
        with pytest.raises(ValueError, match="fingerprint"):
            seen.check({"fingerprint": -1})


def test_groups_and_their_members(seen: Collection) -> None:
    seen.add([{"id": n, "text": f"{BASE} {n}"} for n in range(2500)])
    seen.add({"id": "other", "text": OTHER})
    (group,) = seen.groups()
    assert (group.size, group.leader.id, group.members) == (2500, "0", None)
    assert len(list(seen.groups(min_size=1))) == 2
    members = seen.group(group.group_id).members
    assert members is not None
    assert [member.id for member in members] == [str(n) for n in range(2500)]
    assert [document.id for document in seen] == [str(n) for n in range(2500)] + ["other"]
    with pytest.raises(KeyError):
        seen.group(10**6)


def test_the_feed_has_all_changes(seen: Collection) -> None:
    answers = seen.add([{"id": n, "text": f"{OTHER} {n}"} for n in range(1500)])
    assert [change.id for change in seen.feed()] == [str(n) for n in range(1500)]
    last = answers[-1].seq
    assert last is not None
    assert seen.delete(3) == 1
    assert [(change.change, change.id) for change in seen.feed(since=last + 1)] == [("deleted", "3")]
    assert seen.first_change() == 1


def test_deletions(seen: Collection) -> None:
    seen.add([{"id": n, "text": f"page {n} of many", "source": "a" if n % 2 else "b"} for n in range(10)])
    assert seen.delete(0) == 1
    assert seen.delete(["0", 2, "4", "unknown"]) == 2
    assert seen.delete(source="a") == 5
    assert sorted(document.id for document in seen) == ["6", "8"]
    with pytest.raises(TypeError, match="ids"):
        seen.delete()


def test_stories(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "news", stories=True, story_window="7d", story_threshold=0.3) as news:
        for day in (1, 2, 20):
            news.add(
                {
                    "id": day,
                    "title": f"Storm on day {day}",
                    "text": f"The storm closed the harbour and the ferries stopped {'again ' * day}",
                    "time": datetime.date(2024, 5, day),
                }
            )
        (story,) = news.stories()
        assert story.size == 2 and story.ended and story.first == "2024-05-01T00:00:00Z"
        assert story.title.startswith("Storm on day")
        members = news.story(story.story_id).members
        assert members is not None and [member.id for member in members] == ["1", "2"]
        assert len(list(news.stories(min_size=1))) == 2
        assert len(list(news.stories(min_size=1, state="live"))) == 1
        assert len(list(news.stories(min_size=1, since="2024-05-10"))) == 1
        assert len(list(news.stories(min_size=1, until=datetime.date(2024, 5, 10)))) == 1
        with pytest.raises(ValueError, match="since"):
            next(news.stories(since="yesterday"))
        with pytest.raises(KeyError):
            news.story(999)


def test_settings_are_checked_by_name(tmp_path: Path) -> None:
    wrong = [
        ({"hamming": 25}, ValueError, "hamming"),
        ({"hamming": -1}, ValueError, "hamming"),
        ({"hamming": 1.5}, TypeError, "hamming"),
        ({"threshold": 0}, ValueError, "threshold"),
        ({"threshold": float("nan")}, ValueError, "threshold"),
        ({"threshold": "high"}, TypeError, "threshold"),
        ({"store": "all"}, ValueError, "store"),
        ({"canonical": 3}, TypeError, "canonical"),
        ({"max_texts": 0}, ValueError, "max_texts"),
        ({"ttl": 0}, ValueError, "ttl"),
        ({"profile": "nonsense"}, ValueError, "profile"),
        ({"profile": 5}, TypeError, "profile"),
        ({"empty": "maybe"}, ValueError, "empty"),
        ({"story_window": "7d"}, ValueError, "story"),
        ({"stories": True, "story_window": "a week"}, ValueError, "story_window"),
        ({"stories": True, "story_merge": 2}, ValueError, "story_merge"),
    ]
    for arguments, kind, name in wrong:
        with pytest.raises(kind, match=name):
            Collection.create(tmp_path / "seen", **arguments)
        assert not (tmp_path / "seen").exists()
    with Collection.create(tmp_path / "seen", profile="tp1-words-lntf-64") as seen:
        assert seen.settings["k"] == 8
    with pytest.raises(FileExistsError):
        Collection.create(tmp_path / "seen")
    with Collection.create(tmp_path / "seen", profile="tp1-words-lntf-64", exist_ok=True) as seen:
        assert len(seen) == 0
    with pytest.raises(ValueError, match="exist_ok"):
        Collection.create(tmp_path / "seen", exist_ok=True)


def test_texts_without_words(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "seen", empty="reject") as seen:
        assert verdicts(seen.add(["…", BASE])) == ["rejected", "new"]


def test_opening_and_closing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Collection(tmp_path / "none")
    seen = Collection.create(tmp_path / "seen")
    seen.add({"id": "a", "text": BASE})
    with pytest.raises(twinprint.TwinprintError, match="open"):
        Collection(tmp_path / "seen")
    seen.close()
    seen.close()
    for call in (lambda: len(seen), lambda: seen.add(BASE), lambda: list(seen.groups()), lambda: seen.verify()):
        with pytest.raises(ValueError, match="closed"):
            call()
    with Collection.open(tmp_path / "seen", read_only=True) as one, Collection(one.path, read_only=True) as two:
        assert len(one) == len(two) == 1
        assert one.check(BASE).verdict == "exact"
        with pytest.raises(OSError, match="read"):
            one.add(OTHER)
        again = pickle.loads(pickle.dumps(two))
        assert again.read_only and again["a"].text == BASE
        again.close()
    assert bool(Collection(tmp_path / "seen"))


def test_answers_and_documents_can_be_pickled(seen: Collection) -> None:
    answers = seen.add([BASE, NEAR])
    assert pickle.loads(pickle.dumps(answers)) == answers
    documents = list(seen)
    assert pickle.loads(pickle.dumps(documents)) == documents


def test_backup_restore_verify_and_repair(seen: Collection, tmp_path: Path) -> None:
    seen.add([BASE, NEAR, OTHER])
    counts = seen.backup(tmp_path / "backup")
    assert counts == seen.verify() and counts["documents"] == 3
    assert Collection.restore(tmp_path / "backup", tmp_path / "restored") == counts
    assert Collection.repair(tmp_path / "backup", tmp_path / "repaired") == (3, 0)
    with pytest.raises(FileExistsError):
        seen.backup(tmp_path / "backup")
    with Collection(tmp_path / "restored") as restored:
        assert [document.id for document in restored] == [document.id for document in seen]
    stats = seen.stats()
    assert (stats["documents"], stats["groups"], stats["seq"]) == (3, 2, 3)


def test_explanations(seen: Collection) -> None:
    seen.add([BASE, NEAR], ids=["a", "b"])
    compared = seen.explain("a", "b")
    direct = twinprint.compare(BASE, NEAR, bits=128, explain=True)
    assert compared == direct
    with pytest.raises(KeyError):
        seen.explain("a", "none")


def test_threads_add_each_text_once(seen: Collection) -> None:
    answers: list[list[Answer]] = [[] for _ in range(4)]

    def work(number: int) -> None:
        for round_ in range(25):
            text = f"{OTHER} round {round_} {' '.join(WORDS[round_ : round_ + 150])}"
            answers[number].append(seen.add({"id": f"{number}-{round_}", "text": text}))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [answer for some in answers for answer in some]
    assert len(seen) == 100
    seqs = [answer.seq for answer in every]
    assert len(set(seqs)) == 100
    # For each text exactly one thread was first.
    exact = sum(answer.verdict == "exact" for answer in every)
    assert exact == 75
    assert seen.verify()["documents"] == 100


def test_other_threads_run_during_a_call(seen: Collection) -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            done.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    texts = [f"{BASE} {n}" for n in range(400)]
    before = ticks
    seen.add(texts)
    after = ticks
    done.set()
    thread.join()
    assert after > before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_is_refused_and_harmless(tmp_path: Path) -> None:
    program = f"""
import os, sys, warnings
warnings.simplefilter("ignore")
import twinprint
seen = twinprint.Collection.create({str(tmp_path / "seen")!r})
seen.add(["a text", "another one", "a third"])
seen.backup({str(tmp_path / "copy")!r})
child = os.fork()
if child == 0:
    try:
        seen.add("more")
    except twinprint.TwinprintError as error:
        assert "parent" in str(error)
    del seen
    try:
        twinprint.Collection.create({str(tmp_path / "other")!r})
    except twinprint.TwinprintError as error:
        assert "forked" in str(error)
    copy = twinprint.Collection({str(tmp_path / "copy")!r}, read_only=True)
    answers = copy.check(["a text"] * 20)
    os._exit(7 if all(answer.verdict == "exact" for answer in answers) else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
seen.add("after the child")
assert len(seen) == 4 and seen.verify()["documents"] == 4
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_documents_without_ids_are_found_again(tmp_path: Path) -> None:
    text = "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."
    with Collection.create(tmp_path / "c") as collection:
        assert collection.add(text).verdict == "new"
        assert collection.add(text).verdict == "exact"
        assert [answer.verdict for answer in collection.add([text, "The ferry."])] == ["exact", "new"]


def test_a_wrong_column_is_an_error(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"body": ["The ferry."]})
    with Collection.create(tmp_path / "c") as collection:
        for call in (collection.add, collection.check):
            with pytest.raises(KeyError, match="text: no column 'text'; the columns are body"):
                call(frame)
    with pytest.raises(KeyError, match="text: no column"):
        twinprint.cluster(frame)


def test_only_readers_are_pickled(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c") as collection, pytest.raises(TypeError, match="pass its path"):
        pickle.dumps(collection)
    with Collection(tmp_path / "c", read_only=True) as reader:
        assert pickle.loads(pickle.dumps(reader)).settings == reader.settings
