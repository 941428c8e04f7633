//! Files with correct checksums and invalid footers or pages.

use super::*;
use crate::segment::layout::{self, Footer};

type Change = fn(&mut Footer);

/// A file with a changed footer and correct checksums.
fn with_footer(file: &[u8], change: impl FnOnce(&mut Footer)) -> Vec<u8> {
    let tail = &file[file.len() - layout::TAIL_BYTES..];
    let at = u64::from_le_bytes(*tail.first_chunk().unwrap());
    let mut footer = Footer::decode(&file[at as usize..file.len() - layout::TAIL_BYTES]).unwrap();
    change(&mut footer);
    let footer = footer.encode();
    [&file[..at as usize], &footer, &layout::tail(at, &footer)].concat()
}

/// A file with the checksums of its sectors recomputed, and the checksum of these checksums.
fn with_correct_checksums(mut file: Vec<u8>) -> Vec<u8> {
    let tail = &file[file.len() - layout::TAIL_BYTES..];
    let at = u64::from_le_bytes(*tail.first_chunk().unwrap()) as usize;
    let footer = Footer::decode(&file[at..file.len() - layout::TAIL_BYTES]).unwrap();
    let sums = footer.range(layout::SectionKind::Sums, 0).unwrap();
    let checksums: Vec<u8> = file[..sums.start]
        .chunks(layout::SECTOR_BYTES)
        .flat_map(|sector| crc32fast::hash(sector).to_le_bytes())
        .collect();
    file[sums].copy_from_slice(&checksums);
    with_footer(&file, |footer| footer.sums_crc = crc32fast::hash(&checksums))
}

#[test]
fn damaged_pages_with_correct_checksums_give_errors_or_plausible_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let sample = numbered(&rows::<u64>(Shape::Clumped, 100, 3, 4), 7);
    let options = Options {
        codec: Codec::Huffman { page_rows: 16 },
        ..Options::default()
    };
    build(&sample, &options, &path);
    let intact = fs::read(&path).unwrap();
    let end = {
        let segment = Segment::<u64>::open(&path).unwrap();
        segment.footer.range(layout::SectionKind::Sums, 0).unwrap().start
    };
    let queries = queries(&sample, 3, 1);
    let mut scratch = Scratch::default();
    let mut refused = 0;
    for at in layout::HEADER_BYTES..end {
        let mut bytes = intact.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, with_correct_checksums(bytes)).unwrap();
        let mut check_error = |error: SegmentError| {
            refused += 1;
            assert!(matches!(error, SegmentError::Damaged { .. }), "{error}");
        };
        let segment = match Segment::<u64>::open(&path) {
            Ok(segment) => segment,
            Err(error) => {
                check_error(error);
                continue;
            }
        };
        for &query in &queries {
            if let Err(error) = segment.lookup(query, 3, &mut scratch, |_, row, d| {
                assert_eq!(row.distance(query), d);
            }) {
                check_error(error);
            }
        }
        let listed: Vec<_> = segment.iter().collect();
        // An error may follow the last id, for example if a posting claims further ids.
        assert!(listed.len() <= sample.len() + 1);
        listed.into_iter().filter_map(Result::err).for_each(check_error);
    }
    assert!(refused > end / 4);
}

#[test]
fn a_footer_that_the_format_forbids_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let sample = numbered(&rows::<u64>(Shape::Clumped, 200, 3, 4), 7);
    build(&sample, &Options::default(), &path);
    let intact = fs::read(&path).unwrap();
    let changes: [(&str, Change); 12] = [
        ("pages", |footer| {
            (footer.tables[0].directory, footer.tables[0].codec) = (3, 2);
        }),
        ("pages of rows", |footer| {
            let table = &mut footer.tables[0];
            (table.directory, table.codec, table.page_rows) = (3, 2, 16);
        }),
        ("codec", |footer| footer.tables[1].codec = 3),
        ("page rows", |footer| footer.tables[0].page_rows = 64),
        ("many rows", |footer| footer.rows = u64::from(u32::MAX)),
        ("rows beyond a packed size", |footer| {
            // 2^64 bits below the address become 0 bytes if the size overflows.
            footer.rows += 1 << 58;
            footer.ids += 1 << 58;
        }),
        ("ids", |footer| footer.ids = footer.rows - 1),
        ("no ids", |footer| (footer.ids, footer.id_bits) = (0, 0)),
        ("postings", |footer| footer.postings = footer.rows + 1),
        ("wide ids", |footer| footer.id_bits = 65),
        ("no tables", |footer| footer.tables.clear()),
        ("address", |footer| footer.tables[0].address_bits = 60),
    ];
    for (name, change) in changes {
        fs::write(&path, with_footer(&intact, change)).unwrap();
        let error = Segment::<u64>::open(&path).unwrap_err();
        assert!(error.to_string().contains("sample.seg"), "{name}: {error}");
    }
    // If the sections need no bytes, only the counts are wrong.
    let no_bytes: Change = |footer| {
        footer.rows = u64::from(u32::MAX) - 1;
        footer.ids = footer.rows;
        footer.id_bits = 0;
    };
    fs::write(&path, with_footer(&intact, no_bytes)).unwrap();
    assert!(Segment::<u64>::open(&path).is_err());
    fs::write(&path, with_footer(&intact, |_| {})).unwrap();
    assert_eq!(Segment::<u64>::open(&path).unwrap().len(), 200);
}

#[test]
fn a_header_that_contradicts_the_plan_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let said_inexact = |file: &mut Vec<u8>, flag: u8| {
        file[16] = flag;
        *file = with_correct_checksums(std::mem::take(file));
    };
    let plans = [
        Plan::blocks(64, 3, 4).unwrap(),
        Plan::random(64, 3, 4, 20, 1).unwrap(),
    ];
    for (plan, flag) in plans.into_iter().zip([1, 0]) {
        let options = Options {
            plan: Some(plan),
            allow_inexact: true,
            ..Options::default()
        };
        build(&[(1u64, 1)], &options, &path);
        let mut file = fs::read(&path).unwrap();
        assert_eq!(file[16], 1 - flag);
        said_inexact(&mut file, flag);
        fs::write(&path, file).unwrap();
        let refused = Segment::<u64>::open(&path);
        match flag {
            1 => assert!(
                matches!(refused, Err(SegmentError::Damaged { .. })),
                "{refused:?}"
            ),
            _ => assert!(matches!(refused, Err(SegmentError::Inexact(_))), "{refused:?}"),
        }
    }
}
