//! Lookups that read ahead, as in a file that is not in memory.

use super::*;

/// Opens a segment without verifying it, as if it were large.
fn open_unverified<W: Width>(path: &Path) -> Result<Segment<W>, SegmentError> {
    Segment::with(path, Mapping::map(path)?)
}

type Hits<W> = Vec<(u64, W, u32)>;

fn cold_lookup<W: Width>(
    segment: &Segment<W>,
    query: W,
    k: u32,
    scratch: &mut Scratch<W>,
) -> Result<Hits<W>, SegmentError> {
    segment.reads.set_cold();
    let mut hits = Vec::new();
    segment.lookup(query, k, scratch, |id, row, d| hits.push((id, row, d)))?;
    hits.sort_unstable();
    Ok(hits)
}

fn check_cold<W: Width>(rows: &[(W, u64)], codec: Codec, k: u32) {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    for plan in plans::<W>(k) {
        let options = Options {
            plan: Some(plan),
            codec,
            ..Options::default()
        };
        build(rows, &options, &path);
        let segment = open_unverified::<W>(&path).unwrap();
        let mut queries = queries(rows, k, 3);
        queries.truncate(300);
        let mut scratch = Scratch::default();
        let expected: Vec<_> = queries.iter().map(|&q| brute(rows, q, k)).collect();
        segment.reads.set_cold();
        let mut many = vec![Vec::new(); queries.len()];
        segment
            .lookup_batch(&queries, k, &mut scratch, |q, id, row, d| {
                many[q].push((id, row, d));
            })
            .unwrap();
        for ((&query, expected), mut many) in queries.iter().zip(&expected).zip(many) {
            many.sort_unstable();
            assert_eq!(&many, expected, "{} within {k}", segment.plan());
            let one = cold_lookup(&segment, query, k, &mut scratch).unwrap();
            assert_eq!(&one, expected, "{} within {k}", segment.plan());
            segment.reads.set_cold();
            let any = segment.any(query, k, &mut scratch).unwrap();
            assert_eq!(any.is_some(), !expected.is_empty());
        }
    }
}

#[test]
fn cold_lookups_find_what_a_scan_finds() {
    for (shape, codec) in SHAPES.into_iter().cycle().zip(CODECS) {
        check_cold(&numbered(&rows::<u64>(shape, 500, 3, 9), 5), codec, 3);
        check_cold(&numbered(&rows::<u128>(shape, 200, 6, 9), 5), codec, 6);
    }
}

#[test]
fn many_cold_queries_take_several_steps_and_end_warm() {
    let sample = numbered(&rows::<u64>(Shape::Uniform, 30_000, 3, 2), 7);
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    build(&sample, &Options::default(), &path);
    let segment = open_unverified::<u64>(&path).unwrap();
    assert!(segment.reads.is_cold());
    let queries: Vec<u64> = sample.iter().map(|&(row, _)| row ^ 0b101).collect();
    let batch = |segment: &Segment<u64>| {
        let mut hits = Vec::new();
        let mut hit = |q, id, row, d| hits.push((q, id, row, d));
        let stats = segment
            .lookup_batch(&queries, 3, &mut Scratch::default(), &mut hit)
            .unwrap();
        hits.sort_unstable();
        // A step has fewer queries than the batch, so more of them are probed and fewer are joined.
        (hits, stats.matches)
    };
    let cold = batch(&segment);
    // The file was just written, so its pages are in memory.
    assert!(!segment.reads.is_cold());
    assert!(cold == batch(&Segment::load(&path).unwrap()));
    assert!(cold.0.len() >= queries.len());
}

#[test]
fn a_cold_lookup_in_a_damaged_file_is_correct_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let sample = numbered(&rows::<u64>(Shape::Clumped, 120, 3, 4), 7);
    let queries = queries(&sample, 3, 1);
    for codec in [CODECS[0], CODECS[1], CODECS[3]] {
        let options = Options {
            codec,
            ..Options::default()
        };
        build(&sample, &options, &path);
        let intact = fs::read(&path).unwrap();
        let mut refused = 0;
        for at in 0..intact.len() {
            let mut bytes = intact.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            let Ok(segment) = open_unverified::<u64>(&path) else {
                refused += 1;
                continue;
            };
            let query = queries[at % queries.len()];
            match cold_lookup(&segment, query, 3, &mut Scratch::default()) {
                Ok(found) => assert_eq!(found, brute(&sample, query, 3)),
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().contains("sample.seg"), "{error}");
                }
            }
        }
        assert!(refused > 0);
    }
}

#[test]
fn a_segment_whose_pages_are_missing_is_found_to_be_cold_only_if_it_is_mapped() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let sample = numbered(&rows::<u64>(Shape::Uniform, 1000, 3, 2), 7);
    // A small file is read when it is opened.
    assert!(!build(&sample, &Options::default(), &path).reads.is_cold());
    assert!(!Segment::<u64>::load(&path).unwrap().reads.is_cold());
    let mapped = open_unverified::<u64>(&path).unwrap();
    mapped.data.will_need(0..usize::MAX);
    assert!(mapped.data.iter().any(|&byte| byte > 0));
    assert!(
        (0..mapped.data.len())
            .step_by(4096)
            .all(|at| mapped.data.is_present(at))
    );
}
