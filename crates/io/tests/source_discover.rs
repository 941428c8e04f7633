//! From inputs to files: folders, globs, kinds, and what cannot be read.

mod corpus_files;

use std::fs;
use std::path::Path;
use std::process::Command;

use corpus_files::{Inputs, Kind, read_all};
use twinprint_io::source::{Codec, Format, SourceError, SourceOptions, Sources};

fn plain() -> SourceOptions {
    SourceOptions::default()
}

fn relatives(sources: &Sources) -> Vec<&str> {
    sources
        .list()
        .iter()
        .map(|f| f.relative.to_str().expect("UTF-8"))
        .collect()
}

#[test]
fn a_folder_gives_its_files_by_path_bytes_and_counts_the_rest() {
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
        relatives(&sources),
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
fn further_extensions_and_any_text_add_files() {
    let inputs = Inputs::new();
    inputs.put_raw("a.rs", "fn main() {}");
    inputs.put_raw("b.toml", "x = 1");
    inputs.put_raw("noext", "text");
    inputs.put_raw("page.asp", "<p>");
    inputs.put_raw("image.png", b"\x89PNG\x0d\x0a\x1a\x0a\0\0");
    inputs.put_raw("latin.c", b"caf\xe9");
    // A character that straddles the bytes looked at.
    inputs.put_raw("long.c", format!("{}é", "a".repeat((8 << 10) - 1)));
    inputs.put("packed.rs.gz", "text");
    let folder = inputs.path("");
    let options = SourceOptions {
        extra_extensions: vec![".RS".to_owned(), "toml".to_owned()],
        ..plain()
    };
    assert_eq!(
        relatives(&inputs.find(&[&folder], &options).expect("found")),
        ["a.rs", "b.toml", "packed.rs.gz"]
    );
    let any = inputs
        .find(
            &[&folder],
            &SourceOptions {
                any_text: true,
                ..plain()
            },
        )
        .expect("found");
    assert_eq!(
        relatives(&any),
        ["a.rs", "b.toml", "long.c", "noext", "packed.rs.gz", "page.asp"]
    );
    assert_eq!(any.skipped().get("(not text)"), Some(&2));
    assert_eq!(read_all(&any, 1 << 20).len(), 6);
}

#[test]
fn under_any_text_records_without_the_field_are_a_text() {
    let inputs = Inputs::new();
    let object = |field: &str| format!("{{\"{field}\":\"x\"}}");
    for (field, folder) in [("text", "records"), ("body", "texts")] {
        inputs.put(
            &format!("{folder}/a.jsonl"),
            format!("not json\n{}\n", object(field)),
        );
        inputs.put(&format!("{folder}/b.ndjson.gz"), object(field));
        inputs.put(&format!("{folder}/c.json"), format!("[{}]", object(field)));
        inputs.put(&format!("{folder}/d.csv"), format!("id,{field}\n1,x\n"));
        inputs.put(&format!("{folder}/e.tsv"), format!("id\t{field}\n1\tx\n"));
    }
    // A file that can be neither is reported when it is read.
    inputs.put_raw("records/f.jsonl", b"\xff\xfe{\0}\0");
    inputs.put("texts/g.json", "{\"name\":\"a package\"}");
    let any = SourceOptions {
        any_text: true,
        ..plain()
    };
    let records = inputs.find(&[&inputs.path("records")], &any).expect("found");
    assert!(records.list().iter().all(|file| file.format != Format::Text));
    let texts = inputs.find(&[&inputs.path("texts")], &any).expect("found");
    assert!(texts.list().iter().all(|file| file.format == Format::Text));
    assert_eq!(read_all(&texts, 1 << 20).len(), 6);
    texts.intake().expect("texts");
}

#[test]
fn fields_that_no_file_has_are_named_before_anything_is_read() {
    let inputs = Inputs::new();
    let first = inputs.put("a.csv", "id,title\n1,x\n");
    let second = inputs.put("b.tsv.gz", "id\tbody\n1\tx\n");
    let lines = inputs.put("c.jsonl", "{\"body\":\"x\"}\n{\"text\":\"late\"}\n");
    let asked = |text: &str, id: &str, sort: Option<&str>| SourceOptions {
        text_key: text.to_owned(),
        id_key: Some(id.to_owned()),
        sort_key: sort.map(str::to_owned),
        ..plain()
    };
    let check = |files: &[&str], options: &SourceOptions| {
        let mut hints = Vec::new();
        let checked = inputs
            .find(files, options)
            .expect("found")
            .check_fields(|hint| hints.push(hint.to_owned()));
        (checked, hints)
    };
    let (checked, hints) = check(&[&first, &second], &asked("text", "id", None));
    let said = checked.expect_err("no file has it").to_string();
    assert!(
        said.contains(
            "a.csv, like the other 1 file, has no field \"text\" for the text; its fields are id, title"
        ),
        "{said}"
    );
    assert_eq!(hints, [""; 0]);
    // One of the files has it.
    check(&[&first, &second], &asked("body", "id", None))
        .0
        .expect("the second has it");
    // The usual id need not be there, another one is asked for.
    check(&[&second], &asked("body", "uid", None))
        .0
        .expect_err("no such id");
    check(&[&second], &asked("body", "id", Some("when")))
        .0
        .expect_err("no such date");
    check(&[&second], &asked("body", "id", Some("id")))
        .0
        .expect("it is there");
    // Of objects, the first may say nothing about the others.
    check(&[&lines], &asked("text", "id", None))
        .0
        .expect("one has it");
    let (checked, hints) = check(&[&first, &lines], &asked("content", "id", None));
    checked.expect("objects further on may have it");
    assert_eq!(hints.len(), 1);
    assert!(
        hints[0].contains("none of the first 2 records of") && hints[0].contains("the first has body"),
        "{hints:?}"
    );
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
        relatives(&sources)
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
        "relative to where the wildcards begin"
    );
    assert_eq!(found("[x].txt"), ["[x].txt"], "a path that exists is no pattern");
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
fn an_extension_that_is_spelled_is_read_as_text() {
    let inputs = Inputs::new();
    for name in ["a.py", "sub/b.py", "sub/c.pyc", "sub/d.rs", "sub/e.txt"] {
        inputs.put(name, "x = 1");
    }
    inputs.put("sub/f.py.gz", "y = 2");
    inputs.put("latin.py", b"# Un caf\xe9 pr\xe8s du march\xe9, et un th\xe9.");
    inputs.put_raw("image.py", b"\x89PNG\0\0");
    let find = |pattern: &str, options: &SourceOptions| {
        let sources = inputs.find(&[&inputs.path(pattern)], options).expect("found");
        let names: Vec<_> = relatives(&sources).into_iter().map(str::to_owned).collect();
        (names, sources.skipped().clone(), sources.as_text().clone())
    };
    let counts = |of: &[(&str, u64)]| of.iter().map(|&(name, n)| (name.to_owned(), n)).collect();
    let (names, skipped, as_text) = find("**/*.py", &plain());
    assert_eq!(names, ["a.py", "latin.py", "sub/b.py"]);
    assert_eq!(
        (skipped, as_text),
        (counts(&[("(not text)", 1)]), counts(&[(".py", 3)]))
    );
    assert_eq!(
        find("**/*.py*", &plain()).0.len(),
        4,
        "the extension .pyc is not spelled, .py is"
    );
    assert_eq!(find("sub/*.{py,rs}.gz", &plain()).0, ["f.py.gz"]);
    assert_eq!(find("sub/*", &plain()).0, ["e.txt"], "no extension is spelled");
    assert_eq!(find("sub", &plain()).0, ["e.txt"]);
    // A path spells its extension like a glob, so that it makes no difference who expands the glob.
    let (names, _, as_text) = find("sub/c.pyc", &plain());
    assert_eq!((names.len(), as_text), (1, counts(&[(".pyc", 1)])));
    let texts: Vec<_> = inputs.read(&[&inputs.path("*.py")], &plain());
    assert_eq!(
        (texts[0].text(), texts[1].text()),
        ("x = 1", "# Un café près du marché, et un thé.")
    );
    let lines = SourceOptions {
        lines: true,
        ..plain()
    };
    let sources = inputs.find(&[&inputs.path("a.py")], &lines).expect("found");
    assert_eq!(sources.list()[0].format, Format::Lines);
}

#[test]
fn patterns_choose_among_the_files() {
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
        let names: Vec<_> = relatives(&sources).into_iter().map(str::to_owned).collect();
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

    let (names, left) = find(&[""], &["*.py", "docs/"], &[]).expect("found");
    assert_eq!(names, ["a.py", "docs/b.md", "docs/deep/c.txt"]);
    assert_eq!(left, skipped(&[("(not included)", 3), (".rs", 1)]));

    let (names, left) = find(&[""], &[], &["build/", "/docs/*.md", "*.py"]).expect("found");
    assert_eq!(names, ["a.txt", "docs/deep/c.txt"]);
    assert_eq!(
        left,
        skipped(&[("(excluded folder)", 2), ("(excluded)", 2), (".rs", 1)])
    );

    let (names, left) = find(&["**/*.txt"], &[], &["/build"]).expect("found");
    assert_eq!(names, ["a.txt", "docs/deep/c.txt", "x/build/e.txt"]);
    assert_eq!(left, skipped(&[("(excluded folder)", 1)]));

    // Excluded files stay out, and a file that is named itself is chosen by its name.
    let (names, left) = find(&["a.txt", "a.py", "docs"], &["*.txt"], &["deep"]).unwrap_or_default();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(left, skipped(&[("(excluded folder)", 1), ("(not included)", 3)]));

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
fn a_folder_without_a_file_to_read_is_named() {
    let inputs = Inputs::new();
    inputs.put("a/x.txt", "text");
    inputs.put("b/x.bin", "text");
    let (a, b) = (inputs.path("a"), inputs.path("b"));
    let sources = inputs.find(&[&a, &b], &plain()).expect("found");
    assert_eq!(sources.empty_inputs(), [b]);
}

#[test]
fn a_name_shared_with_a_format_is_told_by_the_first_bytes() {
    let inputs = Inputs::new();
    let any = SourceOptions {
        any_text: true,
        ..plain()
    };
    for name in [
        "notes.warc",
        "notes.wet",
        "x/notes.warc.gz",
        "inputrc.arrows",
        "notes.ipc",
    ] {
        inputs.put(name, "# set completion-query-items 99\n");
    }
    inputs.put(
        "real.warc",
        "\r\nWARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
    );
    inputs.put("garbled.warc", "garbage\nWARC/0.18\n");
    inputs.put("empty.warc", "");
    let sources = inputs.find(&[&inputs.path("")], &any).expect("found");
    let texts = sources.list().iter().filter(|file| file.format == Format::Text);
    let texts: Vec<_> = texts
        .map(|file| file.label.rsplit('/').next().expect("a name"))
        .collect();
    assert_eq!(
        texts,
        [
            "inputrc.arrows",
            "notes.ipc",
            "notes.warc",
            "notes.wet",
            "notes.warc.gz"
        ]
    );
    assert_eq!(sources.list().len(), 8);
    // Otherwise a web archive that is none is an error of the archive.
    let notes = inputs
        .find(&[&inputs.path("notes.warc")], &plain())
        .expect("found");
    assert_eq!(notes.list()[0].format, Format::Warc);
    // Files that are not for Arrow alone are skipped in folders, and texts when they are named.
    let sources = inputs.find(&[&inputs.path("")], &plain()).expect("found");
    assert_eq!(sources.skipped().get(".arrows"), Some(&1));
    assert_eq!(sources.skipped().get(".ipc"), Some(&1));
    let named = inputs
        .find(&[&inputs.path("inputrc.arrows")], &plain())
        .expect("found");
    assert_eq!(named.list()[0].format, Format::Text);
}

#[cfg(feature = "tables")]
#[test]
fn tables_are_tables_by_their_first_bytes() {
    let inputs = Inputs::new();
    let any = SourceOptions {
        any_text: true,
        ..plain()
    };
    let files: [(&str, &[u8]); 7] = [
        ("file.arrows", b"ARROW1\0\0"),
        ("stream.arrows", b"\xff\xff\xff\xff\x10\0\0\0"),
        ("old.ipc", b"\x10\x01\0\0"),
        ("a.feather", b"FEA1"),
        ("a.parquet", b"PAR1"),
        ("cut.parquet", b"\0\0"),
        ("empty.parquet", b""),
    ];
    for (name, bytes) in files {
        inputs.put_raw(name, bytes);
        for options in [&plain(), &any] {
            let sources = inputs.find(&[&inputs.path(name)], options).expect("found");
            assert!(sources.list()[0].format.is_table(), "{name}");
        }
    }
    // Text in UTF-16 whose fourth byte is 0.
    let notes = inputs.put_raw("utf16/notes.ipc", b"\xff\xfea\0\n\0");
    let sources = inputs.find(&[&notes], &plain()).expect("found");
    assert_eq!(sources.list()[0].format, Format::Text);
    // The pointer that git keeps in the place of a large file.
    let pointer = inputs.put("data.parquet", "version https://git-lfs.github.com/spec/v1\n");
    let found = |options| inputs.find(&[&pointer], options).expect("found").list()[0].format;
    assert_eq!((found(&plain()), found(&any)), (Format::Parquet, Format::Text));
}

#[test]
fn what_follows_the_last_record_of_a_limit_decides_whether_it_was_reached() {
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
fn a_file_is_of_its_format_whose_first_record_is_longer_than_what_is_looked_at() {
    let any = SourceOptions {
        any_text: true,
        ..plain()
    };
    let long = "a word ".repeat(200_000);
    let object = format!("{{\"text\":\"{long}\"}}");
    let inputs = Inputs::new();
    for (name, content, format) in [
        ("long.jsonl", object.clone() + "\n", Format::Jsonl),
        ("long.jsonl.gz", object.clone() + "\n", Format::Jsonl),
        ("long.json", format!("[{object}]"), Format::Json),
        // These are longer as well, and their beginnings show that they are something else.
        ("object.json", object.clone(), Format::Text),
        ("code.jsonl", format!("var x = \"{long}\";"), Format::Text),
        (
            "numbers.json",
            format!("[{}]", "1,".repeat(1 << 20)),
            Format::Text,
        ),
    ] {
        let sources = inputs.find(&[&inputs.put(name, content)], &any).expect("found");
        assert_eq!(sources.list()[0].format, format, "{name}");
    }
}

#[test]
fn files_read_as_text_for_want_of_the_field_are_counted_once() {
    let inputs = Inputs::new();
    let shard = inputs.put("a.jsonl", "{\"text\":\"t\"}\n{\"text\":\"u\"}\n");
    inputs.put("package.json", "{}");
    inputs.put("notes.warc.gz", "no archive");
    inputs.put("b.txt", "t");
    let any = SourceOptions {
        any_text: true,
        text_key: "content".to_owned(),
        ..plain()
    };
    let sources = inputs.find(&[&shard, &inputs.path("")], &any).expect("found");
    let expected =
        [(".json", 1), (".jsonl", 1), (".warc", 1)].map(|(extension, n)| (extension.to_owned(), n));
    assert_eq!(sources.as_text(), &expected.into());
}

#[test]
fn a_damaged_file_is_judged_by_the_bytes_that_come_out() {
    let any = SourceOptions {
        any_text: true,
        ..plain()
    };
    let inputs = Inputs::new();
    let noise = |i: u64| format!("{:x} ", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text: String = (0..300).map(noise).collect();
    let gz = fs::read(inputs.put("whole/a.log.gz", &text)).expect("read");
    inputs.put_raw("in/cut.log.gz", &gz[..gz.len() / 2]);
    inputs.put_raw("in/header.log.gz", &gz[..8]);
    inputs.put_raw("in/plain.log.gz", &text);
    let binary: Vec<u8> = (0..8000u32).map(|i| (i * i / 7) as u8).collect();
    let gz = fs::read(inputs.put("whole/b.bin.gz", &binary)).expect("read");
    inputs.put_raw("in/binary.bin.gz", &gz[..gz.len() * 3 / 4]);
    let sources = inputs.find(&[&inputs.path("in")], &any).expect("found");
    assert_eq!(relatives(&sources), ["cut.log.gz", "header.log.gz"]);
    assert_eq!(sources.skipped().get("(not text)"), Some(&2));
    for record in read_all(&sources, 1 << 20) {
        assert_eq!(record.reason().kind(), "truncated stream");
    }
}

#[test]
fn a_limit_that_is_reached_is_reported() {
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
fn errors_name_the_file_and_the_way_out() {
    let inputs = Inputs::new();
    let error = |name: &str| {
        inputs
            .find(&[&inputs.put_raw(name, "x\0")], &plain())
            .expect_err(name)
            .to_string()
    };
    for (name, parts) in [
        ("a.weird", ["a.weird", "does not begin like text", "--format"]),
        ("noext", ["noext", "the name says nothing", "--format"]),
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
    for part in ["2 .rs", "--ext", "--any-text"] {
        assert!(nothing.contains(part), "{nothing}");
    }
    assert!(matches!(
        empty.find(&[], &plain()),
        Err(SourceError::NothingFound { .. })
    ));
}

#[test]
fn a_format_given_holds_for_named_files_alone() {
    let inputs = Inputs::new();
    let odd = inputs.put("odd.log.gz", "{\"text\":\"x\"}\n{\"text\":\"y\"}\n");
    let options = SourceOptions {
        format: Some(Format::Jsonl),
        ..plain()
    };
    assert_eq!(inputs.read(&[&odd], &options).len(), 2);
    inputs.put("a.txt", "x");
    let folder = inputs.find(&[&inputs.path("")], &options).expect("found");
    assert_eq!(
        (relatives(&folder), folder.list()[0].format),
        (vec!["a.txt"], Format::Text)
    );
}

#[test]
fn a_file_named_twice_is_read_once() {
    let inputs = Inputs::new();
    let (a, b) = (inputs.put("sub/a.txt", "a"), inputs.put("sub/b.txt", "b"));
    let odd = format!("{}/../sub/a.txt", inputs.path("sub"));
    let sources = inputs
        .find(&[&b, &inputs.path("sub"), &odd, &a], &plain())
        .expect("found");
    assert_eq!(relatives(&sources), ["b.txt", "sub/a.txt"]);
    assert_eq!(sources.repeated(), 3);
}

#[test]
fn inputs_that_would_collide_are_parted_by_number() {
    let inputs = Inputs::new();
    inputs.put("a/x.txt", "1");
    inputs.put("b/a/x.txt", "2");
    inputs.put("c/y.txt", "3");
    let (a, b, c) = (inputs.path("a"), inputs.path("b/a"), inputs.path("c/y.txt"));
    let apart = inputs.find(&[&a, &c], &plain()).expect("found");
    assert_eq!(relatives(&apart), ["a/x.txt", "y.txt"]);
    let alone = inputs.find(&[&a], &plain()).expect("found");
    assert_eq!(relatives(&alone), ["x.txt"]);
    let parted = inputs.find(&[&a, &b, &c], &plain()).expect("found");
    assert_eq!(relatives(&parted), ["1/a/x.txt", "2/a/x.txt", "3/y.txt"]);
    // A file where another input needs a folder.
    inputs.put("d/x.txt/deep.txt", "4");
    let nested = inputs
        .find(&[&inputs.path("a/x.txt"), &inputs.path("d/x.txt")], &plain())
        .expect("found");
    assert_eq!(relatives(&nested), ["1/x.txt", "2/x.txt/deep.txt"]);
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
        if let Err(why) = as_nobody("an_unreadable_directory_or_file_is_named") {
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

/// Runs one test of this binary again as a user whom permissions bind.
#[cfg(unix)]
fn as_nobody(test: &str) -> Result<(), String> {
    let binary = std::env::current_exe().expect("a path");
    // Copied, since the build folder may be closed to that user.
    let room = tempfile::tempdir().expect("a directory");
    let copy = room.path().join("test");
    fs::copy(binary, &copy).expect("copied");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(room.path(), open).expect("set");
    let mut again = Command::new("setpriv");
    again
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(copy)
        .args(["--exact", test]);
    let output = again
        .current_dir("/")
        .output()
        .map_err(|error| format!("setpriv cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    Ok(())
}
