//! Lists that have no end: told in parts.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::{Running, page};

/// All rows of a list under a name, part by part, and how many parts there were.
fn all(running: &Running, path: &str, name: &str) -> (Vec<Value>, usize) {
    let (mut rows, mut parts, mut after) = (Vec::new(), 0, String::new());
    loop {
        let part = running.get(&format!("{path}{after}")).is(200).json();
        rows.extend(part[name].as_array().cloned().unwrap_or_default());
        parts += 1;
        after = match &part["next_after"] {
            Value::Null => return (rows, parts),
            Value::String(next) => format!("&after={next}"),
            next => format!("&after={next}"),
        };
    }
}

fn add(running: &Running, id: &str, text: &str, source: &str) -> Value {
    let body = json!({"id": id, "text": text, "source": source});
    running.post("check-and-insert", &body).is(200).json()
}

#[test]
fn the_members_of_a_group() {
    let running = Running::new();
    let group = add(&running, "0", &page(1, 0), "s")["group_id"].clone();
    for n in 1..7 {
        add(&running, &n.to_string(), &page(1, 0), "s");
    }
    let path = format!("/v1/collections/c/groups/{group}?limit=3");
    let (members, parts) = all(&running, &path, "members");
    let ids: Vec<&str> = members
        .iter()
        .map(|member| member["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(parts, 3);
    // A part that ends with the list does not promise another.
    let path = format!("/v1/collections/c/groups/{group}?limit=7");
    assert_eq!(all(&running, &path, "members").1, 1);
}

#[test]
fn sources_the_largest_first() {
    let running = Running::new();
    let mut expected = Vec::new();
    for (source, many) in [
        ("b.example", 1),
        ("a.example", 1),
        ("c.5.example", 4),
        ("d", 2),
        ("e", 2),
    ] {
        for n in 0..many {
            add(&running, &format!("{source}/{n}"), &page(n, 0), source);
        }
        expected.push((many, source));
    }
    expected.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    for limit in [1, 2, 5, 100] {
        let path = format!("/v1/collections/c/stats?limit={limit}");
        let (sources, parts) = all(&running, &path, "sources");
        let told: Vec<(u64, &str)> = sources
            .iter()
            .map(|s| (s["documents"].as_u64().unwrap(), s["source"].as_str().unwrap()))
            .collect();
        assert_eq!(told, expected, "limit {limit}");
        assert_eq!(parts, 5usize.div_ceil(limit));
    }
    // Rows that do not change come once, while others grow.
    let first = running.get("/v1/collections/c/stats?limit=2").is(200).json();
    for n in 0..9 {
        add(&running, &format!("new/{n}"), &page(n, 0), "b.example");
    }
    let after = first["next_after"].as_str().unwrap();
    let path = format!("/v1/collections/c/stats?limit=2&after={after}");
    let (rest, _) = all(&running, &path, "sources");
    let names: Vec<&str> = first["sources"]
        .as_array()
        .unwrap()
        .iter()
        .chain(&rest)
        .map(|s| s["source"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c.5.example", "d", "e", "a.example"]);
    let one = running.get("/v1/collections/c/stats?source=d").is(200).json();
    assert_eq!(
        (&one["sources"][0]["documents"], &one["next_after"]),
        (&json!(2), &Value::Null)
    );
    running.get("/v1/collections/c/stats?after=rubbish").is(422);
}

#[test]
fn near_misses_are_told_as_such() {
    let running = Running::new();
    running
        .call("PUT", "/v1/collections/wide", "{\"k\": 24, \"threshold\": 0.9}")
        .is(201);
    let call = |path: &str, body: &Value| {
        let path = format!("/v1/collections/wide/{path}");
        running.call("POST", &path, &body.to_string()).is(200).json()
    };
    // The more words are exchanged, the less alike.
    let edited = |many: usize| {
        let text = page(1, 0);
        let words = text.split(' ').enumerate();
        let words = words.map(|(n, word)| {
            if n < many {
                format!("other{n}")
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    for many in [0, 8, 16, 60] {
        call(
            "check-and-insert",
            &json!({"id": many.to_string(), "text": edited(many)}),
        );
    }
    let asked = json!({"document": {"id": "x", "text": edited(1)}});
    let similar = call("similar", &asked);
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
    let missed: BTreeSet<&str> = hits[1..].iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert!(missed.contains("8") && !missed.contains("60"), "{similar}");
    let mut asked = asked;
    asked["limit"] = json!(1);
    let one = call("similar", &asked);
    assert_eq!(
        (one["hits"].as_array().unwrap().len(), &one["found"]),
        (1, &similar["found"])
    );
}
