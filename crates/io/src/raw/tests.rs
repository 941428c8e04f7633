#[cfg(feature = "tables")]
mod names;
mod widths;

use std::io::Write;

use super::*;

fn file(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn u64s(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// All fingerprints with their ids. Positions begin at `first`.
fn read<W: Width>(raw: &RawFiles, first: u64) -> Result<Vec<(W, u64)>, RawError> {
    let mut read = Vec::new();
    raw.read(first, |fingerprints: &[W], ids| {
        assert_eq!(fingerprints.len(), ids.len());
        read.extend(fingerprints.iter().copied().zip(ids.iter().copied()));
        Ok::<_, RawError>(())
    })?;
    Ok(read)
}

fn some(n: u64) -> Vec<u64> {
    (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect()
}

#[test]
fn fingerprints_and_ids_are_read_in_order_through_all_files() {
    let directory = tempfile::tempdir().unwrap();
    let numbers = some(300_000);
    let bytes = u64s(&numbers);
    let (one, two) = bytes.split_at(8 * 200_001);
    let (two, three) = two.split_at(8 * 50_000);
    let packed = zstd::encode_all(two, 1).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(three).unwrap();
    let files = [
        file(directory.path(), "a.u64", one),
        file(directory.path(), "empty.u64", &[]),
        file(directory.path(), "b.u64.zst", &packed),
        file(directory.path(), "c.u64.gz", &gzip.finish().unwrap()),
    ];
    let raw = RawFiles::open(&files, &Ids::Own).unwrap();
    assert_eq!((raw.len(), raw.has_ids()), (300_000, false));
    assert!(
        read(&raw, 7)
            .unwrap()
            .into_iter()
            .eq(numbers.iter().copied().zip(7..))
    );
    // Ids in a separate file.
    let given: Vec<u64> = (0..300_000).rev().collect();
    let ids = file(directory.path(), "ids.u64", &u64s(&given));
    let raw = RawFiles::open(&files, &Ids::File(ids)).unwrap();
    assert!(raw.has_ids());
    assert!(
        read(&raw, 7)
            .unwrap()
            .into_iter()
            .eq(numbers.into_iter().zip(given))
    );
    let few = file(directory.path(), "few.u64", &[0; 8]);
    assert!(matches!(
        RawFiles::open(&files, &Ids::File(few)),
        Err(RawError::IdCount {
            ids: 1,
            fingerprints: 300_000,
            ..
        })
    ));
}

#[test]
fn files_without_valid_fingerprints_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let open = |path: &PathBuf| RawFiles::open(std::slice::from_ref(path), &Ids::Own);
    let odd = file(directory.path(), "odd.u64", &[0; 9]);
    assert!(matches!(
        open(&odd),
        Err(RawError::Length {
            bytes: 9,
            bits: 64,
            ..
        })
    ));
    let text = file(directory.path(), "a.txt", &[0; 8]);
    assert!(matches!(open(&text), Err(RawError::Kind { .. })));
    let missing = directory.path().join("missing.u64");
    assert!(matches!(open(&missing), Err(RawError::Io { .. })));
    let shrunk = file(directory.path(), "shrunk.u64", &[0; 16]);
    let raw = open(&shrunk).unwrap();
    std::fs::write(&shrunk, [0; 8]).unwrap();
    assert!(matches!(read::<u64>(&raw, 0), Err(RawError::Io { .. })));
    let packed = zstd::encode_all(&u64s(&some(1000))[..], 1).unwrap();
    let cut = file(directory.path(), "cut.u64.zst", &packed[..packed.len() - 9]);
    assert!(matches!(open(&cut), Err(RawError::Damaged { .. })));
    let other = file(directory.path(), "other.u64.gz", &[1; 100]);
    assert!(matches!(open(&other), Err(RawError::Damaged { .. })));
    #[cfg(feature = "tables")]
    {
        let table = file(directory.path(), "a.parquet.gz", &packed);
        assert!(matches!(open(&table), Err(RawError::PackedTable { .. })));
    }
}

#[cfg(feature = "tables")]
mod tables {
    use std::fs::File;
    use std::sync::Arc;

    use parquet::data_type::{ByteArrayType, FixedLenByteArrayType, Int32Type, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// The values of a column.
    pub(super) enum Cells<'c> {
        Wide(&'c [i64], Option<&'c [i16]>),
        Narrow(&'c [i32]),
        Text(&'c str),
        Texts(&'c [&'c str], Option<&'c [i16]>),
        Bytes(&'c [&'c [u8]], Option<&'c [i16]>),
    }

    pub(super) fn table(path: &Path, schema: &str, groups: &[&[Cells]]) {
        let schema = Arc::new(parse_message_type(&format!("message m {{ {schema} }}")).unwrap());
        let mut writer =
            SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
        for columns in groups {
            let mut group = writer.next_row_group().unwrap();
            for cells in *columns {
                let mut column = group.next_column().unwrap().unwrap();
                let written = match cells {
                    Cells::Wide(values, levels) => {
                        column.typed::<Int64Type>().write_batch(values, *levels, None)
                    }
                    Cells::Narrow(values) => column.typed::<Int32Type>().write_batch(values, None, None),
                    Cells::Text(text) => {
                        let values = [(*text).into()];
                        column.typed::<ByteArrayType>().write_batch(&values, None, None)
                    }
                    Cells::Texts(values, levels) => {
                        let values: Vec<_> = values.iter().map(|text| (*text).into()).collect();
                        column
                            .typed::<ByteArrayType>()
                            .write_batch(&values, *levels, None)
                    }
                    Cells::Bytes(values, levels) => {
                        let values: Vec<_> = values.iter().map(|bytes| bytes.to_vec().into()).collect();
                        column
                            .typed::<FixedLenByteArrayType>()
                            .write_batch(&values, *levels, None)
                    }
                };
                written.unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
    }

    pub(super) fn open(path: &Path, ids: &Ids) -> Result<RawFiles, RawError> {
        RawFiles::open(&[path.to_owned()], ids)
    }

    #[test]
    fn signed_and_unsigned_columns_of_several_row_groups_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let many: Vec<i64> = (0..200_000).map(|i| i - 100_000).collect();
        let groups: &[&[Cells]] = &[
            &[Cells::Wide(&[7, 5], None), Cells::Wide(&[-1, i64::MIN], None)],
            &[Cells::Wide(&many, None), Cells::Wide(&many, None)],
        ];
        table(
            &path,
            "required int64 id (integer(64, false)); required int64 fingerprint;",
            groups,
        );
        let raw = open(&path, &Ids::Own).unwrap();
        assert_eq!((raw.len(), raw.has_ids()), (200_002, true));
        let mut expected = vec![(u64::MAX, 7), (1 << 63, 5)];
        expected.extend(many.iter().map(|&i| (i.cast_unsigned(), i.cast_unsigned())));
        assert_eq!(read(&raw, 9).unwrap(), expected);
        let raw = open(&path, &Ids::Positions).unwrap();
        assert!(!raw.has_ids());
        let positions = expected.iter().map(|&(fingerprint, _)| fingerprint).zip(9..);
        assert!(read(&raw, 9).unwrap().into_iter().eq(positions));

        let path = directory.path().join("b.parquet");
        let groups: &[&[Cells]] = &[&[
            Cells::Wide(&[3, 4], Some(&[1, 1])),
            Cells::Narrow(&[i32::MAX, -1]),
        ]];
        table(
            &path,
            "optional int64 fingerprint (integer(64, true)); required int32 id (integer(32, false));",
            groups,
        );
        let raw = open(&path, &Ids::Own).unwrap();
        assert_eq!(
            read::<u64>(&raw, 0).unwrap(),
            [(3, i32::MAX as u64), (4, u32::MAX.into())]
        );
    }

    #[test]
    fn unsuitable_columns_and_values_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let assert_error = |schema: &str, columns: &[Cells], parts: &[&str]| {
            table(&path, schema, &[columns]);
            let error = open(&path, &Ids::Own)
                .and_then(|raw| read::<u64>(&raw, 0))
                .unwrap_err();
            let text = error.to_string();
            for part in [&["a.parquet"], parts].concat() {
                assert!(text.contains(part), "no {part:?} in {text}");
            }
        };
        assert_error(
            "required int64 hash;",
            &[Cells::Wide(&[1], None)],
            &["no column \"fingerprint\"; the columns are hash", "rename"],
        );
        assert_error(
            "required binary fingerprint (string);",
            &[Cells::Text("ff")],
            &[
                "BYTE_ARRAY (String)",
                "64-bit integers",
                "FIXED_LEN_BYTE_ARRAY(16)",
            ],
        );
        assert_error(
            "required int32 fingerprint (integer(16, true));",
            &[Cells::Narrow(&[1])],
            &["\"fingerprint\" contains 16-bit integers", "32-bit"],
        );
        assert_error(
            "required fixed_len_byte_array(8) fingerprint;",
            &[Cells::Bytes(&[&[1; 8]], None)],
            &["\"fingerprint\" contains FIXED_LEN_BYTE_ARRAY"],
        );
        assert_error(
            "required fixed_len_byte_array(16) fingerprint; required fixed_len_byte_array(16) id;",
            &[Cells::Bytes(&[&[1; 16]], None), Cells::Bytes(&[&[1; 16]], None)],
            &["\"id\" contains FIXED_LEN_BYTE_ARRAY", "positions"],
        );
        assert_error(
            "optional int64 fingerprint;",
            &[Cells::Wide(&[1, 2], Some(&[1, 0, 1]))],
            &["row 2 has no value in the column \"fingerprint\""],
        );
        assert_error(
            "required int64 fingerprint; required int64 id;",
            &[Cells::Wide(&[1, 1], None), Cells::Wide(&[1, -4], None)],
            &["row 2 has the negative id -4"],
        );
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
        let text = open(&path, &Ids::Own).unwrap_err().to_string();
        assert!(text.contains("a.parquet") && text.contains("truncated"), "{text}");
        // Files with ids cannot be mixed with files without.
        std::fs::write(&path, &bytes).unwrap();
        let without = file(directory.path(), "b.u64", &[0; 8]);
        let mixed = RawFiles::open(&[without, path], &Ids::Own).unwrap_err();
        assert!(matches!(mixed, RawError::Mixed { .. }), "{mixed}");
    }

    #[test]
    fn every_truncated_or_changed_table_gives_an_error_or_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let groups: &[&[Cells]] = &[&[Cells::Wide(&[7, 5, 6], None), Cells::Wide(&[1, 2, 3], None)]];
        table(&path, "required int64 id; required int64 fingerprint;", groups);
        let bytes = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for at in 0..bytes.len() {
            for cut in [true, false] {
                let mut damaged = bytes.clone();
                if cut {
                    damaged.truncate(at);
                } else {
                    damaged[at] ^= 0x55;
                }
                std::fs::write(&path, damaged).unwrap();
                match open(&path, &Ids::Own).and_then(|raw| read::<u64>(&raw, 0)) {
                    Err(error) => {
                        refused += 1;
                        assert!(error.to_string().contains("a.parquet"), "{error}");
                    }
                    Ok(_) => assert!(!cut, "cut at {at}"),
                }
            }
        }
        assert!(refused > bytes.len(), "{refused} of {}", bytes.len());
    }
}

const COLUMNS: &[Column] = &[
    Column::new("a", ColumnKind::Ids),
    Column::new("b", ColumnKind::Id),
    Column::new("fingerprint", ColumnKind::Fingerprint { bits: 64 }),
    Column::new("hamming", ColumnKind::Distance),
];
const ROWS: [(&[u64], u64, u64, u64); 3] = [
    (&[1, 2], 3, u64::MAX, 0),
    (&[9], u64::MAX, 0xab, 64),
    (&[], 0, 1, 2),
];

fn written(form: RowFormat) -> Vec<u8> {
    let mut writer = RowWriter::new(Vec::new(), form, COLUMNS, &[("of", "tests")]).unwrap();
    for (a, b, fingerprint, hamming) in ROWS {
        writer
            .row(&[
                RowValue::Numbers(a),
                RowValue::Number(b),
                RowValue::Fingerprint(fingerprint.into()),
                RowValue::Number(hamming),
            ])
            .unwrap();
    }
    assert_eq!(writer.rows(), 3);
    writer.finish().unwrap()
}

#[test]
fn rows_have_four_formats() {
    let text = |form| String::from_utf8(written(form)).unwrap();
    assert_eq!(
        text(RowFormat::Jsonl),
        "{\"a\":[1,2],\"b\":3,\"fingerprint\":\"ffffffffffffffff\",\"hamming\":0}\n\
         {\"a\":[9],\"b\":18446744073709551615,\"fingerprint\":\"00000000000000ab\",\"hamming\":64}\n\
         {\"a\":[],\"b\":0,\"fingerprint\":\"0000000000000001\",\"hamming\":2}\n"
    );
    assert_eq!(
        text(RowFormat::Csv),
        "a,b,fingerprint,hamming\n1 2,3,ffffffffffffffff,0\n9,18446744073709551615,00000000000000ab,64\n,0,0000000000000001,2\n"
    );
    let numbers: Vec<u64> = written(RowFormat::Bin)
        .as_chunks()
        .0
        .iter()
        .map(|&eight| u64::from_le_bytes(eight))
        .collect();
    assert_eq!(
        numbers,
        [2, 1, 2, 3, u64::MAX, 0, 1, 9, u64::MAX, 0xab, 64, 0, 0, 1, 2]
    );
}

#[cfg(feature = "tables")]
#[test]
fn rows_of_a_table_are_readable_by_the_parquet_crate() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "rows.parquet", &written(RowFormat::Parquet));
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let notes = metadata.key_value_metadata().unwrap();
    assert_eq!(
        (notes[0].key.as_str(), notes[0].value.as_deref()),
        ("of", Some("tests"))
    );
    let rows: Vec<String> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().to_string())
        .collect();
    assert_eq!(
        rows,
        [
            "{a: [1, 2], b: 3, fingerprint: 18446744073709551615, hamming: 0}",
            "{a: [9], b: 18446744073709551615, fingerprint: 171, hamming: 64}",
            "{a: [], b: 0, fingerprint: 1, hamming: 2}",
        ]
    );
}

#[test]
fn names_are_quoted_and_have_no_binary_format() {
    const NAMED: &[Column] = &[Column::new("query", ColumnKind::Name)];
    let write = |form| -> Result<String, RowError> {
        let mut writer = RowWriter::new(Vec::new(), form, NAMED, &[])?;
        for name in ["plain", "a,b", "say \"x\"\n"] {
            writer.row(&[RowValue::Name(name)])?;
        }
        assert!(matches!(
            writer.row(&[RowValue::Number(1)]),
            Err(RowError::Unfit("query"))
        ));
        Ok(String::from_utf8(writer.finish()?).unwrap())
    };
    assert_eq!(
        write(RowFormat::Csv).unwrap(),
        "query\nplain\n\"a,b\"\n\"say \"\"x\"\"\n\"\n"
    );
    assert_eq!(
        write(RowFormat::Jsonl).unwrap(),
        "{\"query\":\"plain\"}\n{\"query\":\"a,b\"}\n{\"query\":\"say \\\"x\\\"\\n\"}\n"
    );
    assert!(matches!(write(RowFormat::Bin), Err(RowError::NoBinary("query"))));
}

#[test]
fn a_new_file_appears_when_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows");
    let file_count = || std::fs::read_dir(&directory).unwrap().count();
    let mut dropped = NewFile::create(&path).unwrap();
    dropped.write_all(b"half").unwrap();
    drop(dropped);
    assert_eq!(file_count(), 0);
    let mut complete = NewFile::create(&path).unwrap();
    complete.write_all(b"whole").unwrap();
    assert!(!path.exists());
    complete.finish().unwrap();
    assert_eq!(
        (std::fs::read(&path).unwrap(), file_count()),
        (b"whole".to_vec(), 1)
    );
}
