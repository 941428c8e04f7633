//! Builds that are ended at some moment and gone on with.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::*;
use crate::segment::journal::{self, Journal};
use crate::storage::unsynced::Unsynced;

fn options(plan: Plan, codec: Codec, memory: u64) -> Options {
    Options {
        plan: Some(plan),
        codec,
        memory,
        storage: Some(Arc::new(Unsynced)),
        resume: Some(b"sample".to_vec()),
        ..Options::default()
    }
}

/// With a flag that is set once so many rows were told of.
fn stopping(options: &Options, after: u64) -> Options {
    let stop = Arc::new(AtomicBool::new(false));
    let (set, told) = (Arc::clone(&stop), AtomicU64::new(0));
    Options {
        stop: Some(stop),
        written: Some(ProgressCallback::new(move |rows| {
            if told.fetch_add(rows, Ordering::Relaxed) + rows >= after {
                set.store(true, Ordering::Relaxed);
            }
        })),
        ..options.clone()
    }
}

fn pushed<W: Width>(rows: &[(W, u64)], options: &Options, path: &Path) -> Builder<W> {
    let mut builder = Builder::new(path, options).unwrap();
    for &(row, id) in rows {
        builder.push(row, id).unwrap();
    }
    builder.note(b"notes".to_vec());
    builder
}

fn found<W: Width>(path: &Path, options: &Options) -> Option<Interrupted<W>> {
    match Interrupted::find(path, options).unwrap() {
        Resumable::Nothing => None,
        Resumable::Unusable(error) => panic!("{error}"),
        Resumable::Tables(interrupted) => Some(*interrupted),
    }
}

fn unusable<W: Width>(path: &Path, options: &Options) -> SegmentError {
    match Interrupted::<W>::find(path, options).unwrap() {
        Resumable::Unusable(error) => error,
        other => panic!("{other:?}"),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Ends a build after `after` rows, and again and again those that go on with it; the file at last, and how often it
/// was gone on with.
fn in_pieces<W: Width>(rows: &[(W, u64)], options: &Options, after: u64) -> (Vec<u8>, usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let mut ended = pushed(rows, &stopping(options, after), &path).finish();
    let mut times = 0;
    let mut whole = 0;
    while let Err(error) = ended {
        assert!(matches!(error, SegmentError::Stopped), "{error}");
        let Some(interrupted) = found::<W>(&path, options) else {
            assert!(names(directory.path()).is_empty());
            assert_eq!(whole, 0, "what was kept is still there");
            ended = pushed(rows, options, &path).finish();
            continue;
        };
        assert_eq!(names(directory.path()), ["sample.seg.resume", "sample.seg.tmp"]);
        assert_eq!(interrupted.notes(), b"notes");
        assert_eq!(interrupted.len(), rows.len() as u64);
        assert!((whole + 1..interrupted.tables()).contains(&interrupted.whole()));
        whole = interrupted.whole();
        drop(interrupted);
        times += 1;
        // Enough to read a table back, write one, and begin another.
        let further = 2 * rows.len() as u64 + 1;
        ended = match Interrupted::find(&path, &stopping(options, further)).unwrap() {
            Resumable::Tables(interrupted) => interrupted.finish(),
            other => panic!("{other:?}"),
        };
    }
    assert_eq!(names(directory.path()), ["sample.seg"]);
    (fs::read(&path).unwrap(), times)
}

fn uninterrupted<W: Width>(rows: &[(W, u64)], options: &Options) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let options = Options {
        resume: None,
        ..options.clone()
    };
    build(rows, &options, &path);
    fs::read(&path).unwrap()
}

#[test]
fn every_codec_and_plan_goes_on_to_the_same_file() {
    let n = 1200;
    let mut sample = numbered(&rows::<u64>(Shape::Clumped, n, 6, 4), 7);
    // Several ids for a fingerprint.
    sample.extend([(sample[0].0, 3), (sample[n - 1].0, 1 << 40)]);
    let mut values: Vec<u64> = sample.iter().map(|&(row, _)| row).collect();
    values.sort_unstable();
    values.dedup();
    let distinct = values.len() as u64;
    for tables in [1, 2, 4] {
        let plan = Plan::even_parts(64, 3, tables).unwrap();
        for codec in CODECS {
            for memory in [0, 1 << 30] {
                let options = options(plan.clone(), codec, memory);
                let whole = uninterrupted(&sample, &options);
                assert!(in_pieces(&sample, &options, u64::MAX) == (whole.clone(), 0));
                let first = sample.len() as u64;
                let most = first + (u64::from(tables) - 1) * distinct;
                for after in [
                    1,
                    first / 2,
                    first,
                    first + 1,
                    first + distinct / 2,
                    first + distinct,
                    most,
                ] {
                    let (file, times) = in_pieces(&sample, &options, after);
                    assert!(file == whole, "{codec:?} {tables} {memory} {after}");
                    assert_eq!(times > 0, first < after && after <= most, "{tables} {after}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn any_rows_stopped_anywhere_go_on_to_the_same_file(shape in shape(), n in 0usize..300, k in 0u32..4, seed: u64, after in 0u64..1200, codec in 0..CODECS.len()) {
        fn check<W: Width>(rows: &[W], k: u32, seed: u64, after: u64, codec: Codec) {
            let rows = numbered(rows, seed);
            for plan in plans::<W>(k) {
                let options = options(plan, codec, (seed % 2) << 20);
                assert!(in_pieces(&rows, &options, after).0 == uninterrupted(&rows, &options));
            }
        }
        check::<u64>(&rows(shape, n, k, seed), k, seed, after, CODECS[codec]);
        check::<u128>(&rows(shape, n / 2, k, seed), k, seed, after / 2, CODECS[codec]);
        check::<u16>(&rows(shape, n / 4, k, seed), k, seed, after / 4, CODECS[codec]);
    }
}

/// Copies of a directory.
type Copies = Arc<Mutex<Vec<tempfile::TempDir>>>;

/// The directories that a kill leaves, at every seventh report of progress.
fn kills(rows: &[(u64, u64)], options: &Options) -> Vec<tempfile::TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let copies = Copies::default();
    let (to, from) = (Arc::clone(&copies), directory.path().to_owned());
    let told = AtomicU64::new(0);
    let options = Options {
        written: Some(ProgressCallback::new(move |_| {
            if !told.fetch_add(1, Ordering::Relaxed).is_multiple_of(7) {
                return;
            }
            let copy = tempfile::tempdir().unwrap();
            for name in names(&from) {
                fs::copy(from.join(&name), copy.path().join(&name)).unwrap();
            }
            to.lock().unwrap().push(copy);
        })),
        ..options.clone()
    };
    pushed(rows, &options, &path).finish().unwrap();
    std::mem::take(&mut *copies.lock().unwrap())
}

#[test]
fn a_build_that_was_killed_goes_on_to_the_same_file() {
    let sample = numbered(&rows::<u64>(Shape::Uniform, 400, 3, 4), 7);
    for codec in [Codec::default(), Codec::HUFFMAN] {
        let options = options(Plan::thirds(64, 3).unwrap(), codec, 0);
        let whole = uninterrupted(&sample, &options);
        let (mut times, mut anew) = (0, 0);
        for directory in kills(&sample, &options) {
            let path = place(&directory);
            if let Some(interrupted) = found::<u64>(&path, &options) {
                times += 1;
                interrupted.finish().unwrap();
            } else {
                anew += 1;
                pushed(&sample, &options, &path).finish().unwrap();
            }
            assert!(fs::read(&path).unwrap() == whole);
            assert_eq!(names(directory.path()), ["sample.seg"]);
        }
        assert!(times > anew && anew > 30, "{times} {anew}");
    }
}

/// A directory with a build that was stopped in its second table, and what it was of.
fn stopped(codec: Codec) -> (tempfile::TempDir, Vec<(u64, u64)>, Options) {
    let sample = numbered(&rows::<u64>(Shape::Clumped, 300, 6, 4), 7);
    let directory = tempfile::tempdir().unwrap();
    let options = options(Plan::halves(64, 3).unwrap(), codec, 1 << 30);
    let builder = pushed(&sample, &stopping(&options, 310), &place(&directory));
    assert!(matches!(builder.finish(), Err(SegmentError::Stopped)));
    (directory, sample, options)
}

/// The journal of this version, written once; see `FORMAT.md`.
#[test]
fn a_journal_written_by_this_version_stays_readable_and_the_same() {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/journal-1-64.resume");
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let options = Options {
        address_bits: vec![5, 5],
        ..options(Plan::halves(64, 3).unwrap(), Codec::default(), 1 << 30)
    };
    let sample: Vec<(u64, u64)> = (0..60)
        .map(|id: u64| (id.wrapping_mul(0x9E37_79B9_7F4A_7C15), id))
        .collect();
    let ended = pushed(&sample, &stopping(&options, 61), &path).finish();
    assert!(matches!(ended, Err(SegmentError::Stopped)));
    let journal = journal::place(&path);
    let made = fs::read(&journal).unwrap();
    if std::env::var_os("TWINPRINT_WRITE_GOLDEN").is_some() {
        fs::write(&kept, &made).unwrap();
    }
    assert!(fs::read(&kept).unwrap() == made, "it is not what is written now");
    let read = Journal::decode(&made, &journal).unwrap();
    assert_eq!((read.whole, read.work.as_slice()), (1, b"sample".as_slice()));
    assert_eq!(read.encode(), made);
}

#[test]
fn a_damaged_journal_is_not_believed() {
    let (directory, sample, options) = stopped(Codec::default());
    let path = place(&directory);
    let whole = uninterrupted(&sample, &options);
    let journal = journal::place(&path);
    let bytes = fs::read(&journal).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        for wrong in [&flipped, &bytes[..at]] {
            fs::write(&journal, wrong).unwrap();
            let error = unusable::<u64>(&path, &options);
            assert!(matches!(error, SegmentError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("sample.seg.resume"), "{error}");
        }
    }
    // Of a later version.
    let mut later = bytes[..bytes.len() - 4].to_vec();
    later[8] += 1;
    fs::write(&journal, crate::bytes::sealed(later)).unwrap();
    let error = unusable::<u64>(&path, &options);
    assert!(matches!(error, SegmentError::Version { got: 2, .. }), "{error}");
    // A build that begins anew takes nothing from it.
    pushed(&sample, &options, &path).finish().unwrap();
    assert!(fs::read(&path).unwrap() == whole);
    assert_eq!(names(directory.path()), ["sample.seg"]);
}

#[test]
fn a_journal_that_is_wrong_behind_a_right_checksum_ends_somehow() {
    for codec in [Codec::default(), Codec::Huffman { page_rows: 16 }] {
        let (directory, _, options) = stopped(codec);
        let path = place(&directory);
        let [file, journal] = unfinished(&path);
        let (kept, bytes) = (fs::read(&file).unwrap(), fs::read(&journal).unwrap());
        let body = &bytes[..bytes.len() - 4];
        for at in 8..body.len() {
            let mut wrong = body.to_vec();
            wrong[at] ^= 1 << (at % 8);
            fs::write(&file, &kept).unwrap();
            fs::write(&journal, crate::bytes::sealed(wrong)).unwrap();
            if let Resumable::Tables(interrupted) = Interrupted::<u64>::find(&path, &options).unwrap() {
                let _wrong_or_refused = interrupted.finish();
            }
        }
    }
}

#[test]
fn a_file_that_is_damaged_before_its_length_is_not_believed() {
    let (directory, sample, options) = stopped(Codec::Packed(DirectoryForm::EliasFano));
    let path = place(&directory);
    let whole = uninterrupted(&sample, &options);
    let [file, journal] = unfinished(&path);
    let bytes = fs::read(&journal).unwrap();
    let length = Journal::decode(&bytes, &journal).unwrap().length as usize;
    let kept = fs::read(&file).unwrap();
    for at in 0..length {
        let mut flipped = kept.clone();
        flipped[at] ^= 1 << (at % 8);
        for wrong in [&flipped, &kept[..at]] {
            fs::write(&file, wrong).unwrap();
            let error = unusable::<u64>(&path, &options);
            assert!(error.to_string().contains("sample.seg.tmp"), "{error}");
        }
    }
    fs::remove_file(&file).unwrap();
    assert!(matches!(
        unusable::<u64>(&path, &options),
        SegmentError::Io { .. }
    ));
    // What lies behind is nothing.
    for behind in [&kept[..length], &[&kept[..length], &[7; 9000]].concat()] {
        fs::write(&file, behind).unwrap();
        fs::write(&journal, &bytes).unwrap();
        found::<u64>(&path, &options).unwrap().finish().unwrap();
        assert!(fs::read(&path).unwrap() == whole);
    }
}

#[test]
fn other_work_does_not_go_on_from_it() {
    let (directory, sample, options) = stopped(Codec::default());
    let path = place(&directory);
    let others = [
        Options {
            resume: Some(b"other".to_vec()),
            ..options.clone()
        },
        Options {
            plan: Some(Plan::thirds(64, 3).unwrap()),
            ..options.clone()
        },
        Options {
            plan: Some(Plan::halves(64, 2).unwrap()),
            ..options.clone()
        },
        Options {
            codec: Codec::HUFFMAN,
            ..options.clone()
        },
        Options {
            codec: Codec::Packed(DirectoryForm::EliasFano),
            ..options.clone()
        },
        Options {
            address_bits: vec![5, 5],
            ..options.clone()
        },
    ];
    for other in &others {
        let error = unusable::<u64>(&path, other);
        assert!(matches!(error, SegmentError::OtherWork { .. }), "{error}");
    }
    let wide = Options {
        plan: None,
        ..options.clone()
    };
    assert!(matches!(
        unusable::<u128>(&path, &wide),
        SegmentError::OtherWork { .. }
    ));
    let silent = Options {
        resume: None,
        ..options.clone()
    };
    assert!(matches!(
        Interrupted::<u64>::find(&path, &silent).unwrap(),
        Resumable::Nothing
    ));
    // More memory and a bound of ids are no other work.
    let same = Options {
        memory: 0,
        ids_below: Some(1 << 60),
        ..options.clone()
    };
    found::<u64>(&path, &same).unwrap().finish().unwrap();
    assert!(fs::read(&path).unwrap() == uninterrupted(&sample, &options));
    // Other work begins anew, and ends as if there had been nothing.
    let (directory, sample, _) = stopped(Codec::default());
    let path = place(&directory);
    let mut builder = pushed(&sample, &others[1], &path);
    assert!(names(directory.path()).is_empty());
    builder.push(7, 7).unwrap();
    assert_eq!(builder.finish().unwrap().len(), 301);
    assert_eq!(names(directory.path()), ["sample.seg"]);
}

#[test]
fn a_build_that_goes_on_can_be_stopped_while_it_looks() {
    let (directory, _, options) = stopped(Codec::default());
    let path = place(&directory);
    let stopped = Interrupted::<u64>::find(&path, &stopping(&options, 0));
    assert!(matches!(stopped, Err(SegmentError::Stopped)));
    found::<u64>(&path, &options).unwrap().finish().unwrap();
}
