//! The records of lines and of whole files.

use crate::corpus_files::{Inputs, Kind, plain, read_all};
use proptest::prelude::*;
use twinprint_io::source::{Format, RejectReason, SortValue, SourceOptions};

#[test]
fn a_jsonl_file_yields_documents_rejects_and_blanks_in_order() {
    let inputs = Inputs::new();
    let lines: [&[u8]; 11] = [
        b"\xef\xbb\xbf{\"id\":\"a\",\"text\":\"one\"}\n",
        b"\n",
        b"{\"id\":2,\"text\":\"two\"}\r\n",
        b"  \t\r\n",
        b"{\"text\":\"caf\xe9\"}\n",
        b"not json\n",
        b"{\"body\":\"x\"}\n",
        b"{\"text\":null}\n",
        b"{\"text\":7}\n",
        b"[]\n",
        b"{\"text\":\"last, without line feed\"}",
    ];
    let path = inputs.put("a.jsonl", lines.concat());
    let records = inputs.read(&[&path], &plain());
    assert_eq!(
        records.iter().map(|r| r.line).collect::<Vec<_>>(),
        (1..=11).collect::<Vec<_>>()
    );
    let document = |id: &str, text: &str| Kind::Document {
        id: Some(id.to_owned()),
        text: text.to_owned(),
        sort: None,
    };
    assert_eq!(records[0].kind, document("a", "one"));
    assert_eq!(records[1].kind, Kind::Blank);
    assert_eq!(records[2].kind, document("2", "two"));
    assert_eq!(records[3].kind, Kind::Blank);
    assert_eq!(
        records[4].reason(),
        &RejectReason::InvalidUtf8 {
            offset: 13,
            byte: 0xe9
        }
    );
    assert!(matches!(
        records[5].reason(),
        RejectReason::InvalidJson { column: 2, .. }
    ));
    assert!(
        matches!(records[6].reason(), RejectReason::FieldMissing { present, .. } if present == &["body"])
    );
    assert!(matches!(records[7].reason(), RejectReason::FieldNull { .. }));
    assert!(matches!(
        records[8].reason(),
        RejectReason::FieldNotText {
            found: "a number",
            ..
        }
    ));
    assert!(matches!(
        records[9].reason(),
        RejectReason::NotAnObject { found: "an array" }
    ));
    assert_eq!(records[10].text(), "last, without line feed");
    assert_eq!(records[10].raw_len, lines[10].len() as u64);
}

#[test]
fn every_reason_names_a_fix_or_a_position() {
    let key = || "text".to_owned();
    for (reason, has) in [
        (
            RejectReason::InvalidUtf8 {
                offset: 3,
                byte: 0xff,
            },
            "byte 3 (0xff)",
        ),
        (
            RejectReason::InvalidJson {
                message: "bad".to_owned(),
                column: 9,
            },
            "byte 9: bad",
        ),
        (
            RejectReason::FieldMissing {
                key: key(),
                present: vec!["a".to_owned(), "b".to_owned()],
            },
            "there are a, b",
        ),
        (
            RejectReason::FieldMissing {
                key: key(),
                present: vec![],
            },
            "the record has no fields",
        ),
        (
            RejectReason::FieldNotText {
                key: key(),
                found: "an array",
            },
            "\"text\" is an array",
        ),
        (
            RejectReason::TooLong {
                bytes: Some(9),
                limit: 5,
            },
            "9 bytes, more than the limit of 5 bytes",
        ),
        (
            RejectReason::TooLong {
                bytes: None,
                limit: 5,
            },
            "longer than the limit of 5 bytes",
        ),
        (
            RejectReason::Truncated { codec: "gzip" },
            "gzip stream is cut off",
        ),
    ] {
        assert!(reason.to_string().contains(has), "{reason}");
    }
}

#[test]
fn fields_are_named_by_options_and_values_are_kept_for_sorting() {
    let inputs = Inputs::new();
    let path = inputs.put(
        "a.ndjson",
        "{\"m\":{\"t\":\"x\",\"n\":[]},\"k\":5,\"time\":\"2024-01-02\"}\n{\"m\":{\"t\":\"y\"},\"time\":17}\n",
    );
    let options = SourceOptions {
        text_key: "m.t".to_owned(),
        id_key: Some("k".to_owned()),
        sort_key: Some("time".to_owned()),
        ..plain()
    };
    let records = inputs.read(&[&path], &options);
    let text = SortValue::Text("2024-01-02".into());
    let first = Kind::Document {
        id: Some("5".to_owned()),
        text: "x".to_owned(),
        sort: Some(text),
    };
    assert_eq!(records[0].kind, first);
    let second = Kind::Document {
        id: None,
        text: "y".to_owned(),
        sort: Some(SortValue::Integer(17)),
    };
    assert_eq!(records[1].kind, second);
}

#[test]
fn a_text_file_is_one_document_or_one_per_line() {
    let inputs = Inputs::new();
    inputs.put("a.txt", "\u{feff}one\r\ntwo\n\nthree");
    inputs.put("b.md.gz", "# gz\n");
    inputs.put("c.rst.zst", "zst");
    inputs.put("d.text", "");
    inputs.put("e.txt", b"\xff\xfeh\0");
    let folder = inputs.path("");
    let by_file = inputs.read(&[&folder], &plain());
    assert_eq!(
        by_file.iter().map(|r| (r.source, r.line)).collect::<Vec<_>>(),
        (0..5).map(|i| (i, 1)).collect::<Vec<_>>()
    );
    assert_eq!(by_file[0].text(), "one\r\ntwo\n\nthree");
    assert_eq!(by_file[1].text(), "# gz\n");
    assert_eq!(by_file[2].text(), "zst");
    assert_eq!(by_file[3].text(), "");
    assert_eq!(by_file[4].text(), "h");
    let by_line = inputs.read(
        &[&folder],
        &SourceOptions {
            lines: true,
            ..plain()
        },
    );
    let texts: Vec<_> = by_line[..4].iter().map(|r| (r.line, r.kind.clone())).collect();
    let line = |text: &str| Kind::Document {
        id: None,
        text: text.to_owned(),
        sort: None,
    };
    assert_eq!(
        texts,
        [
            (1, line("one")),
            (2, line("two")),
            (3, Kind::Blank),
            (4, line("three"))
        ]
    );
    assert_eq!(by_line.len(), 7);
}

#[test]
fn a_file_that_disappears_is_one_reject() {
    let inputs = Inputs::new();
    let (a, b) = (
        inputs.put("a.jsonl", "{\"text\":\"a\"}\n"),
        inputs.put("b.txt", "b"),
    );
    let c = inputs.put("c.jsonl", "{\"text\":\"c\"}\n");
    let sources = inputs.find(&[&a, &b, &c], &plain()).expect("found");
    std::fs::remove_file(&a).expect("removed");
    std::fs::remove_file(&b).expect("removed");
    let records = read_all(&sources, 1 << 20);
    assert!(matches!(
        records[0].reason().cause(),
        RejectReason::Unreadable { .. }
    ));
    assert!(matches!(
        records[1].reason().cause(),
        RejectReason::Unreadable { .. }
    ));
    assert_eq!(records[2].text(), "c");
    assert_eq!(records.len(), 3);
}

#[test]
fn the_limit_counts_records_over_all_files() {
    let inputs = Inputs::new();
    let a = inputs.put("a.jsonl", "{\"text\":\"1\"}\n\nbad\n{\"text\":\"3\"}\n");
    let b = inputs.put("b.txt", "4");
    let c = inputs.put("c.txt", "5");
    for limit in 0..=6 {
        let records = inputs.read(
            &[&a, &b, &c],
            &SourceOptions {
                limit: Some(limit),
                ..plain()
            },
        );
        let counted = records.iter().filter(|r| r.kind != Kind::Blank).count();
        assert_eq!(counted as u64, limit.min(5));
    }
}

#[test]
fn many_files_are_read_in_order_for_every_batch_size() {
    let inputs = Inputs::new();
    for i in 0..300 {
        let name = if i % 7 == 0 {
            format!("{i:03}.jsonl")
        } else {
            format!("{i:03}.txt")
        };
        let text = if i % 7 == 0 {
            format!("{{\"text\":\"{i}\"}}\n")
        } else {
            i.to_string()
        };
        inputs.put(&name, text);
    }
    let sources = inputs.find(&[&inputs.path("")], &plain()).expect("found");
    for batch_bytes in [0, 1, 50, 1 << 20] {
        let records = read_all(&sources, batch_bytes);
        let texts: Vec<_> = records.iter().map(|r| r.text().to_owned()).collect();
        assert_eq!(texts, (0..300).map(|i: u32| i.to_string()).collect::<Vec<_>>());
        let bytes: u64 = sources
            .read(batch_bytes)
            .map(|b| b.expect("a batch").input_bytes())
            .sum();
        assert_eq!(bytes, sources.total_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_bytes_never_panic_and_every_line_is_accounted_for(
        bytes in prop::collection::vec(prop_oneof![4 => prop::sample::select(&b"{}\":,text[]1n \r\n\n"[..]), 1 => any::<u8>()], 0..400),
        extension in prop::sample::select(&["jsonl", "txt", "jsonl.gz", "jsonl.zst", "txt.gz"][..]),
        raw in any::<bool>(), lines in any::<bool>(), max in prop_oneof![0u64..50, Just(1 << 20)],
    ) {
        prop_assume!(!bytes.starts_with(b"\xff\xfe") && !bytes.starts_with(b"\xfe\xff"));
        let inputs = Inputs::new();
        let name = format!("a.{extension}");
        let path = if raw { inputs.put_raw(&name, &bytes) } else { inputs.put(&name, &bytes) };
        let options = SourceOptions { lines, max_document: max, ..plain() };
        let sources = inputs.find(&[&path], &options).expect("found");
        let records = read_all(&sources, 64);
        let again = read_all(&sources, 1 << 20);
        prop_assert_eq!(&records, &again);
        let counted = records.iter().filter(|r| r.kind != Kind::Blank).count() as u64;
        prop_assert_eq!(sources.records(0), Some(counted));
        prop_assert!(records.iter().map(|r| r.line).eq(1..=records.len() as u64));
        if sources.list()[0].format != Format::Text && (!raw || !extension.contains('.')) {
            let content = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            prop_assert_eq!(records.len(), content.split_inclusive(|&b| b == b'\n').count());
        }
    }
}
