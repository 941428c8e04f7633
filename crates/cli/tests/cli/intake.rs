//! Every command reports the records that it does not read: by its exit code, on stderr even with --quiet, and in counts that add up.

use serde_json::Value;

use crate::corpus::Corpus;
use crate::replay::with_a_service;
use crate::sandbox::{Run, Sandbox};

/// Commands that read documents, each after the command that prepares it. `{}` stands for the inputs.
const COMMANDS: [(&str, &str); 10] = [
    ("", "dedup {} -o out --quiet"),
    ("", "cluster {} -o out --quiet"),
    ("", "fingerprint {} --quiet"),
    (
        "collection create seen",
        "collection add seen {} --summary --quiet",
    ),
    (
        "collection create seen",
        "collection query seen {} --summary --quiet",
    ),
    ("", "eval --docs {} --quiet"),
    ("", "calibrate {} --quiet"),
    ("", "idf build {} -o words.tpidf --quiet"),
    (
        "index build old.u64 -o seen --quiet",
        "index query seen --profile tp1-words-lntf-64 --quiet --text {}",
    ),
    ("", "replay {} --to $address --quiet"),
];

/// Runs each command over the inputs, with further options.
pub(crate) fn each(
    inputs: &str,
    options: &str,
    put: impl Fn(&Sandbox),
    mut check: impl FnMut(&str, Run, &Sandbox),
) {
    for (before, command) in COMMANDS {
        let sandbox = Sandbox::new();
        put(&sandbox);
        sandbox.put("old.u64", [7u64, 9].map(u64::to_le_bytes).concat());
        if !before.is_empty() {
            sandbox.run(before).ok();
        }
        let command = command.replace("{}", inputs);
        // The inputs of --text and --docs end with the next option.
        let run = if command.starts_with("replay") {
            with_a_service(&sandbox, &format!("twinprint {command} {options}"))
        } else {
            sandbox.run(&format!("{command} {options}"))
        };
        check(&command, run, &sandbox);
    }
}

/// A file of documents, and a truncated gzip file.
fn put_cut_off(sandbox: &Sandbox) {
    sandbox.put("good.jsonl", Corpus::new(5).jsonl(40));
    let packed = Corpus::gzip(Corpus::new(6).jsonl(60).replace("\"d", "\"e").as_bytes());
    sandbox.put("cut.jsonl.gz", &packed[..packed.len() / 2]);
}

/// 200 records, of which `without` have no text.
pub(crate) fn put_without_text(sandbox: &Sandbox, without: usize) {
    let lines = Corpus::new(5).jsonl(200 - without);
    let others = "{\"body\":\"no text here\"}\n".repeat(without);
    sandbox.put("in.jsonl", lines + &others);
}

#[test]
fn a_truncated_file_gives_code_3_and_a_line_on_stderr_in_every_command() {
    each(
        "good.jsonl cut.jsonl.gz",
        "",
        put_cut_off,
        |command, run, sandbox| {
            let run = run.fails(
                3,
                &[
                    "cut.jsonl.gz:",
                    "the gzip stream is cut off",
                    "not read from here on: ",
                ],
            );
            assert!(!run.stderr.contains("good.jsonl"), "{command}: {}", run.stderr);
            if command.starts_with("dedup") {
                let report = sandbox.json("out/report.json");
                let damaged = &report["input"]["damaged_files"][0];
                assert_eq!(damaged["source"], "cut.jsonl.gz");
                assert_eq!(damaged["bytes"], report["input"]["not_taken"]["bytes"]);
                assert!(
                    run.stderr.contains(&format!("{} byte", damaged["bytes"])),
                    "{}",
                    run.stderr
                );
                adds_up(&report);
            }
        },
    );
    each(
        "good.jsonl cut.jsonl.gz",
        "--max-rejected 100",
        put_cut_off,
        |_, run, _| {
            run.fails(3, &["cut.jsonl.gz:"]);
        },
    );
}

#[test]
fn too_many_rejects_give_code_3_and_a_line_per_file_in_every_command() {
    each(
        "in.jsonl",
        "",
        |sandbox| put_without_text(sandbox, 3),
        |command, run, _| {
            let first = "in.jsonl:198: no field \"text\"";
            let run = run.fails(3, &[first, "3 of 200 records rejected, more than 1 %"]);
            assert_eq!(run.stderr.matches(first).count(), 1, "{command}: {}", run.stderr);
        },
    );
    // Exactly as many rejects as are allowed.
    each(
        "in.jsonl",
        "",
        |sandbox| put_without_text(sandbox, 2),
        |_, run, _| {
            let run = run.ok();
            assert!(!run.stderr.contains("exit code"), "{}", run.stderr);
        },
    );
    each(
        "in.jsonl",
        "--max-rejected 2",
        |sandbox| put_without_text(sandbox, 3),
        |_, run, _| {
            run.ok();
        },
    );
    each(
        "in.jsonl",
        "--max-rejected 0%",
        |sandbox| put_without_text(sandbox, 1),
        |_, run, _| {
            run.fails(3, &["in.jsonl:200: ", "1 of 200 records rejected, more than 0 %"]);
        },
    );
    Sandbox::new()
        .run("dedup in.jsonl -o out --max-rejected 101")
        .fails(2, &["--max-rejected", "per cent from 0 to 100"]);
}

#[test]
fn strict_names_the_reason_of_its_failure_in_every_command() {
    each(
        "in.jsonl",
        "--strict",
        |sandbox| put_without_text(sandbox, 1),
        |_, run, _| {
            run.fails(
                1,
                &[
                    "in.jsonl:200: no field \"text\"",
                    "1 of 200 records rejected, and --strict allows none",
                ],
            );
        },
    );
}

/// A text as UTF-16; `\0` stands for a lone surrogate.
pub(crate) fn utf16(text: &str) -> Vec<u8> {
    let units = text
        .encode_utf16()
        .map(|unit| if unit == 0 { 0xd83d } else { unit });
    [0xfeff]
        .into_iter()
        .chain(units)
        .flat_map(u16::to_le_bytes)
        .collect()
}

/// Checks that read = kept + removed + rejected.
pub(crate) fn adds_up(report: &Value) {
    let records = &report["records"];
    let count = |key: &str| records[key].as_u64().unwrap();
    assert_eq!(
        count("read"),
        count("kept") + count("removed") + count("rejected")
    );
}

#[test]
fn a_lone_surrogate_costs_one_record_in_every_format_and_codec() {
    const RECORDS: usize = 300;
    let sandbox = Sandbox::new();
    let mut corpus = Corpus::new(9);
    let texts: Vec<String> = (0..RECORDS)
        .map(|i| format!("number {i} {}", corpus.long(12)) + if i % 150 == 7 { "\0" } else { "" } + " end")
        .collect();
    let rows = |delimiter: char| {
        let rows = texts
            .iter()
            .enumerate()
            .map(|(i, text)| format!("{i}{delimiter}{text}\n"));
        format!("id{delimiter}text\n{}", rows.collect::<String>())
    };
    let objects: Vec<String> = texts
        .iter()
        .map(|text| format!("{{\"text\":\"{text}\"}}"))
        .collect();
    let files = [
        ("a.jsonl", objects.join("\n") + "\n"),
        ("a.json", format!("[{}]\n", objects.join(",\n"))),
        ("a.csv", rows(',')),
        ("a.tsv", rows('\t')),
        ("a.txt", texts.join("\n") + "\n"),
    ];
    for (name, content) in files {
        let plain = utf16(&content);
        let packed = [
            ("", plain.clone()),
            (".gz", Corpus::gzip(&plain)),
            (".zst", zstd::encode_all(plain.as_slice(), 1).unwrap()),
        ];
        for (codec, bytes) in packed {
            let name = format!("{name}{codec}");
            sandbox.put(&name, bytes);
            let out = format!("out-{name}");
            // Two rejects of 300 records are below the default limit of 1 %.
            let run = sandbox
                .run(&format!("dedup {name} -o {out} --lines --quiet"))
                .ok();
            assert_eq!(run.stderr, "", "{name}");
            let report = sandbox.json(&format!("{out}/report.json"));
            adds_up(&report);
            assert_eq!(report["records"]["read"], RECORDS, "{name}");
            assert_eq!(report["records"]["rejected_by"]["lone surrogate"], 2, "{name}");
            let kept = std::fs::read(sandbox.path(&format!("{out}/kept/{name}"))).unwrap();
            if codec.is_empty() && report["records"]["removed"] == 0 && !name.ends_with("json") {
                let good: String = content
                    .split_inclusive('\n')
                    .filter(|line| !line.contains('\0'))
                    .collect();
                assert!(
                    kept == utf16(&good),
                    "{name}: the copy is not the valid part of the input"
                );
            }
        }
    }
}

#[test]
fn an_archive_without_documents_is_an_error_that_counts_its_records() {
    let response = |i: usize| {
        let body =
            format!("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<html>page {i} is gone</html>");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/{i}\r\nContent-Length: {}\r\n\r\n{body}\r\n\r\n",
            body.len()
        )
    };
    let put = |sandbox: &Sandbox| sandbox.put("gone.warc", (0..3).map(response).collect::<String>());
    each("gone.warc", "", put, |_, run, _| {
        run.fails(
            1,
            &[
                "none of the records is a document: 3 skipped: 3 status 4xx",
                "; --any-status reads",
            ],
        );
    });
    let sandbox = Sandbox::new();
    put(&sandbox);
    sandbox.put("good.jsonl", Corpus::new(5).jsonl(20));
    for command in [
        "fingerprint gone.warc good.jsonl",
        "cluster gone.warc good.jsonl -o out",
    ] {
        let run = sandbox.run(command).ok();
        let said = run.stdout + &run.stderr;
        assert!(
            said.contains("records that are not documents") && said.contains("3 status 4xx"),
            "{said}"
        );
    }
}

#[test]
fn quiet_commands_print_one_line_per_file() {
    each(
        "in.jsonl",
        "",
        |sandbox| put_without_text(sandbox, 30),
        |command, run, _| {
            let lines = run.stderr.matches("in.jsonl:").count();
            assert_eq!(lines, 1, "{command}: {}", run.stderr);
        },
    );
}
