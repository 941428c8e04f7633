//! Tests of lists that are returned in pages.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::{TestService, page};

/// All rows of the field `name` of a list, and the number of its pages.
fn all_pages(running: &TestService, path: &str, name: &str) -> (Vec<Value>, usize) {
    let (mut rows, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let page = running.get(&format!("{path}{after}")).is(200).json();
        rows.extend(page[name].as_array().cloned().unwrap_or_default());
        pages += 1;
        after = match &page["next_after"] {
            Value::Null => return (rows, pages),
            Value::String(next) => format!("&after={next}"),
            next => format!("&after={next}"),
        };
    }
}

fn add(running: &TestService, id: &str, text: &str, source: &str) -> Value {
    let body = json!({"id": id, "text": text, "source": source});
    running.post("check-and-insert", &body).is(200).json()
}

#[test]
fn the_members_of_a_group_come_in_pages() {
    let running = TestService::new();
    let group = add(&running, "0", &page(1, 0), "s")["group_id"].clone();
    for n in 1..7 {
        add(&running, &n.to_string(), &page(1, 0), "s");
    }
    let path = format!("/v1/collections/c/groups/{group}?limit=3");
    let (members, pages) = all_pages(&running, &path, "members");
    let ids: Vec<&str> = members
        .iter()
        .map(|member| member["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(pages, 3);
    // A page that ends with the list is the last one.
    let path = format!("/v1/collections/c/groups/{group}?limit=7");
    assert_eq!(all_pages(&running, &path, "members").1, 1);
}

#[test]
fn sources_are_ordered_by_size_and_come_in_pages() {
    let running = TestService::new();
    let mut expected = Vec::new();
    for (source, count) in [
        ("b.example", 1),
        ("a.example", 1),
        ("c.5.example", 4),
        ("d", 2),
        ("e", 2),
    ] {
        for n in 0..count {
            add(&running, &format!("{source}/{n}"), &page(n, 0), source);
        }
        expected.push((count, source));
    }
    expected.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    for limit in [1, 2, 5, 100] {
        let path = format!("/v1/collections/c/stats?limit={limit}");
        let (sources, pages) = all_pages(&running, &path, "sources");
        let listed: Vec<(u64, &str)> = sources
            .iter()
            .map(|row| {
                (
                    row["documents"].as_u64().unwrap(),
                    row["source"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(listed, expected, "limit {limit}");
        assert_eq!(pages, 5usize.div_ceil(limit));
    }
    // Unchanged sources appear once although another source grows during paging.
    let first = running.get("/v1/collections/c/stats?limit=2").is(200).json();
    for n in 0..9 {
        add(&running, &format!("new/{n}"), &page(n, 0), "b.example");
    }
    let after = first["next_after"].as_str().unwrap();
    let path = format!("/v1/collections/c/stats?limit=2&after={after}");
    let (rest, _) = all_pages(&running, &path, "sources");
    let names: Vec<&str> = first["sources"]
        .as_array()
        .unwrap()
        .iter()
        .chain(&rest)
        .map(|row| row["source"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c.5.example", "d", "e", "a.example"]);
    let one = running.get("/v1/collections/c/stats?source=d").is(200).json();
    assert_eq!(
        (&one["sources"][0]["documents"], &one["next_after"]),
        (&json!(2), &Value::Null)
    );
    running.get("/v1/collections/c/stats?after=invalid").is(422);
}

#[test]
fn near_misses_are_marked_in_similar_documents() {
    let running = TestService::new();
    running
        .call("PUT", "/v1/collections/wide", "{\"k\": 24, \"threshold\": 0.9}")
        .is(201);
    let call = |path: &str, body: &Value| {
        let path = format!("/v1/collections/wide/{path}");
        running.call("POST", &path, &body.to_string()).is(200).json()
    };
    // The text with its first words replaced.
    let edited = |replaced: usize| {
        let text = page(1, 0);
        let words = text.split(' ').enumerate();
        let words = words.map(|(n, word)| {
            if n < replaced {
                format!("other{n}")
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    for replaced in [0, 8, 16, 60] {
        call(
            "check-and-insert",
            &json!({"id": replaced.to_string(), "text": edited(replaced)}),
        );
    }
    let mut query = json!({"document": {"id": "x", "text": edited(1)}});
    let similar = call("similar", &query);
    let hits = similar["hits"].as_array().unwrap();
    assert_eq!(
        (&hits[0]["id"], &hits[0]["duplicate"], &similar["found"]),
        (&json!("0"), &json!(true), &json!(hits.len())),
        "{similar}"
    );
    let jaccards: Vec<f64> = hits.iter().map(|hit| hit["jaccard"].as_f64().unwrap()).collect();
    assert!(jaccards.is_sorted_by(|a, b| a >= b), "{similar}");
    for (hit, jaccard) in hits.iter().zip(&jaccards) {
        assert_eq!(hit["duplicate"], *jaccard >= 0.9, "{similar}");
    }
    let near_misses: BTreeSet<&str> = hits[1..].iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert!(
        near_misses.contains("8") && !near_misses.contains("60"),
        "{similar}"
    );
    query["limit"] = json!(1);
    let one = call("similar", &query);
    assert_eq!(
        (one["hits"].as_array().unwrap().len(), &one["found"]),
        (1, &similar["found"])
    );
}

#[test]
fn changes_come_in_pages() {
    let running = TestService::new();
    for n in 0..7 {
        running
            .post(
                "check-and-insert",
                &json!({"id": n.to_string(), "text": page(n, 0)}),
            )
            .is(200);
    }
    let (mut since, mut ids) = (0, Vec::new());
    loop {
        let page = running
            .get(&format!("/v1/collections/c/changes?since={since}&limit=3"))
            .is(200)
            .json();
        let changes = page["changes"].as_array().unwrap().clone();
        if changes.is_empty() {
            break;
        }
        ids.extend(
            changes
                .iter()
                .map(|change| change["id"].as_str().unwrap().to_owned()),
        );
        since = page["next"].as_u64().unwrap();
    }
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5", "6"]);
    let refused = running.get("/v1/collections/c/changes?limit=5000").is(422).json();
    assert_eq!((&refused["limit"], &refused["got"]), (&json!(1000), &json!(5000)));
}
