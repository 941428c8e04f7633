//! Segments compared with brute force, and damaged segments.

mod cold;
mod footers;
mod inexact;
mod resume;
mod searches;
mod unfinished;

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::plan::Plan;
use crate::samples::{self, Random, SHAPES, Shape, at_every_width, fewer, plans, rows, shape};
use twinprint_fingerprint::Width;

/// All codecs, with pages of one row, of some rows, and of more rows than the segments have.
const CODECS: [Codec; 7] = [
    Codec::Packed(DirectoryForm::Compact),
    Codec::Packed(DirectoryForm::Plain),
    Codec::Packed(DirectoryForm::EliasFano),
    Codec::Huffman { page_rows: 1 },
    Codec::Huffman { page_rows: 7 },
    Codec::HUFFMAN,
    Codec::Huffman { page_rows: 1 << 16 },
];

/// The path of a segment in a directory.
fn path_in(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("sample.seg")
}

fn build<W: Width>(rows: &[(W, u64)], options: &Options, path: &Path) -> Segment<W> {
    let mut builder = Builder::new(path, options).unwrap();
    for &(row, id) in rows {
        builder.push(row, id).unwrap();
    }
    builder.finish().unwrap()
}

/// All rows within `k`, by brute force: id, fingerprint, distance.
fn brute<W: Width>(rows: &[(W, u64)], query: W, k: u32) -> Vec<(u64, W, u32)> {
    let mut out: Vec<(u64, W, u32)> = rows
        .iter()
        .map(|&(row, id)| (id, row, row.distance(query)))
        .filter(|hit| hit.2 <= k)
        .collect();
    out.sort_unstable();
    out
}

/// Queries that are equal to rows, close to rows, and random.
fn queries<W: Width>(rows: &[(W, u64)], k: u32, seed: u64) -> Vec<W> {
    let rows: Vec<W> = rows.iter().map(|&(row, _)| row).collect();
    samples::queries(&rows, k, seed)
}

/// Rows with ids, some of which have large gaps.
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
    let path = path_in(&directory);
    let built = build(rows, options, &path);
    assert_eq!(built.len(), rows.len() as u64);
    let loaded = Segment::<W>::load(&path).unwrap();
    let queries = queries(rows, k, seed);
    let mut scratch = Scratch::default();
    for segment in [built, loaded] {
        for k in [k, k / 2, k + 3] {
            let expected: Vec<_> = queries.iter().map(|&q| brute(rows, q, k)).collect();
            let mut many = vec![Vec::new(); queries.len()];
            segment
                .lookup_batch(&queries, k, &mut scratch, |q, id, row, d| {
                    many[q].push((id, row, d));
                })
                .unwrap();
            for ((&query, expected), mut many) in queries.iter().zip(expected).zip(many) {
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

/// Plans of one part, of some, and of as many as there are differing bits. A part has a radius of at least 1.
#[test]
fn wide_fingerprints_are_found_within_every_radius_up_to_40() {
    for k in 0..=40 {
        for (i, shape) in (0..).zip(SHAPES) {
            let sample = numbered(&rows::<u128>(shape, 60, k, k.into()), 5);
            for parts in [k / 3 + 1, k / 2 + 1] {
                let options = Options {
                    plan: Some(Plan::even_parts(128, k, parts).unwrap()),
                    codec: CODECS[(i + k as usize) % CODECS.len()],
                    ..Options::default()
                };
                check(&sample, &options, k, k.into());
            }
        }
    }
}

fn ten_thousand_rows_of_every_shape<W: Width>() {
    for shape in SHAPES {
        let sample = numbered(&rows::<W>(shape, fewer::<W>(10_000), 3, 9), 5);
        for codec in CODECS {
            for plan in [
                Plan::halves(W::BITS, 3).unwrap(),
                Plan::thirds(W::BITS, 3).unwrap(),
            ] {
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

fn the_file_does_not_depend_on_the_memory_limit<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let sample = numbered(&rows::<W>(Shape::Clumped, fewer::<W>(30_000), 6, 4), 7);
    let file = |memory, ids_below, codec| {
        let path = path_in(&directory);
        let options = Options {
            memory,
            ids_below,
            codec,
            plan: Some(Plan::thirds(W::BITS, 3).unwrap()),
            ..Options::default()
        };
        build(&sample, &options, &path);
        fs::read(&path).unwrap()
    };
    for codec in CODECS {
        let expected = file(1 << 30, None, codec);
        assert!(file(0, None, codec) == expected);
        assert!(file(1 << 10, Some(1 << 51), codec) == expected);
    }
}

/// Checks that a damaged file gives correct results, or an error that names it.
fn assert_correct_or_refused<W: Width>(path: &Path, rows: &[(W, u64)], queries: &[W]) {
    let mut scratch = Scratch::default();
    match Segment::<W>::open(path) {
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

fn every_flipped_byte_and_every_truncation_is_detected<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let sample = numbered(&rows::<W>(Shape::Clumped, fewer::<W>(120), 3, 4), 7);
    let queries = queries(&sample, 3, 1);
    for codec in [Codec::default(), Codec::Huffman { page_rows: 16 }] {
        let options = Options {
            codec,
            ..Options::default()
        };
        build(&sample, &options, &path);
        check_flips_and_cuts(&path, &sample, &queries);
    }
    assert!(matches!(
        Segment::<u16>::open(&path),
        Err(SegmentError::Width { got, .. }) if got == W::BITS
    ));
}

fn check_flips_and_cuts<W: Width>(path: &Path, sample: &[(W, u64)], queries: &[W]) {
    let intact = fs::read(path).unwrap();
    let mut refused = 0;
    for at in 0..intact.len() {
        let mut bytes = intact.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(path, &bytes).unwrap();
        assert_correct_or_refused(path, sample, queries);
        refused += usize::from(Segment::<W>::open(path).is_err());
    }
    assert_eq!(refused, intact.len());
    for len in 0..intact.len() {
        fs::write(path, &intact[..len]).unwrap();
        assert!(Segment::<W>::open(path).is_err());
    }
    fs::write(path, &intact).unwrap();
}

/// Checks that a fixture of this format version is readable, and that the same bytes are still written. See `FORMAT.md`.
fn check_fixture<W: Width>(name: &str, codec: Codec) {
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name);
    let mut sample = numbered(&rows::<W>(Shape::Clumped, 60, 3, 11), 5);
    // Two ids for one fingerprint.
    let duplicate = (sample[0].0, 3);
    sample.push(duplicate);
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let options = Options {
        codec,
        ..Options::default()
    };
    build(&sample, &options, &path);
    let written = fs::read(&path).unwrap();
    if std::env::var_os("TWINPRINT_WRITE_GOLDEN").is_some() {
        fs::write(&fixture, &written).unwrap();
    }
    assert!(
        fs::read(&fixture).unwrap() == written,
        "{name} differs from the file that is written now"
    );
    let segment = Segment::<W>::open(&fixture).unwrap();
    let mut found = Vec::new();
    let mut scratch = Scratch::default();
    segment
        .lookup(duplicate.0, 3, &mut scratch, |id, row, d| {
            found.push((id, row, d));
        })
        .unwrap();
    found.sort_unstable();
    assert_eq!(found, brute(&sample, duplicate.0, 3));
    assert!(found.len() >= 2);
}

fn fixtures_of_this_version_are_readable_and_unchanged<W: Width>() {
    for (name, codec) in [
        ("plain", Codec::Packed(DirectoryForm::Plain)),
        ("compact", Codec::Packed(DirectoryForm::Compact)),
        ("elias-fano", Codec::Packed(DirectoryForm::EliasFano)),
        ("huffman", Codec::Huffman { page_rows: 16 }),
    ] {
        check_fixture::<W>(&format!("segment-1-{name}-{}.seg", W::BITS), codec);
    }
}

at_every_width! {
    ten_thousand_rows_of_every_shape
    the_file_does_not_depend_on_the_memory_limit
    every_flipped_byte_and_every_truncation_is_detected
    fixtures_of_this_version_are_readable_and_unchanged
}
