//! Damaged inputs: damage affects only the damaged records, and every reject has its file, line, reason and fix.

use crate::corpus::Corpus;
use crate::sandbox::{Sandbox, repository};

const TEXT: &str =
    "The ferry to the islands leaves at noon, and the captain asks all passengers to be there early.";

/// Two copies of a text, with `line` between them, and a third text.
fn around(line: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{{\"id\":\"first\",\"text\":\"{TEXT}\"}}\n").into_bytes();
    bytes.extend_from_slice(line);
    bytes.extend_from_slice(format!("\n{{\"id\":\"copy\",\"text\":\"{TEXT}\"}}\n").as_bytes());
    bytes.extend_from_slice(b"{\"id\":\"other\",\"text\":\"Nothing of the kind.\"}\n");
    bytes
}

/// The reason of the only reject. Checks that the other records are kept or removed.
fn reasons(sandbox: &Sandbox, out: &str, source: &str, line: u64) -> String {
    let kept = sandbox.text(&format!("{out}/kept/in.jsonl"));
    let removed = sandbox.text(&format!("{out}/removed/in.jsonl"));
    assert!(
        kept.contains("\"first\"") && kept.contains("\"other\"") && kept.lines().count() == 2,
        "{kept}"
    );
    assert!(
        removed.contains("\"copy\"") && removed.lines().count() == 1,
        "{removed}"
    );
    let report = sandbox.json(&format!("{out}/report.json"));
    let counted = ["read", "kept", "removed", "rejected"].map(|key| report["records"][key].as_u64().unwrap());
    assert_eq!(counted, [4, 2, 1, 1]);
    let rejects = sandbox.rows(&format!("{out}/rejects.jsonl"));
    assert_eq!(rejects.len(), 1);
    assert_eq!(
        (rejects[0]["source"].as_str(), rejects[0]["line"].as_u64()),
        (Some(source), Some(line))
    );
    rejects[0]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn an_invalid_record_is_rejected_with_its_reason() {
    let cases: [(&[u8], &str); 10] = [
        (
            b"{\"text\":\"half \\ud83d a pair\"}",
            "one half of a pair (a lone surrogate)",
        ),
        (
            b"{\"text\":\"half \\ud83d\\u0020\"}",
            "one half of a pair (a lone surrogate)",
        ),
        (b"{\"text\":\"caf\xe9\"}", "byte 13 (0xe9) is not UTF-8"),
        (b"{\"text\":\"cut", "invalid JSON at byte"),
        (
            b"{\"id\":1}",
            "no field \"text\"; there are id; name the one that holds the text",
        ),
        (b"{}", "no field \"text\"; the record has no fields"),
        (b"{\"text\":12}", "is a number, not a string"),
        (b"{\"text\":[\"a\"]}", "is an array, not a string"),
        (b"{\"text\":null}", "is null"),
        (b"[\"text\"]", "the record is an array, not an object"),
    ];
    let sandbox = Sandbox::new();
    for (i, (line, reason)) in cases.into_iter().enumerate() {
        sandbox.put("in.jsonl", around(line));
        let out = format!("out{i}");
        let run = sandbox.run(&format!("dedup in.jsonl -o {out}")).incomplete();
        assert!(
            run.stdout.contains("rejected"),
            "the summary tells of it: {}",
            run.stdout
        );
        let actual = reasons(&sandbox, &out, "in.jsonl", 2);
        assert!(actual.contains(reason), "{actual}");
    }
}

#[test]
fn strict_fails_on_rejects_after_writing_the_output() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", around(b"{\"text\":1}"));
    let run = sandbox.run("dedup in.jsonl -o out --strict --quiet");
    assert_eq!(run.code, Some(1));
    reasons(&sandbox, "out", "in.jsonl", 2);
    let run = sandbox.run("fingerprint in.jsonl --strict --quiet");
    assert_eq!((run.code, run.stdout.lines().count()), (Some(1), 3));
    assert!(run.stderr.contains("warning: in.jsonl:2:"), "{}", run.stderr);
    sandbox.run("fingerprint in.jsonl --quiet").incomplete();
}

#[test]
fn stderr_names_the_flag_that_helps_and_the_rows_do_not() {
    let cases: [(&str, Vec<u8>, &str); 5] = [
        (
            "number.jsonl",
            around(b"{\"text\":12}"),
            "is a number, not a string; name the field that holds the text (--text-key)",
        ),
        (
            "latin.jsonl",
            around(b"{\"text\":\"caf\xe9\"}"),
            "if the file is in another charset, name that charset (--charset)",
        ),
        (
            "wide.csv",
            b"id,text\n1,one\n2,two,three\n3,four\n".to_vec(),
            "or name the delimiter (--delimiter)",
        ),
        (
            "object.json",
            b"{\"data\":[{\"text\":\"a\"}]}".to_vec(),
            "name the format jsonl if it has one object per line (--format); not read from here on: ",
        ),
        (
            "empty.jsonl",
            around(b"{}"),
            "no field \"text\"; the record has no fields\n",
        ),
    ];
    for (name, bytes, says) in cases {
        let sandbox = Sandbox::new();
        sandbox.put(name, bytes);
        sandbox.put("good.txt", "One text that has nothing to do with it.");
        sandbox
            .run(&format!("dedup {name} good.txt -o out --strict"))
            .fails(1, &[name, says]);
        for file in ["rejects.jsonl", "report.json", "report.md"] {
            let text = sandbox.text(&format!("out/{file}"));
            assert!(!text.contains(" (--"), "{file}: {text}");
        }
        sandbox
            .run(&format!("fingerprint {name} good.txt --strict"))
            .fails(1, &[&format!("rejected {name}:"), says]);
        sandbox
            .run(&format!("cluster {name} good.txt -o stories --strict"))
            .fails(1, &[says]);
    }
}

#[test]
fn a_truncated_stream_loses_its_end_and_no_other_file() {
    let sandbox = Sandbox::new();
    // The lines compress so little that half of the compressed bytes contain about half of the lines.
    let lines = Corpus::new(3).jsonl(400).into_bytes();
    let packed = [
        ("gzip", "a.jsonl.gz", Corpus::gzip(&lines)),
        (
            "zstd",
            "a.jsonl.zst",
            zstd::encode_all(lines.as_slice(), 1).unwrap(),
        ),
    ];
    for (codec, name, bytes) in packed {
        sandbox.put(name, &bytes[..bytes.len() / 2]);
        sandbox.put("z.jsonl", "{\"id\":\"after\",\"text\":\"the next file\"}\n");
        sandbox
            .run(&format!("dedup {name} z.jsonl -o {codec} --quiet"))
            .incomplete();
        let rejects = sandbox.rows(&format!("{codec}/rejects.jsonl"));
        assert_eq!(rejects.len(), 1);
        let reason = rejects[0]["reason"].as_str().unwrap();
        let expected = format!("the {codec} stream is cut off");
        assert!(
            reason.contains(&expected) && rejects[0]["source"] == name,
            "{reason}"
        );
        let taken = rejects[0]["line"].as_u64().unwrap() - 1;
        // A zstd block is decoded completely or not at all, so less than half of the lines may precede the cut.
        assert!(taken > 0 && taken < 400, "{codec}: {taken} lines before the cut");
        let rows = sandbox.rows(&format!("{codec}/clusters.jsonl"));
        assert_eq!(rows.len() as u64, taken + 1);
        assert_eq!(rows.last().unwrap()["id"], "after");
        let copied = sandbox.text(&format!("{codec}/kept/z.jsonl"));
        assert_eq!(copied, "{\"id\":\"after\",\"text\":\"the next file\"}\n");
    }
}

#[test]
fn tables_that_make_the_decoder_panic_are_rejected_without_a_panic_message() {
    let sandbox = Sandbox::new();
    for (name, found) in [
        ("a.arrow", "arrow/unknown-type"),
        ("a.parquet", "parquet/no-dictionary"),
    ] {
        let bytes = std::fs::read(repository().join("fuzz/regressions").join(found)).unwrap();
        sandbox.put(name, bytes);
        sandbox.put("good.txt", "a text");
        let run = sandbox
            .run(&format!(
                "dedup {name} good.txt -o out-{name} --mode report --quiet"
            ))
            .fails(3, &[name]);
        assert!(!run.stderr.contains("thread"), "{}", run.stderr);
        let rejects = sandbox.rows(&format!("out-{name}/rejects.jsonl"));
        assert!(
            rejects[0]["reason"]
                .as_str()
                .unwrap()
                .contains("the decoder failed")
        );
    }
}

#[test]
fn a_table_whose_other_columns_are_damaged_is_not_copied() {
    let sandbox = Sandbox::new();
    let bytes = std::fs::read(repository().join("fuzz/regressions/parquet/level-beyond")).unwrap();
    sandbox.put("a.parquet", bytes);
    sandbox
        .run("dedup a.parquet -o out --quiet")
        .fails(1, &["a.parquet", "a level is beyond those of its column"]);
}

#[test]
fn bytes_after_a_gzip_stream_are_distinguished_from_damage() {
    let sandbox = Sandbox::new();
    let packed = Corpus::gzip(&around(b"{\"text\":12}"));
    sandbox.put("padded.jsonl.gz", [packed.as_slice(), &[0; 512]].concat());
    sandbox.put("junk.jsonl.gz", [packed.as_slice(), b"<html>"].concat());
    sandbox
        .run("dedup padded.jsonl.gz -o padded --quiet")
        .incomplete();
    assert_eq!(sandbox.rows("padded/rejects.jsonl").len(), 1);
    sandbox.run("dedup junk.jsonl.gz -o junk --quiet").incomplete();
    let rejects = sandbox.rows("junk/rejects.jsonl");
    let reason = rejects[1]["reason"].as_str().unwrap();
    assert!(
        reason.contains("ends here, and bytes that are not gzip follow") && !reason.contains("damaged"),
        "{reason}"
    );
    assert_eq!(sandbox.json("junk/report.json")["records"]["kept"], 2);
}

#[test]
fn empty_files_are_not_an_error() {
    let sandbox = Sandbox::new();
    sandbox.put("empty.jsonl", "");
    sandbox.put("blank.jsonl", "\n  \n\n");
    sandbox.put("empty.txt", "");
    sandbox
        .run("dedup empty.jsonl blank.jsonl empty.txt -o out --quiet")
        .ok();
    let report = sandbox.json("out/report.json");
    assert_eq!(
        report["records"]["read"], 1,
        "an empty text file is one empty text"
    );
    assert_eq!(report["records"]["empty"], 1);
    assert_eq!(report["input"]["blank_lines"], 3);
    assert_eq!(sandbox.text("out/kept/empty.jsonl"), "");
    sandbox.run("dedup empty.jsonl -o nothing --quiet").ok();
    assert_eq!(sandbox.json("nothing/report.json")["records"]["read"], 0);
    sandbox.run("fingerprint empty.jsonl --quiet").ok();
}
