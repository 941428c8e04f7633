//! Fields that an input does not have, and files read as text.

use std::fs::File;
use std::process::Stdio;

use crate::corpus::Corpus;
use crate::intake::{each, put_without_text, utf16};
use crate::sandbox::{Run, Sandbox, TWINPRINT};

#[test]
fn an_input_without_a_document_is_an_error_that_names_the_fields() {
    each(
        "in.jsonl",
        "--text-key content",
        |sandbox| put_without_text(sandbox, 0),
        |_, run, _| {
            run.fails(
                1,
                &[
                    "none of the records is a document: 200 rejected (200 field missing)",
                    "the records have the fields id, text, time",
                ],
            );
        },
    );
    // If the header lacks the field, the error comes before anything is read.
    let put = |sandbox: &Sandbox| sandbox.put("in.csv", "id,title\n1,a\n2,b\n");
    each("in.csv", "", put, |command, run, sandbox| {
        run.fails(
            1,
            &[
                "in.csv has no field \"text\" for the text; its fields are id, title",
                "--text-key",
            ],
        );
        if command.starts_with("dedup") {
            assert!(!sandbox.path("out/report.json").exists());
        }
    });
}

#[test]
fn a_dry_run_refuses_the_options_that_a_run_refuses() {
    let sandbox = Sandbox::new();
    put_without_text(&sandbox, 0);
    sandbox
        .run("dedup in.jsonl -o out --dry-run --text-key content")
        .fails(1, &["none of the records is a document", "id, text, time"]);
}

#[test]
fn sort_fields_and_id_fields_are_checked_before_texts_are_read() {
    let sandbox = Sandbox::new();
    sandbox.put("in.csv", "id,text\n1,a b c\n2,d e f\n");
    sandbox
        .run("dedup in.csv -o out --keep newest --keep-key date")
        .fails(
            1,
            &["has no field \"date\" for the value to sort by", "--keep-key"],
        );
    // An empty file does not affect the others.
    sandbox.put("a.csv", "");
    for inputs in ["in.csv", "a.csv in.csv"] {
        sandbox.run(&format!("dedup {inputs} -o out --id-key uid")).fails(
            1,
            &[
                "has no field \"uid\" for the id; its fields are id, text",
                "--id-key",
            ],
        );
    }
    sandbox.run("dedup in.csv -o out --html-key body").fails(
        1,
        &[
            "has no field \"body\" for the text",
            "name the field with --text-key or --html-key",
        ],
    );
    sandbox.run("dedup in.csv -o out --id-key uid").fails(
        1,
        &[
            "has no field \"uid\" for the id; its fields are id, text",
            "--id-key",
        ],
    );
    sandbox.put(
        "in.jsonl",
        "{\"text\":\"a b c\"}\n{\"text\":\"d e f\",\"uid\":7}\n",
    );
    sandbox.run("dedup in.jsonl -o out --id-key uid --quiet").ok();
    sandbox.put("other.jsonl", "{\"text\":\"a b c\"}\n");
    let run = sandbox
        .run("dedup other.jsonl -o hinted --id-key uid --quiet")
        .ok();
    assert!(
        run.stderr.contains("has a field \"uid\" for the id"),
        "{}",
        run.stderr
    );
    sandbox
        .run("dedup other.jsonl -o sorted --keep newest --keep-key date --quiet")
        .fails(
            1,
            &[
                "has a field \"date\" for the value to sort by; the fields of the first record are text",
                "no document has a field \"date\"",
            ],
        );
}

#[test]
fn with_any_text_a_table_without_the_text_column_is_an_error_that_names_its_columns() {
    let sandbox = Sandbox::new();
    sandbox.put("table/in.csv", utf16("id,text\n1,a b c\n"));
    sandbox
        .run("dedup table/in.csv -o out --any-text --text-key body")
        .fails(
            1,
            &[
                "table/in.csv has no field \"body\" for the text; its fields are id, text",
                "--text-key",
            ],
        );
    // Among other files it is skipped, and counted.
    sandbox.put("table/a.txt", "A text.");
    sandbox
        .run("dedup table -o out --any-text --text-key body --quiet")
        .ok();
    let report = sandbox.json("out/report.json");
    assert_eq!(
        report["input"]["skipped"],
        serde_json::json!({"(no text field)": 1})
    );
}

#[test]
fn the_summary_shows_files_read_as_text_after_a_mistyped_field() {
    let sandbox = Sandbox::new();
    sandbox.put("in/a.jsonl", Corpus::new(5).jsonl(5));
    sandbox.put("in/b.jsonl", Corpus::new(6).jsonl(5));
    let run = sandbox.run("dedup in -o out --any-text --text-key txet").ok();
    assert!(
        run.stdout
            .contains("as text              2  files whose extensions name another format or none: 2 .jsonl"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_dry_run_reads_on_if_its_sample_has_no_documents() {
    let sandbox = Sandbox::new();
    // Larger than the sample, and the only documents are at its end.
    let without = format!("{{\"body\":\"{}\"}}\n", "no text ".repeat(1000));
    sandbox.put("in.jsonl", without.repeat(10_000) + &Corpus::new(5).jsonl(50));
    let run = sandbox.run("dedup in.jsonl -o out --dry-run --quiet").ok();
    assert!(run.stdout.contains("a dry run: "), "{}", run.stdout);
    assert!(
        !run.stdout.contains("a dry run: 80"),
        "not all is read: {}",
        run.stdout
    );
}

#[test]
fn a_full_device_at_stdout_is_an_error() {
    let sandbox = Sandbox::new();
    put_without_text(&sandbox, 0);
    for command in [
        "dedup in.jsonl -o out",
        "fingerprint in.jsonl --quiet",
        "plan -n 1000",
    ] {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            return;
        };
        let mut run = sandbox.command(TWINPRINT);
        run.args(command.split_whitespace()).stdout(Stdio::from(full));
        Run::of(run.output().unwrap()).fails(1, &["stdout cannot be written", "No space left"]);
    }
}

#[test]
fn with_any_text_data_files_without_texts_are_read_as_text() {
    let sandbox = Sandbox::new();
    sandbox.put("in/main.rs", "fn main() { println!(\"a program\"); }");
    sandbox.put("in/messages.ndjson", "{\"reason\":\"a\"}\n".repeat(50));
    sandbox.put("in/package.json", "{\"name\":\"a package\"}");
    sandbox.put("in/table.csv", "a,b\n1,2\n");
    sandbox.put(
        "in/records.jsonl",
        "{\"text\":\"one record\"}\n{\"text\":\"two records\"}\n",
    );
    sandbox.run("dedup in -o out --any-text --quiet").ok();
    let report = sandbox.json("out/report.json");
    assert_eq!(report["records"]["read"], 6);
    assert_eq!(report["records"]["rejected"], 0);
}
