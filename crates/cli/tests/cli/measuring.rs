//! `eval`, `calibrate` and `idf build` on the command line.

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("docs.jsonl", Corpus::new(3).jsonl(80));
    sandbox
}

#[test]
fn an_evaluation_writes_tables_a_page_and_figures() {
    let sandbox = sandbox();
    let said = sandbox
        .run("eval --docs docs.jsonl --at 0.8 --html eval.html --json eval.json -q")
        .ok()
        .stdout;
    assert!(
        said.contains("Jaccard ≥ 0.8") && said.contains("MinHash-128 LSH + verification"),
        "{said}"
    );
    let json = sandbox.json("eval.json");
    assert_eq!(json["documents"], 80);
    let ours = &json["methods"][0]["cells"][0];
    assert!(ours["f1"].as_f64().unwrap() > 0.99, "{ours}");
    assert!(json["true_pairs"][0].as_u64().unwrap() > 0);
    assert!(sandbox.text("eval.html").contains("<polyline"));
    sandbox.run("eval --docs docs.jsonl --at 1.5").fails(2, &["--at"]);
    // A further profile is evaluated at the width in its name, or at the default widths if its name has none.
    let said = sandbox
        .run("eval --docs docs.jsonl --at 0.8 --also tp1-words-lntf-16 --also tp1-chars4-tf -q")
        .ok()
        .stdout;
    let rows = |name: &str| said.matches(&format!("best k ({name})")).count();
    let named = ["tp1-words-lntf-16", "tp1-chars4-tf-64", "tp1-chars4-tf-128"].map(rows);
    assert_eq!((named, rows("tp1-words-lntf-64")), ([1; 3], 1), "{said}");
    assert!(said.contains("16 bits, k = "), "{said}");
    sandbox
        .run("eval --docs docs.jsonl --also tp1-words-lntf-24")
        .fails(2, &["--also tp1-words-lntf-24"]);
    sandbox
        .run("eval --docs docs.jsonl --complete 0.3")
        .fails(2, &["--pairs"]);
    sandbox.run("eval --docs - ").fails(2, &["--docs", "stdin"]);
    sandbox.run("eval").fails(2, &["--docs"]);
}

#[test]
fn a_calibration_writes_options_that_dedup_takes() {
    let sandbox = sandbox();
    let said = sandbox
        .run("calibrate docs.jsonl --n 1e6 --limit 1e3 --write choice.toml --html page.html --threshold 0.75 -q")
        .ok()
        .stdout;
    assert!(
        said.contains("figures are for 1,000,000 documents") && said.contains("→"),
        "{said}"
    );
    let k: i64 = sandbox.text("choice.toml").parse::<toml::Table>().unwrap()["hamming"]
        .as_integer()
        .unwrap();
    sandbox
        .run("dedup docs.jsonl -o out --config choice.toml -q")
        .ok();
    let report = sandbox.json("out/report.json");
    assert_eq!(
        (report["radius"]["k"].as_i64(), report["threshold"].as_f64()),
        (Some(k), Some(0.75))
    );
}

#[test]
fn a_calibration_names_its_stop_words_and_its_table() {
    let sandbox = sandbox();
    sandbox.put("stop.txt", "the\nof\nand\n");
    sandbox.run("idf build docs.jsonl -o own.tpidf -q").ok();
    for (i, flags) in [
        "--stop-words stop.txt",
        "--idf own.tpidf",
        "--idf own.tpidf --idf-root --stop-words stop.txt",
    ]
    .into_iter()
    .enumerate()
    {
        sandbox
            .run(&format!("calibrate docs.jsonl --write c{i}.toml -q {flags}"))
            .ok();
        sandbox
            .run(&format!("dedup docs.jsonl -o by-file{i} --config c{i}.toml -q"))
            .ok();
        let table: toml::Table = sandbox.text(&format!("c{i}.toml")).parse().unwrap();
        let (bits, k) = (&table["bits"], &table["hamming"]);
        sandbox
            .run(&format!(
                "dedup docs.jsonl -o by-flags{i} --bits {bits} -k {k} -q {flags}"
            ))
            .ok();
        let profile = |out: &str| sandbox.json(&format!("{out}{i}/report.json"))["profile"].clone();
        assert_eq!(profile("by-file"), profile("by-flags"), "{flags}");
        assert_eq!(
            sandbox.text(&format!("by-file{i}/clusters.jsonl")),
            sandbox.text(&format!("by-flags{i}/clusters.jsonl")),
            "{flags}"
        );
    }
}

#[test]
fn a_profile_id_states_whether_root_idf_weights_are_used() {
    let sandbox = sandbox();
    sandbox.put("stop.txt", "the\nof\nand\n");
    sandbox.run("idf build docs.jsonl -o own.tpidf -q").ok();
    let rows = |options: &str| {
        let run = format!("fingerprint docs.jsonl -q --idf own.tpidf {options}");
        sandbox.run(&run).ok().stdout
    };
    let (full, root) = (rows(""), rows("--idf-root"));
    assert_ne!(full, root);
    assert_eq!(rows("--profile tp1-words-lntf.own-128"), full);
    assert_eq!(rows("--profile tp1-words-lntf.root.own-128"), root);
    assert_eq!(rows("--profile tp1-words-lntf.root.own-128 --idf-root"), root);
    sandbox
        .run("fingerprint docs.jsonl --idf own.tpidf --idf-root --profile tp1-words-lntf.own-64")
        .fails(2, &["leave out --idf-root"]);
    // The id of the stop words comes after these, with or without a width.
    sandbox
        .run("dedup docs.jsonl -o out --stop-words stop.txt --idf own.tpidf --bits 128 -q")
        .ok();
    let id = sandbox.json("out/report.json")["profile"]
        .as_str()
        .unwrap()
        .to_owned();
    let stop = id.split_once("+stop.").unwrap().1;
    for profile in [
        format!("tp1-words-lntf+stop.{stop}"),
        format!("tp1-words-lntf.own+stop.{stop}"),
        id.clone(),
    ] {
        let by_id = rows(&format!("--stop-words stop.txt --profile {profile}"));
        assert_eq!(
            by_id,
            rows("--stop-words stop.txt --profile tp1-words-lntf-128"),
            "{profile}"
        );
    }
}

#[test]
fn the_idf_table_is_part_of_the_profile() {
    let sandbox = sandbox();
    let said = sandbox.run("idf build docs.jsonl -o own.tpidf -q").ok().stdout;
    assert!(said.contains("of 80 documents"), "{said}");
    sandbox
        .run("dedup docs.jsonl -o out --idf own.tpidf --idf-root -q")
        .ok();
    let profile = sandbox.json("out/report.json")["profile"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(profile.starts_with("tp1-words-lntf.root.own-"), "{profile}");
    sandbox
        .run("dedup docs.jsonl -o again --config out/config.toml -q")
        .ok();
    assert_eq!(
        sandbox.text("out/clusters.jsonl"),
        sandbox.text("again/clusters.jsonl")
    );
    let rows = |options: &str| {
        sandbox
            .run(&format!("fingerprint docs.jsonl -q {options}"))
            .ok()
            .stdout
    };
    let plain = rows("");
    let shipped = rows("--idf zhen1");
    assert!(plain != shipped && shipped == rows("--profile tp1-words-lntf.zhen1-128"));
    sandbox.put("damaged.tpidf", &sandbox.tree(".")["own.tpidf"][..50]);
    sandbox
        .run("fingerprint docs.jsonl --idf damaged.tpidf")
        .fails(2, &["damaged.tpidf", "damaged"]);
    sandbox
        .run("fingerprint docs.jsonl --profile tp1-words-lntf.own-64")
        .fails(2, &["give the table"]);
    sandbox
        .run("dedup docs.jsonl -o no --profile tp1-words-lntf.other-64 --idf own.tpidf")
        .fails(2, &["is named own"]);
}
