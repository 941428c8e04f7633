//! Fingerprints whose ids are strings.

use parquet::file::reader::{FileReader, SerializedFileReader};

use super::tables::{Cells, open, table};
use super::*;

const SCHEMA: &str = "required binary id (string); required int64 fingerprint;";

/// Reads all names, `count` at a time.
fn names(raw: &RawFiles, count: usize) -> Result<Vec<String>, RawError> {
    let mut rows = raw.names();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        rows.fill(count, &mut all)?;
        assert!(all.len() - before <= count);
        if all.len() - before < count {
            return Ok(all);
        }
    }
}

#[test]
fn names_are_read_in_order_through_all_files_and_row_groups() {
    let directory = tempfile::tempdir().unwrap();
    let many: Vec<String> = (0..1000).map(|i| format!("{i} 页")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let numbers: Vec<i64> = (0..1000).collect();
    let [a, b, empty] = ["a.parquet", "b.parquet", "empty.parquet"].map(|name| directory.path().join(name));
    table(
        &a,
        SCHEMA,
        &[
            &[Cells::Texts(&["x", "", "x"], None), Cells::Wide(&[7, 8, 9], None)],
            &[Cells::Texts(&many, None), Cells::Wide(&numbers, None)],
        ],
    );
    let optional = "optional binary id (string); required int64 fingerprint;";
    table(
        &b,
        optional,
        &[&[Cells::Texts(&["last"], Some(&[1])), Cells::Wide(&[1], None)]],
    );
    table(&empty, SCHEMA, &[]);
    let raw = RawFiles::open(&[empty, a.clone(), b], &Ids::Own).unwrap();
    assert_eq!((raw.len(), raw.has_names(), raw.has_ids()), (1004, true, false));
    let expected: Vec<&str> = ["x", "", "x"].into_iter().chain(many).chain(["last"]).collect();
    for count in [1, 7, 1003, 1004, 1005] {
        assert_eq!(names(&raw, count).unwrap(), expected, "{count} at a time");
    }
    // The ids are positions.
    let ids = read::<u64>(&raw, 0).unwrap().into_iter().map(|(_, id)| id);
    assert!(ids.eq(0..1004));
    for ids in [
        Ids::Positions,
        Ids::File(file(directory.path(), "ids.u64", &[1; 1003 * 8])),
    ] {
        let raw = open(&a, &ids).unwrap();
        assert!(!raw.has_names() && names(&raw, 10).unwrap().is_empty());
    }
}

#[test]
fn rows_without_names_and_mixed_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let optional = "optional binary id (string); required int64 fingerprint;";
    table(
        &path,
        optional,
        &[&[
            Cells::Texts(&["x", "y"], Some(&[1, 0, 1])),
            Cells::Wide(&[7, 8, 9], None),
        ]],
    );
    let raw = open(&path, &Ids::Own).unwrap();
    let error = names(&raw, 2).unwrap_err();
    assert!(
        matches!(
            error,
            RawError::Null {
                row: 2,
                column: "id",
                ..
            }
        ),
        "{error}"
    );
    let numbers = directory.path().join("numbers.parquet");
    table(
        &numbers,
        "required int64 id; required int64 fingerprint;",
        &[&[Cells::Wide(&[1], None), Cells::Wide(&[1], None)]],
    );
    let positions = file(directory.path(), "b.u64", &[0; 8]);
    for other in [numbers, positions] {
        for files in [[path.clone(), other.clone()], [other.clone(), path.clone()]] {
            let error = RawFiles::open(&files, &Ids::Own).unwrap_err();
            let is_mixed = matches!(error, RawError::MixedNames { .. } | RawError::Mixed { .. });
            assert!(is_mixed, "{error}");
        }
    }
}

#[test]
fn every_truncated_or_changed_table_gives_an_error_or_as_many_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    table(
        &path,
        SCHEMA,
        &[&[
            Cells::Texts(&["seven", "five", "six"], None),
            Cells::Wide(&[1, 2, 3], None),
        ]],
    );
    let bytes = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        for damaged in [&damaged, &bytes[..at]] {
            std::fs::write(&path, damaged).unwrap();
            let read =
                open(&path, &Ids::Own).and_then(|raw| Ok((names(&raw, 2)?, raw.has_names(), raw.len())));
            match read {
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().contains("a.parquet"), "{error}");
                }
                Ok((names, named, rows)) => assert!(!named || names.len() as u64 == rows),
            }
        }
    }
    assert!(refused > bytes.len(), "{refused} of {}", bytes.len());
}

#[test]
fn lists_of_names_are_written_in_every_format_but_bin() {
    const COLUMNS: &[Column] = &[
        Column::new("a", ColumnKind::Names),
        Column::new("b", ColumnKind::Name),
    ];
    let rows: [(&[&str], &str); 3] = [(&["x", "y, \"z\""], "1"), (&[], "a,b"), (&["页"], "")];
    let written = |form| {
        let mut writer = RowWriter::new(Vec::new(), form, COLUMNS, &[])?;
        for (a, b) in rows {
            writer.row(&[RowValue::Names(a), RowValue::Name(b)])?;
        }
        writer.finish()
    };
    let text = |form| String::from_utf8(written(form).unwrap()).unwrap();
    assert_eq!(
        text(RowFormat::Jsonl),
        "{\"a\":[\"x\",\"y, \\\"z\\\"\"],\"b\":\"1\"}\n{\"a\":[],\"b\":\"a,b\"}\n{\"a\":[\"页\"],\"b\":\"\"}\n"
    );
    assert_eq!(
        text(RowFormat::Csv),
        "a,b\n\"[\"\"x\"\",\"\"y, \\\"\"z\\\"\"\"\"]\",1\n[],\"a,b\"\n\"[\"\"页\"\"]\",\n"
    );
    assert!(matches!(written(RowFormat::Bin), Err(RowError::NoBinary("a"))));
    let directory = tempfile::tempdir().unwrap();
    let path = file(
        directory.path(),
        "a.parquet",
        &written(RowFormat::Parquet).unwrap(),
    );
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let read: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
    assert_eq!(read.len(), 3);
    assert!(read[0].contains("\"x\"") && read[2].contains('页'), "{read:?}");
    // A list of names is not a list of ids.
    let mut writer = RowWriter::new(Vec::new(), RowFormat::Jsonl, COLUMNS, &[]).unwrap();
    let unfit = writer.row(&[RowValue::Numbers(&[1]), RowValue::Name("x")]);
    assert!(matches!(unfit, Err(RowError::Unfit("a"))));
}
