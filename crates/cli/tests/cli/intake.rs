//! Every command reports the parts of an input that it does not take: by its exit code, on stderr also with --quiet, and in counts that add up.

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

/// Documents, and a packed file that is cut off.
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
fn a_file_that_is_cut_off_gives_code_3_and_a_line_in_every_command() {
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
                    "not taken from here on: ",
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
fn too_many_rejects_give_code_3_and_a_line_a_file_in_every_command() {
    each(
        "in.jsonl",
        "",
        |sandbox| put_without_text(sandbox, 3),
        |_, run, _| {
            run.fails(
                3,
                &[
                    "in.jsonl:198: no field \"text\"",
                    "3 of 200 records rejected, more than 1 %",
                ],
            );
        },
    );
    // Just as many as there may be.
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
fn strict_says_why_it_fails_in_every_command() {
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

/// A text as UTF-16; `\0` stands for one half of a pair.
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

fn adds_up(report: &Value) {
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
            // Two of three hundred are fewer than one in a hundred.
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
                assert!(kept == utf16(&good), "{name} is not what was good of it");
            }
        }
    }
}

#[test]
fn a_damaged_member_ends_the_reading_of_an_archive_and_is_counted() {
    let page = |i: usize| {
        let text = format!("Page {i} is about {} and nothing else.", i * i);
        let head = format!(
            "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        Corpus::gzip(format!("{head}{text}\r\n\r\n").as_bytes())
    };
    let members: Vec<Vec<u8>> = (0..20).map(page).collect();
    let mut cut = members.clone();
    let half = cut[10].len() / 2;
    cut[10].truncate(half);
    let mut damaged = members.clone();
    damaged[10][half..half + 4].fill(0xff);
    for (name, members) in [("cut", cut), ("damaged", damaged)] {
        let sandbox = Sandbox::new();
        let archive = members.concat();
        sandbox.put("in.warc.gz", &archive);
        let run = sandbox.run("dedup in.warc.gz -o out --quiet");
        run.fails(
            3,
            &[
                "in.warc.gz:11: ",
                "not taken from here on: ",
                "of the stored file",
            ],
        );
        let report = sandbox.json("out/report.json");
        adds_up(&report);
        assert_eq!(report["records"]["read"], 11, "{name}: {report:#}");
        assert_eq!(report["records"]["rejected"], 1, "{name}");
        let not_taken = report["input"]["not_taken"]["unread_bytes"].as_u64().unwrap() as usize;
        // The end of the member before gives no bytes; a damaged one may take bytes of the next for its own.
        let lost = archive.len() - members[..9].concat().len();
        assert!(not_taken <= lost, "{name}: {not_taken} of {lost}");
        assert!(not_taken >= members[13..].concat().len(), "{name}: {not_taken}");
    }
}

#[test]
fn damage_of_every_kind_gives_code_3_and_counts() {
    let text = |i: usize| format!("document {i} is about {} and nothing else", i * i);
    let objects: Vec<String> = (0..200)
        .map(|i| format!("{{\"text\":\"{}\"}}", text(i)))
        .collect();
    let lines = objects.join("\n") + "\n";
    let array = format!("[{}]", objects.join(",\n"));
    let rows: Vec<String> = (0..200).map(|i| format!("{i},{}\n", text(i))).collect();
    let rows = rows.concat();
    let gzip = Corpus::gzip(lines.as_bytes());
    let mut flipped = gzip.clone();
    let middle = flipped.len() / 2;
    flipped[middle..middle + 20].fill(0xff);
    // Each with its message, and whether the number of lines or bytes lost is known.
    let cases: [(&str, Vec<u8>, &str, &str); 9] = [
        ("cut.jsonl.gz", gzip[..middle].to_vec(), "is cut off", "bytes"),
        ("flipped.jsonl.gz", flipped, "is damaged", "unread_bytes"),
        (
            "junk.jsonl.gz",
            [gzip, b"junk".to_vec()].concat(),
            "bytes that are no gzip follow",
            "unread_bytes",
        ),
        (
            "cut.jsonl",
            lines.as_bytes()[..lines.len() - 9].to_vec(),
            "EOF while parsing",
            "lines",
        ),
        (
            "cut.json",
            array.as_bytes()[..array.len() / 2].to_vec(),
            "the file ends before its array does",
            "bytes",
        ),
        (
            "broken.json",
            array.replacen(",\n", "\n", 3).into_bytes(),
            "a comma or ] is missing",
            "lines",
        ),
        (
            "quote.csv",
            format!("id,text\n0,good\n1,\"open\n{rows}").into_bytes(),
            "is never closed",
            "lines",
        ),
        (
            "cut.csv",
            format!("id,text\n{rows}7").into_bytes(),
            "the row has 1 fields",
            "lines",
        ),
        (
            "object.json",
            b"{\"data\":[{\"text\":\"a\"}]}".to_vec(),
            "an object with the fields data",
            "bytes",
        ),
    ];
    for (name, bytes, says, known) in cases {
        let sandbox = Sandbox::new();
        sandbox.put(name, bytes);
        sandbox.put("good.txt", "One text that has nothing to do with it.");
        let run = sandbox.run(&format!("dedup {name} good.txt -o out --quiet"));
        let run = run.fails(3, &[name, says, "1 file unreadable, cut off or damaged"]);
        assert_eq!(
            run.stderr.matches(name).count(),
            1,
            "one line a file: {}",
            run.stderr
        );
        let report = sandbox.json("out/report.json");
        adds_up(&report);
        assert_eq!(report["input"]["damaged_files"].as_array().unwrap().len(), 1);
        assert!(
            report["input"]["not_taken"][known].as_u64().unwrap() > 0,
            "{name}: {report:#}"
        );
        let rejects = sandbox.rows("out/rejects.jsonl");
        let reason = rejects.last().unwrap()["reason"].as_str().unwrap();
        assert!(
            reason.contains(says) && reason.contains("not taken from here on: "),
            "{reason}"
        );
        assert_eq!(report["records"]["rejected"], rejects.len());
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
        let run = sandbox
            .run(&format!("dedup {name} good.txt -o out"))
            .fails(3, &[name]);
        assert!(
            run.stdout.contains("damaged              1  file; not used: "),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn a_file_of_which_no_record_is_taken_gives_code_3_in_every_format() {
    let rows = |delimiter: char| {
        let rows = (0..50).map(|i| format!("{i}{delimiter}body {i}\n"));
        format!("id{delimiter}body\n{}", rows.collect::<String>())
    };
    let cases: [(&str, Vec<u8>, &str); 5] = [
        (
            "none.csv",
            rows(',').into_bytes(),
            "no field \"text\"; there are id, body",
        ),
        (
            "none.tsv.gz",
            Corpus::gzip(rows('\t').as_bytes()),
            "no field \"text\"",
        ),
        (
            "none.jsonl",
            b"{\"body\":\"b\"}\n".repeat(50),
            "no field \"text\"",
        ),
        (
            "none.json",
            b"[{\"body\":1},{\"body\":2}]".to_vec(),
            "no field \"text\"",
        ),
        (
            "login.jsonl",
            b"<html>\n<p>Log in\n</html>\n".to_vec(),
            "invalid JSON",
        ),
    ];
    for (name, bytes, says) in cases {
        let sandbox = Sandbox::new();
        sandbox.put("big.jsonl", Corpus::new(5).jsonl(6000));
        sandbox.put(name, bytes);
        for command in ["dedup", "cluster"] {
            let run = sandbox
                .run(&format!("{command} big.jsonl {name} -o {command} --quiet"))
                .fails(3, &[name, says, "1 file without any usable record"]);
            assert_eq!(run.stderr.lines().count(), 2, "{}", run.stderr);
        }
        let report = sandbox.json("dedup/report.json");
        assert_eq!(report["input"]["damaged_files"][0]["source"], name);
        assert_eq!(
            report["input"]["not_taken"]["rows"],
            report["records"]["rejected"]
        );
        // Those without any record are no fault.
        sandbox.put("empty.csv", "id,text\n");
        sandbox.put("empty.json", "[]");
        sandbox.put("empty.jsonl", "");
        sandbox
            .run("dedup big.jsonl empty.csv empty.json empty.jsonl -o good --quiet")
            .ok();
        sandbox
            .run("dedup empty.csv empty.json empty.jsonl -o nothing --quiet")
            .ok();
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
                "; --any-status takes",
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
fn quiet_commands_say_one_line_a_file() {
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
