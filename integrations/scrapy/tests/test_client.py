"""Tests of the client without a service: with a manual clock and prepared replies."""

import json
import unittest
from collections import Counter

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionRefusedError
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from scrapy_twinprint.client import BATCH_BYTES, BATCH_DOCUMENTS, BATCH_SECONDS, Away, Client, Misused, Refused
from scrapy_twinprint.http import Reply
from scrapy_twinprint.middleware import duplicate_kind


def answered(body):
    """Answers each document of a batch. A document whose html is "bad" gets a problem."""
    def item(document):
        if document["html"] == "bad":
            return {"problem": {"status": 422, "detail": "too bad"}}
        return {"answer": {"id": document["id"], "verdict": "updated", "unchanged": True}}

    items = [item(document) for document in json.loads(body)["documents"]]
    return reply(200, {"items": items})


def reply(code, body=None, retry_after=0.0):
    return Reply(code, retry_after, json.dumps(body or {"detail": "because"}).encode())


class Http:
    """A stand-in for the HTTP client: returns the prepared replies, then answers."""

    def __init__(self):
        self.replies, self.sent = [], []

    def request(self, method, path="", body=None):
        self.sent.append((method, path, body))
        next_one = self.replies.pop(0) if self.replies else None
        if isinstance(next_one, Deferred):
            return next_one
        if isinstance(next_one, Exception):
            return fail(next_one)
        return succeed(next_one or (answered(body) if method == b"POST" else reply(200)))

    def close(self):
        return succeed(None)


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.clock, self.http, self.counts = Clock(), Http(), Counter()
        self.client = self.make()

    def make(self, **options):
        return Client(self.clock, self.http, lambda name, by: self.counts.update({name: by}), **options)

    def ask(self, name="a", html="text"):
        """Returns a list that receives the answer."""
        got = []
        self.client.ask({"id": name, "html": html}).addBoth(
            lambda result: got.append(result.value if isinstance(result, Failure) else result))
        return got

    def test_pages_that_arrive_together_are_sent_together_and_in_order(self):
        got = [self.ask(str(n)) for n in range(5)]
        self.assertEqual(self.http.sent, [])
        self.clock.advance(BATCH_SECONDS)
        self.assertEqual([each[0]["id"] for each in got], list("01234"))
        self.assertEqual(len(self.http.sent), 1)

    def test_a_batch_is_bounded_in_pages_and_bytes(self):
        got = [self.ask(str(n)) for n in range(BATCH_DOCUMENTS + 1)]
        self.clock.advance(BATCH_SECONDS)
        self.assertTrue(all(got))
        self.assertEqual(self.counts, {"batches": 2, "documents": BATCH_DOCUMENTS + 1})
        got = [self.ask(name, "x" * (BATCH_BYTES // 2)) for name in "abc"] + [self.ask("d", "x" * 2 * BATCH_BYTES)]
        self.clock.advance(BATCH_SECONDS)
        self.assertEqual([each[0]["id"] for each in got], list("abcd"))
        self.assertEqual(self.counts["batches"], 6)

    def test_one_batch_is_in_flight_at_a_time(self):
        slow = Deferred()
        self.http.replies = [slow]
        first = self.ask("1")
        self.clock.advance(BATCH_SECONDS)
        later = [self.ask("2"), self.ask("3")]
        self.clock.advance(1)
        self.assertEqual(len(self.http.sent), 1)
        slow.callback(answered(self.http.sent[0][2]))
        self.assertTrue(first and all(later))
        self.assertEqual(len(self.http.sent), 2)

    def test_a_problem_affects_only_its_page(self):
        got = [self.ask("1"), self.ask("2", "bad"), self.ask("3")]
        self.clock.advance(BATCH_SECONDS)
        self.assertIsInstance(got[1][0], Refused)
        self.assertEqual((got[0][0]["id"], got[2][0]["id"]), ("1", "3"))

    def test_a_refused_batch_is_sent_page_by_page(self):
        self.http.replies = [reply(413), reply(413)]
        got = [self.ask("1"), self.ask("2")]
        self.clock.advance(BATCH_SECONDS)
        self.assertIsInstance(got[0][0], Refused)
        self.assertEqual(got[1][0]["id"], "2")

    def test_the_client_waits_for_the_retry_after_time(self):
        self.http.replies = [reply(429, retry_after=3.0)]
        got = self.ask()
        self.clock.advance(BATCH_SECONDS)
        self.clock.advance(2.9)
        self.assertEqual((got, len(self.http.sent)), ([], 1))
        self.clock.advance(0.2)
        # A refused request was not executed, so `unchanged` is reliable.
        self.assertTrue(got[0]["unchanged"])
        self.assertEqual(self.counts["retries"], 1)

    def test_after_a_lost_reply_a_page_does_not_count_as_unchanged(self):
        self.http.replies = [ConnectionResetError()]
        got = self.ask()
        self.clock.pump([BATCH_SECONDS, 1])
        self.assertFalse(got[0]["unchanged"])

    def test_an_unreachable_service_is_probed_rarely_and_costs_no_time(self):
        self.http.replies = [ConnectionRefusedError()] * 100
        got = self.ask()
        with self.assertLogs("scrapy_twinprint", "INFO") as log:
            self.clock.pump([0.1] * 100)
            self.assertIsInstance(got[0], Away)
            sent = len(self.http.sent)
            self.assertTrue(4 <= sent <= 8, sent)
            for _ in range(100):
                self.assertIsInstance(self.ask()[0], Away)
            # One probe, for which no page waits. Probes become rare.
            self.assertEqual(len(self.http.sent), sent + 1)
            for _ in range(300):
                self.clock.advance(1)
                self.assertIsInstance(self.ask()[0], Away)
            self.assertTrue(7 <= len(self.http.sent) - sent <= 12, len(self.http.sent) - sent)
            self.http.replies.clear()
            self.clock.advance(60)
            self.ask()
            got = self.ask()
            self.clock.advance(BATCH_SECONDS)
        self.assertEqual(got[0]["id"], "a")
        self.assertEqual([line.split(":")[0] for line in log.output], ["WARNING", "INFO"])

    def test_all_waiting_pages_fail_when_the_service_is_away(self):
        slow = Deferred()
        self.http.replies = [slow]
        got = [self.ask("1")]
        self.clock.advance(BATCH_SECONDS)
        got.append(self.ask("2"))
        # The service asks for more time than patience allows.
        with self.assertLogs("scrapy_twinprint", "WARNING"):
            slow.callback(reply(503, retry_after=30.0))
        self.assertTrue(all(isinstance(each[0], Away) for each in got))
        self.clock.advance(29)
        self.ask()
        self.assertEqual(len(self.http.sent), 1, "the service is probed before the time that it named")

    def test_wrong_settings_fail_all_pages(self):
        for code in (401, 403, 404, 302):
            self.client = self.make()
            self.http.replies = [reply(code)]
            got = self.ask()
            self.clock.advance(BATCH_SECONDS)
            sent = len(self.http.sent)
            self.assertIsInstance(got[0], Misused)
            self.assertIsInstance(self.ask()[0], Misused)
            self.assertEqual(len(self.http.sent), sent)

    def test_a_reply_of_another_service_is_an_error(self):
        for body in ({}, {"items": []}, []):
            self.client = self.make()
            self.http.replies = [Reply(200, 0.0, json.dumps(body).encode())]
            got = self.ask()
            self.clock.advance(BATCH_SECONDS)
            self.assertIsInstance(got[0], Misused)

    def test_a_collection_is_created_only_with_create(self):
        self.client = self.make(create=True)
        self.http.replies = [reply(404), reply(201)]
        got = self.ask()
        self.clock.advance(BATCH_SECONDS)
        self.assertEqual([method for method, _, _ in self.http.sent], [b"POST", b"PUT", b"POST"])
        self.assertEqual(got[0]["id"], "a")


class DuplicateKindTest(unittest.TestCase):
    def test_an_update_is_judged_like_a_new_page(self):
        def kind(verdict, as_new=None):
            return duplicate_kind({"verdict": verdict, **({"as_new": as_new} if as_new else {})})

        self.assertEqual([kind("new"), kind("exact"), kind("near")], [None, "exact", "near"])
        self.assertEqual([kind("updated", as_new) for as_new in ("new", "exact", "near")], [None, "exact", "near"])


if __name__ == "__main__":
    unittest.main()
