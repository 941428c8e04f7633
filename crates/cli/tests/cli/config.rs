//! `--config`: the config.toml of a run reproduces its result, and the command line takes precedence.

use std::collections::BTreeMap;

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(5);
    sandbox.put("-in.jsonl", corpus.jsonl(300));
    sandbox.put("folder/a.rs", corpus.document());
    sandbox.put("folder/b.txt", corpus.document());
    sandbox.put("stop.txt", "the\nof\nand\n");
    sandbox
}

/// All files of a result except the report and the configuration, which contain the reason for the radius.
fn rows(sandbox: &Sandbox, out: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = sandbox.tree(out);
    files.retain(|name, _| !name.starts_with("report.") && name != "config.toml");
    assert!(files.contains_key("clusters.jsonl"), "{:?}", files.keys());
    files
}

fn table(sandbox: &Sandbox, name: &str) -> toml::Table {
    sandbox.text(name).parse().unwrap()
}

#[test]
fn a_written_configuration_gives_the_same_result() {
    let sandbox = inputs();
    let ways = [
        "",
        "--threshold 0.75 --keep longest --order similar --pairs=distinct --ext rs --limit 200 --text-key=text --seed 18446744073709551615",
        "--profile paper --mode report --any-text",
        "--profile tp1-chars4-tf-64 --stop-words stop.txt --lines --keep newest --keep-key id -k 7",
        "--no-verify --max-document 1MiB --id-key name --pairs",
    ];
    for (i, way) in ways.into_iter().enumerate() {
        let (first, again) = (format!("first{i}"), format!("again{i}"));
        sandbox
            .run(&format!("dedup -o {first} --quiet {way} -- -in.jsonl folder"))
            .ok();
        sandbox
            .run(&format!("dedup --config {first}/config.toml -o {again} --quiet"))
            .ok();
        assert_eq!(rows(&sandbox, &first), rows(&sandbox, &again), "{way}");
        let configs = [first, again].map(|out| table(&sandbox, &format!("{out}/config.toml")));
        assert_eq!(configs[0], configs[1], "{way}");
    }
}

#[test]
fn the_command_line_has_precedence() {
    let sandbox = inputs();
    sandbox.put(
        "my.toml",
        "inputs = ['nothere.txt']\noutput = 'elsewhere'\nthreshold = 0.9\next = ['md', 'c']\nkeep = 'longest'\npairs = true\nquiet = true\nlines = false\n",
    );
    sandbox
        .run("dedup --config=my.toml folder --ext rs -o out --threshold 0.7")
        .ok();
    let config = table(&sandbox, "out/config.toml");
    assert_eq!(config["threshold"].as_float(), Some(0.7));
    assert_eq!(config["keep"].as_str(), Some("longest"));
    assert_eq!(config["pairs"].as_str(), Some("all"));
    assert_eq!(config["inputs"].as_array().unwrap(), &["folder".into()]);
    assert_eq!(config["ext"].as_array().unwrap(), &["rs".into()]);
    assert!(!sandbox.path("elsewhere").exists());
    // Options that are not on the command line come from the file, including the output directory.
    let run = sandbox.run("dedup folder --config my.toml").ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    assert!(sandbox.path("elsewhere/report.json").exists());
    // Other commands take a file as well.
    sandbox.put("rows.toml", "format-out = 'tsv'\ninputs = ['folder']\n");
    let run = sandbox.run("fingerprint --config rows.toml --quiet").ok();
    assert!(run.stdout.trim_end().ends_with("folder/b.txt"), "{}", run.stdout);
}

#[test]
fn errors_in_the_file_are_named() {
    let sandbox = inputs();
    let refused = |text: &str, code: i32, parts: &[&str]| {
        sandbox.put("my.toml", text);
        let parts = [&["my.toml"], parts].concat();
        sandbox
            .run("dedup folder -o out --config my.toml")
            .fails(code, &parts);
        assert!(!sandbox.path("out").exists(), "{text}");
    };
    refused(
        "thresold = 0.9",
        2,
        &["thresold", "no such option", "dedup --help"],
    );
    refused("[dedup]\nthreshold = 0.9", 2, &["dedup", "no such option"]);
    refused("config = 'other.toml'", 2, &["config", "no such option"]);
    refused("threshold = 'much'", 2, &["much", "--threshold"]);
    refused("threshold = [0.8, 0.9]", 2, &["--threshold"]);
    refused("keep = 'oldest'", 2, &["oldest", "first, longest"]);
    refused("quiet = 3", 2, &["quiet", "true or false"]);
    refused("ext = {a = 1}", 2, &["ext", "a list of strings"]);
    refused("threshold = ", 2, &["line 1"]);
    sandbox
        .run("dedup folder -o out --config nothere.toml")
        .fails(1, &["--config nothere.toml", "No such file"]);
    // Values that the library refuses are refused as on the command line.
    refused_by_value(&sandbox);
}

#[test]
fn subcommands_take_a_configuration_file() {
    let sandbox = inputs();
    sandbox
        .run("idf build -o no.tpidf --config nothere.toml -- -in.jsonl")
        .fails(1, &["--config nothere.toml", "No such file"]);
    sandbox.put("table.toml", "name = 'mine'\ninputs = ['-in.jsonl']\n");
    sandbox
        .run("idf build -o idf.tpidf --config table.toml --quiet")
        .ok();
    sandbox
        .run("dedup folder -o out --idf idf.tpidf --mode report --quiet")
        .ok();
    let profile = sandbox.json("out/report.json")["profile"].clone();
    assert!(
        profile.as_str().unwrap().starts_with("tp1-words-lntf.mine-"),
        "{profile}"
    );
    sandbox.run("collection create store").ok();
    sandbox.put("add.toml", "inputs = ['-in.jsonl']\nthreshold = 0.8\n");
    let add = |file: &str| sandbox.run(&format!("collection add store --config {file} --quiet"));
    let parts = ["threshold", "no such option", "twinprint collection add --help"];
    add("add.toml").fails(2, &parts);
    sandbox.put("add.toml", "dir = 'store'\n");
    add("add.toml").fails(2, &["dir", "no such option"]);
    sandbox.put("add.toml", "inputs = ['-in.jsonl']\n");
    assert!(add("add.toml").ok().stdout.contains("300"));
}

fn refused_by_value(sandbox: &Sandbox) {
    sandbox.put("my.toml", "threshold = 1.5\n");
    sandbox
        .run("dedup folder -o out --config my.toml")
        .fails(2, &["--threshold: 1.5"]);
    // A profile with stop words accepts only its own list.
    sandbox
        .run("dedup folder -o first --stop-words stop.txt --quiet")
        .ok();
    sandbox.put("stop.txt", "other\nwords\n");
    sandbox
        .run("dedup --config first/config.toml -o out")
        .fails(2, &["stop.txt has other stop words"]);
}
