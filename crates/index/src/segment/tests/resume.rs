//! Builds that are interrupted and resumed.

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

/// Options that stop a build after it has reported `after` rows.
fn stopping_after(options: &Options, after: u64) -> Options {
    let stop = Arc::new(AtomicBool::new(false));
    let (set, reported) = (Arc::clone(&stop), AtomicU64::new(0));
    Options {
        stop: Some(stop),
        written: Some(ProgressCallback::new(move |rows| {
            if reported.fetch_add(rows, Ordering::Relaxed) + rows >= after {
                set.store(true, Ordering::Relaxed);
            }
        })),
        ..options.clone()
    }
}

fn builder_of<W: Width>(rows: &[(W, u64)], options: &Options, path: &Path) -> Builder<W> {
    let mut builder = Builder::new(path, options).unwrap();
    for &(row, id) in rows {
        builder.push(row, id).unwrap();
    }
    builder.note(b"notes".to_vec());
    builder
}

fn resumable<W: Width>(path: &Path, options: &Options) -> Option<Interrupted<W>> {
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

/// Interrupts a build after `after` rows, and resumes it with interruptions until it ends. Returns the file and the number of resumptions.
fn with_interruptions<W: Width>(rows: &[(W, u64)], options: &Options, after: u64) -> (Vec<u8>, usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let mut ended = builder_of(rows, &stopping_after(options, after), &path).finish();
    let mut times = 0;
    let mut complete = 0;
    while let Err(error) = ended {
        assert!(matches!(error, SegmentError::Stopped), "{error}");
        let Some(interrupted) = resumable::<W>(&path, options) else {
            assert!(names(directory.path()).is_empty());
            assert_eq!(complete, 0, "the complete tables are lost");
            ended = builder_of(rows, options, &path).finish();
            continue;
        };
        assert_eq!(names(directory.path()), ["sample.seg.resume", "sample.seg.tmp"]);
        assert_eq!(interrupted.notes(), b"notes");
        assert_eq!(interrupted.len(), rows.len() as u64);
        assert!((complete + 1..interrupted.tables()).contains(&interrupted.whole()));
        complete = interrupted.whole();
        drop(interrupted);
        times += 1;
        // Enough rows to read a table, write one, and begin another.
        let next_stop = 2 * rows.len() as u64 + 1;
        ended = match Interrupted::find(&path, &stopping_after(options, next_stop)).unwrap() {
            Resumable::Tables(interrupted) => interrupted.finish(),
            other => panic!("{other:?}"),
        };
    }
    assert_eq!(names(directory.path()), ["sample.seg"]);
    (fs::read(&path).unwrap(), times)
}

fn uninterrupted<W: Width>(rows: &[(W, u64)], options: &Options) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let options = Options {
        resume: None,
        ..options.clone()
    };
    build(rows, &options, &path);
    fs::read(&path).unwrap()
}

fn resumed_builds_of_every_codec_and_plan_give_the_same_file<W: Width>() {
    let n = fewer::<W>(1200);
    let mut sample = numbered(&rows::<W>(Shape::Clumped, n, 6, 4), 7);
    // Two fingerprints have two ids each.
    sample.extend([(sample[0].0, 3), (sample[n - 1].0, 1 << 40)]);
    let mut values: Vec<W> = sample.iter().map(|&(row, _)| row).collect();
    values.sort_unstable();
    values.dedup();
    let distinct = values.len() as u64;
    for tables in [1, 2, 4] {
        let plan = Plan::even_parts(W::BITS, 3, tables).unwrap();
        for codec in CODECS {
            for memory in [0, 1 << 30] {
                let options = options(plan.clone(), codec, memory);
                let expected = uninterrupted(&sample, &options);
                assert!(with_interruptions(&sample, &options, u64::MAX) == (expected.clone(), 0));
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
                    let (file, times) = with_interruptions(&sample, &options, after);
                    assert!(file == expected, "{codec:?} {tables} {memory} {after}");
                    assert_eq!(times > 0, first < after && after <= most, "{tables} {after}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn builds_interrupted_at_any_row_give_the_same_file(shape in shape(), n in 0usize..300, k in 0u32..4, seed: u64, after in 0u64..1200, codec in 0..CODECS.len()) {
        fn check<W: Width>(rows: &[W], k: u32, seed: u64, after: u64, codec: Codec) {
            let rows = numbered(rows, seed);
            for plan in plans::<W>(k) {
                let options = options(plan, codec, (seed % 2) << 20);
                assert!(with_interruptions(&rows, &options, after).0 == uninterrupted(&rows, &options));
            }
        }
        check::<u64>(&rows(shape, n, k, seed), k, seed, after, CODECS[codec]);
        check::<u128>(&rows(shape, n / 2, k, seed), k, seed, after / 2, CODECS[codec]);
        check::<u16>(&rows(shape, n / 4, k, seed), k, seed, after / 4, CODECS[codec]);
    }
}

/// Copies of a directory.
type Copies = Arc<Mutex<Vec<tempfile::TempDir>>>;

/// Copies of the directory of a build at every seventh report of progress, as a kill would leave it.
fn copies_during_build<W: Width>(rows: &[(W, u64)], options: &Options) -> Vec<tempfile::TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let copies = Copies::default();
    let (to, from) = (Arc::clone(&copies), directory.path().to_owned());
    let reports = AtomicU64::new(0);
    let options = Options {
        written: Some(ProgressCallback::new(move |_| {
            if !reports.fetch_add(1, Ordering::Relaxed).is_multiple_of(7) {
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
    builder_of(rows, &options, &path).finish().unwrap();
    std::mem::take(&mut *copies.lock().unwrap())
}

fn a_killed_build_is_resumed_or_restarted_to_the_same_file<W: Width>() {
    let sample = numbered(&rows::<W>(Shape::Uniform, 400, 3, 4), 7);
    for codec in [Codec::default(), Codec::HUFFMAN] {
        let options = options(Plan::thirds(W::BITS, 3).unwrap(), codec, 0);
        let expected = uninterrupted(&sample, &options);
        let (mut resumed, mut restarted) = (0, 0);
        for directory in copies_during_build(&sample, &options) {
            let path = path_in(&directory);
            if let Some(interrupted) = resumable::<W>(&path, &options) {
                resumed += 1;
                interrupted.finish().unwrap();
            } else {
                restarted += 1;
                builder_of(&sample, &options, &path).finish().unwrap();
            }
            assert!(fs::read(&path).unwrap() == expected);
            assert_eq!(names(directory.path()), ["sample.seg"]);
        }
        assert!(resumed > restarted && restarted > 30, "{resumed} {restarted}");
    }
}

/// A directory with a build that was stopped in its second table, with its rows and options.
fn stopped_build<W: Width>(codec: Codec) -> (tempfile::TempDir, Vec<(W, u64)>, Options) {
    let sample = numbered(&rows::<W>(Shape::Clumped, 300, 6, 4), 7);
    let directory = tempfile::tempdir().unwrap();
    let options = options(Plan::halves(W::BITS, 3).unwrap(), codec, 1 << 30);
    let builder = builder_of(&sample, &stopping_after(&options, 310), &path_in(&directory));
    assert!(matches!(builder.finish(), Err(SegmentError::Stopped)));
    (directory, sample, options)
}

/// The fixture of a journal of this version; see `FORMAT.md`.
fn a_journal_of_this_version_is_readable_and_unchanged<W: Width>() {
    let fixture =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/journal-1-{}.resume", W::BITS));
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let options = Options {
        address_bits: vec![5, 5],
        ..options(
            Plan::halves(W::BITS, 3).unwrap(),
            Codec::Packed(DirectoryForm::Plain),
            1 << 30,
        )
    };
    let sample: Vec<(W, u64)> = (0..60)
        .map(|id: u64| {
            (
                W::truncate(u128::from(id.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
                id,
            )
        })
        .collect();
    let ended = builder_of(&sample, &stopping_after(&options, 61), &path).finish();
    assert!(matches!(ended, Err(SegmentError::Stopped)));
    let journal = journal::place(&path);
    let written = fs::read(&journal).unwrap();
    if std::env::var_os("TWINPRINT_WRITE_GOLDEN").is_some() {
        fs::write(&fixture, &written).unwrap();
    }
    assert!(
        fs::read(&fixture).unwrap() == written,
        "the fixture differs from the journal that is written now"
    );
    let read = Journal::decode(&written, &journal).unwrap();
    assert_eq!((read.whole, read.work.as_slice()), (1, b"sample".as_slice()));
    assert_eq!(read.encode(), written);
}

fn a_damaged_journal_is_not_used<W: Width>() {
    let (directory, sample, options) = stopped_build::<W>(Codec::default());
    let path = path_in(&directory);
    let expected = uninterrupted(&sample, &options);
    let journal = journal::place(&path);
    let bytes = fs::read(&journal).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        for wrong in [&flipped, &bytes[..at]] {
            fs::write(&journal, wrong).unwrap();
            let error = unusable::<W>(&path, &options);
            assert!(matches!(error, SegmentError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("sample.seg.resume"), "{error}");
        }
    }
    // A journal of a later version.
    let mut later = bytes[..bytes.len() - 4].to_vec();
    later[8] += 1;
    fs::write(&journal, crate::bytes::sealed(later)).unwrap();
    let error = unusable::<W>(&path, &options);
    assert!(matches!(error, SegmentError::Version { got: 2, .. }), "{error}");
    // A new build ignores it.
    builder_of(&sample, &options, &path).finish().unwrap();
    assert!(fs::read(&path).unwrap() == expected);
    assert_eq!(names(directory.path()), ["sample.seg"]);
}

fn a_damaged_journal_with_a_correct_checksum_causes_no_panic<W: Width>() {
    for codec in [Codec::default(), Codec::Huffman { page_rows: 16 }] {
        let (directory, _, options) = stopped_build::<W>(codec);
        let path = path_in(&directory);
        let [file, journal] = unfinished(&path);
        let (kept, bytes) = (fs::read(&file).unwrap(), fs::read(&journal).unwrap());
        let body = &bytes[..bytes.len() - 4];
        for at in 8..body.len() {
            let mut wrong = body.to_vec();
            wrong[at] ^= 1 << (at % 8);
            fs::write(&file, &kept).unwrap();
            fs::write(&journal, crate::bytes::sealed(wrong)).unwrap();
            if let Resumable::Tables(interrupted) = Interrupted::<W>::find(&path, &options).unwrap() {
                let _wrong_or_refused = interrupted.finish();
            }
        }
    }
}

fn a_damaged_unfinished_file_is_not_used<W: Width>() {
    let (directory, sample, options) = stopped_build::<W>(Codec::Packed(DirectoryForm::EliasFano));
    let path = path_in(&directory);
    let expected = uninterrupted(&sample, &options);
    let [file, journal] = unfinished(&path);
    let bytes = fs::read(&journal).unwrap();
    let length = Journal::decode(&bytes, &journal).unwrap().length as usize;
    let kept = fs::read(&file).unwrap();
    for at in 0..length {
        let mut flipped = kept.clone();
        flipped[at] ^= 1 << (at % 8);
        for wrong in [&flipped, &kept[..at]] {
            fs::write(&file, wrong).unwrap();
            let error = unusable::<W>(&path, &options);
            assert!(error.to_string().contains("sample.seg.tmp"), "{error}");
        }
    }
    fs::remove_file(&file).unwrap();
    assert!(matches!(unusable::<W>(&path, &options), SegmentError::Io { .. }));
    // Bytes after the recorded length do not matter.
    for bytes_of_file in [&kept[..length], &[&kept[..length], &[7; 9000]].concat()] {
        fs::write(&file, bytes_of_file).unwrap();
        fs::write(&journal, &bytes).unwrap();
        resumable::<W>(&path, &options).unwrap().finish().unwrap();
        assert!(fs::read(&path).unwrap() == expected);
    }
}

fn a_build_with_other_options_does_not_resume<W: Width>() {
    let (directory, sample, options) = stopped_build::<W>(Codec::default());
    let path = path_in(&directory);
    let others = [
        Options {
            resume: Some(b"other".to_vec()),
            ..options.clone()
        },
        Options {
            plan: Some(Plan::thirds(W::BITS, 3).unwrap()),
            ..options.clone()
        },
        Options {
            plan: Some(Plan::halves(W::BITS, 2).unwrap()),
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
        let error = unusable::<W>(&path, other);
        assert!(matches!(error, SegmentError::OtherWork { .. }), "{error}");
    }
    let narrow = Options {
        plan: None,
        ..options.clone()
    };
    assert!(matches!(
        unusable::<u16>(&path, &narrow),
        SegmentError::OtherWork { .. }
    ));
    let without_resume = Options {
        resume: None,
        ..options.clone()
    };
    assert!(matches!(
        Interrupted::<W>::find(&path, &without_resume).unwrap(),
        Resumable::Nothing
    ));
    // Another memory limit and a bound of ids do not prevent resumption.
    let same = Options {
        memory: 0,
        ids_below: Some(1 << 60),
        ..options.clone()
    };
    resumable::<W>(&path, &same).unwrap().finish().unwrap();
    assert!(fs::read(&path).unwrap() == uninterrupted(&sample, &options));
    // A build with other options starts over, as if there were no journal.
    let (directory, sample, _) = stopped_build::<W>(Codec::default());
    let path = path_in(&directory);
    let mut builder = builder_of(&sample, &others[1], &path);
    assert!(names(directory.path()).is_empty());
    builder.push(W::truncate(7), 7).unwrap();
    assert_eq!(builder.finish().unwrap().len(), 301);
    assert_eq!(names(directory.path()), ["sample.seg"]);
}

fn a_resumed_build_can_be_stopped_while_it_reads_the_journal<W: Width>() {
    let (directory, _, options) = stopped_build::<W>(Codec::default());
    let path = path_in(&directory);
    let stopped = Interrupted::<W>::find(&path, &stopping_after(&options, 0));
    assert!(matches!(stopped, Err(SegmentError::Stopped)));
    resumable::<W>(&path, &options).unwrap().finish().unwrap();
}

at_every_width! {
    resumed_builds_of_every_codec_and_plan_give_the_same_file
    a_killed_build_is_resumed_or_restarted_to_the_same_file
    a_journal_of_this_version_is_readable_and_unchanged
    a_damaged_journal_is_not_used
    a_damaged_journal_with_a_correct_checksum_causes_no_panic
    a_damaged_unfinished_file_is_not_used
    a_build_with_other_options_does_not_resume
    a_resumed_build_can_be_stopped_while_it_reads_the_journal
}
