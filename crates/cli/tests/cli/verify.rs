//! `twinprint verify` accepts right results, and finds each kind of damage.

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

fn deduplicated(options: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(3).jsonl(800));
    sandbox
        .run(&format!("dedup in.jsonl -o out --quiet {options}"))
        .ok();
    sandbox
}

#[test]
fn right_results_have_no_problem() {
    for options in [
        "",
        "--keep longest",
        "--keep shortest --columns dup-count",
        "--no-verify --hamming 3",
        "--mode report",
        "--mode annotate",
    ] {
        let sandbox = deduplicated(options);
        let run = sandbox.run("verify out --quiet").ok();
        assert!(
            run.stdout.contains("records   800 read"),
            "{options}: {}",
            run.stdout
        );
        assert!(!run.stdout.contains("problem"), "{options}: {}", run.stdout);
        let compares = !["no-verify", "report", "annotate"]
            .iter()
            .any(|word| options.contains(word));
        assert_eq!(
            compares,
            !run.stdout.contains("texts     not compared"),
            "{options}: {}",
            run.stdout
        );
    }
}

#[test]
fn known_documents_are_no_leaders_of_the_result() {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(3);
    sandbox.put("in.jsonl", corpus.jsonl(300));
    sandbox.run("collection create seen").ok();
    sandbox.run("collection add seen in.jsonl --quiet").ok();
    sandbox.run("dedup in.jsonl -o out --against seen --quiet").ok();
    let run = sandbox.run("verify out --quiet").ok();
    assert!(
        run.stdout.contains("as duplicates of known documents"),
        "{}",
        run.stdout
    );
}

#[test]
fn every_kind_of_damage_is_found() {
    let sandbox = deduplicated("");
    let original = |name: &str| sandbox.text(name);
    let (clusters, kept, removed) = ("out/clusters.jsonl", "out/kept/in.jsonl", "out/removed/in.jsonl");
    let check = |name: &str, damaged: String, expected: &str| {
        let before = original(name);
        sandbox.put(name, damaged);
        let run = sandbox.run("verify out --quiet --sample 400");
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
        run.fails(1, &["problem"]);
        sandbox.put(name, before);
    };
    let without_first = |text: String| text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap();
    check(
        kept,
        without_first(original(kept)),
        "problem   records in kept/: ",
    );
    check(
        removed,
        without_first(original(removed)),
        "problem   records in removed/: ",
    );
    check(
        "out/report.json",
        original("out/report.json").replacen("\"read\": 800", "\"read\": 801", 1),
        "problem   the report counts 801 records read",
    );
    check(clusters, without_first(original(clusters)), "in the groups: ");
    let follower = original(clusters);
    let follower = follower
        .lines()
        .find(|row| row.contains("\"dup_count\":0"))
        .unwrap();
    let edited = |from: &str, to: &str| {
        let at = follower.find(from).unwrap() + from.len();
        let end = at + follower[at..].find(',').unwrap();
        let other = format!("{}{to}{}", &follower[..at], &follower[end..]);
        original(clusters).replacen(follower, &other, 1)
    };
    check(
        clusters,
        edited("\"duplicate_of\":", "\"nobody\""),
        "which is not kept",
    );
    check(clusters, edited("\"jaccard\":", "0.5"), "below the threshold");
    check(
        clusters,
        edited("\"jaccard\":", "0.987654"),
        "of which it was removed as a duplicate at 0.987654",
    );
}

#[test]
fn lost_records_are_found_if_no_texts_are_compared() {
    for (options, file) in [
        ("--mode annotate", "annotated/in.jsonl"),
        ("--no-verify --hamming 3", "kept/in.jsonl"),
        ("--no-verify --hamming 3", "removed/in.jsonl"),
    ] {
        let sandbox = deduplicated(options);
        let name = format!("out/{file}");
        let records = sandbox.text(&name);
        let (_, rest) = records.split_once('\n').unwrap();
        sandbox.put(&name, rest);
        let run = sandbox.run("verify out --quiet");
        let folder = file.split('/').next().unwrap();
        assert!(
            run.stdout.contains(&format!("problem   records in {folder}/: ")),
            "{options}: {}",
            run.stdout
        );
        run.fails(1, &["1 problem"]);
    }
}

#[test]
fn kept_duplicates_are_found_and_refused_beyond_the_allowed_share() {
    let sandbox = deduplicated("--hamming 0");
    for wrong in ["nan", "1.5", "-0.1"] {
        sandbox
            .run(&format!("verify out --max-missed={wrong}"))
            .fails(2, &["from 0 to 1"]);
    }
    let run = sandbox.run("verify out --quiet --max-missed 1").ok();
    assert!(run.stdout.contains(", Jaccard 0."), "{}", run.stdout);
    sandbox
        .run("verify out --quiet")
        .fails(1, &["sampled kept documents have a duplicate", "--max-missed"]);
}

#[test]
fn a_folder_without_a_result_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.put("notes.txt", "none");
    sandbox.run("verify .").fails(1, &["config.toml", "dedup"]);
    let sandbox = deduplicated("--clusters parquet");
    sandbox
        .run("verify out")
        .fails(1, &["clusters.jsonl", "--clusters both"]);
}
