//! `--order similar`: the same records, each with its own bytes, similar documents adjacent.

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// Pages of a few sites in alternation, and a compressed file. Pages of one site share half of their text, which is too little for
/// a duplicate. The files have blank lines, a byte order mark and a last line without a line feed.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(12);
    let shared: Vec<String> = (0..40).map(|_| corpus.long(120)).collect();
    let mut lines = String::from("\u{feff}\n \n");
    for page in 0..25 {
        for (site, shared) in shared.iter().enumerate() {
            let own = corpus.long(60);
            lines += &serde_json::json!({"id": format!("{site}/{page}"), "text": format!("{own} {shared}")})
                .to_string();
            lines += if site % 9 == 0 { "\r\n\n" } else { "\n" };
        }
    }
    lines += "no json\n";
    lines += &corpus.jsonl(60);
    sandbox.put("sites.jsonl", lines.trim_end());
    sandbox.put("packed.jsonl.gz", Corpus::gzip(corpus.jsonl(300).as_bytes()));
    sandbox
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.sort_unstable();
    lines
}

#[test]
fn ordered_output_has_the_same_records_with_similar_documents_adjacent() {
    let sandbox = inputs();
    let run = |order: &str, more: &str| {
        let args =
            format!("dedup sites.jsonl packed.jsonl.gz -o {order} --order {order} -k 24 --bits 128 {more}");
        let run = sandbox.run(&args).ok();
        sandbox.bash(&format!("gunzip {order}/*/packed.jsonl.gz")).ok();
        run.stdout
    };
    let summary = [run("input", ""), run("similar", "")];
    assert!(!summary[0].contains("  order "), "{}", summary[0]);
    assert!(summary[1].contains("  order "), "{}", summary[1]);
    for name in ["kept/sites.jsonl", "kept/packed.jsonl"] {
        let [plain, ordered] = ["input", "similar"].map(|out| sandbox.text(&format!("{out}/{name}")));
        assert!(plain != ordered && plain.ends_with('\n'), "{name}");
        assert_eq!(sorted(&plain), sorted(&ordered), "{name}");
    }
    // Bytes before the first record stay at the beginning.
    assert!(
        sandbox
            .text("similar/kept/sites.jsonl")
            .starts_with("\u{feff}\n \n{")
    );
    for name in [
        "removed/sites.jsonl",
        "removed/packed.jsonl",
        "clusters.jsonl",
        "rejects.jsonl",
    ] {
        let [plain, ordered] = ["input", "similar"].map(|out| sandbox.text(&format!("{out}/{name}")));
        assert!(plain == ordered, "{name}");
    }
    let report = sandbox.json("similar/report.json");
    let packed = |key: &str| report["order"][key].as_u64().unwrap();
    assert!(packed("zstd_after") < packed("zstd_before"), "{report:#}");
    assert_eq!(packed("files_left"), 0);
    assert!(sandbox.json("input/report.json")["order"].is_null());
    // In the input every line is of another site than the line before; in the ordered output few are.
    let text = sandbox.text("similar/kept/sites.jsonl");
    let sites = text
        .lines()
        .filter_map(|line| line.split_once("\"id\":\"")?.1.split_once('/'));
    let sites: Vec<&str> = sites.map(|(site, _)| site).collect();
    let changes = sites.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(
        sites.len() > 900 && changes < sites.len() / 3,
        "{changes} changes among {}",
        sites.len()
    );
}

#[test]
fn annotated_records_are_ordered() {
    let sandbox = inputs();
    for order in ["input", "similar"] {
        let args = format!("dedup sites.jsonl -o {order} --order {order} --mode annotate --quiet");
        sandbox.run(&args).ok();
    }
    let [plain, ordered] =
        ["input", "similar"].map(|out| sandbox.text(&format!("{out}/annotated/sites.jsonl")));
    assert!(plain != ordered);
    assert_eq!(sorted(&plain), sorted(&ordered));
}

#[test]
fn files_that_cannot_be_ordered_are_reported() {
    let sandbox = inputs();
    sandbox.put("notes/a.txt", "some notes of my own");
    sandbox
        .run("dedup notes -o out --order similar")
        .fails(2, &["--order:", ".jsonl", "leave it out"]);
    sandbox
        .run("dedup sites.jsonl -o out --order similar --mode report")
        .fails(2, &["--order:", "leave it out"]);
    assert!(!sandbox.path("out").exists());
    let run = sandbox.run("dedup sites.jsonl notes -o out --order similar").ok();
    assert!(run.stderr.contains("1 of 2 files"), "{}", run.stderr);
    assert_eq!(
        sandbox.json("out/report.json")["order"]["files_left"].as_u64(),
        Some(1)
    );
    assert_eq!(sandbox.text("out/kept/notes/a.txt"), "some notes of my own");
    // An empty input succeeds.
    sandbox.put("none.jsonl", "");
    sandbox.run("dedup none.jsonl -o none --order similar").ok();
    assert_eq!(sandbox.text("none/kept/none.jsonl"), "");
}
