//! `twinprint cluster`: its output, its refusals, and the same result for any number of threads or runs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::corpus::{Corpus, SUBJECTS};
use crate::sandbox::Sandbox;

/// Short reports on a few subjects, with copies, times, titles and addresses.
fn news() -> String {
    let mut lines = String::new();
    for i in 0u32..80 {
        let subject: Vec<&str> = SUBJECTS[(i % 4) as usize].split(' ').collect();
        let words: Vec<String> = (0..40)
            .map(|j| match j % 2 {
                0 => subject[((i * 7 + j * j + j / 3) % 8) as usize].to_owned(),
                _ => format!("w{}", (i * 31 + j * 17) % 400),
            })
            .collect();
        let mut text = words.join(" ");
        if i >= 8 && i % 8 == 0 {
            // The text eight documents earlier, with a word changed.
            text = lines.lines().nth(i as usize - 8).map_or(text, |line| {
                let before: Value = serde_json::from_str(line).unwrap();
                before["text"].as_str().unwrap().replacen('w', "v", 1)
            });
        }
        let row = serde_json::json!({
            "id": format!("d{i}"),
            "time": format!("2024-05-{:02}T{:02}:00:00Z", 1 + i / 24, i % 24),
            "title": format!("Report {i}"),
            "url": format!("http{}://site{}.example/{i}", if i % 3 == 0 { "s" } else { "" }, i % 5),
            "score": f64::from(i % 10) / 10.0,
            "text": text,
        });
        lines += &row.to_string();
        lines.push('\n');
    }
    lines
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("news.jsonl", news());
    sandbox
}

#[test]
fn assignments_groups_and_stories_agree() {
    let sandbox = sandbox();
    let run = sandbox
        .run("cluster news.jsonl -o out --story-threshold 0.2 --vectors")
        .ok();
    assert!(
        run.stdout.contains("documents") && run.stdout.contains("80"),
        "{}",
        run.stdout
    );
    let rows = sandbox.rows("out/assignments.jsonl");
    assert_eq!(rows.len(), 80);
    assert_eq!(
        (rows[3]["id"].as_str(), rows[3]["line"].as_u64()),
        (Some("d3"), Some(4))
    );
    let sizes = |key: &str| -> BTreeMap<u64, u64> {
        let mut sizes = BTreeMap::new();
        for row in &rows {
            *sizes.entry(row[key].as_u64().unwrap()).or_insert(0) += 1;
        }
        sizes
    };
    let (groups, stories) = (sizes("group_id"), sizes("story_id"));
    let rows = sandbox.rows("out/groups.jsonl");
    assert!(!rows.is_empty());
    for row in &rows {
        assert_eq!(
            row["size"].as_u64(),
            groups.get(&row["group_id"].as_u64().unwrap()).copied()
        );
        assert!(row["size"].as_u64() > Some(1) && stories.contains_key(&row["story_id"].as_u64().unwrap()));
    }
    assert_eq!(rows.len(), groups.values().filter(|&&size| size > 1).count());
    let rows = sandbox.rows("out/stories.jsonl");
    assert_eq!(rows.len(), stories.len());
    for row in &rows {
        assert_eq!(
            row["size"].as_u64(),
            stories.get(&row["story_id"].as_u64().unwrap()).copied()
        );
        assert!(
            row["first"].as_str().unwrap().starts_with("2024-05-0")
                && row["first"].as_str() <= row["last"].as_str()
        );
    }
    let largest = rows.iter().max_by_key(|row| row["size"].as_u64()).unwrap();
    let topic = largest["topic"].as_array().unwrap();
    let words: Vec<&str> = topic
        .iter()
        .flat_map(|term| term["term"].as_str().unwrap().split(' '))
        .collect();
    assert!(
        words
            .iter()
            .any(|word| SUBJECTS.iter().any(|s| s.split(' ').any(|w| w == *word))),
        "{words:?}"
    );
    assert!(largest["title"].as_str().unwrap().starts_with("Report "));
    assert_eq!(sandbox.rows("out/vectors.jsonl").len(), 80);
    let page = sandbox.text("out/stories.html");
    assert!(page.contains(words[0]) && page.contains("Content-Security-Policy") && page.contains("专题"));
}

#[test]
fn results_are_not_read_again() {
    let sandbox = Sandbox::new();
    sandbox.put("in/news.jsonl", news());
    sandbox.run("cluster in -o in/stories").ok();
    let run = sandbox.run("cluster in -o again").ok();
    assert!(
        run.stdout.contains("1  folder with the result of an earlier run"),
        "{}",
        run.stdout
    );
    assert_eq!(sandbox.rows("again/assignments.jsonl").len(), 80);
    let run = sandbox.run("dedup in -o out --mode report").ok();
    assert!(
        run.stdout.contains("1  folder with the result of an earlier run"),
        "{}",
        run.stdout
    );
}

#[test]
fn threads_do_not_change_the_result() {
    let sandbox = sandbox();
    sandbox.put("more.jsonl", Corpus::new(5).jsonl(400));
    for (out, threads) in [("one", 1), ("two", 2), ("three", 3)] {
        let args = format!("cluster news.jsonl more.jsonl -o {out} --threads {threads} --ahead 100");
        sandbox.run(&args).ok();
    }
    let first = sandbox.tree("one");
    assert!(first.len() >= 5);
    assert_eq!(first, sandbox.tree("two"));
    assert_eq!(first, sandbox.tree("three"));
}

#[test]
fn a_stream_in_two_runs_gives_the_result_of_one_run() {
    let sandbox = sandbox();
    let news = news();
    let parts: Vec<&str> = news.split_inclusive('\n').collect();
    sandbox.put("a.jsonl", parts[..50].concat());
    sandbox.put("b.jsonl", parts[50..].concat());
    let args = "--story-threshold 0.2 --ahead 40";
    sandbox.run(&format!("cluster news.jsonl -o whole {args}")).ok();
    sandbox
        .run(&format!("cluster a.jsonl -o first {args} --state s"))
        .ok();
    sandbox
        .run(&format!("cluster b.jsonl -o second {args} --state s"))
        .ok();
    assert_eq!(
        sandbox.text("whole/stories.jsonl"),
        sandbox.text("second/stories.jsonl")
    );
    assert_eq!(
        sandbox.text("whole/groups.jsonl"),
        sandbox.text("second/groups.jsonl")
    );
    let placed = |name: &str| -> Vec<[Option<u64>; 3]> {
        let rows = sandbox.rows(name);
        rows.iter()
            .map(|row| ["document", "group_id", "story_id"].map(|key| row[key].as_u64()))
            .collect()
    };
    assert_eq!(
        placed("whole/assignments.jsonl")[50..],
        placed("second/assignments.jsonl")
    );
    sandbox
        .run("cluster b.jsonl -o third --state s --threshold 0.9 --window 7d")
        .fails(
            1,
            &[
                "other options",
                "s:",
                "--threshold was 0.8, now 0.9; --window was none, now 7d",
            ],
        );
    sandbox
        .run("cluster b.jsonl -o third --state s --story-threshold 0.3")
        .fails(1, &["--story-threshold was 0.2, now 0.3"]);
    sandbox.run("cluster a.jsonl -o within --state within/s").ok();
    sandbox
        .run("cluster b.jsonl -o third --state within/s --story-threshold 0.3")
        .fails(1, &["--story-threshold was estimated, now 0.3"]);
    sandbox.run("cluster b.jsonl -o after --state within/s").ok();
    sandbox
        .run("cluster b.jsonl -o refused --state within/s -k 3")
        .fails(1, &["-k was 20, now 3"]);
    assert!(!sandbox.path("refused").exists());
    sandbox.put("s", b"not a state");
    sandbox
        .run("cluster b.jsonl -o third --state s")
        .fails(1, &["not a state"]);
}

#[test]
fn the_canonical_copy_follows_the_policy() {
    let sandbox = sandbox();
    sandbox.run("cluster news.jsonl -o first").ok();
    sandbox.run("cluster news.jsonl -o last --canonical last").ok();
    sandbox
        .run("cluster news.jsonl -o hosts --canonical score --canonical-scope host")
        .ok();
    let canonical = |name: &str| -> Vec<Vec<String>> {
        let rows = sandbox.rows(&format!("{name}/groups.jsonl"));
        let names = |row: &Value| {
            let names = row["canonical"].as_array().unwrap().iter();
            names.map(|name| name.as_str().unwrap().to_owned()).collect()
        };
        rows.iter().map(names).collect()
    };
    let (first, last, hosts) = (canonical("first"), canonical("last"), canonical("hosts"));
    assert!(
        first
            .iter()
            .zip(&last)
            .all(|(a, b)| a.len() == 1 && b.len() == 1 && a != b)
    );
    assert!(hosts.iter().any(|names| names.len() > 1));
}

#[test]
fn values_out_of_range_are_refused() {
    let sandbox = sandbox();
    for (args, said) in [
        ("--threshold 1.5", "--threshold"),
        ("--story-threshold 0", "--story-threshold"),
        ("--merge NaN", "above 0 and at most 1"),
        ("--merge 1.5", "above 0 and at most 1"),
        ("--live 0", "--live"),
        ("--equal-bits 40", "--equal-bits"),
        ("-k 60", "-k"),
        ("--window soon", "such as 36h"),
        ("--canonical newest", "url-length"),
    ] {
        sandbox
            .run(&format!("cluster news.jsonl -o out {args}"))
            .fails(2, &[said]);
    }
}

#[test]
fn clusters_are_compared_with_labels() {
    let sandbox = Sandbox::new();
    let labelled = |(i, line): (usize, &str)| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row["subject"] = Value::from(["quake", "football", "bank", "comet"][i % 4]);
        row.to_string() + "\n"
    };
    sandbox.put(
        "news.jsonl",
        news().lines().enumerate().map(labelled).collect::<String>(),
    );
    let run = sandbox
        .run("cluster news.jsonl -o out --story-threshold 0.2 --labels subject")
        .ok();
    assert!(
        run.stdout.contains("stories against labels: 80 documents"),
        "{}",
        run.stdout
    );
    let agreement = sandbox.json("out/agreement.json");
    // The same figures from a count of all pairs.
    let rows = sandbox.rows("out/assignments.jsonl");
    for (name, key) in [("groups", "group_id"), ("stories", "story_id")] {
        let [mut both, mut found, mut truth] = [0u32; 3];
        for a in 0..80 {
            for b in 0..a {
                let together = [rows[a][key] == rows[b][key], a % 4 == b % 4];
                both += u32::from(together == [true; 2]);
                found += u32::from(together[0]);
                truth += u32::from(together[1]);
            }
        }
        let expected = [both, found, truth].map(f64::from);
        let pairs = agreement[name]["pairwise"].as_array().unwrap();
        assert!((pairs[0].as_f64().unwrap() - expected[0] / expected[1]).abs() < 1e-9);
        assert!((pairs[1].as_f64().unwrap() - expected[0] / expected[2]).abs() < 1e-9);
        assert_eq!(agreement[name]["clusters"][1].as_u64(), Some(4));
        // eval computes the same from the files.
        let args =
            "eval --docs news.jsonl --labels subject --clusters out/assignments.jsonl -q --json eval.json";
        let run = sandbox.run(&format!("{args} --by {key}")).ok();
        assert!(run.stdout.contains("B-cubed") && run.stdout.contains("without self"));
        assert_eq!(sandbox.json("eval.json")[0]["agreement"], agreement[name]);
    }
    sandbox.put(
        "bad.jsonl",
        "{\"id\":\"d1\",\"story_id\":1}\n{\"id\":\"nobody\",\"story_id\":1}\n",
    );
    sandbox
        .run("eval --docs news.jsonl --labels subject --clusters bad.jsonl")
        .fails(2, &["bad.jsonl:2", "nobody"]);
    sandbox.put("some.jsonl", "{\"id\":\"d1\",\"story_id\":1}\n");
    let run = sandbox
        .run("eval --docs news.jsonl --labels subject --clusters some.jsonl -q")
        .ok();
    assert!(
        run.stderr
            .contains("some.jsonl has no cluster for 79 documents with a label"),
        "{}",
        run.stderr
    );
    for (name, problem) in [
        ("none.jsonl", "no cluster of a document with a label"),
        ("missing.jsonl", "missing.jsonl: "),
    ] {
        sandbox.put("none.jsonl", "");
        sandbox
            .run(&format!(
                "eval --docs news.jsonl --labels subject --clusters {name}"
            ))
            .fails(2, &[problem]);
    }
    sandbox
        .run("eval --docs news.jsonl --labels subject --clusters out/assignments.jsonl --by score")
        .fails(2, &["assignments.jsonl:1", "score"]);
    sandbox
        .run("eval --docs news.jsonl --labels nothing --clusters bad.jsonl")
        .fails(2, &["nothing"]);
    sandbox
        .run("eval --docs news.jsonl --clusters bad.jsonl")
        .fails(2, &["--labels"]);
}

#[test]
fn impossible_times_are_reported_and_do_not_move_the_clock() {
    let sandbox = Sandbox::new();
    let stamped = |(i, line): (usize, &str)| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        match i {
            20 => row["time"] = Value::from("2999-01-01"),
            21 => row["time"] = Value::from("some day"),
            // May 2024 in microseconds.
            22 => row["time"] = Value::from(1_714_597_200_000_000u64),
            _ => {}
        }
        row.to_string() + "\n"
    };
    sandbox.put("plain.jsonl", news());
    sandbox.put(
        "news.jsonl",
        news().lines().enumerate().map(stamped).collect::<String>(),
    );
    let ended = |name: &str, args: &str| {
        let run = sandbox
            .run(&format!("cluster {name} -o out-{name} --window 12h {args}"))
            .ok();
        let rows = sandbox.rows(&format!("out-{name}/stories.jsonl"));
        (run.stdout, rows.iter().filter(|row| row["ended"] == true).count())
    };
    let (said, plain) = ended("plain.jsonl", "");
    assert!(plain > 2 && !said.contains("untimed"), "{said}");
    let (said, stamped) = ended("news.jsonl", "");
    assert!(stamped.abs_diff(plain) <= 2, "{stamped} {plain}");
    let row = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name));
        line.unwrap_or_default().to_owned()
    };
    assert!(row("untimed").contains(" 2  without a readable time"), "{said}");
    assert!(row("future").contains(" 1  of these"), "{said}");
    let run = sandbox
        .run("cluster plain.jsonl -o other --window 12h --time-key date")
        .ok();
    assert!(run.stdout.contains("80  without a readable time in \"date\""));
}

#[test]
fn labels_that_no_document_has_are_reported() {
    let sandbox = sandbox();
    let run = sandbox.run("cluster news.jsonl -o out --labels nosuch").ok();
    assert!(
        run.stdout.contains("no document has a field \"nosuch\""),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("B-cubed"));
    assert!(!sandbox.path("out/agreement.json").exists());
}

#[test]
fn the_last_seen_groups_and_stories_stay_live_with_and_without_times() {
    let sandbox = Sandbox::new();
    for time in [None, Some("2024-05-01")] {
        // One text is repeated, alternating with texts that occur once.
        let row = |i: usize| {
            let text = match i % 2 {
                0 => "the same report of the same harbour and the same ferry once more".to_owned(),
                _ => (0..12)
                    .map(|j| format!("once{i}x{j}"))
                    .collect::<Vec<_>>()
                    .join(" "),
            };
            let mut row = serde_json::json!({ "text": text });
            if let Some(time) = time {
                row["time"] = Value::from(time);
            }
            row.to_string() + "\n"
        };
        sandbox.put("hot.jsonl", (0..100).map(row).collect::<String>());
        let out = format!("out-{}", time.is_some());
        sandbox.run(&format!("cluster hot.jsonl -o {out} --live 10")).ok();
        let groups = sandbox.rows(&format!("{out}/groups.jsonl"));
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0]["size"], 50);
    }
}

#[test]
fn the_story_threshold_is_estimated_and_the_same_for_any_runs_and_threads() {
    let sandbox = sandbox();
    let news = news();
    let parts: Vec<&str> = news.split_inclusive('\n').collect();
    sandbox.run("cluster news.jsonl -o whole --ahead 0").ok();
    sandbox
        .run("cluster news.jsonl -o single --ahead 0 --threads 1")
        .ok();
    for (part, lines) in [("a", &parts[..20]), ("b", &parts[20..50]), ("c", &parts[50..])] {
        sandbox.put(&format!("{part}.jsonl"), lines.concat());
        sandbox
            .run(&format!(
                "cluster {part}.jsonl -o {part} --ahead 0 --state s --threads 2"
            ))
            .ok();
    }
    for name in ["stories.jsonl", "groups.jsonl"] {
        let whole = sandbox.text(&format!("whole/{name}"));
        assert_eq!(whole, sandbox.text(&format!("single/{name}")));
        assert_eq!(whole, sandbox.text(&format!("c/{name}")));
    }
    let summary = sandbox.run("cluster news.jsonl -o estimated").ok().stdout;
    assert!(summary.contains("estimated from 80 documents"), "{summary}");
    let page = sandbox.text("estimated/stories.html");
    assert!(page.contains("c-cosine") && page.contains("Nearest cosine of each document"));
    let summary = sandbox
        .run("cluster news.jsonl -o given --story-threshold 0.25 --merge 1")
        .ok()
        .stdout;
    assert!(
        summary.contains("0.250  joins a story; stories never merge; given"),
        "{summary}"
    );
    assert!(!sandbox.text("given/stories.html").contains("c-cosine"));
}
