//! Indexes whose ids are names, compared with brute force.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::sandbox::{Run, Sandbox};

/// The documents of a corpus with other names, as JSON lines. Some names need quotes or are not ASCII.
fn documents(corpus: u64, from: usize, to: usize) -> String {
    let rows = Corpus::new(corpus).jsonl(to);
    let rows = rows.lines().enumerate().skip(from).map(|(i, row)| {
        let mut row: Value = serde_json::from_str(row).unwrap();
        let name = match i % 4 {
            0 => format!("page {i}"),
            1 => format!("\"{i}\", 页"),
            2 => format!("https://example.org/{i}.html"),
            _ => i.to_string(),
        };
        row["id"] = json!(name);
        row.to_string() + "\n"
    });
    rows.collect()
}

/// Makes a table of fingerprints. Returns the name and the fingerprint of each row.
fn table(sandbox: &Sandbox, name: &str, documents: &str, bits: u32) -> Vec<(String, u128)> {
    sandbox.put("in.jsonl", documents);
    let args = format!("fingerprint in.jsonl --profile tp1-words-lntf-{bits} -q");
    let printed = sandbox.run(&args).ok().stdout;
    sandbox.run(&format!("{args} -o {name}")).ok();
    objects(&printed)
        .map(|row| {
            let fingerprint = row["fingerprint"].as_str().unwrap();
            (text(&row["id"]), u128::from_str_radix(fingerprint, 16).unwrap())
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn objects(lines: &str) -> impl Iterator<Item = Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// The names and fingerprints of an index, in the order of the ids.
#[derive(Clone, Default)]
struct Named {
    order: Vec<String>,
    living: BTreeMap<String, u128>,
}

impl Named {
    fn add(&mut self, rows: &[(String, u128)]) {
        for (name, fingerprint) in rows {
            if !self.order.contains(name) {
                self.order.push(name.clone());
            }
            self.living.insert(name.clone(), *fingerprint);
        }
    }

    fn in_order(&self) -> Vec<(String, u128)> {
        let living = self
            .order
            .iter()
            .filter_map(|name| Some((name.clone(), *self.living.get(name)?)));
        living.collect()
    }

    /// The rows of a query: matches by distance, then by the order of the ids.
    fn query(&self, queries: &[(String, u128)], k: u32) -> Vec<(String, String, u32)> {
        let mut rows = Vec::new();
        for (query, x) in queries {
            let mut near: Vec<_> = (0..)
                .zip(self.in_order())
                .map(|(at, (name, y))| ((x ^ y).count_ones(), at, name))
                .filter(|near| near.0 <= k)
                .collect();
            near.sort();
            let near = near
                .into_iter()
                .map(|(hamming, _, name): (u32, u32, String)| (query.clone(), name, hamming));
            rows.extend(near);
        }
        rows
    }
}

fn found(run: &Run) -> Vec<(String, String, u32)> {
    objects(&run.stdout)
        .map(|row| {
            (
                text(&row["query"]),
                text(&row["id"]),
                row["hamming"].as_u64().unwrap() as u32,
            )
        })
        .collect()
}

#[test]
fn every_command_names_ids_as_the_input_does_at_every_width() {
    for bits in [32, 64, 128] {
        let sandbox = Sandbox::new();
        let old = table(&sandbox, "old.parquet", &documents(1, 0, 60), bits);
        // The second table repeats 20 names, with other texts.
        let new = table(&sandbox, "new.parquet", &documents(2, 40, 100), bits);
        let queries = table(&sandbox, "q.parquet", &documents(1, 30, 80), bits);
        let mut expected = Named::default();
        let check = |expected: &Named, step: &str| {
            for k in [0, 3, bits / 4] {
                for scan in ["--scan", "--scan=never"] {
                    let run = sandbox
                        .run(&format!("index query seen --queries q.parquet -k {k} {scan} -q"))
                        .ok();
                    assert_eq!(found(&run), expected.query(&queries, k), "{step}, k = {k}");
                }
            }
            let exported: Vec<(String, u128)> = objects(&sandbox.run("index export seen -q").ok().stdout)
                .map(|row| {
                    let fingerprint = row["fingerprint"].as_str().unwrap();
                    (text(&row["id"]), u128::from_str_radix(fingerprint, 16).unwrap())
                })
                .collect();
            assert_eq!(exported, expected.in_order(), "{step}");
            sandbox.run("index check seen").ok();
        };
        sandbox.run("index build old.parquet -o seen -q").ok();
        expected.add(&old);
        check(&expected, "build");
        let said = sandbox.run("index add seen new.parquet -q").ok().stdout;
        assert_eq!(said, "seen: 60 fingerprints added\n");
        expected.add(&new);
        assert_eq!(expected.living.len(), 100);
        check(&expected, "add");
        // The same files again change nothing.
        sandbox.run("index add seen new.parquet -q").ok();
        check(&expected, "add again");
        sandbox.put("gone", "page 8\n\"13\", 页\nnever stored\n");
        let said = sandbox.run("index delete seen 3 3 --ids gone").ok().stdout;
        assert_eq!(said, "seen: 3 ids deleted, 1 not in the index\n");
        for name in ["page 8", "\"13\", 页", "3"] {
            expected.living.remove(name);
        }
        check(&expected, "delete");
        sandbox.run("index compact seen").ok();
        check(&expected, "compact");
        // A deleted name is added again. It keeps its place.
        table(&sandbox, "again.parquet", &documents(1, 0, 10), bits);
        sandbox.run("index add seen again.parquet -q").ok();
        expected.add(&old[..10]);
        check(&expected, "deleted names again");

        let stat = sandbox.run("index stat seen --json").ok().stdout;
        let stat: Value = serde_json::from_str(&stat).unwrap();
        assert_eq!(stat["names"], 100);
        assert!(
            sandbox
                .run("index stat seen")
                .ok()
                .stdout
                .contains("ids are names")
        );

        // The exported table is an index of the same names.
        sandbox.run("index export seen -o out.parquet -q").ok();
        sandbox.run("index build out.parquet -o again -q").ok();
        let export = |index: &str| sandbox.run(&format!("index export {index} -q")).ok().stdout;
        assert_eq!(export("again"), export("seen"));
    }
}

#[test]
fn joins_name_ids_on_both_sides() {
    let sandbox = Sandbox::new();
    let old = table(&sandbox, "old.parquet", &documents(1, 0, 60), 64);
    let new = table(&sandbox, "new.parquet", &documents(1, 30, 70), 64);
    sandbox.run("index build old.parquet -o old -q").ok();
    sandbox.run("index build new.parquet -o new -q").ok();
    sandbox
        .run("index build new.parquet --positions -o numbers -q")
        .ok();
    let k = 12;
    let mut pairs: Vec<(String, String, u64)> = Vec::new();
    for (a, x) in &old {
        for (b, y) in &new {
            let hamming = u64::from((x ^ y).count_ones());
            if hamming <= k {
                pairs.push((a.clone(), b.clone(), hamming));
            }
        }
    }
    pairs.sort();
    assert!(pairs.len() > 40);
    for sides in [
        "old new",
        "old new.parquet",
        "old.parquet new",
        "old.parquet new.parquet",
    ] {
        let run = sandbox
            .run(&format!("index join {sides} -k {k} --all-pairs -q"))
            .ok();
        let mut joined: Vec<_> = objects(&run.stdout)
            .map(|row| (text(&row["a"]), text(&row["b"]), row["hamming"].as_u64().unwrap()))
            .collect();
        joined.sort();
        assert_eq!(joined, pairs, "{sides}");
    }
    // A side may have numbers as ids.
    let run = sandbox
        .run(&format!("index join old numbers -k {k} --all-pairs -q"))
        .ok();
    let mut joined: Vec<_> = objects(&run.stdout)
        .map(|row| {
            let b = row["b"].as_u64().unwrap() as usize;
            (
                text(&row["a"]),
                new[b].0.clone(),
                row["hamming"].as_u64().unwrap(),
            )
        })
        .collect();
    joined.sort();
    assert_eq!(joined, pairs);
    // Rows of fingerprints have lists of names, in every format but bin.
    let run = sandbox.run(&format!("index join old new -k {k} -q")).ok();
    let mut listed = Vec::new();
    for row in objects(&run.stdout) {
        for a in row["a"].as_array().unwrap() {
            for b in row["b"].as_array().unwrap() {
                listed.push((text(a), text(b), row["hamming"].as_u64().unwrap()));
            }
        }
    }
    listed.sort();
    assert_eq!(listed, pairs);
    let csv = sandbox
        .run(&format!("index join old new -k {k} -q --format csv"))
        .ok()
        .stdout;
    assert_eq!(csv.lines().next(), Some("a,b,hamming"));
    assert_eq!(csv.lines().count(), run.stdout.lines().count() + 1);
    assert!(csv.contains("\"[\"\"page 32\"\"]\""), "{csv}");
    sandbox
        .run(&format!("index join old new -k {k} -q -o pairs.parquet"))
        .ok();
    sandbox
        .run("index join old new -q --format bin")
        .fails(1, &["\"a\" contains names"]);
}

#[test]
fn names_of_an_index_are_the_documents_that_dedup_removes_duplicates_of() {
    let sandbox = Sandbox::new();
    let texts = documents(1, 0, 20);
    table(&sandbox, "old.parquet", &texts, 128);
    sandbox.run("index build old.parquet -o seen -q").ok();
    sandbox.put(
        "new.jsonl",
        texts
            .lines()
            .nth(6)
            .unwrap()
            .replace("example.org", "example.com"),
    );
    sandbox.run("dedup new.jsonl -o out --against seen -q").ok();
    let row = &sandbox.rows("out/clusters.jsonl")[0];
    assert_eq!(row["duplicate_of"], "https://example.org/6.html");
    // Texts are looked up too.
    let run = sandbox.run("index query seen --text new.jsonl -k 0 -q").ok();
    assert_eq!(
        found(&run),
        [(
            "https://example.com/6.html".to_owned(),
            "https://example.org/6.html".to_owned(),
            0
        )]
    );
}

#[test]
fn names_and_numbers_are_not_mixed() {
    let sandbox = Sandbox::new();
    table(&sandbox, "named.parquet", &documents(1, 0, 20), 64);
    sandbox.run("index build named.parquet -o named -q").ok();
    sandbox
        .run("index build named.parquet --positions -o numbered -q")
        .ok();
    sandbox.run("index export numbered -o numbered.parquet -q").ok();
    sandbox.put("a.u64", 7u64.to_le_bytes());
    let before = sandbox.tree(".");
    for (args, code, says) in [
        ("index add numbered named.parquet", 2, "--positions"),
        ("index add named a.u64", 2, "ids of named are names"),
        ("index add named numbered.parquet", 2, "ids of named are names"),
        (
            "index add named named.parquet --positions",
            2,
            "ids of named are names",
        ),
        ("index add named named.parquet --first-id 100", 2, "--first-id"),
        (
            "index build named.parquet numbered.parquet -o x",
            1,
            "numbered.parquet",
        ),
        ("index build named.parquet a.u64 -o x", 1, "a.u64"),
        ("index build named.parquet named.parquet -o x", 1, "occurs twice"),
        ("index add named named.parquet named.parquet", 1, "occurs twice"),
        ("index export named -o out.u64", 2, "names"),
        ("index export named --format bin", 1, "contains names"),
        (
            "index query named --queries a.u64 --format bin",
            1,
            "contains names",
        ),
    ] {
        sandbox.run(args).fails(code, &[says]);
    }
    let mut after = sandbox.tree(".");
    // The directory of a refused build has only the lock, as with every refused build.
    after.retain(|name, _| name != "x/lock");
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    assert!(after == before);
    // A build with the same directory succeeds.
    sandbox.run("index build named.parquet -o x -q").ok();
    let export = |index: &str| sandbox.run(&format!("index export {index} -q")).ok().stdout;
    assert_eq!(export("x"), export("named"));
}

#[test]
fn an_index_of_no_names_is_undamaged() {
    let sandbox = Sandbox::new();
    table(&sandbox, "some.parquet", &documents(1, 0, 3), 64);
    sandbox.run("index build some.parquet -o some -q").ok();
    sandbox
        .run("index delete some --ids names.txt")
        .fails(1, &["names.txt"]);
    let names = sandbox.run("index export some --format csv -q").ok().stdout;
    assert_eq!(names.lines().count(), 4);
    // A table without rows, from an index whose names are deleted.
    sandbox.run("index delete some https://example.org/2.html").ok();
    sandbox.put("names.txt", "page 0\n\"1\", 页\n");
    sandbox.run("index delete some --ids names.txt").ok();
    sandbox.run("index export some -o none.parquet -q").ok();
    sandbox.run("index build none.parquet -o none -q").ok();
    for index in ["some", "none"] {
        let checked = sandbox.run(&format!("index check {index}")).ok().stdout;
        assert!(checked.contains("undamaged; 0 fingerprints"), "{checked}");
    }
    sandbox.run("index add none some.parquet -q").ok();
    assert!(
        sandbox
            .run("index check none")
            .ok()
            .stdout
            .contains("3 fingerprints")
    );
}
