//! Detection of formats: by extension, by the first bytes, and by the fields of the first records.

use std::fs;

use crate::corpus_files::{Inputs, output_paths, plain, read_all};
use twinprint_io::source::{Format, SourceOptions};

#[test]
fn extra_extensions_and_any_text_add_files() {
    let inputs = Inputs::new();
    inputs.put_raw("a.rs", "fn main() {}");
    inputs.put_raw("b.toml", "x = 1");
    inputs.put_raw("noext", "text");
    inputs.put_raw("page.asp", "<p>");
    inputs.put_raw("image.png", b"\x89PNG\x0d\x0a\x1a\x0a\0\0");
    inputs.put_raw("latin.c", b"caf\xe9");
    // A character that begins in the probed bytes and ends after them.
    inputs.put_raw("long.c", format!("{}é", "a".repeat((8 << 10) - 1)));
    inputs.put("packed.rs.gz", "text");
    let folder = inputs.path("");
    let options = SourceOptions {
        extra_extensions: vec![".RS".to_owned(), "toml".to_owned()],
        ..plain()
    };
    assert_eq!(
        output_paths(&inputs.find(&[&folder], &options).expect("found")),
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
        output_paths(&any),
        ["a.rs", "b.toml", "long.c", "noext", "packed.rs.gz", "page.asp"]
    );
    assert_eq!(any.skipped().get("(not text)"), Some(&2));
    assert_eq!(read_all(&any, 1 << 20).len(), 6);
}

#[test]
fn with_any_text_records_without_the_field_are_read_as_one_text() {
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
fn missing_fields_are_reported_before_any_text_is_read() {
    let inputs = Inputs::new();
    let first = inputs.put("a.csv", "id,title\n1,x\n");
    let second = inputs.put("b.tsv.gz", "id\tbody\n1\tx\n");
    let lines = inputs.put("c.jsonl", "{\"body\":\"x\"}\n{\"text\":\"late\"}\n");
    let options_for = |text: &str, id: &str, sort: Option<&str>| SourceOptions {
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
    let (checked, hints) = check(&[&first, &second], &options_for("text", "id", None));
    let said = checked.expect_err("no file has it").to_string();
    assert!(
        said.contains(
            "a.csv, like the other 1 file, has no field \"text\" for the text; its fields are id, title"
        ),
        "{said}"
    );
    assert_eq!(hints, [""; 0]);
    // One file with the field is enough.
    check(&[&first, &second], &options_for("body", "id", None))
        .0
        .expect("the second has it");
    // The default id field may be missing, but another id field is required.
    check(&[&second], &options_for("body", "uid", None))
        .0
        .expect_err("no such id");
    check(&[&second], &options_for("body", "id", Some("when")))
        .0
        .expect_err("no such date");
    check(&[&second], &options_for("body", "id", Some("id")))
        .0
        .expect("the field exists");
    // The first objects may lack a field that later ones have.
    check(&[&lines], &options_for("text", "id", None))
        .0
        .expect("one has it");
    let (checked, hints) = check(&[&first, &lines], &options_for("content", "id", None));
    checked.expect("later objects may have it");
    assert_eq!(hints.len(), 1);
    assert!(
        hints[0].contains("none of the first 2 records of")
            && hints[0].contains("the fields of the first record are body"),
        "{hints:?}"
    );
}

#[test]
fn files_with_an_extension_named_in_a_glob_are_read_as_text() {
    let inputs = Inputs::new();
    for name in ["a.py", "sub/b.py", "sub/c.pyc", "sub/d.rs", "sub/e.txt"] {
        inputs.put(name, "x = 1");
    }
    inputs.put("sub/f.py.gz", "y = 2");
    inputs.put("latin.py", b"# Un caf\xe9 pr\xe8s du march\xe9, et un th\xe9.");
    inputs.put_raw("image.py", b"\x89PNG\0\0");
    let find = |pattern: &str, options: &SourceOptions| {
        let sources = inputs.find(&[&inputs.path(pattern)], options).expect("found");
        let names: Vec<_> = output_paths(&sources).into_iter().map(str::to_owned).collect();
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
        "the glob names .py, not .pyc"
    );
    assert_eq!(find("sub/*.{py,rs}.gz", &plain()).0, ["f.py.gz"]);
    assert_eq!(
        find("sub/*", &plain()).0,
        ["e.txt"],
        "the glob names no extension"
    );
    assert_eq!(find("sub", &plain()).0, ["e.txt"]);
    // A path names its extension, too, so it does not matter whether the shell expands the glob.
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
fn the_first_bytes_decide_the_format_of_an_ambiguous_extension() {
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
    // Without `any_text`, an invalid web archive is an error.
    let notes = inputs
        .find(&[&inputs.path("notes.warc")], &plain())
        .expect("found");
    assert_eq!(notes.list()[0].format, Format::Warc);
    // Files whose extension is not only used by Arrow are skipped in folders, and read as text when they are named.
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
fn a_table_is_recognised_by_its_first_bytes() {
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
    // The pointer that Git LFS stores instead of a large file.
    let pointer = inputs.put("data.parquet", "version https://git-lfs.github.com/spec/v1\n");
    let found = |options| inputs.find(&[&pointer], options).expect("found").list()[0].format;
    assert_eq!((found(&plain()), found(&any)), (Format::Parquet, Format::Text));
}

#[test]
fn a_first_record_longer_than_the_probe_keeps_the_format_of_the_extension() {
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
        // These are longer than the probe, too, but their beginnings do not fit the extension.
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
fn files_read_as_text_because_the_field_is_missing_are_counted_once() {
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
fn a_damaged_file_is_classified_by_the_bytes_that_can_be_decompressed() {
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
    assert_eq!(output_paths(&sources), ["cut.log.gz", "header.log.gz"]);
    assert_eq!(sources.skipped().get("(not text)"), Some(&2));
    for record in read_all(&sources, 1 << 20) {
        assert_eq!(record.reason().kind(), "truncated stream");
    }
}

#[test]
fn the_format_option_applies_to_named_files_only() {
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
        (output_paths(&folder), folder.list()[0].format),
        (vec!["a.txt"], Format::Text)
    );
}
