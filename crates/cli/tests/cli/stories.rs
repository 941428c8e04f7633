//! Stories of a collection: equal to those of `cluster` for any batches, and durable after kill -9.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::corpus::SUBJECTS;
use crate::sandbox::{Sandbox, TWINPRINT};

/// The story options of both commands.
const STORY_OPTIONS: &str = "--story-threshold 0.35 --merge 0.3 --window 30h --half-life 20h";

/// Reports an hour apart, some of them copies with a word changed. They are on two subjects first, and on two others later.
fn news() -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut lines = String::new();
    for i in 0..120usize {
        let of = i % 2 + if i < 60 { 0 } else { 2 };
        let subject: Vec<&str> = SUBJECTS[of].split(' ').collect();
        let words = (0..60).map(|j| match j % 2 {
            0 => subject[(i * 7 + j / 2 + j / 7) % 8].to_owned(),
            _ => format!("w{}", (i * 31 + j * 17) % 400),
        });
        let text = if i % 10 == 9 {
            texts[i - 8].replacen('w', "v", 1)
        } else {
            words.collect::<Vec<_>>().join(" ")
        };
        texts.push(text.clone());
        let row = serde_json::json!({
            "id": format!("d{i}"),
            "time": format!("2024-05-{:02}T{:02}:00:00Z", 1 + i / 24, i % 24),
            "title": format!("Report {i}"),
            "url": format!("http://site{}.example/{i}", i % 5),
            "text": text,
        });
        lines += &row.to_string();
        lines.push('\n');
    }
    lines
}

fn json(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Documents by id with their stories.
fn stories_of(sandbox: &Sandbox, collection: &str) -> BTreeMap<String, u64> {
    let exported = sandbox
        .run(&format!("collection export {collection}"))
        .ok()
        .stdout;
    let story = |row: Value| {
        let id = row["id"].as_str().unwrap().to_owned();
        (id, row["story_id"].as_u64().unwrap())
    };
    json(&exported).into_iter().map(story).collect()
}

#[test]
fn a_collection_has_the_stories_of_cluster() {
    let sandbox = Sandbox::new();
    let news = news();
    sandbox.put("news.jsonl", &news);
    sandbox
        .run(&format!(
            "cluster news.jsonl -o out --quiet -k 16 --ahead 0 {STORY_OPTIONS}"
        ))
        .ok();
    // The ids of a collection begin at 1.
    let assigned: BTreeMap<String, u64> = sandbox
        .rows("out/assignments.jsonl")
        .iter()
        .map(|row| {
            (
                row["id"].as_str().unwrap().to_owned(),
                row["story_id"].as_u64().unwrap() + 1,
            )
        })
        .collect();
    let mut expected = sandbox.rows("out/stories.jsonl");
    for story in &mut expected {
        let story = story.as_object_mut().unwrap();
        story["story_id"] = (story["story_id"].as_u64().unwrap() + 1).into();
        let merged: Vec<u64> = story["merged"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap() + 1)
            .collect();
        if merged.is_empty() {
            story.remove("merged");
        } else {
            story["merged"] = merged.into();
        }
    }
    expected.sort_by_key(|story| story["story_id"].as_u64());
    assert!(expected.len() > 3 && expected.iter().any(|story| story["ended"] == true));
    assert!(
        expected.iter().any(|story| story["merged"].is_array()),
        "{expected:?}"
    );
    let lines: Vec<&str> = news.lines().collect();
    for (n, (batch, threads)) in [(120, "1"), (7, "2"), (50, "3")].into_iter().enumerate() {
        let seen = format!("seen{n}");
        sandbox
            .run(&format!("collection create {seen} --stories {STORY_OPTIONS}"))
            .ok();
        for batch in lines.chunks(batch) {
            sandbox.put("part.jsonl", batch.join("\n"));
            let mut add = sandbox.command(TWINPRINT);
            add.args(["collection", "add", &seen, "part.jsonl", "--summary", "--quiet"]);
            add.env("RAYON_NUM_THREADS", threads).stdout(Stdio::null());
            assert!(add.status().unwrap().success());
        }
        assert_eq!(stories_of(&sandbox, &seen), assigned, "in batches of {batch:?}");
        let listed = sandbox
            .run(&format!("collection stories {seen} --min-size 1"))
            .ok();
        let mut listed = json(&listed.stdout);
        listed.sort_by_key(|story| story["story_id"].as_u64());
        assert_eq!(listed, expected);
    }
}

#[test]
fn stories_are_listed_and_shown() {
    let sandbox = Sandbox::new();
    sandbox.put("news.jsonl", news());
    sandbox
        .run(&format!("collection create seen --stories {STORY_OPTIONS}"))
        .ok();
    sandbox.run("collection add seen news.jsonl --quiet").ok();
    let list = |flags: &str| {
        json(
            &sandbox
                .run(&format!("collection stories seen {flags}"))
                .ok()
                .stdout,
        )
    };
    let all = list("");
    assert!(all.iter().all(|story| story["size"].as_u64().unwrap() >= 2));
    let split = [list("--state live"), list("--state ended")];
    assert_eq!(split[0].len() + split[1].len(), all.len());
    assert!(split[1].iter().all(|story| story["ended"] == true) && !split[1].is_empty());
    assert_eq!(list("--limit 1"), all[..1]);
    assert!(list("--until 2024-05-02").iter().all(|story| {
        let last = story["last"].as_str().unwrap();
        last <= "2024-05-02T00:00:00Z"
    }));
    let members = list(&format!("--story {}", all[0]["story_id"]));
    assert_eq!(members.len() as u64, all[0]["size"].as_u64().unwrap());
    sandbox
        .run("collection stories seen --story 999999")
        .fails(1, &["no story 999999"]);
    sandbox
        .run("collection stories seen --since yesterday")
        .fails(2, &["--since", "2024-05-01"]);
    sandbox.run("collection create plain").ok();
    sandbox
        .run("collection stories plain")
        .fails(1, &["keeps no stories"]);
    sandbox
        .run("collection create other --window 7d")
        .fails(2, &["stories"]);
}

/// After a kill every document is in the story that was reported for it, and the stories continue with later documents.
#[test]
fn after_a_kill_at_any_time_documents_are_in_their_reported_stories() {
    let sandbox = Sandbox::new();
    sandbox.run("collection create seen --stories").ok();
    let mut reported: BTreeMap<String, u64> = BTreeMap::new();
    for cycle in 0..5u64 {
        let line = |n: u64| {
            let words = (0..30).map(|i| {
                format!(
                    "{}{}",
                    ["quake", "final", "rates"][(n % 3) as usize],
                    (n * 7 + i * i) % 40
                )
            });
            let text = words.collect::<Vec<_>>().join(" ");
            format!("{{\"id\":\"{cycle}-{n}\",\"text\":\"{text} page{cycle}x{n}\"}}\n")
        };
        sandbox.put("pages.jsonl", (0..2000).map(line).collect::<String>());
        let mut command = sandbox.command(TWINPRINT);
        command
            .args(["collection", "add", "seen", "pages.jsonl", "--quiet"])
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for (n, line) in lines.enumerate() {
            let Ok(answer) = serde_json::from_str::<Value>(&line.unwrap()) else {
                break;
            };
            reported.insert(
                answer["id"].as_str().unwrap().to_owned(),
                answer["story_id"].as_u64().unwrap(),
            );
            if n as u64 == 150 * cycle {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        sandbox.run("collection check seen").ok();
        let listed = sandbox
            .run("collection stories seen --min-size 1 --limit 100000")
            .ok();
        let mut became: BTreeMap<u64, u64> = BTreeMap::new();
        for story in json(&listed.stdout) {
            let id = story["story_id"].as_u64().unwrap();
            let merged = story["merged"].as_array().into_iter().flatten();
            became.extend(merged.map(|merged| (merged.as_u64().unwrap(), id)));
            became.insert(id, id);
        }
        let stored = stories_of(&sandbox, "seen");
        for (id, story) in &reported {
            assert_eq!(stored.get(id), became.get(story), "cycle {cycle}: {id}");
        }
    }
    assert!(reported.len() > 500, "{}", reported.len());
}
