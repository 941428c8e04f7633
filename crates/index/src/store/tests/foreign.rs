//! Files of several indexes, mixed in one directory. Every operation gives correct results or a typed error, and a refused directory is
//! not changed.

use std::fs;
use std::path::Path;

use super::manifest::Manifest;
use super::marker::Marker;
use super::*;
use crate::digest::Digest;
use crate::segment::{self, Builder, Segment};

/// The files of a directory, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The files and the live fingerprints of an index at one time.
#[derive(Clone)]
struct State<W> {
    files: Files,
    living: Living<W>,
}

impl<W> State<W> {
    fn manifest(&self) -> Manifest {
        Manifest::decode(&self.files["manifest"]).unwrap()
    }

    /// True if the manifest binds the files by digests. Files that such a manifest does not name are refused.
    fn is_bound(&self) -> bool {
        self.manifest().version >= manifest::BOUND_VERSION
    }

    /// The marker of a writer that opened this state.
    fn marker(&self) -> Marker {
        Marker {
            generation: self.manifest().generation,
            manifest: Digest::of(&self.files["manifest"]),
        }
    }
}

fn files(path: &Path) -> Files {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap())
    });
    files.filter(|(name, _)| name != "lock").collect()
}

fn put(path: &Path, files: &Files) {
    for (name, bytes) in files {
        fs::write(path.join(name), bytes).unwrap();
    }
}

/// Indexes of this width. Earlier versions of the manifest are of 64 bits only.
fn states<W: Width>() -> Vec<State<W>> {
    let mut states = changed().to_vec();
    states.extend([empty(), built()]);
    let early_versions = versions::versions::<W>()
        .iter()
        .copied()
        .filter(|&version| version < 3);
    states.extend(early_versions.map(early));
    states
}
/// The position of the index of [`built`] in [`states`].
const BUILT: usize = 4;

/// An index without segments.
fn empty<W: Width>() -> State<W> {
    let directory = tempfile::tempdir().unwrap();
    let options = options(64, Upkeep::FlushOnly, Unsynced);
    drop(Index::<W>::create(directory.path(), &settings(), &options).unwrap());
    State {
        files: files(directory.path()),
        living: Living::new(),
    }
}

/// A segment of one row at `path`, and the next free id.
fn one<W: Width>(path: &Path) -> Result<(Segment<W>, u64), StoreError> {
    let mut builder = Builder::new(path, &segment::Options::default())?;
    builder.push(W::truncate(5), 1)?;
    Ok((builder.finish()?, 2))
}

/// An index that was created from one segment.
fn built<W: Width>() -> State<W> {
    let directory = tempfile::tempdir().unwrap();
    let options = options(64, Upkeep::FlushOnly, Unsynced);
    create_from(directory.path(), &settings(), &options, one::<W>).unwrap();
    State {
        files: files(directory.path()),
        living: Living::from([(1, W::truncate(5))]),
    }
}

/// An index whose manifest an earlier version wrote.
fn early<W: Width>(version: u8) -> State<W> {
    let directory = tempfile::tempdir().unwrap();
    versions::put::<W>(version, directory.path());
    State {
        files: files(directory.path()),
        living: versions::expected(),
    }
}

/// Two indexes of two segments each with deleted ids: the first at two times, the second at one. All have files of the same names and
/// about the same number of ids.
fn changed<W: Width>() -> [State<W>; 3] {
    // The state after the writer has ended.
    let state = |path: &Path, changes: &[Change<W>]| State {
        files: files(path)
            .into_iter()
            .filter(|(name, _)| name != "writing")
            .collect(),
        living: living(changes),
    };
    let make = |seed: u64| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let index = Index::create(path, &settings(), &options(64, Upkeep::FlushOnly, Unsynced)).unwrap();
        let mut done: Vec<Change<W>> = Vec::new();
        let change = |done: &mut Vec<Change<W>>, change| {
            done.push(change);
            apply(&index, change, done.len()).unwrap();
        };
        for part in 0..2 {
            for id in part * 12..part * 12 + 12 {
                let fingerprint = near((
                    id % 3,
                    (id + seed) as u32 % W::BITS,
                    (7 * id + seed) as u32 % (W::BITS - 3),
                ));
                change(&mut done, Change::Add(id, fingerprint));
            }
            index.commit().unwrap();
        }
        change(&mut done, Change::Delete(3));
        change(&mut done, Change::Delete(14));
        index.commit().unwrap();
        let early = state(path, &done);
        change(&mut done, Change::Delete(5));
        index.commit().unwrap();
        [early, state(path, &done)]
    };
    let ([early, late], [other, _]) = (make(1), make(2));
    [early, late, other]
}

/// The content of a file: fingerprints or deletions.
fn is_data_file(name: &str) -> bool {
    [".seg", ".del"].iter().any(|ending| name.ends_with(ending))
}

/// Tries all operations on a directory with these files. Each must give the results of the state of the manifest, or refuse. Returns
/// `true` if the index can be read.
fn is_readable<W: Width>(mixed: &Files, states: &[State<W>]) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    put(path, mixed);
    let manifest = mixed.get("manifest");
    let state_of_manifest = states
        .iter()
        .find(|state| manifest == state.files.get("manifest"));
    // Without digests, a file of another state with the same length is not detected.
    let is_bound = state_of_manifest.is_none_or(|state| state.is_bound() || state.files == *mixed);
    let answered = read::<W>(path).and_then(|read| {
        let state_of_manifest = state_of_manifest.expect("no state has that manifest");
        if is_bound {
            same(&read.snapshot, &state_of_manifest.living)?;
        }
        Ok(())
    });
    let checked = check::<W>(path);
    if is_bound {
        assert_eq!(answered.is_ok(), checked.is_ok(), "{answered:?} but {checked:?}");
    }
    assert!(files(path) == *mixed, "reading changes nothing: {answered:?}");
    if let (Some(state_of_manifest), Ok(checked), true) = (state_of_manifest, &checked, is_bound) {
        assert_eq!(checked.living, state_of_manifest.living.len() as u64);
        assert_eq!(checked.unbound == 0, state_of_manifest.is_bound());
    }
    // No new index is created from these files or in place of them.
    let data_files: Files = mixed
        .iter()
        .filter(|(name, _)| is_data_file(name))
        .map(|(n, b)| (n.clone(), b.clone()))
        .collect();
    // Data files that the manifest does not name were left by a writer, or are refused.
    let left_by_a_writer = state_of_manifest.is_some_and(|state_of_manifest| {
        let marker = mixed.get("writing").and_then(|bytes| Marker::decode(bytes));
        marker.is_some_and(|marker| marker.fits(state_of_manifest.marker()))
    });
    if let Some(state_of_manifest) =
        state_of_manifest.filter(|state_of_manifest| state_of_manifest.is_bound() && !left_by_a_writer)
    {
        let unnamed = data_files
            .keys()
            .find(|name| !state_of_manifest.files.contains_key(*name));
        assert!(answered.is_err() || unnamed.is_none(), "{unnamed:?} is accepted");
    }
    let has_build_manifest = mixed.get("manifest.tmp") == states[BUILT].files.get("manifest");
    let claimed = |name: &str, bytes: &[u8]| {
        has_build_manifest && states[BUILT].files.get(name).is_some_and(|own| own == bytes)
    };
    let unclaimed = data_files.iter().any(|(name, bytes)| !claimed(name, bytes));
    let options = options(64, Upkeep::FlushOnly, Unsynced);
    let created = Index::<W>::create(path, &settings(), &options).map(drop);
    if manifest.is_some() || unclaimed {
        let error = created.unwrap_err();
        let expected = match &error {
            StoreError::Occupied { file, .. } => manifest.is_none() && file.exists(),
            StoreError::Exists { .. } => state_of_manifest.is_some(),
            StoreError::Damaged { .. } => manifest.is_some() && state_of_manifest.is_none(),
            _ => false,
        };
        assert!(expected, "{error}");
        assert!(files(path) == *mixed, "{error}");
        let built = create_from(
            path,
            &settings(),
            &options,
            |_| -> Result<(Segment<W>, u64), StoreError> {
                panic!("an occupied directory must be refused before the build");
            },
        );
        assert_eq!(built.unwrap_err().to_string(), error.to_string());
        assert!(files(path) == *mixed, "{error}");
    } else {
        created.unwrap();
        let checked = check::<W>(path).unwrap();
        assert_eq!((checked.rows, checked.left_over.len()), (0, 0));
        let copy = tempfile::tempdir().unwrap();
        put(copy.path(), mixed);
        create_from(copy.path(), &settings(), &options, one::<W>).unwrap();
        let created = files(copy.path());
        assert!(
            created == states[BUILT].files,
            "{:?}",
            created.keys().collect::<Vec<_>>()
        );
        return false;
    }
    // A writer continues from the state of the manifest, or changes nothing.
    let opened = Index::<W>::open(path, &options);
    assert_eq!(
        opened.is_ok(),
        answered.is_ok(),
        "{answered:?} but {:?}",
        opened.err()
    );
    let Ok(index) = opened else {
        assert!(files(path) == *mixed);
        return false;
    };
    if !is_bound {
        return true;
    }
    let mut living = state_of_manifest.unwrap().living.clone();
    index.delete(20).unwrap();
    index.add(77, W::truncate(1234)).unwrap();
    index.commit().unwrap();
    living.remove(&20);
    living.insert(77, W::truncate(1234));
    same(&index.snapshot(), &living).unwrap();
    drop(index);
    same(&read(path).unwrap().snapshot, &living).unwrap();
    assert_eq!(check::<W>(path).unwrap().living, living.len() as u64);
    true
}

fn a_file_of_another_state_is_refused_under_every_name<W: Width>() {
    let states = &states::<W>()[..];
    let (mut same_bytes, mut refused) = (0, 0);
    for own in states {
        for (name, bytes) in &own.files {
            if !own.is_bound() {
                continue;
            }
            for (from, other) in states.iter().flat_map(|state| &state.files) {
                let mut mixed = own.files.clone();
                mixed.insert(name.clone(), other.clone());
                let answered = is_readable(&mixed, states);
                let is_manifest = name == "manifest" && from == "manifest";
                if other == bytes {
                    assert!(answered, "{name} in place of itself");
                    same_bytes += 1;
                } else if !is_manifest {
                    assert!(!answered, "{from} in place of {name}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        same_bytes > 15 && refused > 100,
        "{same_bytes} the same, {refused} refused"
    );
}

/// A change of a directory. Files are chosen by number.
#[derive(Clone, Debug)]
enum Step {
    /// A file of a state is copied, under the name of another file or its own.
    Copy {
        state: usize,
        file: usize,
        to: Option<usize>,
    },
    Swap(usize, usize),
    /// A segment or a file of deleted ids gets another number.
    Rename(usize, u64),
    Truncate(usize, usize),
    Remove(usize),
    /// A killed build: the segment or the manifest of a state has its temporary name.
    Build {
        state: usize,
        manifest: bool,
    },
    /// A killed writer: the marker of a state is present.
    Write(usize),
}

/// A change that takes files from one of some states.
fn step(states: usize) -> impl Strategy<Value = Step> {
    let copy = (0..states, 0usize..8, prop::option::of(0usize..8));
    // Half of the time the state of a build.
    let build = (prop_oneof![Just(BUILT), 0..states], any::<bool>());
    prop_oneof![
        4 => copy.prop_map(|(state, file, to)| Step::Copy { state, file, to }),
        2 => (0usize..8, 0usize..8).prop_map(|(a, b)| Step::Swap(a, b)),
        2 => (0usize..8, 1u64..12).prop_map(|(file, number)| Step::Rename(file, number)),
        1 => (0usize..8, 0usize..5000).prop_map(|(file, bytes)| Step::Truncate(file, bytes)),
        2 => (0usize..8).prop_map(Step::Remove),
        2 => build.prop_map(|(state, manifest)| Step::Build { state, manifest }),
        1 => (0..states).prop_map(Step::Write),
    ]
}

/// The name of a file by number, modulo the number of files.
fn name(files: &Files, number: usize) -> Option<String> {
    files
        .keys()
        .nth(number.checked_rem(files.len()).unwrap_or(0))
        .cloned()
}

fn apply_step<W>(files: &mut Files, states: &[State<W>], step: &Step) -> Option<()> {
    match *step {
        Step::Copy { state, file, to } => {
            let from = name(&states[state].files, file)?;
            let to = to.and_then(|to| name(files, to)).unwrap_or_else(|| from.clone());
            files.insert(to, states[state].files[&from].clone());
        }
        Step::Swap(a, b) => {
            let (a, b) = (name(files, a)?, name(files, b)?);
            let (of_a, of_b) = (files[&a].clone(), files[&b].clone());
            files.insert(a, of_b);
            files.insert(b, of_a);
        }
        Step::Rename(file, number) => {
            let from = name(files, file).filter(|name| is_data_file(name))?;
            let ending = from.rsplit_once('.')?.1.to_owned();
            let bytes = files.remove(&from)?;
            files.insert(format!("{number:08}.{ending}"), bytes);
        }
        Step::Truncate(file, bytes) => {
            let file = name(files, file)?;
            files.get_mut(&file)?.truncate(bytes);
        }
        Step::Remove(file) => {
            let file = name(files, file)?;
            files.remove(&file);
        }
        Step::Build { state, manifest } => {
            let (from, to) = if manifest {
                ("manifest", "manifest.tmp")
            } else {
                ("00000001.seg", "00000001.seg.new")
            };
            let bytes = states[state].files.get(from)?.clone();
            files.insert(to.to_owned(), bytes);
        }
        Step::Write(state) => {
            files.insert("writing".to_owned(), states[state].marker().encode());
        }
    }
    Some(())
}

fn mixed_files_give_correct_results_or_are_refused<W: Width>() {
    let states = states::<W>();
    let steps = prop::collection::vec(step(states.len()), 1..6);
    for_random::<W, _>(400, &(0..states.len(), steps), |(begin, steps)| {
        let mut mixed = states[begin].files.clone();
        for step in &steps {
            let _nothing_to_do = apply_step(&mut mixed, &states, step);
        }
        is_readable(&mixed, &states);
    });
}

fn segments_that_an_empty_or_earlier_manifest_does_not_name_are_not_deleted<W: Width>() {
    let states = states::<W>();
    let [early, late, _, empty, ..] = &states[..] else {
        unreachable!()
    };
    for manifest in [empty, early] {
        let mut mixed = late.files.clone();
        mixed.insert("manifest".to_owned(), manifest.files["manifest"].clone());
        assert!(!is_readable(&mixed, &states));
        if manifest.files.len() > 1 {
            mixed.extend(manifest.files.clone());
            assert!(!is_readable(&mixed, &states));
        }
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), &mixed);
        let error = Index::<W>::open(directory.path(), &Options::default()).unwrap_err();
        assert!(matches!(error, StoreError::Unnamed { .. }), "{error}");
        // These files are removed only if a writer of that index left them.
        mixed.insert("writing".to_owned(), manifest.marker().encode());
        assert!(is_readable(&mixed, &states));
        mixed.insert("writing".to_owned(), late.marker().encode());
        assert!(!is_readable(&mixed, &states));
    }
}

fn a_build_does_not_change_an_index_whose_manifest_is_lost<W: Width>() {
    let state = &states::<W>()[0];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    put(path, &state.files);
    fs::remove_file(path.join("manifest")).unwrap();
    let before = files(path);
    let options = options(64, Upkeep::FlushOnly, Unsynced);
    let error = create_from(path, &settings(), &options, one::<W>).unwrap_err();
    assert!(matches!(error, StoreError::Occupied { .. }), "{error}");
    assert!(error.to_string().contains("00000001.seg"), "{error}");
    assert!(!path.join("lock").exists());
    assert!(files(path) == before);
    // With its manifest the index can be read again.
    fs::write(path.join("manifest"), &state.files["manifest"]).unwrap();
    same(&read(path).unwrap().snapshot, &state.living).unwrap();
    // Files that do not belong to an index do not prevent a build, and stay.
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("my.seg"), "mine").unwrap();
    create_from(directory.path(), &settings(), &options, one::<W>).unwrap();
    assert_eq!(files(directory.path())["my.seg"], b"mine");
}

at_every_width! {
    a_file_of_another_state_is_refused_under_every_name
    mixed_files_give_correct_results_or_are_refused
    segments_that_an_empty_or_earlier_manifest_does_not_name_are_not_deleted
    a_build_does_not_change_an_index_whose_manifest_is_lost
}
