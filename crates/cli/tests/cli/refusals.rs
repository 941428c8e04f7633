//! Errors before a run begins: the exit code, the reason and the fix, and no files left.

use std::fs;

use crate::sandbox::{Run, Sandbox, TWINPRINT, skip};

const NEWS: &str = "{\"id\":\"a\",\"text\":\"one two three\"}\n";

fn with_news() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put("news.jsonl", NEWS);
    sandbox
}

/// Checks that the options are wrong usage: exit code 2, and no output directory.
fn wrong_usage(options: &str, parts: &[&str]) {
    let sandbox = with_news();
    sandbox
        .run(&format!("dedup news.jsonl -o out {options}"))
        .fails(2, parts);
    assert!(
        !sandbox.path("out").exists(),
        "{options} created the output directory"
    );
}

#[test]
fn wrong_option_values_give_code_2() {
    wrong_usage("--threshold 2", &["--threshold: 2", "at most 1"]);
    wrong_usage("--threshold 0", &["--threshold: 0", "above 0"]);
    wrong_usage("--threshold NaN", &["--threshold: NaN"]);
    wrong_usage("--threshold much", &["--threshold"]);
    wrong_usage("--bits 32", &["--bits: 32", "64 or 128"]);
    wrong_usage("--bits many", &["--bits", "a number or auto"]);
    wrong_usage("-k 99", &["-k: 99", "up to 12 at 64 bits and up to 40 at 128"]);
    wrong_usage("--bits 64 -k 13", &["-k: 13"]);
    wrong_usage("--profile nonsense", &["--profile nonsense", "tp1-words-lntf-64"]);
    wrong_usage(
        "--profile tp1-words-lntf-63",
        &["--profile", "16, 32, 64 or 128 bits"],
    );
    wrong_usage("--threads 100000", &["--threads: 100000", "at most 1024"]);
    wrong_usage("--keep oldest", &["--keep", "first, longest, shortest, newest"]);
    wrong_usage("--format pdf", &["--format", "text, html, lines, jsonl"]);
    wrong_usage("--charset klingon", &["--charset", "windows-1252"]);
    wrong_usage("--delimiter and", &["--delimiter", "or tab"]);
    wrong_usage("--max-document 3furlongs", &["--max-document", "64MiB"]);
    wrong_usage("--limit 0", &["--limit", "0"]);
    wrong_usage("--no-such-flag", &["--no-such-flag"]);
    let sandbox = with_news();
    sandbox.run("dedup news.jsonl").fails(2, &["--output"]);
    sandbox.run("dedup -o out").fails(2, &["INPUT"]);
    sandbox
        .run("fingerprint news.jsonl --profile tp1-words-lntf-9")
        .fails(2, &["--profile"]);
    for command in ["cluster news.jsonl -o out", "calibrate news.jsonl"] {
        let message = ["--threads: 100000", "at most 1024"];
        sandbox
            .run(&format!("{command} --threads 100000"))
            .fails(2, &message);
    }
    sandbox.run("dedupe news.jsonl").fails(2, &["dedup"]);
}

#[test]
fn file_names_without_a_known_format_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.put("a.bin", "x\0");
    sandbox
        .run("dedup a.bin -o out")
        .fails(1, &["a.bin", "does not begin with text", "--format"]);
    sandbox.put("noextension", "x");
    sandbox
        .run("dedup noextension -o out")
        .fails(1, &["noextension", "indicates no known format", "--any-text"]);
    for name in ["noextension", "*.bin"] {
        sandbox.put("a.bin", "x");
        sandbox
            .run(&format!("dedup {name} -o any-{} --any-text --quiet", name.len()))
            .ok();
    }
    // The results of these runs are not read as inputs.
    sandbox.run("dedup . -o beside --mode report").fails(
        1,
        &["no file to read in .", "2 (result of an earlier run)", "1 .bin"],
    );
}

#[test]
fn missing_inputs_are_named() {
    let sandbox = with_news();
    sandbox
        .run("dedup nothere.jsonl -o out")
        .fails(1, &["nothere.jsonl", "no such file"]);
    sandbox
        .run("dedup news.jsonl nothere/ -o out")
        .fails(1, &["nothere", "no such file"]);
    sandbox
        .run("dedup *.txt -o out")
        .fails(1, &["*.txt", "matches no file"]);
    sandbox.run("dedup - -o out").fails(1, &["stdin", "--format"]);
    fs::create_dir(sandbox.path("hollow")).unwrap();
    sandbox.put("hollow/a.png", "x");
    sandbox
        .run("dedup hollow -o out")
        .fails(1, &["no file to read in hollow", "1 .png", "--any-text"]);
    sandbox
        .run("compare news.jsonl nothere.txt")
        .fails(1, &["nothere.txt"]);
    sandbox.put("latin1.txt", b"caf\xe9");
    sandbox
        .run("compare news.jsonl latin1.txt")
        .fails(1, &["latin1.txt", "byte 4 is not UTF-8", "iconv"]);
}

#[test]
fn a_nonempty_output_directory_is_not_changed() {
    let sandbox = with_news();
    sandbox.put("out/precious.txt", "do not touch");
    sandbox
        .run("dedup news.jsonl -o out")
        .fails(1, &["out: the output directory is not empty", "choose another"]);
    assert_eq!(sandbox.tree("out").len(), 1);
    assert_eq!(sandbox.text("out/precious.txt"), "do not touch");
    sandbox
        .run("dedup news.jsonl -o news.jsonl")
        .fails(1, &["news.jsonl: the output path is not a directory"]);
    assert_eq!(sandbox.text("news.jsonl"), NEWS);
    fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.run("dedup news.jsonl -o empty --quiet").ok();
}

#[test]
fn a_file_in_place_of_a_directory_is_named() {
    let sandbox = with_news();
    for (command, says) in [
        (
            "serve news.jsonl",
            "news.jsonl: this path cannot be the directory of the collections, because it",
        ),
        ("serve news.jsonl/below", "news.jsonl/below: this path cannot be"),
        (
            "serve c --backups news.jsonl",
            "news.jsonl: this path cannot be the directory for backups, because it",
        ),
        (
            "dedup news.jsonl -o out --work-dir news.jsonl",
            "news.jsonl: the directory for temporary files cannot be created (not a directory)",
        ),
        (
            "dedup news.jsonl -o out --against news.jsonl",
            "--against news.jsonl: the path is a file; name the directory",
        ),
        (
            "man news.jsonl",
            "news.jsonl: the manual pages cannot be written: it is not a directory",
        ),
    ] {
        let run = sandbox.run(command).fails(1, &[says]);
        assert!(!run.stderr.contains("os error"), "{}", run.stderr);
    }
    assert_eq!(sandbox.text("news.jsonl"), NEWS);
    assert!(!sandbox.path("out").exists());
}

#[test]
fn a_run_removes_the_directories_that_it_created() {
    let sandbox = with_news();
    fs::create_dir_all(sandbox.path("there/dir")).unwrap();
    for work in ["new/dir", "there/dir/below", "there/dir"] {
        for (i, (options, code)) in [("", 0), ("--dry-run", 0), ("--keep newest", 1)]
            .into_iter()
            .enumerate()
        {
            let run = sandbox.run(&format!(
                "dedup news.jsonl -o out{i} --work-dir {work} --quiet {options}"
            ));
            assert_eq!(run.code, Some(code), "{run:#?}");
            assert!(!sandbox.path("new").exists(), "{work} {options}");
            assert!(sandbox.path("there/dir").exists() && !sandbox.path("there/dir/below").exists());
            assert_eq!(sandbox.path(&format!("out{i}")).exists(), options.is_empty());
        }
        fs::remove_dir_all(sandbox.path("out0")).unwrap();
    }
    // The same for the output directory of a failed run, and for the directory of a state.
    sandbox
        .run("dedup nothere.jsonl -o new/dir/out")
        .fails(1, &["nothere.jsonl"]);
    sandbox
        .run("cluster nothere.jsonl -o new/out --state new/states/today")
        .fails(1, &["nothere.jsonl"]);
    sandbox
        .run("dedup nothere.jsonl -o there/dir/out")
        .fails(1, &["nothere.jsonl"]);
    assert!(!sandbox.path("new").exists() && sandbox.path("there/dir").exists());
    assert!(!sandbox.path("there/dir/out").exists());
}

#[test]
fn unreadable_paths_are_named() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = with_news();
    sandbox.put("in/open.txt", "open to all");
    sandbox.put("in/closed/secret.txt", "secret");
    fs::set_permissions(sandbox.path(""), fs::Permissions::from_mode(0o777)).unwrap();
    let close =
        |name: &str| fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(0o000)).unwrap();
    close("in/closed");
    let superuser = fs::read_dir(sandbox.path("in/closed")).is_ok();
    let as_nobody = |args: &str| {
        // The superuser may read everything, so the command runs as another user.
        if !superuser {
            return sandbox.run(args);
        }
        let words = args.split_whitespace();
        let mut command = sandbox.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", TWINPRINT]);
        Run::of(command.args(words).output().unwrap())
    };
    let probe = as_nobody("--version");
    if probe.code != Some(0) {
        fs::set_permissions(sandbox.path("in/closed"), fs::Permissions::from_mode(0o755)).unwrap();
        return skip(
            "unreadable_paths_are_named",
            "the binary cannot be run as another user",
        );
    }
    // A folder that cannot be listed is one reject in every mode, and the other files are read.
    sandbox.put("good.jsonl", "{\"text\":\"one record\"}\n");
    for (inputs, options) in [
        ("in", ""),
        ("in/**/*.txt", ""),
        ("in/closed good.jsonl", ""),
        ("in/closed good.jsonl", "--mode annotate"),
        ("in/closed/secret.txt good.jsonl", ""),
    ] {
        let run = as_nobody(&format!("dedup {inputs} -o listed --overwrite --quiet {options}"));
        run.fails(3, &["in/closed", "cannot be ", "chmod u+r"]);
        assert_eq!(
            sandbox.json("listed/report.json")["records"]["kept"],
            1,
            "{inputs}"
        );
    }
    as_nobody("dedup in/closed -o out")
        .fails(1, &["in/closed:1: the directory cannot be listed", "chmod u+rx"]);
    fs::set_permissions(sandbox.path("in/closed"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.put("in/shut.txt", "shut");
    close("in/shut.txt");
    as_nobody("dedup in/shut.txt -o out2").fails(1, &["in/shut.txt:1: the file cannot be read", "chmod u+r"]);
    // An unreadable file with another input is one reject, whatever its name.
    sandbox.put("in/shut.unknown", "shut");
    sandbox.put("in/shut.jsonl.gz", "shut");
    sandbox.put("in/shut.parquet", "shut");
    for name in [
        "in/shut.txt",
        "in/shut.unknown",
        "in/shut.jsonl.gz",
        "in/shut.parquet",
    ] {
        close(name);
        as_nobody(&format!("dedup {name} good.jsonl -o named --overwrite --quiet"))
            .fails(3, &[&format!("{name}:1: the file cannot be read"), "chmod u+r"]);
        if name != "in/shut.txt" {
            fs::remove_file(sandbox.path(name)).unwrap();
        }
    }
    as_nobody("dedup in/shut.txt nothere.txt -o out2").fails(1, &["nothere.txt: no such file"]);
    // An unreadable file in a folder is one reject, and the other files are read.
    as_nobody("dedup in -o out3 --quiet").fails(3, &["in/shut.txt:1: the file cannot be read"]);
    let report = sandbox.json("out3/report.json");
    assert_eq!(report["records"]["rejected_by"]["unreadable file"], 1);
    assert_eq!(report["records"]["kept"], 2);
}

#[test]
fn a_message_names_the_system_error_at_most_once() {
    let sandbox = Sandbox::new();
    sandbox.put("file", "");
    let run = sandbox
        .run("dedup file/below.jsonl -o out")
        .fails(1, &["file/below.jsonl"]);
    let mentions = run.stderr.matches("os error").count();
    assert!(mentions <= 1, "{}", run.stderr);
}

#[test]
fn a_long_text_in_place_of_a_vector_is_shortened_in_the_error() {
    let sandbox = Sandbox::new();
    let text = "word ".repeat(10_000);
    sandbox.put("in.jsonl", format!("{{\"text\":\"{text}\"}}\n"));
    let run = sandbox.run("fingerprint in.jsonl --vector-key text --quiet --strict");
    let run = run.fails(1, &["in.jsonl:1: expected a vector"]);
    assert!(run.stderr.len() < 500, "{}", run.stderr);
}

#[test]
fn vectors_refuse_options_for_texts() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", "{\"v\":[1,2,3]}\n");
    for flag in [
        "--key k",
        "--idf zhen1",
        "--stop-words s",
        "--dictionary d",
        "--html-key v",
    ] {
        sandbox
            .run(&format!("fingerprint in.jsonl --vector-key v {flag}"))
            .fails(
                2,
                &[
                    "--vector-key",
                    flag.split(' ').next().unwrap(),
                    "cannot be used with",
                ],
            );
    }
    sandbox
        .run("fingerprint in.jsonl --vector-key v --profile tp1-words-lntf-64+key.mine")
        .fails(2, &["--vector-key", "has a key"]);
}

#[test]
fn tabs_and_line_feeds_in_ids_do_not_break_rows() {
    let sandbox = Sandbox::new();
    sandbox.put("in.jsonl", "{\"id\":\"a\\tb\\nc\",\"text\":\"one\"}\n");
    let run = sandbox.run("fingerprint in.jsonl --format-out tsv --quiet").ok();
    assert!(
        run.stdout.ends_with("\ta b c\n") && run.stdout.lines().count() == 1,
        "{}",
        run.stdout
    );
}

#[test]
fn empty_texts_can_be_compared() {
    let sandbox = Sandbox::new();
    let run = sandbox
        .bash("twinprint compare --text '' ''; twinprint compare --text '' 'one word' --json")
        .ok();
    assert!(!run.stdout.contains("-0"), "{}", run.stdout);
}
