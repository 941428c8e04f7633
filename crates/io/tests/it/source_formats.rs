//! Tables and arrays compared with the csv crate and serde_json, which read the whole file at once.

use std::fs;

use crate::corpus_files::{Inputs, Kind, Owned, plain, read_all, unpacked};
use proptest::prelude::*;
use serde_json::Value;
use twinprint_io::sink::{RecordAction, copy_records};
use twinprint_io::source::{Charset, Loss, RejectReason, SourceOptions, Sources};

/// Copies the records of a file by `fate`. Returns the kept and the removed bytes.
fn copied(
    inputs: &Inputs,
    sources: &Sources,
    name: &str,
    fate: impl Fn(u64) -> RecordAction,
) -> [Option<Vec<u8>>; 2] {
    let out = inputs.sibling("out");
    copy_records(sources, &fate, &out, &|_| {}).expect("copied");
    let sides = ["kept", "removed"].map(|side| unpacked(&out.join(side).join(name)));
    fs::remove_dir_all(&out).expect("removed");
    sides
}

fn documents(records: &[Owned]) -> Vec<(Option<String>, String)> {
    let document = |record: &Owned| match &record.kind {
        Kind::Document { id, text, .. } => Some((id.clone(), text.clone())),
        _ => None,
    };
    records.iter().filter_map(document).collect()
}

/// The rows of a table as the csv crate reads them.
fn rows(bytes: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes);
    reader
        .records()
        .map(|row| row.expect("a row").iter().map(str::to_owned).collect())
        .collect()
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c é]{0,6}",
        1 => "[a-c]{1,3}\"[a-c\"]{0,3}",
        3 => "([a-c,\n\r;中]|\"\"){0,8}".prop_map(|inner| format!("\"{inner}\"")),
        1 => "([a-c,\n]|\"\"){0,8}".prop_map(|inner| format!("\"{inner}\"tail")),
    ]
}

fn table() -> impl Strategy<Value = String> {
    let row = (field(), field(), prop::option::weighted(0.1, field())).prop_map(|(a, b, c)| match c {
        None => format!("{a},{b}"),
        Some(c) => format!("{a},{b},{c}"),
    });
    let row = prop_oneof![8 => row, 1 => Just(String::new())];
    let end = prop::sample::select(&["\n", "\r\n", "\r"][..]);
    (prop::collection::vec((row, end), 0..12), any::<bool>()).prop_map(|(rows, ended)| {
        let mut text = String::from("id,text\n");
        for (row, end) in rows {
            text.push_str(&row);
            text.push_str(end);
        }
        if !ended {
            let ends = text.trim_end_matches(['\r', '\n']).len();
            text.truncate(ends.max(8));
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rows_are_those_of_the_csv_crate(
        text in table(), name in prop::sample::select(&["a.csv", "a.csv.gz"][..]), pattern in any::<u64>(), batch in 1usize..60,
    ) {
        let inputs = Inputs::new();
        let path = inputs.put(name, &text);
        let sources = inputs.find(&[&path], &plain()).expect("found");
        let records = read_all(&sources, batch);
        let all_rows = rows(text.as_bytes());
        let expected: Vec<_> = all_rows[1..].iter().filter(|row| row.len() == 2).collect();
        let found = documents(&records);
        prop_assert_eq!(found.len(), expected.len());
        for ((id, text), row) in found.iter().zip(&expected) {
            prop_assert_eq!((id.as_deref().unwrap_or(""), text), (row[0].as_str(), &row[1]));
        }
        let counted = records.iter().filter(|r| r.kind != Kind::Blank).count();
        prop_assert_eq!(counted, all_rows.len() - 1, "every other row is a reject");

        let kept = copied(&inputs, &sources, name, |_| RecordAction::Keep);
        prop_assert_eq!(kept, [Some(text.clone().into_bytes()), None]);
        let is_kept = |i: u64| pattern >> (i % 64) & 1 == 0;
        let [kept, removed] = copied(&inputs, &sources, name, |o| if is_kept(o) { RecordAction::Keep } else { RecordAction::Remove });
        for (side, keeps) in [(kept, true), (removed, false)] {
            let mut wanted = vec![all_rows[0].clone()];
            wanted.extend(all_rows[1..].iter().zip(0..).filter(|(_, i)| is_kept(*i) == keeps).map(|(row, _)| row.clone()));
            let found = side.map_or_else(|| vec![all_rows[0].clone()], |bytes| rows(&bytes));
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn elements_are_those_of_serde_json(
        values in prop::collection::vec(prop_oneof![
            6 => (".{0,8}", "[\\PC\"\\\\\\]\\[{}]{0,8}").prop_map(|(id, text)| serde_json::json!({"id": id, "text": text, "x": [1, {"y": []}]})),
            1 => prop::sample::select(vec![Value::Null, Value::from(1.5), Value::from("a]\"b"), serde_json::json!([]), serde_json::json!({})]),
        ], 0..12),
        pretty in any::<bool>(), end in prop::sample::select(&["", "\n", " \r\n\n"][..]), pattern in any::<u64>(), batch in 1usize..60,
    ) {
        let mut text = if pretty { serde_json::to_string_pretty(&values) } else { serde_json::to_string(&values) }.expect("written");
        text.push_str(end);
        let inputs = Inputs::new();
        let path = inputs.put("a.json", &text);
        let sources = inputs.find(&[&path], &plain()).expect("found");
        let records = read_all(&sources, batch);
        prop_assert_eq!(records.len(), values.len());
        for (record, value) in records.iter().zip(&values) {
            match (&record.kind, value["text"].as_str()) {
                (Kind::Document { id, text, .. }, Some(expected)) => {
                    prop_assert_eq!(text, expected);
                    // An empty id counts as missing.
                    prop_assert_eq!(id.as_deref(), value["id"].as_str().filter(|id| !id.is_empty()));
                }
                (Kind::Rejected(_), None) => {}
                other => prop_assert!(false, "{:?}", other),
            }
            if pretty {
                let line = text.lines().nth(record.line as usize - 1).expect("a line");
                prop_assert!(line.starts_with("  ") && !line.starts_with("   "), "{}", line);
            }
        }

        let kept = copied(&inputs, &sources, "a.json", |_| RecordAction::Keep);
        prop_assert_eq!(kept, [Some(text.clone().into_bytes()), None]);
        let fate = |o: u64| [RecordAction::Keep, RecordAction::Remove, RecordAction::Reject][(pattern >> (2 * (o % 32))) as usize % 4 % 3];
        let [kept, removed] = copied(&inputs, &sources, "a.json", fate);
        for (side, fated) in [(kept, RecordAction::Keep), (removed, RecordAction::Remove)] {
            let wanted: Vec<_> = values.iter().zip(0..).filter(|(_, o)| fate(*o) == fated).map(|(v, _)| v.clone()).collect();
            match side {
                Some(bytes) => prop_assert_eq!(serde_json::from_slice::<Vec<Value>>(&bytes).expect("an array"), wanted),
                None => prop_assert!(wanted.is_empty()),
            }
        }
    }

    #[test]
    fn any_bytes_are_read_twice_alike_and_the_kept_array_is_valid(
        bytes in prop::collection::vec(prop::sample::select(&b"[]{}\"\\:,;\t \r\n1atext"[..]), 0..80),
        name in prop::sample::select(&["a.csv", "a.tsv", "a.json"][..]), max in prop_oneof![0u64..20, Just(1 << 20)], limit in prop_oneof![0u64..5, Just(1 << 20)],
    ) {
        let inputs = Inputs::new();
        let path = inputs.put(name, &bytes);
        let options = SourceOptions { max_document: max, limit: Some(limit), ..plain() };
        let sources = inputs.find(&[&path], &options).expect("found");
        let records = read_all(&sources, 7);
        prop_assert_eq!(&records, &read_all(&sources, 1 << 20));
        let counted = records.iter().filter(|r| r.kind != Kind::Blank);
        let rejects: Vec<_> = counted.map(|r| matches!(r.kind, Kind::Rejected(_))).collect();
        prop_assert!(rejects.len() as u64 <= limit);
        if limit > 0 && name == "a.json" {
            let [kept, _] = copied(&inputs, &sources, name, |o| if rejects[o as usize] { RecordAction::Reject } else { RecordAction::Keep });
            let kept: Vec<Value> = serde_json::from_slice(&kept.expect("kept")).expect("an array");
            prop_assert_eq!(kept.len(), rejects.iter().filter(|&&r| !r).count());
        }
    }
}

#[test]
fn the_copy_of_a_partly_read_array_is_closed() {
    for (text, max, kept) in [
        (r#"[{"text":"x"},{"text":"y"}]"#, 1 << 20, "[{\"text\":\"x\"}]\n"),
        (r#"[{"text":"x"}]"#, 1 << 20, "[{\"text\":\"x\"}]\n"),
        ("[}]", 0, "[]\n"),
    ] {
        let inputs = Inputs::new();
        let path = inputs.put("a.json", text);
        let options = SourceOptions {
            max_document: max,
            limit: Some(1),
            ..plain()
        };
        let sources = inputs.find(&[&path], &options).expect("found");
        let rejected = read_all(&sources, 7)
            .iter()
            .any(|r| matches!(r.kind, Kind::Rejected(_)));
        let fate = |_| {
            if rejected {
                RecordAction::Reject
            } else {
                RecordAction::Keep
            }
        };
        assert_eq!(
            copied(&inputs, &sources, "a.json", fate),
            [Some(kept.as_bytes().to_vec()), None]
        );
    }
}

#[test]
fn a_row_reports_its_line_and_its_columns() {
    let inputs = Inputs::new();
    let table = "\u{feff}key;body;when\n1;\"two\nlines\";5\n\n;plain;\n2;short\n";
    let path = inputs.put("a.csv", table);
    let options = SourceOptions {
        text_key: "body".to_owned(),
        id_key: Some("key".to_owned()),
        sort_key: Some("when".to_owned()),
        ..plain()
    };
    let records = inputs.read(&[&path], &options);
    assert_eq!(records.iter().map(|r| r.line).collect::<Vec<_>>(), [2, 4, 5, 6]);
    assert_eq!(
        documents(&records),
        [
            (Some("1".to_owned()), "two\nlines".to_owned()),
            (None, "plain".to_owned())
        ]
    );
    assert_eq!(
        records[3].reason(),
        &RejectReason::RowWidth {
            found: 2,
            expected: 3
        }
    );
    let wrong = inputs.read(&[&path], &plain());
    let missing = wrong[0].reason().to_string();
    assert!(missing.contains("there are key, body, when"), "{missing}");
    let named = SourceOptions {
        delimiter: Some(b'|'),
        ..plain()
    };
    let piped = inputs.put("b.tsv", "text|x\na,\tb|\n");
    assert_eq!(inputs.read(&[&piped], &named)[0].text(), "a,\tb");
}

#[test]
fn a_bar_in_a_header_with_another_delimiter_is_a_character() {
    let inputs = Inputs::new();
    for (name, table, text) in [
        ("a.csv", "a;b|c;text\n1;2;three\n", "three"),
        ("b.csv", "a,b|c,text\n1,2,three\n", "three"),
        ("c.csv", "a|b|text\n1|2|three\n", "three"),
        ("d.csv", "a;b,c,text\n1,2,three\n", "three"),
        ("e.csv", "text\n1;2|3\n", "1;2|3"),
    ] {
        let path = inputs.put(name, table);
        assert_eq!(inputs.read(&[&path], &plain())[0].text(), text, "{table}");
    }
}

#[test]
fn files_that_cannot_be_split_are_rejected() {
    let inputs = Inputs::new();
    let wide = inputs.put("a.csv", format!("text{}\nx\n", ",".repeat(1 << 17)));
    assert!(matches!(
        inputs.read(&[&wide], &plain())[0].reason().cause(),
        RejectReason::TooManyColumns { .. }
    ));
    let array = inputs.put("a.json", "[{\"text\":\"x\"}]");
    let gbk = SourceOptions {
        charset: Charset::named("gbk"),
        ..plain()
    };
    let records = inputs.read(&[&array], &gbk);
    assert!(
        records[0].reason().to_string().contains("iconv -f GBK"),
        "{:?}",
        records[0]
    );
    assert_eq!(records.len(), 1);
}

#[test]
fn an_open_quote_is_one_reject_that_names_its_line() {
    let inputs = Inputs::new();
    let mut table = "id,text\n1,fine\n2,\"open\n".to_owned();
    let path = inputs.put("a.csv", &table);
    let records = inputs.read(&[&path], &plain());
    let open = |bytes, lines| RejectReason::Lost {
        cause: Box::new(RejectReason::OpenQuote { line: 3 }),
        loss: Loss {
            bytes,
            lines,
            ..Loss::default()
        },
    };
    assert_eq!(records[1].reason(), &open(8, 1));
    assert_eq!((records.len(), records[1].line), (2, 3));
    // With many lines after the quote, nothing is buffered and the reason is the same.
    table.push_str(&"x,y\n".repeat(1 << 20));
    let path = inputs.put("b.csv", &table);
    let options = SourceOptions {
        max_document: 100,
        ..plain()
    };
    let records = inputs.read(&[&path], &options);
    assert_eq!(records[1].reason(), &open(8 + (4 << 20), 1 + (1 << 20)));
}

#[test]
fn a_broken_array_reports_the_size_of_the_loss() {
    let inputs = Inputs::new();
    // Much longer than the bytes that are read at once.
    let rest = format!(
        "{{\"text\":\"lost\"}},\n{}]",
        "{\"text\":\"lost\"},\n".repeat(1 << 17)
    );
    let path = inputs.put("a.json", format!("[{{\"text\":\"one\"}}\n{rest}"));
    let records = inputs.read(&[&path], &plain());
    assert_eq!(records.len(), 2);
    let reason = records[1].reason();
    assert!(
        matches!(reason.cause(), RejectReason::BrokenArray { .. }),
        "{reason}"
    );
    let lost = reason.loss().expect("a loss");
    // The loss begins at the end of the last complete element.
    assert_eq!(lost.bytes, rest.len() as u64 + 1);
    assert_eq!(lost.lines, rest.lines().count() as u64 + 1);
}

#[test]
fn concatenated_and_manually_split_files_are_read() {
    let inputs = Inputs::new();
    // Two concatenated files with byte order marks.
    let path = inputs.put(
        "a.jsonl",
        "\u{feff}{\"text\":\"one\"}\n\u{feff}{\"text\":\"two\"}\n",
    );
    let records = inputs.read(&[&path], &plain());
    assert_eq!([records[0].text(), records[1].text()], ["one", "two"]);
    let path = inputs.put("a.csv", "id|text\n1|a, b; c\n");
    assert_eq!(inputs.read(&[&path], &plain())[0].text(), "a, b; c");
}

#[test]
fn columns_of_a_table_without_a_header_have_numbers() {
    let inputs = Inputs::new();
    let path = inputs.put("a.csv", "1;\"one; \"\"two\"\"\"\n2;three\n3\n");
    let options = SourceOptions {
        no_header: true,
        id_key: Some("1".to_owned()),
        text_key: "2".to_owned(),
        ..plain()
    };
    let records = inputs.read(&[&path], &options);
    let texts: Vec<_> = records[..2].iter().map(Owned::text).collect();
    assert_eq!(texts, ["one; \"two\"", "three"]);
    assert!(matches!(
        records[2].reason(),
        RejectReason::RowWidth {
            found: 1,
            expected: 2
        }
    ));
    assert_eq!(
        records.iter().map(|record| record.line).collect::<Vec<_>>(),
        [1, 2, 3]
    );
}

#[test]
fn a_file_without_a_valid_array_is_rejected_with_a_reason() {
    let inputs = Inputs::new();
    for (text, says) in [
        (
            "{\"data\": [{\"text\":\"a\"}], \"n\": 1}",
            "an object with the fields data, n",
        ),
        ("{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "name the format jsonl"),
        ("", "nothing"),
        ("\"x\"", "a string"),
        ("[{\"text\":\"a\"}", "the file ends within the array"),
        ("[{\"text\":\"a\"},]", "an element is missing"),
        ("[{\"text\":\"a\"} {\"text\":\"b\"}]", "a comma or ] is missing"),
        ("[] []", "more after the end"),
    ] {
        let path = inputs.put("a.json", text);
        let sources = inputs.find(&[&path], &plain()).expect("found");
        let records = read_all(&sources, 1 << 20);
        let reason = records.last().expect("a reject").reason().to_string();
        assert!(reason.contains(says), "{text}: {reason}");
        let last = records.len() as u64 - 1;
        let [kept, _] = copied(&inputs, &sources, "a.json", |o| {
            if o == last {
                RecordAction::Reject
            } else {
                RecordAction::Keep
            }
        });
        let kept: Vec<Value> = serde_json::from_slice(&kept.expect("kept")).expect("an array");
        assert_eq!(kept.len() as u64, last, "{text}");
    }
    let empty = inputs.put("a.json", "[ ]\n");
    assert_eq!(inputs.read(&[&empty], &plain()), []);
}
