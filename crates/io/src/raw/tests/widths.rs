//! Files of fingerprints of 32, 64 and 128 bits.

use super::*;

/// `n` fingerprints that use all bits.
fn fingerprints<W: Width>(n: u128) -> Vec<W> {
    let full = (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835));
    full.map(W::truncate).chain([W::truncate(u128::MAX)]).collect()
}

fn little_endian<W: Width>(numbers: &[W]) -> Vec<u8> {
    let bytes = numbers.iter().map(|number| number.widen().to_le_bytes());
    bytes
        .flat_map(|bytes| bytes.into_iter().take(W::BITS as usize / 8))
        .collect()
}

fn round_trip<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let bits = W::BITS;
    let numbers = fingerprints::<W>(70_000);
    let bytes = little_endian(&numbers);
    let (one, two) = bytes.split_at(bits as usize / 8 * 40_001);
    let files = [
        file(directory.path(), &format!("a.u{bits}"), one),
        file(
            directory.path(),
            &format!("b.u{bits}.zst"),
            &zstd::encode_all(two, 1).unwrap(),
        ),
    ];
    let raw = RawFiles::open(&files, &Ids::Own).unwrap();
    assert_eq!((raw.bits(), raw.len()), (bits, numbers.len() as u64));
    assert!(
        read::<W>(&raw, 5)
            .unwrap()
            .into_iter()
            .eq(numbers.iter().copied().zip(5..))
    );
    // A length that is no multiple of a fingerprint's is refused.
    let odd = file(
        directory.path(),
        &format!("odd.u{bits}"),
        &bytes[..bytes.len() - 1],
    );
    let error = RawFiles::open(&[odd], &Ids::Own).unwrap_err();
    assert!(matches!(error, RawError::Length { bits: named, .. } if named == bits));
    assert!(error.to_string().contains(&format!("{bits}-bit integers")));
}

#[test]
fn numbers_of_every_width_are_read() {
    round_trip::<u32>();
    round_trip::<u64>();
    round_trip::<u128>();
}

#[test]
fn files_of_different_widths_are_both_named() {
    let directory = tempfile::tempdir().unwrap();
    let narrow = file(directory.path(), "narrow.u32", &[1; 32]);
    let wide = file(directory.path(), "wide.u128", &[1; 32]);
    let error = RawFiles::open(&[narrow.clone(), wide.clone()], &Ids::Own).unwrap_err();
    assert!(matches!(
        error,
        RawError::Widths {
            bits: 32,
            other_bits: 128,
            ..
        }
    ));
    let text = error.to_string();
    assert!(
        text.contains("narrow.u32") && text.contains("wide.u128"),
        "{text}"
    );
    // The caller reads with the type of another width.
    let raw = RawFiles::open(&[narrow], &Ids::Own).unwrap();
    assert!(raw.check_bits(32).is_ok());
    for error in [raw.check_bits(64).unwrap_err(), read::<u64>(&raw, 0).unwrap_err()] {
        assert!(matches!(
            error,
            RawError::Width {
                got: 32,
                expected: 64,
                ..
            }
        ));
    }
    // Ids have 64 bits.
    let error = RawFiles::open(std::slice::from_ref(&wide), &Ids::File(wide.clone())).unwrap_err();
    assert!(matches!(error, RawError::IdKind { .. }), "{error}");
    let ids = file(directory.path(), "ids.u64", &u64s(&[9, 8]));
    let raw = RawFiles::open(&[wide], &Ids::File(ids)).unwrap();
    let each = u128::from_le_bytes([1; 16]);
    assert_eq!(read::<u128>(&raw, 0).unwrap(), [(each, 9), (each, 8)]);
}

#[cfg(feature = "tables")]
mod tables {
    use super::super::tables::{Cells, open, table};
    use super::*;

    /// Reads all fingerprints with the type of the width, in whichever width they are.
    fn widened(raw: &RawFiles) -> Result<Vec<(u128, u64)>, RawError> {
        fn of<W: Width>(raw: &RawFiles) -> Result<Vec<(u128, u64)>, RawError> {
            let rows = read::<W>(raw, 0)?.into_iter();
            Ok(rows.map(|(fingerprint, id)| (fingerprint.widen(), id)).collect())
        }
        match raw.bits() {
            32 => of::<u32>(raw),
            64 => of::<u64>(raw),
            _ => of::<u128>(raw),
        }
    }

    #[test]
    fn columns_of_every_width_and_sign_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let all = [0x8000_0000_u32, u32::MAX, 7].map(u128::from);
        let signs = ["", "(integer(32, true))", "(integer(32, false))"];
        for kind in signs {
            let values = [i32::MIN, -1, 7];
            table(
                &path,
                &format!("required int32 fingerprint {kind};"),
                &[&[Cells::Narrow(&values)]],
            );
            let raw = open(&path, &Ids::Own).unwrap();
            let rows: Vec<u128> = widened(&raw).unwrap().iter().map(|row| row.0).collect();
            assert_eq!((raw.bits(), rows), (32, all.to_vec()), "{kind}");
        }
        let all = [1_u64 << 63, u64::MAX, 7].map(u128::from);
        for kind in ["", "(integer(64, true))", "(integer(64, false))"] {
            let values = [i64::MIN, -1, 7];
            table(
                &path,
                &format!("required int64 fingerprint {kind};"),
                &[&[Cells::Wide(&values, None)]],
            );
            let raw = open(&path, &Ids::Own).unwrap();
            let rows: Vec<u128> = widened(&raw).unwrap().iter().map(|row| row.0).collect();
            assert_eq!((raw.bits(), rows), (64, all.to_vec()), "{kind}");
        }
    }

    #[test]
    fn wide_columns_have_ids_nulls_and_several_row_groups() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let numbers = fingerprints::<u128>(200_000);
        let bytes: Vec<[u8; 16]> = numbers.iter().map(|number| number.to_be_bytes()).collect();
        let bytes: Vec<&[u8]> = bytes.iter().map(|bytes| &bytes[..]).collect();
        let ids: Vec<i64> = (0..).take(numbers.len()).map(|i| 3 * i).collect();
        let (first, rest) = bytes.split_at(9);
        let (first_ids, rest_ids) = ids.split_at(9);
        let groups: &[&[Cells]] = &[
            &[Cells::Bytes(first, None), Cells::Wide(first_ids, None)],
            &[Cells::Bytes(rest, None), Cells::Wide(rest_ids, None)],
        ];
        let schema = "required fixed_len_byte_array(16) fingerprint; required int64 id;";
        table(&path, schema, groups);
        let raw = open(&path, &Ids::Own).unwrap();
        assert_eq!((raw.bits(), raw.has_ids()), (128, true));
        let expected = numbers.iter().copied().zip(ids.iter().map(|&id| id as u64));
        assert!(read::<u128>(&raw, 0).unwrap().into_iter().eq(expected));

        let schema = "optional fixed_len_byte_array(16) fingerprint;";
        let groups: &[&[Cells]] = &[&[Cells::Bytes(&bytes[..2], Some(&[1, 0, 1]))]];
        table(&path, schema, groups);
        let raw = open(&path, &Ids::Own).unwrap();
        let error = read::<u128>(&raw, 0).unwrap_err().to_string();
        assert!(
            error.contains("row 2 has no value in the column \"fingerprint\""),
            "{error}"
        );
    }

    #[test]
    fn a_table_of_rows_of_every_width_is_read_back() {
        fn same<W: Width>(columns: &'static [Column]) {
            let directory = tempfile::tempdir().unwrap();
            let numbers = fingerprints::<W>(1000);
            let mut writer = RowWriter::new(Vec::new(), RowFormat::Parquet, columns, &[]).unwrap();
            for (id, number) in (7..).zip(&numbers) {
                let row = [RowValue::Number(id), RowValue::Fingerprint(number.widen())];
                writer.row(&row).unwrap();
            }
            let path = file(directory.path(), "rows.parquet", &writer.finish().unwrap());
            let raw = open(&path, &Ids::Own).unwrap();
            assert_eq!(raw.bits(), W::BITS);
            assert!(
                read::<W>(&raw, 0)
                    .unwrap()
                    .into_iter()
                    .eq(numbers.into_iter().zip(7..))
            );
        }
        const fn columns(bits: u32) -> [Column; 2] {
            [
                Column::new("id", ColumnKind::Id),
                Column::new("fingerprint", ColumnKind::Fingerprint { bits }),
            ]
        }
        const NARROW: &[Column] = &columns(32);
        const MIDDLE: &[Column] = &columns(64);
        const WIDE: &[Column] = &columns(128);
        same::<u32>(NARROW);
        same::<u64>(MIDDLE);
        same::<u128>(WIDE);
    }
}

#[test]
fn fingerprints_have_a_digit_for_each_four_bits() {
    const COLUMNS: &[Column] = &[
        Column::new("narrow", ColumnKind::Fingerprint { bits: 32 }),
        Column::new("wide", ColumnKind::Fingerprint { bits: 128 }),
    ];
    let write = |form| {
        let mut writer = RowWriter::new(Vec::new(), form, COLUMNS, &[]).unwrap();
        let row = [0xab, 1 << 64 | 0xcd].map(RowValue::Fingerprint);
        writer.row(&row).unwrap();
        assert!(matches!(
            writer.row(&[RowValue::Number(1), RowValue::Number(1)]),
            Err(RowError::Unfit("narrow"))
        ));
        writer.finish().unwrap()
    };
    assert_eq!(
        String::from_utf8(write(RowFormat::Jsonl)).unwrap(),
        "{\"narrow\":\"000000ab\",\"wide\":\"000000000000000100000000000000cd\"}\n"
    );
    assert_eq!(
        String::from_utf8(write(RowFormat::Csv)).unwrap(),
        "narrow,wide\n000000ab,000000000000000100000000000000cd\n"
    );
    assert_eq!(write(RowFormat::Bin), u64s(&[0xab, 0xcd, 1]));
}
