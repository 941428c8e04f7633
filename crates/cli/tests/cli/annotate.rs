//! `--mode annotate`: every document once, with its own bytes unchanged and the fields of its cluster added.

use serde_json::Value;

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// A file of lines with one invalid record, and a gzip file.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(31);
    let mut lines = corpus.jsonl(250);
    lines += "no json\n\n{ \"id\" : \"last\",\t\"text\":\"{}\" } \r\n";
    sandbox.put("in.jsonl", lines);
    sandbox.put("deep/packed.jsonl.gz", Corpus::gzip(corpus.jsonl(150).as_bytes()));
    sandbox
}

#[test]
fn annotated_records_agree_with_the_clusters() {
    let sandbox = inputs();
    sandbox
        .run("dedup in.jsonl deep -o out --mode annotate --quiet")
        .ok();
    assert!(!sandbox.path("out/kept").exists() && !sandbox.path("out/removed").exists());
    sandbox.bash("gunzip out/annotated/deep/packed.jsonl.gz").ok();
    let clusters = sandbox.rows("out/clusters.jsonl");
    let lines = |name: &str| {
        let text = sandbox.text(name);
        text.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let annotated = [
        lines("out/annotated/in.jsonl"),
        lines("out/annotated/deep/packed.jsonl"),
    ]
    .concat();
    assert_eq!((annotated.len(), clusters.len()), (401, 401));
    let mut copies = 0;
    for (line, cluster) in annotated.iter().zip(&clusters) {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["id"], cluster["id"], "{line}");
        for field in [
            "cluster_id",
            "cluster_size",
            "is_leader",
            "duplicate_of",
            "hamming",
            "jaccard",
            "dup_count",
        ] {
            assert_eq!(record[field], cluster[field], "{field} of {line}");
        }
        copies += u64::from(record["dup_count"].as_u64().unwrap() > 1);
    }
    assert!(copies > 10);
    // The record's own bytes come before the added fields, unchanged.
    let input: Vec<String> = lines("in.jsonl");
    let own = input.iter().filter(|line| *line != "no json");
    for (line, own) in annotated.iter().zip(own) {
        let own = own.trim_end().trim_end_matches('}');
        assert!(line.starts_with(own), "{own}\n{line}");
    }
}

/// The rows of a table whose quotes are only around whole fields.
fn table(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let row = |line: &str| {
        line.split(delimiter)
            .map(|field| field.trim_matches('"').to_owned())
            .collect()
    };
    text.lines().map(row).collect()
}

#[test]
fn csv_rows_and_json_elements_get_the_same_fields_as_jsonl_lines() {
    let sandbox = Sandbox::new();
    let mut records: Vec<Value> = Corpus::new(32)
        .jsonl(120)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for record in &mut records {
        // One line each, without quotes, so that a simple reader reads the rows.
        let text = record["text"]
            .as_str()
            .unwrap()
            .replace(['\r', '\n', '"', ';'], " ");
        record["text"] = text.into();
    }
    let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
    let lines = lines.join("\n") + "\n";
    let text = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
    let row = |record: &Value| format!("{};\"{}\"\r\n", text(record, "id"), text(record, "text"));
    let rows = records.iter().map(row).collect::<Vec<_>>().concat();
    sandbox.put("in.jsonl", &lines);
    sandbox.put(
        "in.json",
        format!("[\n  {}\n]\n", lines.trim_end().replace('\n', " ,\n  ")),
    );
    sandbox.put("in.csv", format!("\u{feff}id;text\r\n{rows}"));
    sandbox.put("headless.csv", &rows);
    for (name, options) in [
        ("in.jsonl", ""),
        ("in.json", ""),
        ("in.csv", ""),
        ("headless.csv", "--no-header --id-key 1 --text-key 2"),
    ] {
        let args = format!("dedup {name} -o {name}-out --mode annotate --prefix x_ --quiet {options}");
        sandbox.run(&args).ok();
        let report = sandbox.json(&format!("{name}-out/report.json"));
        assert_eq!(report["records"]["read"], 120, "{name}");
    }
    let annotated = |name: &str| sandbox.text(&format!("{name}-out/annotated/{name}"));
    let expected: Vec<Value> = annotated("in.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(expected.iter().any(|record| record["x_duplicate_of"].is_string()));
    let array: Vec<Value> = serde_json::from_str(&annotated("in.json")).unwrap();
    assert_eq!(array, expected);

    let csv = annotated("in.csv");
    assert!(csv.starts_with(
        "\u{feff}id;text;x_cluster_id;x_cluster_size;x_is_leader;x_duplicate_of;x_hamming;x_jaccard;x_dup_count\r\n"
    ));
    assert_eq!(csv.matches("\r\n").count(), 121);
    let (with, without) = (table(&csv, ';'), table(&annotated("headless.csv"), ';'));
    assert_eq!(with[1..], without);
    let (header, rows) = with.split_first().unwrap();
    for (row, record) in rows.iter().zip(&expected) {
        assert_eq!(row.len(), header.len());
        for (name, field) in header.iter().zip(row) {
            let value = &record[name.trim_start_matches('\u{feff}')];
            let shown = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(*field, shown, "{name}");
        }
    }
}

#[test]
fn columns_have_the_names_of_other_tools() {
    let sandbox = inputs();
    let annotated = |tool: &str| {
        let args = format!("dedup in.jsonl -o {tool} --mode annotate --columns {tool} --prefix x. --quiet");
        sandbox.run(&args).ok();
        let rows = sandbox.text(&format!("{tool}/annotated/in.jsonl"));
        let rows: Vec<Value> = rows
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let clusters = sandbox.rows(&format!("{tool}/clusters.jsonl"));
        rows.into_iter().zip(clusters).enumerate().collect::<Vec<_>>()
    };
    for (_, (row, cluster)) in annotated("datatrove") {
        let alone = cluster["cluster_size"] == 1;
        let id = if alone {
            Value::from(-1)
        } else {
            cluster["cluster_id"].clone()
        };
        assert_eq!(row["x.minhash_cluster_id"], id);
        assert_eq!(row["x.minhash_cluster_size"], cluster["cluster_size"]);
        assert!(row.get("x.cluster_id").is_none());
    }
    for (i, (row, cluster)) in annotated("text-dedup") {
        assert_eq!(row["x.__INDEX__"], i);
        assert_eq!(row["x.__CLUSTER__"], cluster["cluster_id"]);
    }
    let mut seen = std::collections::BTreeMap::new();
    for (_, (row, cluster)) in annotated("duplodocus") {
        assert_eq!(row["x.cc_size"], cluster["cluster_size"]);
        assert_eq!(row["x.cc_idx"] == 0, cluster["is_leader"] == true);
        let indices: &mut Vec<u64> = seen.entry(row["x.cc_id"].as_u64().unwrap()).or_default();
        indices.push(row["x.cc_idx"].as_u64().unwrap());
    }
    for mut indices in seen.into_values() {
        indices.sort_unstable();
        assert!(indices.iter().copied().eq(0..indices.len() as u64), "{indices:?}");
    }
}

#[test]
fn inputs_that_cannot_be_annotated_are_refused() {
    let sandbox = inputs();
    sandbox.put("notes/a.txt", "some notes of my own");
    sandbox
        .run("dedup in.jsonl notes -o out --mode annotate")
        .fails(2, &["notes/a.txt", "no fields", "clusters.jsonl"]);
    assert!(!sandbox.path("out").exists());
    // The clash is found before the run begins, or at the record that has it.
    let clash = "{\"text\":\"one two\",\"hamming\":3}\n";
    let parts = [":2", "\"hamming\"", "--prefix"];
    sandbox.put("early.jsonl", format!("{{\"text\":\"one\"}}\n{clash}"));
    sandbox
        .run("dedup early.jsonl -o out --mode annotate")
        .fails(1, &parts);
    let many = Corpus::new(8).jsonl(4000);
    assert!(many.len() > 2 << 20);
    sandbox.put("header.csv", "text,hamming\none two,3\n");
    sandbox
        .run("dedup header.csv -o out --mode annotate")
        .fails(1, &["header.csv: ", "\"hamming\"", "--prefix"]);
    sandbox.put("late.jsonl", many + clash);
    sandbox
        .run("dedup late.jsonl -o out --mode annotate --quiet")
        .fails(1, &["late.jsonl:4001", "\"hamming\"", "--prefix"]);
    sandbox
        .run("dedup late.jsonl -o out --mode annotate --prefix dedup_ --quiet")
        .ok();
    let last = sandbox.text("out/annotated/late.jsonl");
    assert!(last.lines().last().unwrap().contains("\"dedup_hamming\":"));
}
