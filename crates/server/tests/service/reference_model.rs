//! The service is compared with a reference model, a map with brute-force search: each answer, and the whole content.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use twinprint_text::{Profile, compare::compare};

use crate::client::TestService;

const WORDS: [&str; 40] = [
    "river", "stone", "light", "harbour", "council", "voted", "tuesday", "evening", "tram", "line", "campus",
    "debate", "rain", "road", "mountain", "driver", "home", "morning", "lamp", "oak", "lens", "bearing",
    "市", "议", "会", "星", "期", "晚", "投", "票", "学", "校", "园", "电", "车", "线", "路", "老", "港",
    "口",
];
const THRESHOLD: f64 = 0.8;

/// A random number generator with a fixed seed.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        (mixed ^ mixed >> 32) % bound
    }

    /// One of a limited number of texts, English or Chinese, with or without a replaced word.
    fn text(&mut self) -> String {
        let (text_number, words, edit) = (
            self.below(6),
            [3, 20, 90][self.below(3) as usize],
            self.below(8) * 11,
        );
        let (first, vocabulary) = if text_number.is_multiple_of(3) {
            (22, 18)
        } else {
            (0, 22)
        };
        let mut words_of_text = Random(text_number);
        let words = (1..=words).map(|i| {
            let word = WORDS[first + words_of_text.below(vocabulary) as usize];
            if i == edit { "edited" } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The Jaccard and Hamming distance of two texts.
#[derive(Clone, Copy)]
struct PairDistance {
    jaccard: f64,
    hamming: u32,
}

/// Distances between texts by full comparison, cached because the same texts recur.
#[derive(Default)]
struct DistanceCache(HashMap<(String, String), PairDistance>);

impl DistanceCache {
    fn get(&mut self, a: &str, b: &str) -> PairDistance {
        let profile = || Profile::parse("tp1-words-lntf-128").unwrap();
        *self.0.entry((a.to_owned(), b.to_owned())).or_insert_with(|| {
            let comparison = compare(a, b, &profile(), false);
            PairDistance {
                jaccard: comparison.jaccard,
                hamming: comparison.hamming,
            }
        })
    }
}

/// The expected content of the collection, by sequence number.
#[derive(Default)]
struct ReferenceModel {
    /// Id and text.
    documents: BTreeMap<u64, (String, String)>,
    group: BTreeMap<u64, u64>,
    /// Leaders by group.
    leads: BTreeMap<u64, u64>,
    /// The story in the answer to each document.
    story: BTreeMap<u64, u64>,
}

/// The expected answer to a document that is not new.
#[derive(Debug, PartialEq)]
struct Expected {
    verdict: &'static str,
    leader: u64,
    jaccard: f64,
    hamming: u32,
}

impl ReferenceModel {
    /// The sequence number of an id.
    fn number(&self, id: &str) -> Option<u64> {
        self.documents
            .iter()
            .find(|(_, (other, _))| other == id)
            .map(|(&seq, _)| seq)
    }

    /// The first document with the same text, else the leader with the highest Jaccard. Ties: the smaller distance, then
    /// the earlier leader.
    fn decide(&self, text: &str, distances: &mut DistanceCache) -> Option<Expected> {
        // Normalization does not change the texts of this test.
        if let Some((&leader, _)) = self.documents.iter().find(|(_, (_, other))| other == text) {
            return Some(Expected {
                verdict: "exact",
                leader,
                jaccard: 1.0,
                hamming: 0,
            });
        }
        let mut best: Option<Expected> = None;
        for &leader in self.leads.values() {
            let PairDistance { jaccard, hamming } = distances.get(text, &self.documents[&leader].1);
            let better = best.as_ref().is_none_or(|best| {
                let order = jaccard.total_cmp(&best.jaccard);
                order
                    .then((best.hamming, best.leader).cmp(&(hamming, leader)))
                    .is_gt()
            });
            if jaccard >= THRESHOLD && better {
                best = Some(Expected {
                    verdict: "near",
                    leader,
                    jaccard,
                    hamming,
                });
            }
        }
        best
    }

    /// Removes a document and returns its group. If it led the group, a copy becomes the leader, else the members are
    /// placed again.
    fn remove(&mut self, id: &str, distances: &mut DistanceCache) -> Option<u64> {
        let seq = self.number(id)?;
        let (_, text) = self.documents.remove(&seq)?;
        let group = self.group.remove(&seq)?;
        if self.leads[&group] == seq {
            let mut members = self.group.iter().rev().filter(|&(_, other)| *other == group);
            if let Some((&copy, _)) = members.find(|(seq, _)| self.documents[seq].1 == text) {
                self.leads.insert(group, copy);
            } else {
                let members = self.disband(group);
                self.place(members, distances);
            }
        }
        Some(group)
    }

    /// Removes a group and returns its members, latest first.
    fn disband(&mut self, group: u64) -> Vec<(u64, (String, String))> {
        self.leads.remove(&group);
        let members: Vec<u64> = self
            .group
            .iter()
            .filter(|&(_, other)| *other == group)
            .map(|(&seq, _)| seq)
            .collect();
        self.group.retain(|_, other| *other != group);
        let members = members.into_iter().rev();
        members
            .filter_map(|seq| Some((seq, self.documents.remove(&seq)?)))
            .collect()
    }

    /// Places members one by one, in groups of similar leaders or as leaders.
    fn place(&mut self, members: Vec<(u64, (String, String))>, distances: &mut DistanceCache) {
        for (seq, document) in members {
            let decided = self.decide(&document.1, distances);
            let group = decided.map_or(seq, |decided| self.group[&decided.leader]);
            self.documents.insert(seq, document);
            self.group.insert(seq, group);
            self.leads.entry(group).or_insert(seq);
        }
    }

    /// Compares the answer to an added document with the expected one, and adds the document.
    fn put(&mut self, id: &str, text: &str, only_new: bool, answer: &Value, distances: &mut DistanceCache) {
        let old = self.number(id);
        if old.is_some_and(|old| self.documents[&old].1 == text) {
            assert_eq!(
                (&answer["verdict"], &answer["moved"]),
                (&json!("updated"), &json!(0))
            );
            return;
        }
        // An updated leader is placed before its members, and keeps the group's number if it leads again.
        let (mut number, mut members) = (None, Vec::new());
        if let Some(old) = old {
            self.documents.remove(&old);
            let group = self.group.remove(&old).unwrap();
            if self.leads[&group] == old {
                members = self.disband(group);
                number = Some(group);
            }
        }
        let decided = self.decide(text, distances);
        let verdict = decided.as_ref().map_or("new", |decided| decided.verdict);
        assert_eq!(
            answer["verdict"],
            if old.is_some() { "updated" } else { verdict },
            "{answer}"
        );
        self.check_best(decided.as_ref(), answer);
        if only_new && old.is_none() && decided.is_some() {
            assert!(answer["seq"].is_null(), "{answer}");
            return;
        }
        let seq = answer["seq"].as_u64().unwrap();
        let own = number.unwrap_or(seq);
        let group = decided.map_or(own, |decided| self.group[&decided.leader]);
        assert_eq!(answer["group_id"], group, "{answer}");
        self.documents.insert(seq, (id.to_owned(), text.to_owned()));
        self.group.insert(seq, group);
        self.story.insert(seq, answer["story_id"].as_u64().unwrap());
        self.leads.entry(group).or_insert(seq);
        self.place(members, distances);
    }

    /// Compares the best match of an answer with the expected one.
    fn check_best(&self, decided: Option<&Expected>, answer: &Value) {
        let Some(decided) = decided else {
            assert!(answer["best"].is_null(), "{answer}");
            return;
        };
        let best = &answer["best"];
        assert_eq!(best["id"], self.documents[&decided.leader].0.as_str(), "{answer}");
        assert_eq!(best["hamming"], decided.hamming);
        // Reading JSON may change the last digit.
        let jaccard = best["jaccard"].as_f64().unwrap();
        assert!((jaccard - decided.jaccard).abs() < 1e-12, "{answer}");
    }

    /// Checks that every document is in the story of its answer or in the story that it was merged into, and that the
    /// stories have no other members.
    fn compare_stories(&self, running: &TestService, exported: &[Value]) {
        let path = "/v1/collections/m/stories";
        let list = running
            .get(&format!("{path}?min_size=1&limit=1000"))
            .is(200)
            .json();
        let mut members: BTreeMap<String, u64> = BTreeMap::new();
        for story in list["stories"].as_array().unwrap() {
            let detail = running
                .get(&format!("{path}/{}?limit=1000", story["story_id"]))
                .is(200)
                .json();
            assert_eq!(detail["members"].as_array().unwrap().len(), story["size"]);
            for member in detail["members"].as_array().unwrap() {
                let id = member["id"].as_str().unwrap().to_owned();
                members.insert(id, story["story_id"].as_u64().unwrap());
            }
        }
        assert_eq!(members.len(), exported.len());
        for row in exported {
            assert_eq!(row["story_id"], members[row["id"].as_str().unwrap()]);
        }
        for (seq, (id, _)) in &self.documents {
            let current = running.get(&format!("{path}/{}", self.story[seq])).is(200).json();
            assert_eq!(current["story_id"], members[id], "{id}");
        }
    }

    /// Compares the whole content with that of the service.
    fn compare(&self, running: &TestService) {
        let lines = running.get("/v1/collections/m/export").is(200).body;
        let rows = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .collect::<Vec<_>>();
        self.compare_stories(running, &rows);
        let rows = rows.into_iter();
        let exported: Vec<(String, String, u64, bool)> = rows
            .map(|row| {
                let field = |key: &str| row[key].as_str().unwrap().to_owned();
                (
                    field("id"),
                    field("text"),
                    row["group_id"].as_u64().unwrap(),
                    row["leads"] == true,
                )
            })
            .collect();
        let expected = self.documents.iter().map(|(seq, (id, text))| {
            let group = self.group[seq];
            (id.clone(), text.clone(), group, self.leads[&group] == *seq)
        });
        let expected: Vec<_> = expected.collect();
        assert_eq!(exported, expected);
        let stats = running.get("/v1/collections/m/stats").is(200).json();
        assert_eq!(stats["documents"], self.documents.len());
        assert_eq!(stats["groups"], self.leads.len());
        let list = running
            .get("/v1/collections/m/groups?min_size=1&limit=1000")
            .is(200)
            .json();
        let groups: Vec<u64> = list["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group["group_id"].as_u64().unwrap())
            .collect();
        assert!(groups.iter().eq(self.leads.keys()), "{groups:?}");
    }
}

#[test]
fn the_service_equals_a_map_with_brute_force_search() {
    let running = TestService::new();
    // At this radius no duplicate among these texts is missed. The service guarantees the radius, not the Jaccard.
    running
        .call(
            "PUT",
            "/v1/collections/m",
            "{\"k\": 24, \"max_texts\": 10000, \"stories\": true}",
        )
        .is(201);
    let path = |rest: &str| format!("/v1/collections/m/{rest}");
    let (mut model, mut distances, mut random) =
        (ReferenceModel::default(), DistanceCache::default(), Random(42));
    let mut deleted = 0;
    for step in 0..400 {
        let id = random.below(40).to_string();
        let only_new = random.below(4) == 0;
        match random.below(10) {
            0..4 => {
                let text = random.text();
                let body = json!({"id": id, "text": text}).to_string();
                let answer = running.call(
                    "POST",
                    &path(&format!("check-and-insert?only_new={only_new}")),
                    &body,
                );
                model.put(&id, &text, only_new, &answer.is(200).json(), &mut distances);
            }
            4..6 => {
                let documents: Vec<_> = (0..=random.below(8))
                    .map(|_| (random.below(40).to_string(), random.text()))
                    .collect();
                let bodies: Vec<_> = documents
                    .iter()
                    .map(|(id, text)| json!({"id": id, "text": text}))
                    .collect();
                let body = json!({"documents": bodies}).to_string();
                let answer = running
                    .call("POST", &path(&format!("documents?only_new={only_new}")), &body)
                    .is(200)
                    .json();
                assert_eq!(answer["items"].as_array().unwrap().len(), documents.len());
                for ((id, text), item) in documents.iter().zip(answer["items"].as_array().unwrap()) {
                    model.put(id, text, only_new, &item["answer"], &mut distances);
                }
            }
            6 => {
                let existed = model.remove(&id, &mut distances).is_some();
                deleted += usize::from(existed);
                running
                    .call("DELETE", &path(&format!("documents/{id}")), "")
                    .is(if existed { 200 } else { 404 });
            }
            7 => {
                let answer = running.get(&path(&format!("documents/{id}")));
                match model.number(&id) {
                    Some(seq) => assert_eq!(answer.is(200).json()["text"], model.documents[&seq].1.as_str()),
                    None => drop(answer.is(404)),
                }
            }
            _ => {
                let text = random.text();
                let body = json!({"id": "unknown", "text": text}).to_string();
                let answer = running.call("POST", &path("check"), &body).is(200).json();
                let decided = model.decide(&text, &mut distances);
                assert_eq!(
                    answer["verdict"],
                    decided.as_ref().map_or("new", |decided| decided.verdict),
                    "{answer}"
                );
                model.check_best(decided.as_ref(), &answer);
            }
        }
        if step % 100 == 99 {
            model.compare(&running);
        }
    }
    assert!(
        model.documents.len() > 10 && deleted > 5,
        "{} documents, {deleted} deleted",
        model.documents.len()
    );
    assert!(
        model.leads.len() < model.documents.len(),
        "some documents were near or exact"
    );
}
