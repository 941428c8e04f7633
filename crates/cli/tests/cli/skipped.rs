//! Inputs and options that a run does not use, and how it reports them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::corpus::Corpus;
use crate::sandbox::{Run, Sandbox, TWINPRINT};

#[test]
fn unused_options_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", Corpus::new(3).jsonl(20));
    let cases = [
        ("--keep-key date", "--keep-key is not used"),
        ("--no-verify --threshold 0.9", "--threshold is not used"),
        ("--profile paper --threshold 0.9", "--threshold is not used"),
    ];
    for (i, (options, says)) in cases.into_iter().enumerate() {
        let run = sandbox
            .run(&format!("dedup in.jsonl -o out{i} --quiet {options}"))
            .ok();
        assert!(run.stderr.contains(says), "{}", run.stderr);
        // The config.toml of the run has no unused option.
        let again = sandbox
            .run(&format!("dedup --config out{i}/config.toml -o again{i} --quiet"))
            .ok();
        assert_eq!(again.stderr, "");
    }
}

#[test]
fn the_result_of_an_earlier_run_is_not_read() {
    let sandbox = Sandbox::new();
    sandbox.put("in/a.jsonl", Corpus::new(4).jsonl(60));
    sandbox.run("dedup in -o in/out --quiet").ok();
    let first = sandbox.json("in/out/report.json");
    assert!(first["input"]["skipped"].as_object().unwrap().is_empty());
    for inputs in ["in", "in/**/*.jsonl"] {
        let run = sandbox.run(&format!("dedup {inputs} -o out")).ok();
        assert!(
            run.stdout.contains("1  folder with the result of an earlier run"),
            "{}",
            run.stdout
        );
        let report = sandbox.json("out/report.json");
        assert_eq!(report["records"], first["records"], "{inputs}");
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
    }
    // A result that is named as an input is read.
    let kept = first["records"]["kept"].as_u64().unwrap();
    for inputs in ["in/out/kept", "in/out/kept/*.jsonl", "in/*/kept/*.jsonl"] {
        sandbox.run(&format!("dedup {inputs} -o out --quiet")).ok();
        assert_eq!(
            sandbox.json("out/report.json")["records"]["read"],
            kept,
            "{inputs}"
        );
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
    }
}

#[test]
fn file_names_outside_utf8_are_found_in_folders_but_refused_as_arguments() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::create_dir(sandbox.path("in")).unwrap();
    if std::fs::write(sandbox.path("in").join(name), "some text").is_err() {
        // Some file systems do not allow such names.
        return;
    }
    let mut command = sandbox.command(TWINPRINT);
    command
        .arg("dedup")
        .arg(OsStr::from_bytes(b"in/caf\xe9.txt"))
        .args(["-o", "out"]);
    Run::of(command.output().unwrap()).fails(2, &["the name is not UTF-8", "the folder it is in"]);
    for inputs in ["in", "in/caf?.txt"] {
        sandbox.run(&format!("dedup {inputs} -o out --quiet")).ok();
        let copy = sandbox.path("out/kept").join(name);
        assert_eq!(std::fs::read(copy).unwrap(), b"some text", "{inputs}");
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
    }
}

#[test]
fn binary_files_are_not_read_as_text() {
    let sandbox = Sandbox::new();
    // All byte values except zero, with the frequencies of compressed data.
    let binary: Vec<u8> = (0..4000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .map(|b| b.max(1))
        .collect();
    sandbox.put("in/photo.txt", binary);
    sandbox.put(
        "in/latin.txt",
        b"Un caf\xe9 pr\xe8s du march\xe9.\r\n\tEt un th\xe9.\x0c".repeat(5),
    );
    sandbox.run("dedup in -o out --quiet").incomplete();
    let rejects = sandbox.rows("out/rejects.jsonl");
    assert_eq!(rejects.len(), 1);
    assert_eq!(rejects[0]["source"], "in/photo.txt");
    assert!(rejects[0]["reason"].as_str().unwrap().contains("is not UTF-8"));
}
