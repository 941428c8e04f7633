//! Truncated and changed tables: every row is a document, a reject, or counted as lost.

use std::sync::Arc;

use crate::corpus_files::{Inputs, Kind, Owned, read_all};
use arrow_array::{RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use twinprint_io::source::{FieldRole, Intake, SourceError, SourceOptions};

fn texts(rows: usize) -> Vec<String> {
    (0..rows)
        .map(|i| format!("row {i} has the number {}", i * i))
        .collect()
}

fn parquet(rows: usize, group: usize) -> Vec<u8> {
    let schema =
        Arc::new(parse_message_type("message rows { required binary text (string); }").expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).expect("begun");
    for texts in texts(rows).chunks(group) {
        let mut out = writer.next_row_group().expect("a group");
        let values: Vec<_> = texts.iter().map(|text| ByteArray::from(text.as_str())).collect();
        let mut column = out.next_column().expect("written").expect("text");
        let typed = column.typed::<ByteArrayType>();
        typed.write_batch(&values, None, None).expect("written");
        column.close().expect("closed");
        out.close().expect("closed");
    }
    writer.into_inner().expect("closed")
}

fn batches(rows: usize, group: usize) -> (Schema, Vec<RecordBatch>) {
    let schema = Schema::new(vec![Field::new("text", DataType::Utf8, false)]);
    let batch = |texts: &[String]| {
        let column = StringArray::from(texts.to_vec());
        RecordBatch::try_new(Arc::new(schema.clone()), vec![Arc::new(column)]).expect("a batch")
    };
    let batches = texts(rows).chunks(group).map(batch).collect();
    (schema, batches)
}

fn arrow_stream(rows: usize, group: usize) -> Vec<u8> {
    let (schema, batches) = batches(rows, group);
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).expect("begun");
    for batch in &batches {
        writer.write(batch).expect("written");
    }
    writer.into_inner().expect("closed")
}

fn arrow_file(rows: usize, group: usize) -> Vec<u8> {
    let (schema, batches) = batches(rows, group);
    let mut writer = FileWriter::try_new(Vec::new(), &schema).expect("begun");
    for batch in &batches {
        writer.write(batch).expect("written");
    }
    writer.into_inner().expect("closed")
}

/// Writes a table with a number of rows, in groups of a number of rows.
type Write = fn(usize, usize) -> Vec<u8>;

/// The kinds of tables, with their file names.
const TABLES: [(&str, Write); 3] = [
    ("a.parquet", parquet),
    ("a.arrow", arrow_file),
    ("a.feather", arrow_stream),
];

/// Reads a file. Returns its records and the intake.
fn read(name: &str, bytes: &[u8]) -> (Vec<Owned>, Intake) {
    let inputs = Inputs::new();
    let path = inputs.put_raw(name, bytes);
    let sources = inputs.find(&[&path], &SourceOptions::default()).expect("found");
    let records = read_all(&sources, 1 << 20);
    let intake = match sources.intake() {
        Ok(intake) => intake,
        Err(SourceError::NothingAccepted(intake)) => *intake,
        Err(other) => panic!("{other}"),
    };
    (records, intake)
}

/// The position of the footer of a file.
fn footer(name: &str, bytes: &[u8]) -> usize {
    let tail = match name {
        "a.parquet" => 8,
        "a.arrow" => 10,
        _ => return bytes.len(),
    };
    let length = bytes[bytes.len() - tail..].first_chunk().expect("a length");
    bytes
        .len()
        .saturating_sub(tail + u32::from_le_bytes(*length) as usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_truncated_table_is_damaged_and_its_bytes_are_counted(
        rows in 1usize..60, group in 1usize..20, cut in 1usize..1000, table in prop::sample::select(&TABLES[..]),
    ) {
        let (name, write) = table;
        let intact = write(rows, group);
        let bytes = &intact[..(intact.len() * cut / 1000).max(1)];
        let (records, intake) = read(name, bytes);
        let documents = records.iter().filter(|record| matches!(record.kind, Kind::Document { .. })).count();
        prop_assert_eq!(documents as u64, intake.accepted);
        for (text, record) in texts(rows).iter().zip(&records[..documents]) {
            prop_assert_eq!(record.text(), text);
        }
        // A stream may end after any batch, without its end marker.
        let at_a_batch = name == "a.feather" && intake.rejected == 0;
        prop_assert!(at_a_batch || intake.damaged().count() == 1, "{:?}", intake);
        if !at_a_batch {
            let loss = intake.loss();
            prop_assert!((1..=bytes.len() as u64).contains(&loss.unread_bytes), "{}", loss);
            // Without its footer, no byte of a file can be read.
            prop_assert!(name == "a.feather" || loss.unread_bytes == bytes.len() as u64);
        }
    }

    #[test]
    fn rows_of_a_changed_table_are_read_or_counted(
        rows in 1usize..60, group in 1usize..20, at in 0usize..1000, bit in 0u8..8, table in prop::sample::select(&TABLES[..]),
    ) {
        let (name, write) = table;
        let mut bytes = write(rows, group);
        let at = bytes.len() * at / 1000;
        bytes[at] ^= 1 << bit;
        let (records, intake) = read(name, &bytes);
        let counted = records.iter().filter(|record| record.kind != Kind::Blank).count();
        prop_assert_eq!(counted as u64, intake.records());
        // A footer has no checksum. A changed one may state fewer rows.
        prop_assume!(at < footer(name, &bytes));
        // Each row is a record, is counted in a loss, or is in unread bytes.
        let loss = intake.loss();
        let undamaged = intake.rejected - intake.damaged().map(|(_, damage)| damage.rejected).sum::<u64>();
        let known = intake.accepted + undamaged + loss.rows;
        prop_assert!(known >= rows as u64 || loss.unread_bytes > 0, "{:?}", intake);
    }
}

/// A changed length of a message must not hide the messages that follow it.
#[test]
fn a_stream_with_a_longer_message_is_damaged() {
    const MESSAGE: [u8; 4] = [0xff; 4];
    let rows = 45;
    let bytes = arrow_stream(rows, 10);
    let messages: Vec<usize> = (0..bytes.len() - 4)
        .filter(|&at| bytes[at..].starts_with(&MESSAGE))
        .collect();
    assert_eq!(messages.len(), 7, "a schema, five record batches and the end");
    let end = messages.len() - 1;
    for (i, &at) in messages[..end].iter().enumerate() {
        // The length of the message, and each byte that may be a part of the length of its body.
        for place in at + 4..messages[i + 1].min(at + 136) {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[place] ^= 1 << bit;
                let (_, intake) = read("a.feather", &changed);
                let loss = intake.loss();
                let known = intake.records() + loss.rows;
                assert!(
                    known >= rows as u64 || loss.unread_bytes > 0,
                    "{place} {bit} {intake:?}"
                );
            }
        }
    }
}

#[test]
fn bytes_after_a_stream_are_counted() {
    let one = arrow_stream(3, 3);
    let two = [one.clone(), one.clone()].concat();
    let (records, intake) = read("a.arrow", &two);
    assert_eq!((intake.accepted, intake.rejected), (3, 1), "{records:?}");
    let reason = records[3].reason().to_string();
    assert!(reason.contains("other bytes follow"), "{reason}");
    // The end marker of the first stream is counted, too.
    assert_eq!(intake.loss().unread_bytes, one.len() as u64 + 8);
    let padded = [one, vec![0; 8]].concat();
    assert_eq!(read("a.arrow", &padded).1.rejected, 0);
}

#[test]
fn a_table_without_the_column_reports_its_rows() {
    for (name, write) in TABLES {
        let inputs = Inputs::new();
        let path = inputs.put_raw(name, write(7, 3));
        let options = SourceOptions {
            text_key: "body".to_owned(),
            ..SourceOptions::default()
        };
        let sources = inputs.find(&[&path], &options).expect("found");
        let records = read_all(&sources, 1 << 20);
        let loss = records[0].reason().loss().expect("a loss");
        assert_eq!((loss.rows, loss.unread_bytes), (7, sources.list()[0].bytes));
        let Err(SourceError::NothingAccepted(intake)) = sources.intake() else {
            panic!("nothing is taken");
        };
        assert_eq!(intake.fields, ["text"]);
        let Err(SourceError::NoField { role, present, .. }) = sources.check_fields(|_| {}) else {
            panic!("the schema has no such field");
        };
        assert_eq!((role, present), (FieldRole::Text, vec!["text".to_owned()]));
    }
}

#[test]
fn with_any_text_a_table_without_the_column_is_skipped() {
    let inputs = Inputs::new();
    inputs.put_raw("a.parquet", parquet(5, 5));
    inputs.put_raw("b.arrow", arrow_file(5, 5));
    inputs.put("c.rs", "fn main() {}");
    let of_key = |key: &str| SourceOptions {
        text_key: key.to_owned(),
        any_text: true,
        ..SourceOptions::default()
    };
    let taken = inputs.find(&[&inputs.path("")], &of_key("text")).expect("found");
    assert_eq!(taken.list().len(), 3);
    let skipped = inputs.find(&[&inputs.path("")], &of_key("body")).expect("found");
    assert_eq!(skipped.list().len(), 1);
    assert_eq!(skipped.skipped().get("(no text field)"), Some(&2));
}

#[test]
fn a_table_that_cannot_be_opened_again_is_damaged() {
    for (name, bytes) in [("a.parquet", parquet(7, 7)), ("a.arrows", arrow_stream(7, 7))] {
        let inputs = Inputs::new();
        let path = inputs.put(name, bytes);
        let good = inputs.put("b.txt", "a text");
        let sources = inputs
            .find(&[&path, &good], &SourceOptions::default())
            .expect("found");
        let batches: Vec<_> = sources
            .read(1 << 20)
            .map(|batch| batch.expect("a batch"))
            .collect();
        std::fs::remove_file(&path).expect("removed");
        for chunk in batches.iter().flat_map(|batch| &batch.chunks) {
            chunk.documents(sources.options(), &mut |_| {});
        }
        let intake = sources.intake().expect("one is taken");
        assert_eq!(intake.damaged().count(), 1, "{name}");
        assert_eq!((intake.rejected, intake.loss().rows), (7, 7), "{name}");
    }
}
