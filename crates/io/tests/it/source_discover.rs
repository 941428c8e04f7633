//! Discovery of files: folders, globs, patterns, stdin, limits and unreadable inputs.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::corpus_files::{Inputs, Kind, output_paths, plain, read_all};
use twinprint_io::source::{Codec, Format, SourceError, SourceOptions};

#[test]
fn a_folder_yields_its_files_in_path_order_and_counts_skipped_ones() {
    let inputs = Inputs::new();
    for name in [
        "b.txt",
        "a/z.jsonl",
        "a.md",
        "a/deep/q.ndjson.gz",
        "Z.text",
        "a-b.rst.zst",
    ] {
        inputs.put(name, "x");
    }
    for name in ["x.rs", "y.rs", "page.asp", "data.bin", "noext", "t.avro.xz"] {
        inputs.put_raw(name, "x");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(inputs.path("b.txt"), inputs.path("link.txt")).expect("linked");
    let sources = inputs.find(&[&inputs.path("")], &plain()).expect("found");
    assert_eq!(
        output_paths(&sources),
        [
            "Z.text",
            "a-b.rst.zst",
            "a.md",
            "a/deep/q.ndjson.gz",
            "a/z.jsonl",
            "b.txt"
        ]
    );
    assert!(sources.list().iter().all(|f| Path::new(&f.label) == f.path));
    assert_eq!(
        (sources.list()[3].format, sources.list()[3].codec),
        (Format::Jsonl, Codec::Gzip)
    );
    assert_eq!(
        sources.total_bytes(),
        sources
            .list()
            .iter()
            .map(|f| fs::metadata(&f.path).expect("there").len())
            .sum::<u64>()
    );
    let skipped: Vec<_> = sources.skipped().iter().map(|(k, &n)| (k.as_str(), n)).collect();
    let mut expected = vec![(".asp", 1), (".avro", 1), (".bin", 1), (".rs", 2)];
    expected.insert(0, ("(no extension)", 1));
    #[cfg(unix)]
    expected.insert(1, ("(symbolic link)", 1));
    assert_eq!(skipped, expected);
}

#[test]
fn globs_match_files_and_folders() {
    let inputs = Inputs::new();
    for name in [
        "a1.jsonl",
        "a2.jsonl",
        "b.txt",
        "sub/a3.jsonl",
        "sub/c.rs",
        "sub/deep/d.txt",
        "[x].txt",
    ] {
        inputs.put(name, "{\"text\":\"t\"}\n");
    }
    let found = |pattern: &str| {
        let sources = inputs.find(&[&inputs.path(pattern)], &plain()).expect("found");
        output_paths(&sources)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(found("*.jsonl"), ["a1.jsonl", "a2.jsonl"]);
    assert_eq!(found("a?.jsonl"), ["a1.jsonl", "a2.jsonl"]);
    assert_eq!(found("**/*.jsonl"), ["a1.jsonl", "a2.jsonl", "sub/a3.jsonl"]);
    assert_eq!(found("{a1,b}.*"), ["a1.jsonl", "b.txt"]);
    assert_eq!(found("su*"), ["sub/a3.jsonl", "sub/deep/d.txt"]);
    assert_eq!(found("su[b]/*.jsonl"), ["sub/a3.jsonl"]);
    assert_eq!(
        found("sub/*.jsonl"),
        ["a3.jsonl"],
        "paths are relative to the folder of the first wildcard"
    );
    assert_eq!(found("[x].txt"), ["[x].txt"], "an existing path is not a pattern");
    let none = inputs.find(&[&inputs.path("*.md")], &plain());
    assert!(matches!(none, Err(SourceError::NoMatch { .. })));
    let skipped = inputs
        .find(&[&inputs.path("sub/*.r*")], &plain())
        .expect_err("nothing known");
    assert!(skipped.to_string().contains("1 .rs"), "{skipped}");
    let forced = inputs.find(
        &[&inputs.path("sub/*.rs")],
        &SourceOptions {
            format: Some(Format::Lines),
            ..plain()
        },
    );
    assert_eq!(forced.expect("found").list()[0].format, Format::Lines);
    assert!(matches!(
        inputs.find(&["a["], &plain()),
        Err(SourceError::BadPattern { .. })
    ));
    let nowhere = inputs.find(&[&inputs.path("nowhere/*.txt")], &plain());
    assert!(matches!(nowhere, Err(SourceError::Missing { .. })));
}

#[test]
fn include_and_exclude_patterns_select_files() {
    let inputs = Inputs::new();
    for name in [
        "a.txt",
        "a.py",
        "docs/b.md",
        "docs/b.rs",
        "docs/deep/c.txt",
        "build/d.txt",
        "x/build/e.txt",
    ] {
        inputs.put(name, "text");
    }
    let find = |given: &[&str], include: &[&str], exclude: &[&str]| {
        let options = SourceOptions {
            include: include.iter().map(|&p| p.to_owned()).collect(),
            exclude: exclude.iter().map(|&p| p.to_owned()).collect(),
            ..plain()
        };
        let given: Vec<_> = given.iter().map(|name| inputs.path(name)).collect();
        let given: Vec<_> = given.iter().map(String::as_str).collect();
        let sources = inputs.find(&given, &options)?;
        let names: Vec<_> = output_paths(&sources).into_iter().map(str::to_owned).collect();
        let skipped: Vec<_> = sources
            .skipped()
            .iter()
            .map(|(kind, &n)| (kind.clone(), n))
            .collect();
        Ok::<_, SourceError>((names, skipped))
    };
    let skipped = |of: &[(&str, u64)]| {
        of.iter()
            .map(|&(name, n)| (name.to_owned(), n))
            .collect::<Vec<_>>()
    };

    let (names, skipped_files) = find(&[""], &["*.py", "docs/"], &[]).expect("found");
    assert_eq!(names, ["a.py", "docs/b.md", "docs/deep/c.txt"]);
    assert_eq!(skipped_files, skipped(&[("(not included)", 3), (".rs", 1)]));

    let (names, skipped_files) = find(&[""], &[], &["build/", "/docs/*.md", "*.py"]).expect("found");
    assert_eq!(names, ["a.txt", "docs/deep/c.txt"]);
    assert_eq!(
        skipped_files,
        skipped(&[("(excluded folder)", 2), ("(excluded)", 2), (".rs", 1)])
    );

    let (names, skipped_files) = find(&["**/*.txt"], &[], &["/build"]).expect("found");
    assert_eq!(names, ["a.txt", "docs/deep/c.txt", "x/build/e.txt"]);
    assert_eq!(skipped_files, skipped(&[("(excluded folder)", 1)]));

    // Exclusion also applies to named files. `include` applies to their names.
    let (names, skipped_files) = find(&["a.txt", "a.py", "docs"], &["*.txt"], &["deep"]).unwrap_or_default();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(
        skipped_files,
        skipped(&[("(excluded folder)", 1), ("(not included)", 3)])
    );

    let error = find(&[""], &["nothing"], &[])
        .expect_err("nothing included")
        .to_string();
    assert!(error.contains("7 (not included)"), "{error}");
    let error = find(&["*.txt"], &[], &["*"])
        .expect_err("all excluded")
        .to_string();
    assert!(
        error.contains("matches no file (skipped: 1 (excluded))"),
        "{error}"
    );
    for wrong in ["!a", "["] {
        assert!(find(&[""], &[], &[wrong]).is_err(), "{wrong}");
    }
}

#[test]
fn an_input_folder_without_readable_files_is_reported() {
    let inputs = Inputs::new();
    inputs.put("a/x.txt", "text");
    inputs.put("b/x.bin", "text");
    let (a, b) = (inputs.path("a"), inputs.path("b"));
    let sources = inputs.find(&[&a, &b], &plain()).expect("found");
    assert_eq!(sources.empty_inputs(), [b]);
}

#[test]
fn a_limit_is_reached_only_if_records_follow() {
    let array = |n: usize| format!("[{}]\n\n", vec!["{\"text\":\"t\"}"; n].join(",\n"));
    let inputs = Inputs::new();
    let cases = [
        ("blank.jsonl", "{\"text\":\"t\"}\n".repeat(3) + "\n \n", false),
        ("more.jsonl", "{\"text\":\"t\"}\n".repeat(3) + "\n \n7", true),
        ("all.json", array(3), false),
        ("more.json.gz", array(4), true),
        ("all.csv", "id,text\n1,a\n2,b\n3,c\n\n".to_owned(), false),
        ("more.csv.zst", "id,text\n1,a\n2,b\n3,c\n\n4,d".to_owned(), true),
        ("cut.json", array(3).replace(']', ""), true),
    ];
    for (name, content, reached) in cases {
        let options = SourceOptions {
            limit: Some(3),
            ..plain()
        };
        let sources = inputs
            .find(&[&inputs.put(name, content)], &options)
            .expect("found");
        assert_eq!(
            read_all(&sources, 1 << 20)
                .iter()
                .filter(|r| r.kind != Kind::Blank)
                .count(),
            3
        );
        assert_eq!(sources.limit_reached(), reached.then_some(0), "{name}");
    }
}

#[test]
fn a_reached_limit_is_reported_with_the_number_of_unread_files() {
    let inputs = Inputs::new();
    let paths =
        ["a", "b", "c"].map(|name| inputs.put(&format!("{name}.jsonl"), "{\"text\":\"t\"}\n".repeat(10)));
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    for (limit, reached) in [
        (1, Some(2)),
        (10, Some(2)),
        (11, Some(1)),
        (29, Some(0)),
        (30, None),
        (31, None),
    ] {
        let options = SourceOptions {
            limit: Some(limit),
            ..plain()
        };
        let sources = inputs.find(&paths, &options).expect("found");
        assert_eq!(read_all(&sources, 1 << 20).len() as u64, limit.min(30));
        assert_eq!(sources.limit_reached(), reached, "{limit}");
    }
}

#[test]
fn errors_name_the_file_and_the_fault() {
    let inputs = Inputs::new();
    let error = |name: &str| {
        inputs
            .find(&[&inputs.put_raw(name, "x\0")], &plain())
            .expect_err(name)
            .to_string()
    };
    for (name, parts) in [
        ("a.weird", ["a.weird", "does not begin with text", "reads .txt"]),
        (
            "noext",
            ["noext", "the name indicates no known format", "reads .txt"],
        ),
    ] {
        let text = error(name);
        for part in parts {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
    }
    let missing = inputs
        .find(&[&inputs.path("not-there.txt")], &plain())
        .expect_err("missing")
        .to_string();
    assert!(
        missing.contains("not-there.txt") && missing.contains("no such file"),
        "{missing}"
    );
    let empty = Inputs::new();
    empty.put_raw("a.rs", "x");
    empty.put_raw("b.rs", "x");
    let nothing = empty
        .find(&[&empty.path("")], &plain())
        .expect_err("nothing")
        .to_string();
    for part in ["2 .rs", ".jsonl", ".parquet"] {
        assert!(nothing.contains(part), "{nothing}");
    }
    assert!(matches!(
        empty.find(&[], &plain()),
        Err(SourceError::NothingFound { .. })
    ));
}

#[test]
fn a_file_named_twice_is_read_once() {
    let inputs = Inputs::new();
    let (a, b) = (inputs.put("sub/a.txt", "a"), inputs.put("sub/b.txt", "b"));
    let odd = format!("{}/../sub/a.txt", inputs.path("sub"));
    let sources = inputs
        .find(&[&b, &inputs.path("sub"), &odd, &a], &plain())
        .expect("found");
    assert_eq!(output_paths(&sources), ["b.txt", "sub/a.txt"]);
    assert_eq!(sources.repeated(), 3);
}

#[test]
fn inputs_with_equal_output_paths_get_numbered_folders() {
    let inputs = Inputs::new();
    inputs.put("a/x.txt", "1");
    inputs.put("b/a/x.txt", "2");
    inputs.put("c/y.txt", "3");
    let (a, b, c) = (inputs.path("a"), inputs.path("b/a"), inputs.path("c/y.txt"));
    let apart = inputs.find(&[&a, &c], &plain()).expect("found");
    assert_eq!(output_paths(&apart), ["a/x.txt", "y.txt"]);
    let alone = inputs.find(&[&a], &plain()).expect("found");
    assert_eq!(output_paths(&alone), ["x.txt"]);
    let numbered = inputs.find(&[&a, &b, &c], &plain()).expect("found");
    assert_eq!(output_paths(&numbered), ["1/a/x.txt", "2/a/x.txt", "3/y.txt"]);
    // One input is a file, where another needs a folder of the same name.
    inputs.put("d/x.txt/deep.txt", "4");
    let nested = inputs
        .find(&[&inputs.path("a/x.txt"), &inputs.path("d/x.txt")], &plain())
        .expect("found");
    assert_eq!(output_paths(&nested), ["1/x.txt", "2/x.txt/deep.txt"]);
}

#[cfg(unix)]
#[test]
fn an_unreadable_directory_or_file_is_named() {
    use std::os::unix::fs::PermissionsExt;

    let inputs = Inputs::new();
    let file = inputs.put("shut/a.txt", "a");
    inputs.put("b.txt", "b");
    let shut = inputs.root().join("shut");
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    mode(&shut, 0o000);
    let ignored = fs::read_dir(&shut).is_ok();
    let folder = (!ignored).then(|| inputs.read(&[&inputs.path("")], &plain()));
    mode(&shut, 0o755);
    if ignored {
        if let Err(why) = as_nobody("source_discover::an_unreadable_directory_or_file_is_named") {
            println!("SKIPPED: root may read everything, and {why}");
        }
        return;
    }
    let records = folder.expect("read");
    assert_eq!(records[0].text(), "b");
    let reason = records[1].reason().to_string();
    assert!(
        reason.contains("directory cannot be listed") && reason.contains("chmod"),
        "{reason}"
    );
    mode(Path::new(&file), 0o000);
    let records = inputs.read(&[&file], &plain());
    assert!(records[0].reason().to_string().contains("cannot be read"));
    let records = inputs.read(&[&inputs.path("")], &plain());
    assert_eq!(records[0].text(), "b");
    assert!(records[1].reason().to_string().contains("cannot be read"));
}

/// Runs one test of this program, given by its full name, as a user without the rights of root.
#[cfg(unix)]
fn as_nobody(test: &str) -> Result<(), String> {
    let binary = std::env::current_exe().expect("a path");
    // The binary is copied, because that user may be unable to read the build folder.
    let dir = tempfile::tempdir().expect("a directory");
    let copy = dir.path().join("test");
    fs::copy(binary, &copy).expect("copied");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(dir.path(), open).expect("set");
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(copy)
        .args(["--exact", test]);
    let output = command
        .current_dir("/")
        .output()
        .map_err(|error| format!("setpriv cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    Ok(())
}
