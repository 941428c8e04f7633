//! The pages of the report: text of a corpus is escaped, and the pages show the result.

use std::fmt::Write as _;

use serde_json::json;

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// Texts and ids that try to inject markup or hidden characters.
const ATTACKS: [&str; 6] = [
    "</script><img src=x onerror=alert(1)>",
    "</style></title><svg onload=alert(1)>",
    "\" onmouseover=\"alert(1)\" '",
    "<!-- {{ 7 * 7 }} {% include \"/etc/passwd\" %} -->",
    "\u{202e}txt.exe\u{2066}\u{0}\u{1b}[31m",
    "`</code>` [link](javascript:alert(1)) <b>",
];

/// Near-duplicates with an attack in text and id, pairs around the threshold, and rejected records.
fn attacks() -> String {
    let mut lines = String::new();
    let mut corpus = Corpus::new(5);
    for attack in ATTACKS {
        let text = corpus.document();
        for (version, more) in ["", " and a little more", " and more and more again"]
            .iter()
            .enumerate()
        {
            let text = format!("{attack} {text} {attack}{more}");
            let id = format!("{attack}{version}");
            writeln!(lines, "{}", json!({"id": id, "text": text})).unwrap();
        }
    }
    for attack in ATTACKS {
        writeln!(lines, "{}", json!({ attack: 1 })).unwrap();
    }
    lines
}

#[test]
fn markup_in_a_corpus_is_escaped() {
    let sandbox = Sandbox::new();
    sandbox.put("<img src=x onerror=alert(2)>.jsonl", attacks());
    sandbox
        .bash("twinprint dedup '<img src=x onerror=alert(2)>.jsonl' -o out --quiet")
        .incomplete();
    let report = sandbox.json("out/report.json");
    assert!(report["records"]["removed"].as_u64().unwrap() >= 6, "{report}");
    assert_eq!(report["rejects"].as_array().unwrap().len(), 3);
    let page = sandbox.text("out/report.html");
    // All tags are those of the page template.
    let tags = page.split('<').skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '/' && c != '!')
            .unwrap();
        rest[..end].trim_start_matches('/')
    });
    let foreign: Vec<&str> = tags
        .filter(|tag| matches!(*tag, "img" | "iframe" | "object" | "link" | "b"))
        .collect();
    let known = page.matches("<link rel=\"icon\" href=\"data:,\">").count();
    assert_eq!(
        foreign.iter().filter(|&&tag| tag != "b").count(),
        known,
        "{foreign:?}"
    );
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("<style").count(), 1);
    assert!(!page.contains("onerror=alert(1)>") && !page.contains("onload=alert(1)>"));
    assert!(page.contains("&#60;img src=x onerror=alert(2)&#62;.jsonl"));
    assert!(page.contains("⟨U+202E⟩txt.exe⟨U+2066⟩⟨U+0000⟩⟨U+001B⟩[31m"));
    for page in [page, sandbox.text("out/report.md")] {
        let hidden = |c: char| {
            c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!page.contains(hidden), "a hidden character is not escaped");
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("@import"));
    }
}

#[test]
fn pages_show_the_result() {
    let sandbox = Sandbox::new();
    let mut lines = Corpus::new(9).jsonl(1200);
    lines += "{\"text\": 7}\n{\"id\": \"broken\n";
    sandbox.put("in/lines.jsonl", lines);
    sandbox.put("in/picture.png", "no text");
    sandbox.run("dedup in -o out --quiet --threshold 0.85").ok();
    let report = sandbox.json("out/report.json");
    let (page, text) = (sandbox.text("out/report.html"), sandbox.text("out/report.md"));
    let removed = report["records"]["removed"].as_u64().unwrap();
    assert!(removed > 100);
    for page in [&page, &text] {
        for expected in [
            &removed.to_string(),
            "field not text",
            "invalid json",
            ".png",
            "0.85",
        ] {
            assert!(page.contains(expected), "no {expected} in {page}");
        }
    }
    assert!(
        page.len() < 300_000 && text.len() < 60_000,
        "{} {}",
        page.len(),
        text.len()
    );
    assert!(page.contains("<span lang=\"zh-Hans\">") && page.contains("近似重复"));
    let stages = report["run"]["stages"].as_array().unwrap();
    let names: Vec<&str> = stages
        .iter()
        .map(|stage| stage["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["read", "match", "shingles", "verify", "write"]);
    // On each side of the threshold, pairs are sorted by their distance from it.
    let jaccards = |key: &str| -> Vec<f64> {
        let pairs = report[key].as_array().unwrap();
        pairs
            .iter()
            .map(|pair| pair["jaccard"].as_f64().unwrap())
            .collect()
    };
    let (doubtful, misses) = (jaccards("doubtful"), jaccards("closest_misses"));
    assert!(
        !doubtful.is_empty() && doubtful.is_sorted() && doubtful[0] >= 0.85,
        "{doubtful:?}"
    );
    assert!(
        misses.is_sorted_by(|a, b| a >= b) && misses.iter().all(|&j| (0.75..0.85).contains(&j)),
        "{misses:?}"
    );
    let rows = sandbox.rows("out/clusters.jsonl");
    let least = rows
        .iter()
        .filter(|row| row["is_leader"] == false)
        .map(|row| row["jaccard"].as_f64().unwrap());
    let least = least.fold(1.0, f64::min);
    assert!((doubtful[0] - least).abs() < 1e-5);
}

#[test]
fn reports_of_empty_and_unverified_runs_are_complete() {
    let sandbox = Sandbox::new();
    sandbox.put("empty.jsonl", "\n");
    sandbox.run("dedup empty.jsonl -o none --quiet").ok();
    assert!(
        sandbox
            .text("none/report.html")
            .contains("No near-duplicates were found.")
    );
    assert!(
        sandbox
            .text("none/report.md")
            .contains("no near-duplicates were found")
    );
    sandbox.put("in.jsonl", Corpus::new(9).jsonl(300));
    sandbox
        .run("dedup in.jsonl -o paper --quiet --profile paper")
        .ok();
    let page = sandbox.text("paper/report.html");
    assert!(
        page.contains("The texts were not compared") && !page.contains("NaN"),
        "{page}"
    );
    assert!(sandbox.json("paper/report.json")["threshold"].is_null());
}
