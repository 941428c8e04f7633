//! `--dry-run`: its estimates are close to what the run takes, and it fails if the machine has too little. Times are not
//! tested.

use serde_json::Value;

use crate::corpus::Corpus;
use crate::sandbox::{Run, Sandbox};

/// The estimate on the line that begins with `name`, or on the one after it.
fn estimate(run: &Run, name: &str, after: usize) -> f64 {
    let mut lines = run.stdout.lines();
    let line = lines
        .find(|line| line.trim_start().starts_with(name))
        .and_then(|line| {
            if after == 0 {
                Some(line)
            } else {
                lines.nth(after - 1)
            }
        })
        .unwrap_or_else(|| panic!("no {name} in {}", run.stdout));
    let words = line.split_whitespace().skip(usize::from(after == 0));
    let words: Vec<&str> = words.take(2).collect();
    let number: f64 = words[0].replace(['~', ','], "").parse().unwrap();
    let unit = match words[1] {
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => 1.0,
    };
    number * unit
}

/// Fails if a number is not within a factor `most` of its estimate.
fn assert_close(what: &str, estimate: f64, actual: &Value, most: f64) {
    let actual = actual.as_f64().unwrap();
    assert!(
        actual <= most * estimate && estimate <= most * actual,
        "{what}: {estimate} expected, {actual} taken"
    );
}

/// Compares the forecast of a run with the run. Fails if disk or records are not within a factor `most`.
fn assert_forecast_is_within(most: f64, sandbox: &Sandbox, args: &str) {
    let dry = sandbox.run(&format!("dedup {args} -o dry --dry-run")).ok();
    assert!(!sandbox.path("dry").exists(), "a dry run writes nothing");
    sandbox
        .run(&format!("dedup {args} -o out --overwrite --quiet"))
        .ok();
    let report = sandbox.json("out/report.json");
    let run = &report["run"];
    let amounts = [
        ("records", "records", 0, &report["records"]["read"]),
        ("texts", "texts", 0, &report["search"]["texts"]),
        ("output", "disk", 0, &run["written_bytes"]),
        ("temporary files", "disk", 1, &run["spool_bytes"]),
    ];
    for (what, name, after, actual) in amounts {
        assert_close(what, estimate(&dry, name, after), actual, most);
    }
    if !run["peak_memory_bytes"].is_null() {
        // The program of the tests is not optimised, and takes more memory.
        assert_close(
            "memory",
            estimate(&dry, "memory", 0),
            &run["peak_memory_bytes"],
            1.5,
        );
    }
}

fn assert_forecast_is_close(sandbox: &Sandbox, args: &str) {
    assert_forecast_is_within(1.25, sandbox, args);
}

#[test]
fn a_forecast_of_one_large_file_is_close() {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(3);
    let mut lines = String::new();
    while lines.len() < 44 << 20 {
        lines += &corpus.jsonl(5000);
    }
    sandbox.put("large.jsonl", lines);
    assert_forecast_is_close(&sandbox, "large.jsonl");
}

#[test]
fn a_forecast_of_many_files_is_close() {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(4);
    for i in 0..1500 {
        // Folders differ in the length of their texts.
        let texts = corpus.texts(10 + i / 50);
        sandbox.put(&format!("many/{}/{i}.txt", i / 50), texts.join("\n"));
    }
    assert_forecast_is_close(&sandbox, "many");
    sandbox.put("small.jsonl", corpus.jsonl(300));
    let sandbox_of_one = Sandbox::new();
    sandbox_of_one.put("small.jsonl", sandbox.text("small.jsonl"));
    assert_forecast_is_close(&sandbox_of_one, "small.jsonl --profile paper --keep longest");
}

#[test]
fn a_forecast_reads_as_much_as_the_sample_says() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(12).jsonl(6000));
    let dry = |options: &str| {
        sandbox
            .run(&format!("dedup in.jsonl -o out --dry-run {options}"))
            .ok()
    };
    // The numbers of a sample are approximate.
    let (whole, part) = (dry(""), dry("--sample 1MiB"));
    assert!(whole.stdout.contains(" 6,000  of which"), "{}", whole.stdout);
    assert!(
        !part.stdout.contains(" 6,000  of which 0 rejected"),
        "{}",
        part.stdout
    );
    let foreseen = estimate(&part, "records", 0);
    assert!((5400.0..6600.0).contains(&foreseen), "{}", part.stdout);
    sandbox
        .run("dedup in.jsonl -o out --sample 1MiB")
        .fails(2, &["--dry-run"]);
}

#[test]
fn a_run_that_needs_too_much_memory_or_disk_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(9).jsonl(300));
    let too_little = sandbox.run("dedup in.jsonl -o out --dry-run --memory 1MiB");
    too_little.fails(1, &["MiB of memory", "--memory", "split the input"]);
    sandbox
        .run("dedup in.jsonl -o out --memory 1MiB")
        .fails(1, &["the limit is 1 MiB"]);
    assert!(!sandbox.path("out").exists());
    // A memory limit does not change the result.
    sandbox
        .run("dedup in.jsonl -o bounded --memory 200MiB --threads 2 --quiet")
        .ok();
    sandbox.run("dedup in.jsonl -o free --quiet").ok();
    let clusters = |out: &str| sandbox.text(&format!("{out}/clusters.jsonl"));
    assert_eq!(clusters("bounded"), clusters("free"));
    // A disk of one megabyte, mounted for this script only.
    sandbox.put("large.jsonl", Corpus::new(10).jsonl(3000));
    std::fs::create_dir(sandbox.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=1m tmpfs disk || exit 99
        exec twinprint dedup large.jsonl -o disk/out --dry-run";
    let run = sandbox.bash(&format!("exec unshare --mount bash -c '{script}'"));
    if run.code == Some(99) || run.stderr.contains("unshare: ") {
        crate::sandbox::skip(
            "a_run_that_needs_too_much_memory_or_disk_is_refused",
            "no small disk can be mounted here; only the memory limit was tested",
        );
    } else {
        run.fails(1, &["the disk of the output", "--work-dir", "--mode report"]);
    }
}

#[test]
fn a_forecast_counts_the_cost_of_known_documents() {
    let sandbox = Sandbox::new();
    let corpus = Corpus::new(11).jsonl(400);
    let lines: Vec<&str> = corpus.lines().collect();
    sandbox.put("old.jsonl", lines[..300].join("\n"));
    sandbox.put("new.jsonl", lines[200..].join("\n"));
    sandbox
        .run("dedup new.jsonl -o out --dry-run --against nothere")
        .fails(1, &["--against nothere"]);
    sandbox.run("collection create seen").ok();
    sandbox.run("collection add seen old.jsonl --quiet").ok();
    let dry = sandbox
        .run("dedup new.jsonl -o out --dry-run --against seen")
        .ok();
    assert!(
        dry.stdout
            .contains("texts known from before; looking them up takes ~"),
        "{}",
        dry.stdout
    );
    sandbox.run("dedup new.jsonl -o out --against seen --quiet").ok();
    let known = sandbox.json("out/report.json")["records"]["removed_known"].clone();
    // A text of several documents is looked up once.
    assert!(known.as_f64().unwrap() >= estimate(&dry, "known", 0) && estimate(&dry, "known", 0) >= 50.0);
    let free = sandbox.run("dedup new.jsonl -o out --dry-run").ok();
    assert!(!free.stdout.contains("known"), "{}", free.stdout);
}

#[test]
fn a_forecast_of_a_run_on_disk_is_close() {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(9);
    for file in 0..4 {
        sandbox.put(&format!("in/{file}.jsonl"), corpus.jsonl(10_000));
    }
    assert_forecast_is_close(&sandbox, "in --on-disk");
    // The rows of partial copies depend on the passages that the texts share.
    assert_forecast_is_within(1.6, &sandbox, "in --on-disk --parts --hamming 20");
    let dry = sandbox.run("dedup in -o dry --dry-run --on-disk").ok();
    assert!(dry.stdout.contains("with the tables on disk"), "{}", dry.stdout);
    let free = sandbox.run("dedup in -o dry --dry-run").ok();
    assert!(!free.stdout.contains("on disk"), "{}", free.stdout);
}
