//! Random sequences of changes, commits, compactions and reopening, compared with a map.

use super::*;
use crate::segment::{self, Builder, DirectoryForm};

#[derive(Clone, Debug)]
enum Step<W> {
    Change(Change<W>),
    /// A segment of distinct ids.
    Bulk(Living<W>),
    Commit,
    Compact,
    /// Reopens the index without a commit.
    Reopen,
    /// Keeps a snapshot, which is compared at the end.
    Keep,
    Compare,
}

fn step<W: Width>() -> impl Strategy<Value = Step<W>> {
    prop_oneof![
        16 => change().prop_map(Step::Change),
        2 => Just(Step::Commit),
        1 => prop::collection::btree_map(0u64..40, fingerprint(), 1..20).prop_map(Step::Bulk),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
        1 => Just(Step::Keep),
        2 => Just(Step::Compare),
    ]
}

fn upkeep() -> impl Strategy<Value = Upkeep> {
    prop_oneof![
        Just(Upkeep::Caller),
        Just(Upkeep::FlushOnly),
        Just(Upkeep::Background)
    ]
}

fn codec() -> impl Strategy<Value = Codec> {
    prop_oneof![
        Just(Codec::Packed(DirectoryForm::Compact)),
        Just(Codec::Packed(DirectoryForm::Plain)),
        Just(Codec::Packed(DirectoryForm::EliasFano)),
        Just(Codec::HUFFMAN),
        (1u32..9).prop_map(|page_rows| Codec::Huffman { page_rows }),
    ]
}

fn run<W: Width>(steps: &[Step<W>], memtable: u32, upkeep: Upkeep, codec: Codec) -> Result<(), StoreError> {
    let settings = Settings { codec, ..settings() };
    let directory = tempfile::tempdir().unwrap();
    let options = options(memtable, upkeep, Unsynced);
    let mut index = Index::create(directory.path(), &settings, &options)?;
    let mut done: Vec<Change<W>> = Vec::new();
    let mut committed = 0;
    let mut kept = Vec::new();
    for step in steps {
        match step {
            &Step::Change(change) => {
                done.push(change);
                apply(&index, change, done.len())?;
            }
            Step::Bulk(rows) => {
                let added = index.add_segment(|file| {
                    let mut builder = Builder::new(file, &segment::Options::default())?;
                    for (&id, &fingerprint) in rows {
                        builder.push(fingerprint, id)?;
                        done.push(Change::Add(id, fingerprint));
                    }
                    Ok::<_, StoreError>(builder.finish()?)
                })?;
                assert_eq!(added as usize, rows.len());
                index.mark(done.len() as u64)?;
                index.commit()?;
                committed = done.len();
            }
            Step::Commit => {
                index.commit()?;
                committed = done.len();
            }
            Step::Compact => {
                index.compact()?;
                committed = done.len();
                let snapshot = index.snapshot();
                assert_eq!(snapshot.rows(), living(&done).len() as u64, "deleted rows remain");
                let mut segments = snapshot.segments();
                // A complete segment of another builder is not changed.
                let bulk = steps.iter().any(|step| matches!(step, Step::Bulk(_)));
                assert!(
                    segments
                        .next()
                        .is_none_or(|segment| bulk || segment.codec() == codec)
                );
                assert!(segments.next().is_none());
            }
            Step::Reopen => {
                drop(index);
                index = Index::open(directory.path(), &options)?;
                let checkpoint = index.checkpoint() as usize;
                // Full memtables are committed automatically, so the checkpoint may be later than the last explicit commit.
                assert!((committed..=done.len()).contains(&checkpoint));
                // A memtable may have been flushed between a change and its mark. Then the index contains that change, too.
                let snapshot = index.snapshot();
                let stored = snapshot
                    .iter()
                    .map(|row| row.map(|(fingerprint, id)| (id, fingerprint)));
                let stored = stored.collect::<Result<Living<W>, _>>()?;
                let unmarked = checkpoint < done.len() && living(&done[..checkpoint]) != stored;
                done.truncate(checkpoint + usize::from(unmarked));
                if unmarked {
                    index.mark(done.len() as u64)?;
                }
                committed = checkpoint;
                same(&index.snapshot(), &living(&done))?;
            }
            Step::Keep => kept.push((index.snapshot(), living(&done))),
            Step::Compare => same(&index.snapshot(), &living(&done))?,
        }
    }
    same(&index.snapshot(), &living(&done))?;
    for (snapshot, living) in &kept {
        same(snapshot, living)?;
    }
    index.commit()?;
    drop(index);
    let checked = check::<W>(directory.path())?;
    assert_eq!(checked.living, living(&done).len() as u64);
    let read = read::<W>(directory.path())?;
    assert_eq!(width_of(directory.path())?, W::BITS);
    assert_eq!(
        (&read.settings, read.checkpoint as usize),
        (&settings, done.len())
    );
    same(&read.snapshot, &living(&done))
}

fn any_sequence_of_changes_gives_the_results_of_a_map<W: Width>() {
    let steps = prop::collection::vec(step::<W>(), 0..120);
    let any = (steps, 1u32..24, upkeep(), codec());
    for_random::<W, _>(96, &any, |(steps, memtable, upkeep, codec)| {
        run(&steps, memtable, upkeep, codec).unwrap();
    });
}

fn create_refuses_an_existing_index_and_open_a_missing_one<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let options = Options::default();
    assert!(matches!(
        Index::<W>::open(path, &options),
        Err(StoreError::NotAnIndex { .. })
    ));
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "files were created");
    let index = Index::<W>::create(path, &settings(), &options).unwrap();
    for second in [
        Index::<W>::create(path, &settings(), &options),
        Index::open(path, &options),
    ] {
        assert!(matches!(second, Err(StoreError::InUse { .. })), "{second:?}");
    }
    drop(index);
    assert!(matches!(
        Index::<W>::create(path, &settings(), &options),
        Err(StoreError::Exists { .. })
    ));
    assert!(matches!(
        Index::<u16>::open(path, &options),
        Err(StoreError::Width { got, expected: 16, .. }) if got == W::BITS
    ));
    assert!(matches!(read::<u16>(path), Err(StoreError::Width { .. })));
    assert_eq!(width_of(path).unwrap(), W::BITS);
    let label = "a".repeat(256);
    let other = path.join("pages");
    let codec = Codec::Huffman { page_rows: 0 };
    drop(Index::<W>::create(&other, &Settings { codec, ..settings() }, &options).unwrap());
    let nearest = Codec::Huffman { page_rows: 1 };
    assert_eq!(read::<W>(&other).unwrap().settings.codec, nearest);
    let settings = Settings { label, ..settings() };
    let other = path.join("other");
    assert!(matches!(
        Index::<W>::create(&other, &settings, &options),
        Err(StoreError::Label { .. })
    ));
}

fn an_index_is_created_from_a_built_segment<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    create_from(path, &settings(), &Options::default(), |file| {
        let mut builder = Builder::new(file, &segment::Options::default())?;
        for id in 0..50 {
            builder.push(W::truncate(u128::from(id) * 3), id + 7)?;
        }
        Ok::<_, StoreError>((builder.finish()?, 50))
    })
    .unwrap();
    let expected: Living<W> = (0..50)
        .map(|id| (id + 7, W::truncate(u128::from(id) * 3)))
        .collect();
    same(&read::<W>(path).unwrap().snapshot, &expected).unwrap();
    let index = Index::<W>::open(path, &Options::default()).unwrap();
    assert_eq!(index.checkpoint(), 50);
    index.add(8, W::truncate(5)).unwrap();
    index.delete(9).unwrap();
    index.commit().unwrap();
    let mut expected = expected;
    expected.insert(8, W::truncate(5));
    expected.remove(&9);
    same(&index.snapshot(), &expected).unwrap();
    same(&read(path).unwrap().snapshot, &expected).unwrap();
}

at_every_width! {
    any_sequence_of_changes_gives_the_results_of_a_map
    create_refuses_an_existing_index_and_open_a_missing_one
    an_index_is_created_from_a_built_segment
}
