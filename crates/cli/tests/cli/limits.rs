//! Limits of memory, and of space on the disk.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write as _};

use crate::corpus::Corpus;
use crate::sandbox::{Run, Sandbox, TWINPRINT, skip};

#[test]
fn a_line_of_a_gigabyte_is_rejected_without_being_buffered() {
    const LINE: u64 = 1 << 30;
    let sandbox = Sandbox::new();
    // The line is a hole in a sparse file: it reads as zeros and needs no disk space.
    let mut file = File::create(sandbox.path("long.jsonl")).unwrap();
    file.write_all(b"{\"id\":\"before\",\"text\":\"before\"}\n")
        .unwrap();
    file.seek(SeekFrom::Current(LINE as i64)).unwrap();
    file.write_all(b"\n{\"id\":\"after\",\"text\":\"after\"}\n")
        .unwrap();
    drop(file);
    sandbox
        .run("dedup long.jsonl -o out --mode report --quiet")
        .incomplete();
    let rejects = sandbox.rows("out/rejects.jsonl");
    assert_eq!((rejects.len(), rejects[0]["line"].as_u64()), (1, Some(2)));
    let reason = rejects[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains(&LINE.to_string()) && reason.contains("more than the limit of 67108864 bytes"),
        "{reason}"
    );
    let report = sandbox.json("out/report.json");
    assert_eq!(report["records"]["kept"], 2);
    if let Some(peak) = report["run"]["peak_memory_bytes"].as_u64() {
        assert!(peak < 400 << 20, "{peak} bytes of memory");
    }
}

#[test]
fn documents_longer_than_max_document_are_rejected() {
    let sandbox = Sandbox::new();
    let texts = [200, 99, 100_000].map(|n| format!("{}\n", "a ".repeat(n)));
    sandbox.put("a.txt", &texts[0]);
    sandbox.put("b.txt", &texts[1]);
    sandbox.put("c.txt", &texts[2]);
    sandbox
        .run("dedup a.txt b.txt c.txt -o out --max-document 300B --quiet")
        .incomplete();
    let rejected: Vec<_> = sandbox
        .rows("out/rejects.jsonl")
        .iter()
        .map(|row| row["source"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(rejected, ["a.txt", "c.txt"]);
}

/// A text of about `megabytes` MiB without repeated passages.
fn long_text(megabytes: usize, chinese: bool) -> String {
    let mut state = 7u64;
    let mut text = String::with_capacity((megabytes + 1) << 20);
    while text.len() < megabytes << 20 {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        if chinese {
            text.extend(char::from_u32(0x4E00 + (state >> 40) as u32 % 3000));
        } else {
            write!(text, "w{} ", state >> 44).unwrap();
        }
    }
    text
}

#[test]
fn a_run_stays_within_its_memory_limit_or_is_refused() {
    for chinese in [false, true] {
        let sandbox = Sandbox::new();
        let text = long_text(10, chinese);
        let records = (0..3).map(|i| format!("{{\"id\":{i},\"text\":\"{text} end{i}\"}}\n"));
        sandbox.put("in.jsonl", records.collect::<String>());
        sandbox.put("whole/a.txt", &text);
        for input in ["in.jsonl", "whole"] {
            sandbox
                .run(&format!("dedup {input} -o refused --memory 200MiB --threads 2"))
                .fails(
                    1,
                    &[
                        ":1: the record is too long for the memory limit",
                        "the limit is 200 MiB",
                    ],
                );
            assert!(!sandbox.path("refused").exists());
        }
        sandbox
            .run("dedup in.jsonl -o rejected --memory 200MiB --threads 2 --max-document 1MB -q")
            .fails(
                1,
                &[
                    "none of the records is a document: 3 rejected (3 too long)",
                    "the first rejected record is in.jsonl:1: the record has 10",
                    "more than the limit of 1000000 bytes; raise the limit to take such records (--max-document)",
                ],
            );
        assert!(!sandbox.path("rejected").exists());
        for options in ["", "--columns dup-count"] {
            sandbox
                .run(&format!(
                    "dedup in.jsonl -o out --overwrite --memory 400MiB --threads 2 --pairs -q {options}"
                ))
                .ok();
            let report = sandbox.json("out/report.json");
            assert_eq!(report["records"]["removed"], 2);
            if let Some(peak) = report["run"]["peak_memory_bytes"].as_u64() {
                assert!(peak <= 400 << 20, "{peak} bytes, chinese: {chinese} {options}");
            }
        }
        // The search for partial copies needs more memory for a long record.
        sandbox
            .run("dedup in.jsonl -o refused --memory 350MiB --threads 2 --parts")
            .fails(1, &["limit is 350 MiB", "--max-document"]);
        sandbox
            .run("dedup in.jsonl -o parts --memory 600MiB --threads 2 --parts --mode report -q")
            .ok();
        if let Some(peak) = sandbox.json("parts/report.json")["run"]["peak_memory_bytes"].as_u64() {
            assert!(peak <= 600 << 20, "{peak} bytes, chinese: {chinese} --parts");
        }
        assert_eq!(sandbox.rows("parts/parts.jsonl").len(), 3);
        // The forecast takes long records into account.
        let forecast = sandbox.run("dedup in.jsonl -o none --dry-run --memory 200MiB --threads 2");
        assert_eq!(forecast.code, Some(1), "{forecast:?}");
    }
}

/// `texts` texts of `words` words each, which differ in one word.
fn crowd(texts: u64, words: u64) -> String {
    let mut state = 5u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) % below
    };
    let shared: Vec<String> = (0..words).map(|_| format!("w{}", random(5000))).collect();
    let mut lines = String::new();
    for i in 0..texts {
        let mut text = shared.clone();
        text[random(words) as usize] = format!("q{i}");
        writeln!(lines, "{{\"id\":\"{i}\",\"text\":\"{}\"}}", text.join(" ")).unwrap();
    }
    lines
}

#[test]
fn the_memory_limit_holds_for_many_similar_texts() {
    let sandbox = Sandbox::new();
    sandbox.put("short.jsonl", crowd(8000, 40));
    sandbox.put("long.jsonl", crowd(6000, 120));
    for (input, options) in [("short", ""), ("long", "-k 40 --bits 128")] {
        let run = |out: &str, more: &str| {
            let run = format!("dedup {input}.jsonl -o {input}/{out} --mode report -q {options} {more}");
            sandbox.run(&run).ok();
            sandbox.json(&format!("{input}/{out}/report.json"))
        };
        let report = run("bounded", "--memory 130MiB --threads 2");
        if let Some(peak) = report["run"]["peak_memory_bytes"].as_u64() {
            assert!(peak <= 130 << 20, "{peak} bytes of {input} texts");
        }
        let free = run("free", "");
        assert_eq!(report["search"], free["search"], "{input}");
        let clusters = |out: &str| sandbox.text(&format!("{input}/{out}/clusters.jsonl"));
        assert_eq!(clusters("bounded"), clusters("free"));
    }
}

#[test]
fn all_pairs_of_many_similar_texts_are_written_within_the_memory_limit() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", crowd(3000, 40));
    let run = |out: &str, more: &str| {
        let run = format!("dedup in.jsonl -o {out} --mode report -q --pairs {more}");
        sandbox.run(&run).ok();
        sandbox.json(&format!("{out}/report.json"))
    };
    let bounded = run("bounded", "--memory 130MiB --threads 2");
    if let Some(peak) = bounded["run"]["peak_memory_bytes"].as_u64() {
        assert!(peak <= 130 << 20, "{peak} bytes");
    }
    assert_eq!(bounded["search"], run("free", "")["search"]);
    assert!(sandbox.text("bounded/pairs.jsonl") == sandbox.text("free/pairs.jsonl"));
}

/// Inputs of about three megabytes without repeated texts.
fn large() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(11).jsonl(4000));
    sandbox
}

#[test]
fn a_full_disk_is_reported_and_leaves_no_finished_output() {
    let sandbox = large();
    std::fs::create_dir(sandbox.path("disk")).unwrap();
    // The mount is visible to this script only and disappears when the script ends.
    let script = "mount -t tmpfs -o size=1m tmpfs disk || exit 99
        code=0; \"$0\" dedup in.jsonl -o disk/out --quiet $1 || code=$?
        find disk >&2; exit $code";
    let run = |rights: &[&str], options: &str| {
        let mut command = sandbox.command("unshare");
        command.args(rights).arg("--mount");
        let run = command.args(["bash", "-c", script, TWINPRINT, options]).output();
        run.ok().map(Run::of)
    };
    let mounted = |run: &Run| run.code != Some(99) && !run.stderr.contains("unshare: ");
    for options in ["", "--work-dir work"] {
        // Run as the superuser, or in a user namespace where the system allows it.
        let run = run(&[], options)
            .filter(mounted)
            .or_else(|| run(&["--user", "--map-root-user"], options).filter(mounted));
        let Some(run) = run else {
            return skip(
                "a_full_disk_is_reported_and_leaves_no_finished_output",
                "no small disk can be mounted here; the library's tests cover a full disk",
            );
        };
        let run = run.fails(1, &["disk/out", "free space"]);
        let remaining = run.stderr.lines().filter(|line| line.starts_with("disk/out/"));
        let remaining: Vec<&str> = remaining.collect();
        assert!(remaining.is_empty(), "{remaining:?} is left behind");
    }
    assert!(!sandbox.path("work").exists(), "the work directory is gone");
}

#[test]
fn a_refused_write_is_reported() {
    let sandbox = large();
    // Files are limited to 100 blocks of 1,024 bytes, and SIGXFSZ is ignored.
    let limited = |options: &str| {
        sandbox.bash(&format!(
            "trap '' XFSZ; ulimit -f 100; exec twinprint dedup in.jsonl --quiet {options}"
        ))
    };
    limited("-o out").fails(
        1,
        &["the temporary file of texts cannot be written", "--work-dir"],
    );
    assert!(!sandbox.path("out").exists());
}
