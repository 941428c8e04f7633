//! Collections from the command line: what they answer, what they refuse, and what kill -9 leaves of them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::corpus::Corpus;
use crate::sandbox::{Sandbox, TWINPRINT};

fn with_collection() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("news.jsonl", Corpus::new(3).jsonl(80));
    sandbox.run("collection create seen").ok();
    sandbox
}

#[test]
fn a_collection_answers_as_dedup_decides() {
    let sandbox = with_collection();
    let answers = sandbox.run("collection add seen news.jsonl --quiet").ok().stdout;
    sandbox.run("dedup news.jsonl -o out --mode report --quiet").ok();
    let clusters = sandbox.rows("out/clusters.jsonl");
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), clusters.len());
    let mut leaders = 0;
    for (answer, row) in answers.iter().zip(&clusters) {
        assert_eq!(answer["id"], row["id"]);
        assert_eq!(
            answer["verdict"] == "new",
            row["is_leader"].as_bool().unwrap(),
            "{answer} {row}"
        );
        leaders += usize::from(answer["verdict"] == "new");
    }
    assert!(leaders < answers.len(), "the corpus has duplicates");
    let again = sandbox
        .run("collection query seen news.jsonl --summary --quiet")
        .ok()
        .stdout;
    assert_eq!(again, format!("{{\"updated\":{}}}\n", answers.len()));
    let exported = sandbox.run("collection export seen").ok().stdout;
    assert_eq!(exported.lines().count(), answers.len());
}

#[test]
fn what_a_collection_refuses_is_named() {
    let sandbox = with_collection();
    sandbox
        .run("collection create seen")
        .fails(1, &["seen", "not empty"]);
    sandbox
        .run("collection create new -k 99")
        .fails(2, &["k: 99", "24"]);
    sandbox
        .run("collection create new --threshold 0")
        .fails(2, &["threshold"]);
    sandbox
        .run("collection add nowhere news.jsonl")
        .fails(1, &["nowhere", "collection create"]);
    sandbox.run("collection delete seen nobody").fails(1, &["nobody"]);
    sandbox.run("collection delete seen").fails(2, &["ID"]);
    sandbox.put("seen/collection.redb", "not a store");
    sandbox
        .run("collection stat seen")
        .fails(1, &["seen/collection.redb", "damaged"]);
}

#[test]
fn a_source_is_deleted_and_a_damaged_store_repaired() {
    let sandbox = with_collection();
    let page = |n: u32| {
        format!(
            "{{\"id\":\"http://{}.example/{n}\",\"text\":\"page {n} of its own\"}}\n",
            if n < 4 { "a" } else { "b" }
        )
    };
    sandbox.put("pages.jsonl", (0..10).map(page).collect::<String>());
    sandbox.run("collection add seen pages.jsonl --quiet").ok();
    assert_eq!(
        sandbox
            .run("collection delete seen --source a.example")
            .ok()
            .stdout,
        "4 deleted\n"
    );
    assert_eq!(
        sandbox.run("collection repair seen mended").ok().stdout,
        "6 documents saved, 0 lost\n"
    );
    sandbox.run("collection check mended").ok();
}

#[test]
fn documents_without_ids_are_kept_beside_those_of_another_day() {
    let sandbox = with_collection();
    let add = |text: &str| {
        let fed = format!(
            "echo '{{\"text\":\"{text}\"}}' | {TWINPRINT} collection add seen - --format jsonl --summary --quiet"
        );
        sandbox.bash(&fed).ok().stdout
    };
    assert_eq!(
        add("the bridge is closed for repairs until spring"),
        "{\"new\":1}\n"
    );
    assert_eq!(add("a bakery won the prize for its rye bread"), "{\"new\":1}\n");
    assert_eq!(
        add("a bakery won the prize for its rye bread"),
        "{\"updated\":1}\n"
    );
    let exported = sandbox.run("collection export seen").ok().stdout;
    assert_eq!(exported.lines().count(), 2, "{exported}");
}

#[test]
fn what_is_not_taken_in_is_told_with_its_place() {
    let sandbox = with_collection();
    let long = "x".repeat(3000);
    sandbox.put(
        "odd.jsonl",
        format!(
            "{{\"id\":\"a\",\"text\":\"one of some words\",\"score\":\"high\"}}\n{{\"id\":\"{long}\",\"text\":\"two\"}}\n{{\"id\":\"\",\"text\":\"three\"}}\n\
             {{\"id\":\"d\",\"text\":4}}\n{{\"id\":\"e\",\"text\":\"five\"}}\n"
        ),
    );
    sandbox.run("collection create scored --canonical score").ok();
    let told = sandbox
        .run("collection add scored odd.jsonl --summary")
        .incomplete();
    for part in [
        "odd.jsonl:2: id",
        "odd.jsonl:4: ",
        "score: left out of 1 document",
        "odd.jsonl:1",
    ] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
    assert!(told.stdout.contains("\"new\":"), "{}", told.stdout);
    sandbox
        .run("collection add scored odd.jsonl --quiet --strict")
        .fails(
            1,
            &["odd.jsonl:2", "2 of 5 records rejected, and --strict allows none"],
        );
    sandbox.put(
        "refused.jsonl",
        format!("{{\"id\":\"{long}\",\"text\":\"three\"}}\n"),
    );
    sandbox
        .run("collection add scored refused.jsonl --quiet")
        .fails(1, &["none of the records is a document: 1 rejected (1 refused)"]);
}

#[test]
fn documents_are_kept_though_nobody_reads_the_answers() {
    let sandbox = with_collection();
    sandbox.put("many.jsonl", Corpus::new(5).jsonl(3000));
    sandbox
        .bash(&format!(
            "{TWINPRINT} collection add seen many.jsonl --quiet | head -n 1"
        ))
        .ok();
    let stats: Value = serde_json::from_str(&sandbox.run("collection stat seen").ok().stdout).unwrap();
    assert_eq!(stats["stats"]["documents"], 3000);
}

#[test]
fn an_index_takes_no_directory_of_a_collection() {
    let sandbox = with_collection();
    sandbox.put("old.u64", [7; 8]);
    sandbox
        .run("index build old.u64 -o seen")
        .fails(1, &["seen holds a collection"]);
    sandbox.run("collection check seen").ok();
}

/// What was told before a kill is there, and nothing that was not sent.
#[test]
fn killed_at_any_time_a_collection_has_what_it_acknowledged() {
    let sandbox = Sandbox::new();
    sandbox.run("collection create seen").ok();
    let mut sent = BTreeSet::new();
    let mut acknowledged = BTreeSet::new();
    for cycle in 0..6 {
        let ids: Vec<String> = (0..3000).map(|n| format!("{cycle}-{n}")).collect();
        let line =
            |id: &String| format!("{{\"id\":\"{id}\",\"text\":\"page {id} of its own, cycle {cycle}\"}}\n");
        sandbox.put("pages.jsonl", ids.iter().map(line).collect::<String>());
        sent.extend(ids);
        let mut command = sandbox.command(TWINPRINT);
        command
            .args(["collection", "add", "seen", "pages.jsonl", "--quiet"])
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        for (n, line) in told.lines().enumerate() {
            let Ok(answer) = serde_json::from_str::<Value>(&line.unwrap()) else {
                break;
            };
            acknowledged.insert(answer["id"].as_str().unwrap().to_owned());
            if n == 37 * cycle {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        sandbox.run("collection check seen").ok();
        let exported = sandbox.run("collection export seen").ok().stdout;
        let there: BTreeSet<String> = exported
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert!(
            acknowledged.is_subset(&there),
            "cycle {cycle}: {:?}",
            acknowledged.difference(&there).next()
        );
        assert!(there.is_subset(&sent));
    }
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
}
