//! Indexes whose ids have names, compared with lists of names: after changes, crashes, failures and damage.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::disk::{Crash, Recorder};
use super::faults::FailsOnce;
use super::*;
use crate::segment::{self, Builder, Segment};

/// The names of the rows of a batch, each with its fingerprint. Some names are long, empty or not ASCII.
fn batch<W: Width>(seed: u64, n: u64) -> Vec<(String, W)> {
    let mut random = Random(seed);
    let mut rows = BTreeMap::new();
    for i in 0..n {
        let name = match random.below(7) {
            0 => format!("page {}", random.below(20)),
            1 => format!("页{}", random.below(20)),
            2 if i == 0 => String::new(),
            3 => "long ".repeat(40 + random.below(3) as usize),
            _ => format!("{seed}/{i}.html"),
        };
        let near = near((random.below(3), random.below(16) as u32, 5));
        rows.insert(name, near);
    }
    rows.into_iter().collect()
}

/// A list of names and the fingerprints of the living ones.
#[derive(Clone, Default)]
struct Named<W> {
    names: Vec<String>,
    living: Living<W>,
}

impl<W: Width> Named<W> {
    /// Adds rows. Returns the id of each, and the names that are new.
    fn add(&mut self, rows: &[(String, W)]) -> (Vec<(W, u64)>, Vec<String>) {
        let known: HashMap<String, u64> = self.names.iter().cloned().zip(0..).collect();
        let before = self.names.len();
        let mut added = Vec::new();
        for (name, fingerprint) in rows {
            let id = known.get(name).copied().unwrap_or_else(|| {
                self.names.push(name.clone());
                self.names.len() as u64 - 1
            });
            self.living.insert(id, *fingerprint);
            added.push((*fingerprint, id));
        }
        (added, self.names[before..].to_vec())
    }
}

fn write<W: Width>(
    path: &Path,
    rows: &[(W, u64)],
    storage: &Arc<dyn Storage>,
) -> Result<Segment<W>, StoreError> {
    let options = segment::Options {
        storage: Some(Arc::clone(storage)),
        ..segment::Options::default()
    };
    let mut builder = Builder::new(path, &options)?;
    for &(fingerprint, id) in rows {
        builder.push(fingerprint, id)?;
    }
    Ok(builder.finish()?)
}

fn push_all(writer: &mut NameWriter<'_>, names: &[String]) -> Result<(), StoreError> {
    names.iter().try_for_each(|name| writer.push(name))
}

/// Creates an index of the first batch. Each state of the index is appended to `states` before it can be durable.
fn create<W: Width>(path: &Path, options: &Options, states: &mut Vec<Named<W>>) -> Result<(), StoreError> {
    let mut named = Named::default();
    let (rows, names) = named.add(&batch(1, 70));
    states.push(named);
    create_named_from(
        path,
        &settings(),
        options,
        |writer| push_all(writer, &names),
        |path| Ok((write(path, &rows, &options.storage)?, names.len() as u64)),
    )
}

/// Adds batches, deletes names and compacts, until an operation fails.
fn change<W: Width>(
    index: &Index<W>,
    storage: &Arc<dyn Storage>,
    states: &mut Vec<Named<W>>,
) -> Result<(), StoreError> {
    for seed in 2..5 {
        let mut named = states.last().unwrap().clone();
        let (rows, names) = named.add(&batch(seed, 20));
        let count = named.names.len() as u64;
        states.push(named);
        index.append_names(|writer| push_all(writer, &names))?;
        index.add_segment(|path| {
            index.mark(count)?;
            write(path, &rows, storage)
        })?;
        let mut named = states.last().unwrap().clone();
        let gone = [seed * 3, seed * 7];
        named.living.retain(|id, _| !gone.contains(id));
        states.push(named);
        index.delete_known(gone)?;
        index.commit()?;
        if seed == 3 {
            index.compact()?;
        }
    }
    Ok(())
}

/// Checks that an index has one of the states, from number `first` on. Returns its number.
fn check_state<W: Width>(path: &Path, states: &[Named<W>], first: usize) -> usize {
    let committed = read::<W>(path).unwrap();
    let names = committed.names.as_ref().unwrap();
    let rows: Living<W> = committed
        .snapshot
        .iter()
        .map(|row| row.map(|(x, id)| (id, x)).unwrap())
        .collect();
    let is_state = |state: &Named<W>| {
        state.living == rows
            && names.iter().eq(state.names.iter())
            && committed.checkpoint == state.names.len() as u64
    };
    let at = (first..states.len()).find(|&at| is_state(&states[at]));
    let at = at.unwrap_or_else(|| {
        panic!(
            "no state from {first} on: {} names, {} rows",
            names.len(),
            rows.len()
        )
    });
    same(&committed.snapshot, &states[at].living).unwrap();
    for (id, name) in (0..).zip(&states[at].names) {
        assert_eq!(names.get(id), Some(name.as_str()));
    }
    assert_eq!(names.get(names.len()), None);
    assert_eq!(names.get(u64::MAX), None);
    let checked = check::<W>(path).unwrap();
    assert_eq!(checked.living, rows.len() as u64);
    at
}

fn names_of(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.rsplit('.').next() == Some("names"))
        .collect()
}

fn names_follow_every_change<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let options = options(64, Upkeep::Caller, Unsynced);
    let mut states = Vec::new();
    create::<W>(path, &options, &mut states).unwrap();
    assert_eq!(check_state(path, &states, 0), 0);
    let index = Index::<W>::open(path, &options).unwrap();
    change(&index, &options.storage, &mut states).unwrap();
    let last = states.len() - 1;
    assert_eq!(check_state(path, &states, last), last);
    assert!(states[last].names.len() > 80 && states[last].living.len() < states[last].names.len());
    assert_eq!(names_of(path).len(), 1);
    // Names that are appended twice before a commit, a refused append, and an append without a commit.
    let extra = |name: &str| vec![name.to_owned()];
    index
        .append_names(|writer| push_all(writer, &extra("one more")))
        .unwrap();
    index
        .append_names(|writer| push_all(writer, &extra("two more")))
        .unwrap();
    let refused = index.append_names(|_| {
        Err(StoreError::NoNames {
            path: path.to_owned(),
        })
    });
    assert!(matches!(refused, Err(StoreError::NoNames { .. })));
    assert_eq!(index.refused(), None);
    assert_eq!(check_state(path, &states, last), last);
    let mut named = states[last].clone();
    named.names.extend(["one more", "two more"].map(str::to_owned));
    assert!(index.names().unwrap().iter().eq(named.names.iter()));
    index.mark(named.names.len() as u64).unwrap();
    index.commit().unwrap();
    states.push(named);
    assert_eq!(check_state(path, &states, last + 1), last + 1);
    index
        .append_names(|writer| push_all(writer, &extra("lost")))
        .unwrap();
    drop(index);
    assert_eq!(names_of(path).len(), 2);
    assert_eq!(check_state(path, &states, last + 1), last + 1);
    drop(Index::<W>::open(path, &options).unwrap());
    assert_eq!(names_of(path).len(), 1);
    assert_eq!(check_state(path, &states, last + 1), last + 1);
}

fn an_index_of_numbers_takes_no_names<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(64, Upkeep::Caller, Unsynced);
    let index = Index::<W>::create(directory.path(), &settings(), &options).unwrap();
    assert!(index.names().is_none());
    let refused = index.append_names(|writer| push_all(writer, &["a".to_owned()]));
    assert!(matches!(refused, Err(StoreError::NoNames { .. })));
    index.add(1, W::default()).unwrap();
    index.commit().unwrap();
    drop(index);
    assert!(read::<W>(directory.path()).unwrap().names.is_none());
    // Without names, the manifest can be read by earlier versions.
    assert_eq!(fs::read(directory.path().join("manifest")).unwrap()[8], 3);
}

fn names_survive_a_crash_between_any_two_steps<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    let options = options(64, Upkeep::Caller, recorder.clone());
    let mut states = Vec::new();
    create::<W>(directory.path(), &options, &mut states).unwrap();
    let created = recorder.len();
    let index = Index::<W>::open(directory.path(), &options).unwrap();
    change(&index, &options.storage, &mut states).unwrap();
    drop(index);
    let (mut rebuilt, mut latest) = (0, 0);
    for steps in 0..=recorder.len() {
        let point = recorder.after(steps);
        let random = Crash::CutAtRandom(steps as u64 + 5);
        for crash in [Crash::Kill, Crash::CutLosingAll, Crash::CutLosingContent, random] {
            let copy = tempfile::tempdir().unwrap();
            let path = copy.path();
            point.write_remains(crash, path);
            let options = super::options(64, Upkeep::Caller, Unsynced);
            if path.join("manifest").exists() {
                let at = check_state(path, &states, 0);
                if crash == Crash::Kill {
                    assert!(at >= latest, "a commit is lost");
                    latest = at;
                }
                // The next writer removes what is left over, and continues.
                let index = Index::<W>::open(path, &options).unwrap();
                assert_eq!(names_of(path).len(), 1);
                let mut states = states[..=at].to_vec();
                change(&index, &options.storage, &mut states).unwrap();
                drop(index);
                check_state(path, &states, states.len() - 1);
            } else {
                assert!(steps <= created);
                rebuilt += 1;
                let mut states = Vec::new();
                create::<W>(path, &options, &mut states).unwrap();
                check_state(path, &states, 0);
                assert_eq!(names_of(path).len(), 1);
                assert!(check::<W>(path).unwrap().left_over.is_empty());
            }
        }
    }
    assert!(rebuilt > 30 && latest == states.len() - 1, "{rebuilt} {latest}");
}

fn names_survive_a_failure_of_any_operation<W: Width>() {
    let mut failed = 0;
    for at in 0.. {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let failing = FailsOnce::new(at, ErrorKind::StorageFull);
        let options = options(64, Upkeep::Caller, failing.clone());
        let mut states = Vec::new();
        let ended = create::<W>(path, &options, &mut states).and_then(|()| {
            let index = Index::<W>::open(path, &options)?;
            let changed = change(&index, &options.storage, &mut states);
            // An error while the caller builds a segment changes nothing, so further changes are allowed.
            if changed.is_err() && index.refused().is_some() {
                let refused = index.append_names(|_| Ok::<_, StoreError>(()));
                assert!(matches!(refused, Err(StoreError::Refused { .. })));
            }
            changed
        });
        if path.join("manifest").exists() {
            let state = check_state(path, &states, 0);
            let options = super::options(64, Upkeep::Caller, Unsynced);
            let index = Index::<W>::open(path, &options).unwrap();
            let mut states = states[..=state].to_vec();
            change(&index, &options.storage, &mut states).unwrap();
            drop(index);
            check_state(path, &states, states.len() - 1);
        } else {
            assert!(ended.is_err());
            create::<W>(
                path,
                &super::options(64, Upkeep::Caller, Unsynced),
                &mut Vec::new(),
            )
            .unwrap();
            check_state(path, &states[..1], 0);
        }
        if !failing.failed() {
            ended.unwrap();
            break;
        }
        failed += 1;
    }
    assert!(failed > 60, "only {failed} failures");
}

fn damaged_names_and_those_of_another_state_are_refused<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let options = options(64, Upkeep::Caller, Unsynced);
    let mut states = Vec::new();
    create::<W>(path, &options, &mut states).unwrap();
    let early = fs::read(path.join("00000002.names")).unwrap();
    let index = Index::<W>::open(path, &options).unwrap();
    change(&index, &options.storage, &mut states).unwrap();
    drop(index);
    let name = names_of(path).remove(0);
    let file = path.join(&name);
    let intact = fs::read(&file).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let errors = [
            read::<W>(path).map(drop).unwrap_err(),
            check::<W>(path).map(drop).unwrap_err(),
            Index::<W>::open(path, &options).map(drop).unwrap_err(),
        ];
        assert!(
            errors.iter().all(|error| error.to_string().contains(&name)),
            "{errors:?}"
        );
    };
    for at in 0..intact.len() {
        let mut flipped = intact.clone();
        flipped[at] ^= 1 << (at % 8);
        refused(&flipped);
        refused(&intact[..at]);
    }
    refused(&early);
    fs::write(&file, &intact).unwrap();
    check_state(path, &states, states.len() - 1);
    // A second file of names is refused, unless a writer left it.
    fs::write(path.join("00000099.names"), &early).unwrap();
    assert!(matches!(read::<W>(path), Err(StoreError::Unnamed { .. })));
    fs::remove_file(path.join("00000099.names")).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(read::<W>(path).is_err());
}

/// The fixture of an index with names: two segments, with ids deleted from the first.
fn files_with_names_are_written_as_in_the_fixture<W: Width>() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/named-{}", W::BITS));
    let names: Vec<String> = (0..60).map(|id| format!("page {id}")).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let options = options(64, Upkeep::FlushOnly, Unsynced);
    let settings = Settings {
        codec: versions::PLAIN,
        ..settings()
    };
    create_named_from::<W, StoreError>(
        path,
        &settings,
        &options,
        |writer| push_all(writer, &names[..40]),
        |file| Ok((versions::fixture_segment(file, 0..40, 3)?, 40)),
    )
    .unwrap();
    let index = Index::<W>::open(path, &options).unwrap();
    assert_eq!(index.delete_known([3, 7]).unwrap(), 2);
    index.mark(60).unwrap();
    index
        .append_names(|writer| push_all(writer, &names[40..]))
        .unwrap();
    let added = index.add_segment(|file| versions::fixture_segment(file, 40..60, 2));
    assert_eq!(added.unwrap(), 20);
    drop(index);
    let files: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "lock")
        .collect();
    assert_eq!(files.len(), 5);
    versions::compare_with_fixture(
        path,
        &fixture,
        files.iter().map(|name| (name.as_str(), name.clone())),
    );
    let committed = read::<W>(&fixture).unwrap();
    assert!(committed.names.unwrap().iter().eq(names.iter()));
    let living: Living<W> = (0..60)
        .filter(|id| ![3, 7].contains(id))
        .map(|id| (id, versions::fingerprint(id)))
        .collect();
    same(&committed.snapshot, &living).unwrap();
}

at_every_width! {
    files_with_names_are_written_as_in_the_fixture
    names_follow_every_change
    an_index_of_numbers_takes_no_names
    names_survive_a_crash_between_any_two_steps
    names_survive_a_failure_of_any_operation
    damaged_names_and_those_of_another_state_are_refused
}

proptest! {
    #[test]
    fn any_names_are_read_back(names in prop::collection::vec(".{0,3}", 0..200)) {
        let directory = tempfile::tempdir().unwrap();
        let build = |path: &Path| Ok((write::<u64>(path, &[], &options(1, Upkeep::Caller, Unsynced).storage)?, names.len() as u64));
        create_named_from::<u64, StoreError>(directory.path(), &settings(), &options(1, Upkeep::Caller, Unsynced), |writer| {
            push_all(writer, &names)?;
            assert_eq!(writer.next_id(), names.len() as u64);
            Ok(())
        }, build).unwrap();
        let read = read::<u64>(directory.path()).unwrap().names.unwrap();
        prop_assert!(read.iter().eq(names.iter()));
        prop_assert_eq!((read.len(), read.is_empty()), (names.len() as u64, names.is_empty()));
        for (id, name) in (0..).zip(&names) {
            prop_assert_eq!(read.get(id), Some(name.as_str()));
        }
    }
}
