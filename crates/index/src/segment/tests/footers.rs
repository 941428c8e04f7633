//! Footers whose checksums are right and whose fields are not.

use super::*;
use crate::segment::layout::{self, Footer};

type Change = fn(&mut Footer);

/// A file with another footer, all checksums right.
fn with_footer(file: &[u8], change: impl FnOnce(&mut Footer)) -> Vec<u8> {
    let tail = &file[file.len() - layout::TAIL..];
    let at = u64::from_le_bytes(*tail.first_chunk().unwrap());
    let mut footer = Footer::decode(&file[at as usize..file.len() - layout::TAIL]).unwrap();
    change(&mut footer);
    let footer = footer.encode();
    [&file[..at as usize], &footer, &layout::tail(at, &footer)].concat()
}

#[test]
fn a_footer_that_the_format_forbids_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let sample = numbered(&rows::<u64>(Shape::Clumped, 200, 3, 4), 7);
    build(&sample, &Options::default(), &path);
    let whole = fs::read(&path).unwrap();
    let changes: [(&str, Change); 10] = [
        ("codec", |footer| footer.tables[1].codec = 3),
        ("page rows", |footer| footer.tables[0].page_rows = 64),
        ("many rows", |footer| footer.rows = u64::from(u32::MAX)),
        ("rows beyond a packed size", |footer| {
            // 2^64 bits below the address are no bytes where sizes wrap around.
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
        fs::write(&path, with_footer(&whole, change)).unwrap();
        let error = Segment::<u64>::open(&path).unwrap_err();
        assert!(error.to_string().contains("sample.seg"), "{name}: {error}");
    }
    // Where sections need no bytes, counts alone speak.
    let nothing: Change = |footer| {
        footer.rows = u64::from(u32::MAX) - 1;
        footer.ids = footer.rows;
        footer.id_bits = 0;
    };
    fs::write(&path, with_footer(&whole, nothing)).unwrap();
    assert!(Segment::<u64>::open(&path).is_err());
    fs::write(&path, with_footer(&whole, |_| {})).unwrap();
    assert_eq!(Segment::<u64>::open(&path).unwrap().len(), 200);
}
