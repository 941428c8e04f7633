//! Tables copied row by row, compared with the filtered rows of the row reader of the Parquet crate.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use twinprint_io::sink::{RecordAction, copy_records};
use twinprint_io::source::{RecordKind, SourceOptions, Sources};

const SCHEMA: &str = "message rows {
    required int64 id;
    optional binary text (string);
    optional group tags (list) { repeated group list { optional binary element (string); } }
}";

/// The text and the tags of a row. The text, the tags and each tag may be missing.
type Row = (Option<String>, Option<Vec<Option<String>>>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let text = proptest::option::weighted(0.9, "[a-d ]{0,12}");
    let tags = proptest::option::weighted(
        0.8,
        proptest::collection::vec(proptest::option::of("[x-z]{0,3}"), 0..4),
    );
    proptest::collection::vec((text, tags), 0..300)
}

fn write(path: &Path, rows: &[Row], group: usize, version: WriterVersion, page: usize) {
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_data_page_row_count_limit(page)
        .set_write_batch_size(page)
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
    let file = File::create(path).expect("created");
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("begun");
    for (number, rows) in rows.chunks(group).enumerate() {
        let bytes = |text: &String| ByteArray::from(text.as_str());
        let mut out = writer.next_row_group().expect("a group");
        let ids: Vec<i64> = (0..rows.len()).map(|i| (number * group + i) as i64).collect();
        let mut column = out.next_column().expect("written").expect("id");
        column
            .typed::<Int64Type>()
            .write_batch(&ids, None, None)
            .expect("written");
        column.close().expect("closed");
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.0.is_some())).collect();
        let texts: Vec<_> = rows.iter().filter_map(|row| row.0.as_ref()).map(bytes).collect();
        let mut column = out.next_column().expect("written").expect("text");
        let typed = column.typed::<ByteArrayType>();
        typed.write_batch(&texts, Some(&levels), None).expect("written");
        column.close().expect("closed");
        let (mut def, mut rep, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (_, tags) in rows {
            match tags.as_deref() {
                None => def.push(0),
                Some([]) => def.push(1),
                Some(tags) => def.extend(tags.iter().map(|tag| 2 + i16::from(tag.is_some()))),
            }
            let entries = tags.as_ref().map_or(1, |tags| tags.len().max(1));
            rep.extend((0..entries).map(|i| i16::from(i > 0)));
            values.extend(tags.iter().flatten().flatten().map(bytes));
        }
        let mut column = out.next_column().expect("written").expect("tags");
        let typed = column.typed::<ByteArrayType>();
        typed
            .write_batch(&values, Some(&def), Some(&rep))
            .expect("written");
        column.close().expect("closed");
        out.close().expect("closed");
    }
    writer.close().expect("closed");
}

/// The rows as the row reader prints them; empty if the file does not exist.
fn printed(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| row.expect("a row").to_string()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_row_is_copied_to_its_side(
        rows in rows(),
        fates in proptest::collection::vec(0..5u8, 300),
        runs in 1..100usize,
        group in 1..200usize,
        page in 1..50usize,
        second in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("t.parquet");
        let version = if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
        write(&path, &rows, group, version, page);
        let options = SourceOptions::default();
        let inputs = [path.display().to_string()];
        let sources = Sources::discover(&inputs, &options, dir.path()).expect("found");
        let mut read = Vec::new();
        for batch in sources.read(1 << 20) {
            for chunk in &batch.expect("read").chunks {
                chunk.documents(&options, &mut |record| {
                    let text = match record.kind {
                        RecordKind::Document { text, id, .. } => Some((id.expect("an id").into_owned(), text.into_owned())),
                        _ => None,
                    };
                    read.push((record.line, text));
                });
            }
        }
        let expected: Vec<_> = rows.iter().enumerate().map(|(i, row)| {
            (i as u64 + 1, row.0.clone().map(|text| (i.to_string(), text)))
        }).collect();
        prop_assert_eq!(&read, &expected);
        // Runs of rows have the same action, so that whole pages go to one side. Rows without a text were rejected.
        let fate = |row: usize| match (rows[row].0.is_some(), fates[row / runs]) {
            (false, _) => RecordAction::Reject,
            (true, 0..3) => RecordAction::Keep,
            (true, _) => RecordAction::Remove,
        };
        let out = dir.path().join("out");
        copy_records(&sources, &|ordinal| fate(ordinal as usize), &out, &|_| {}).expect("copied");
        let before = printed(&path);
        for (side, wanted) in [("kept", RecordAction::Keep), ("removed", RecordAction::Remove)] {
            let expected: Vec<_> = (0..rows.len()).filter(|&row| fate(row) == wanted).map(|row| before[row].clone()).collect();
            prop_assert_eq!(printed(&out.join(side).join("t.parquet")), expected);
        }
        prop_assert!(fs::exists(out.join("kept/t.parquet")).expect("asked"));
    }
}
