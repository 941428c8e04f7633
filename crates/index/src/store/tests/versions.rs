//! Fixtures of indexes of every released format version: two segments, with ids deleted from one. Versions 1 and 2 of the
//! manifest are of 64 bits only, like the commands of their time.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::bytes::sealed;
use crate::plan::Plan;
use crate::segment::{self, Builder, DirectoryForm, Segment};

/// The versions of manifests of a width.
pub(super) fn versions<W: Width>() -> &'static [u8] {
    if W::BITS == 64 { &[1, 2, 3] } else { &[3] }
}

/// The codec of the fixtures.
pub(super) const PLAIN: Codec = Codec::Packed(DirectoryForm::Plain);

/// The segments and deleted ids of the fixtures.
const DATA_FILES: [&str; 3] = ["00000001.seg", "00000002.del", "00000004.seg"];

fn testdata<W: Width>() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/index-{}", W::BITS))
}

/// Copies the files, with the manifest of a version, into a directory.
pub(super) fn put<W: Width>(version: u8, path: &Path) {
    for name in DATA_FILES {
        fs::copy(testdata::<W>().join(name), path.join(name)).unwrap();
    }
    let manifest = fs::read(testdata::<W>().join(format!("manifest-{version}"))).unwrap();
    assert_eq!(manifest[8], version);
    fs::write(path.join("manifest"), manifest).unwrap();
}

/// A pseudorandom fingerprint (SplitMix64).
pub(super) fn fingerprint<W: Width>(id: u64) -> W {
    let mut random = Random(id.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let low = u128::from(random.next());
    W::truncate(low | u128::from(random.next()) << 64)
}

pub(super) fn expected<W: Width>() -> Living<W> {
    let ids = (0..60).filter(|id| ![3, 7].contains(id));
    ids.map(|id| (id, fingerprint(id))).collect()
}

/// A segment of the fixture. Its plan does not depend on the planner.
pub(super) fn fixture_segment<W: Width>(
    file: &Path,
    ids: std::ops::Range<u64>,
    address_bits: u32,
) -> Result<Segment<W>, StoreError> {
    let options = segment::Options {
        plan: Some(Plan::one_table(W::BITS, 3)?),
        address_bits: vec![address_bits],
        codec: PLAIN,
        ..segment::Options::default()
    };
    let mut builder = Builder::new(file, &options)?;
    for id in ids {
        builder.push(fingerprint(id), id)?;
    }
    Ok(builder.finish()?)
}

/// Writes the fixtures again if `TWINPRINT_WRITE_GOLDEN` is set. Otherwise a changed format is noticed.
fn files_are_written_as_in_the_fixture<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let settings = Settings {
        label: "tp1-words-lntf-64 4973f575234e63dc".to_owned(),
        codec: PLAIN,
        ..settings()
    };
    let options = options(64, Upkeep::FlushOnly, Unsynced);
    let create = |file: &Path| Ok::<_, StoreError>((fixture_segment(file, 0..40, 3)?, 40));
    create_from::<W, _>(path, &settings, &options, create).unwrap();
    let index = Index::<W>::open(path, &options).unwrap();
    assert_eq!(index.delete_known([3, 7]).unwrap(), 2);
    index.commit().unwrap();
    index.mark(60).unwrap();
    let added = index.add_segment(|file| fixture_segment(file, 40..60, 2));
    assert_eq!(added.unwrap(), 20);
    drop(index);
    let files = ["manifest"].into_iter().chain(DATA_FILES);
    compare_with_fixture(
        path,
        &testdata::<W>(),
        files.map(|name| (name, name.replace("manifest", "manifest-3"))),
    );
}

/// Compares files of an index with those of a fixture, which may have other names. Writes the fixture instead if
/// `TWINPRINT_WRITE_GOLDEN` is set.
pub(super) fn compare_with_fixture<'n>(
    index: &Path,
    fixture: &Path,
    names: impl Iterator<Item = (&'n str, String)>,
) {
    for (name, stored) in names {
        let stored = fixture.join(stored);
        let written = fs::read(index.join(name)).unwrap();
        if std::env::var_os("TWINPRINT_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(fixture).unwrap();
            fs::write(&stored, &written).unwrap();
        }
        assert!(
            fs::read(&stored).unwrap() == written,
            "{name} differs from the file that is written now"
        );
    }
}

fn every_version_is_read_and_the_next_commit_binds_its_files<W: Width>() {
    for &version in versions::<W>() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        put::<W>(version, path);
        let read = read::<W>(path).unwrap();
        assert!(read.settings.label.starts_with("tp1-words-lntf-64 "));
        assert_eq!((read.settings.radius, read.settings.codec), (3, PLAIN));
        assert_eq!((read.checkpoint, read.tombstones, read.generation), (60, 2, 3));
        same(&read.snapshot, &expected()).unwrap();
        let checked = check::<W>(path).unwrap();
        assert_eq!((checked.living, checked.segments), (58, 2));
        // A manifest of an early version binds no files.
        assert_eq!(checked.unbound, if version < 3 { 2 } else { 0 });
        let index = Index::<W>::open(path, &options(8, Upkeep::FlushOnly, Unsynced)).unwrap();
        index.delete(59).unwrap();
        index.commit().unwrap();
        drop(index);
        assert_eq!(fs::read(path.join("manifest")).unwrap()[8], 3);
        let mut living = expected::<W>();
        living.remove(&59);
        same(&self::read(path).unwrap().snapshot, &living).unwrap();
        assert_eq!(check::<W>(path).unwrap().unbound, 0);
    }
}

#[test]
fn after_the_next_commit_of_an_early_version_other_files_are_refused() {
    for name in DATA_FILES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        put::<u64>(2, path);
        let index = Index::<u64>::open(path, &options(8, Upkeep::FlushOnly, Unsynced)).unwrap();
        index.mark(61).unwrap();
        index.commit().unwrap();
        drop(index);
        let other = if name.ends_with("del") {
            tombstones::encode(&[3, 8])
        } else {
            let other = ["00000001.seg", "00000004.seg"];
            fs::read(testdata::<u64>().join(other[usize::from(name == other[0])])).unwrap()
        };
        fs::write(path.join(name), other).unwrap();
        let error = read::<u64>(path).unwrap_err();
        assert!(
            matches!(&error, StoreError::OtherFile { path: file } if file.ends_with(name)),
            "{error}"
        );
    }
}

/// Converts a manifest of version 3 with one segment to version 2.
fn as_version_2(manifest: &[u8]) -> Vec<u8> {
    // Version 2 has neither digest. The checksum at the end is recomputed.
    let mut body = manifest[..manifest.len() - 36].to_vec();
    body[8] = 2;
    sealed(body)
}

fn a_compaction_binds_the_files_even_if_it_merges_nothing<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    create_from(path, &settings(), &Options::default(), |file| {
        let mut builder = Builder::new(file, &segment::Options::default())?;
        builder.push(W::truncate(7), 3)?;
        Ok::<_, StoreError>((builder.finish()?, 4))
    })
    .unwrap();
    let manifest = fs::read(path.join("manifest")).unwrap();
    fs::write(path.join("manifest"), as_version_2(&manifest)).unwrap();
    assert_eq!(check::<W>(path).unwrap().unbound, 1);
    let open = || Index::<W>::open(path, &options(8, Upkeep::FlushOnly, Unsynced)).unwrap();
    // A commit without changes does not add the missing digest to the manifest.
    open().commit().unwrap();
    assert_eq!(check::<W>(path).unwrap().unbound, 1);
    open().compact().unwrap();
    let checked = check::<W>(path).unwrap();
    assert_eq!((checked.unbound, checked.generation, checked.segments), (0, 2, 1));
    same(
        &read(path).unwrap().snapshot,
        &Living::<W>::from([(3, W::truncate(7))]),
    )
    .unwrap();
    // A second compaction changes nothing.
    open().compact().unwrap();
    assert_eq!(check::<W>(path).unwrap(), checked);
}

at_every_width! {
    every_version_is_read_and_the_next_commit_binds_its_files
    files_are_written_as_in_the_fixture
    a_compaction_binds_the_files_even_if_it_merges_nothing
}
