//! Segments against brute force, and against damage.

mod footers;
mod resume;
mod unfinished;

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::plan::Plan;
use crate::samples::{self, Random, SHAPES, Shape, plans, rows, shape};
use twinprint_fingerprint::Width;

/// Every way to store rows; pages of one row, of some, of more than there are.
const CODECS: [Codec; 6] = [
    Codec::Packed(DirectoryForm::Plain),
    Codec::Packed(DirectoryForm::EliasFano),
    Codec::Huffman { page_rows: 1 },
    Codec::Huffman { page_rows: 7 },
    Codec::HUFFMAN,
    Codec::Huffman { page_rows: 1 << 16 },
];

/// A file that goes with the test.
fn place(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("sample.seg")
}

fn build<W: Width>(rows: &[(W, u64)], options: &Options, path: &Path) -> Segment<W> {
    let mut builder = Builder::new(path, options).unwrap();
    for &(row, id) in rows {
        builder.push(row, id).unwrap();
    }
    builder.finish().unwrap()
}

/// Everything within k: (id, fingerprint, distance).
fn brute<W: Width>(rows: &[(W, u64)], query: W, k: u32) -> Vec<(u64, W, u32)> {
    let mut out: Vec<(u64, W, u32)> = rows
        .iter()
        .map(|&(row, id)| (id, row, row.distance(query)))
        .filter(|hit| hit.2 <= k)
        .collect();
    out.sort_unstable();
    out
}

/// Queries that are rows, lie near rows, and lie anywhere.
fn queries<W: Width>(rows: &[(W, u64)], k: u32, seed: u64) -> Vec<W> {
    let rows: Vec<W> = rows.iter().map(|&(row, _)| row).collect();
    samples::queries(&rows, k, seed)
}

/// Ids in no order, some with gaps.
fn numbered<W: Width>(rows: &[W], seed: u64) -> Vec<(W, u64)> {
    let mut random = Random(seed);
    let spread = 1 << random.below(50);
    (0..)
        .zip(rows)
        .map(|(i, &row)| (row, i * 3 + random.below(3) + spread))
        .collect()
}

fn check<W: Width>(rows: &[(W, u64)], options: &Options, k: u32, seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let built = build(rows, options, &path);
    assert_eq!(built.len(), rows.len() as u64);
    let loaded = Segment::<W>::load(&path).unwrap();
    let asked = queries(rows, k, seed);
    let mut scratch = Scratch::default();
    for segment in [built, loaded] {
        for k in [k, k / 2, k + 3] {
            let expected: Vec<_> = asked.iter().map(|&q| brute(rows, q, k)).collect();
            let mut many = vec![Vec::new(); asked.len()];
            segment
                .lookup_batch(&asked, k, &mut scratch, |q, id, row, d| {
                    many[q].push((id, row, d));
                })
                .unwrap();
            for ((&query, expected), mut many) in asked.iter().zip(expected).zip(many) {
                many.sort_unstable();
                assert_eq!(many, expected, "{} within {k}", segment.plan());
                let mut one = Vec::new();
                segment
                    .lookup(query, k, &mut scratch, |id, row, d| one.push((id, row, d)))
                    .unwrap();
                one.sort_unstable();
                assert_eq!(one, expected, "{} within {k}", segment.plan());
                let any = segment.any(query, k, &mut scratch).unwrap();
                assert_eq!(any.is_some(), !expected.is_empty());
                assert!(any.is_none_or(|hit| expected.contains(&(hit.id, hit.fingerprint, hit.distance))));
            }
        }
        let mut listed: Vec<(W, u64)> = segment.iter().map(Result::unwrap).collect();
        if segment.plan().tables[0].mask.leading_zeros() == 128 - W::BITS {
            assert!(listed.is_sorted() || segment.plan().tables.len() > 8);
        }
        let mut in_stretches = Vec::new();
        segment
            .stretches(|first, rows| {
                for (row, &fingerprint) in (first..).zip(rows) {
                    segment.ids_at(row, |id| in_stretches.push((fingerprint, id)))?;
                }
                Ok::<_, SegmentError>(())
            })
            .unwrap();
        assert_eq!(in_stretches, listed);
        listed.sort_unstable();
        let mut expected = rows.to_vec();
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }
}

fn check_all<W: Width>(rows: &[W], k: u32, seed: u64) {
    let rows = numbered(rows, seed);
    for (i, plan) in plans::<W>(k).into_iter().enumerate() {
        let options = Options {
            plan: Some(plan),
            codec: CODECS[(i + seed as usize) % CODECS.len()],
            ..Options::default()
        };
        check(&rows, &options, k, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn every_plan_finds_what_a_scan_finds(shape in shape(), n in 0usize..200, k in 0u32..=12, seed: u64) {
        check_all::<u64>(&rows(shape, n, k, seed), k, seed);
        check_all::<u128>(&rows(shape, n / 2, 2 * k, seed), 2 * k.min(6), seed);
        check_all::<u32>(&rows(shape, n / 4, k, seed), k, seed);
        check_all::<u16>(&rows(shape, n / 4, k.min(10), seed), k.min(10), seed);
    }
}

#[test]
fn ten_thousand_rows_of_every_shape() {
    for shape in SHAPES {
        let sample = numbered(&rows::<u64>(shape, 10_000, 3, 9), 5);
        for codec in CODECS {
            for plan in [Plan::halves(64, 3).unwrap(), Plan::thirds(64, 3).unwrap()] {
                let options = Options {
                    plan: Some(plan),
                    codec,
                    ..Options::default()
                };
                check(&sample, &options, 3, 3);
            }
        }
    }
}

#[test]
fn little_memory_makes_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let sample = numbered(&rows::<u64>(Shape::Clumped, 30_000, 6, 4), 7);
    let file = |memory, ids_below, codec| {
        let path = place(&directory);
        let options = Options {
            memory,
            ids_below,
            codec,
            plan: Some(Plan::thirds(64, 3).unwrap()),
            ..Options::default()
        };
        build(&sample, &options, &path);
        fs::read(&path).unwrap()
    };
    for codec in CODECS {
        let whole = file(1 << 30, None, codec);
        assert!(file(0, None, codec) == whole);
        assert!(file(1 << 10, Some(1 << 51), codec) == whole);
    }
}

/// Checks that a damaged file gives the same answers as the intact one, or an error that names it.
fn right_or_refused(path: &Path, rows: &[(u64, u64)], queries: &[u64]) {
    let mut scratch = Scratch::default();
    match Segment::<u64>::open(path) {
        Ok(segment) => {
            for &query in queries {
                let mut one = Vec::new();
                segment
                    .lookup(query, 3, &mut scratch, |id, row, d| one.push((id, row, d)))
                    .unwrap();
                one.sort_unstable();
                assert_eq!(one, brute(rows, query, 3));
            }
        }
        Err(error) => assert!(error.to_string().contains("sample.seg"), "{error}"),
    }
}

#[test]
fn every_flipped_byte_and_every_truncation_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let sample = numbered(&rows::<u64>(Shape::Clumped, 120, 3, 4), 7);
    let asked = queries(&sample, 3, 1);
    for codec in [Codec::default(), Codec::Huffman { page_rows: 16 }] {
        let options = Options {
            codec,
            ..Options::default()
        };
        build(&sample, &options, &path);
        every_flip_and_cut(&path, &sample, &asked);
    }
    assert!(matches!(
        Segment::<u128>::open(&path),
        Err(SegmentError::Width { got: 64, .. })
    ));
}

fn every_flip_and_cut(path: &Path, sample: &[(u64, u64)], asked: &[u64]) {
    let whole = fs::read(path).unwrap();
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(path, &bytes).unwrap();
        right_or_refused(path, sample, asked);
        refused += usize::from(Segment::<u64>::open(path).is_err());
    }
    assert_eq!(refused, whole.len());
    for len in 0..whole.len() {
        fs::write(path, &whole[..len]).unwrap();
        assert!(Segment::<u64>::open(path).is_err());
    }
    fs::write(path, &whole).unwrap();
}

/// Files of this version, written once; see `FORMAT.md`.
fn golden<W: Width>(name: &str, codec: Codec) {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name);
    let mut sample = numbered(&rows::<W>(Shape::Clumped, 60, 3, 11), 5);
    // Two ids for one fingerprint.
    let twin = (sample[0].0, 3);
    sample.push(twin);
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let options = Options {
        codec,
        ..Options::default()
    };
    build(&sample, &options, &path);
    let made = fs::read(&path).unwrap();
    if std::env::var_os("TWINPRINT_WRITE_GOLDEN").is_some() {
        fs::write(&kept, &made).unwrap();
    }
    assert!(
        fs::read(&kept).unwrap() == made,
        "{name} is not what is written now"
    );
    let segment = Segment::<W>::open(&kept).unwrap();
    let mut found = Vec::new();
    let mut scratch = Scratch::default();
    segment
        .lookup(twin.0, 3, &mut scratch, |id, row, d| found.push((id, row, d)))
        .unwrap();
    found.sort_unstable();
    assert_eq!(found, brute(&sample, twin.0, 3));
    assert!(found.len() >= 2);
}

#[test]
fn files_written_by_this_version_stay_readable_and_the_same() {
    let pages = Codec::Huffman { page_rows: 16 };
    golden::<u64>("segment-1-plain-64.seg", Codec::Packed(DirectoryForm::Plain));
    golden::<u64>(
        "segment-1-elias-fano-64.seg",
        Codec::Packed(DirectoryForm::EliasFano),
    );
    golden::<u128>("segment-1-plain-128.seg", Codec::Packed(DirectoryForm::Plain));
    golden::<u64>("segment-1-huffman-64.seg", pages);
    golden::<u128>("segment-1-huffman-128.seg", pages);
}
