//! Fixtures of indexes of every released format version: two segments, with ids deleted from one.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::bytes::sealed;
use crate::segment::{self, Builder, DirectoryForm};

const VERSIONS: [u8; 3] = [1, 2, 3];

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/index")
}

/// Copies the files, with the manifest of a version, into a directory.
pub(super) fn put(version: u8, path: &Path) {
    for name in ["00000001.seg", "00000002.del", "00000004.seg"] {
        fs::copy(testdata().join(name), path.join(name)).unwrap();
    }
    let manifest = fs::read(testdata().join(format!("manifest-{version}"))).unwrap();
    assert_eq!(manifest[8], version);
    fs::write(path.join("manifest"), manifest).unwrap();
}

/// A pseudorandom fingerprint (SplitMix64).
fn fingerprint(id: u64) -> u64 {
    Random(id.wrapping_mul(0x9E37_79B9_7F4A_7C15)).next()
}

pub(super) fn expected() -> Living {
    let ids = (0..60).filter(|id| ![3, 7].contains(id));
    ids.map(|id| (id, fingerprint(id))).collect()
}

#[test]
fn every_version_is_read_and_the_next_commit_binds_its_files() {
    for version in VERSIONS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        put(version, path);
        let read = read::<u64>(path).unwrap();
        assert!(read.settings.label.starts_with("tp1-words-lntf-64 "));
        assert_eq!((read.settings.radius, read.settings.codec), (3, Codec::Packed(DirectoryForm::Plain)));
        assert_eq!((read.checkpoint, read.tombstones, read.generation), (60, 2, 3));
        same(&read.snapshot, &expected()).unwrap();
        let checked = check::<u64>(path).unwrap();
        assert_eq!((checked.living, checked.segments), (58, 2));
        // A manifest of an early version binds no files.
        assert_eq!(checked.unbound, if version < 3 { 2 } else { 0 });
        let index = Index::<u64>::open(path, &options(8, Upkeep::FlushOnly, Unsynced)).unwrap();
        index.delete(59).unwrap();
        index.commit().unwrap();
        drop(index);
        assert_eq!(fs::read(path.join("manifest")).unwrap()[8], 3);
        let mut living = expected();
        living.remove(&59);
        same(&self::read(path).unwrap().snapshot, &living).unwrap();
        assert_eq!(check::<u64>(path).unwrap().unbound, 0);
    }
}

#[test]
fn after_the_next_commit_of_an_early_version_other_files_are_refused() {
    for name in ["00000001.seg", "00000002.del", "00000004.seg"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        put(2, path);
        let index = Index::<u64>::open(path, &options(8, Upkeep::FlushOnly, Unsynced)).unwrap();
        index.mark(61).unwrap();
        index.commit().unwrap();
        drop(index);
        let other = if name.ends_with("del") {
            tombstones::encode(&[3, 8])
        } else {
            let other = ["00000001.seg", "00000004.seg"];
            fs::read(testdata().join(other[usize::from(name == other[0])])).unwrap()
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

#[test]
fn a_compaction_binds_the_files_even_if_it_merges_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    create_from(path, &settings(), &Options::default(), |file| {
        let mut builder = Builder::new(file, &segment::Options::default())?;
        builder.push(7u64, 3)?;
        Ok::<_, StoreError>((builder.finish()?, 4))
    })
    .unwrap();
    let manifest = fs::read(path.join("manifest")).unwrap();
    fs::write(path.join("manifest"), as_version_2(&manifest)).unwrap();
    assert_eq!(check::<u64>(path).unwrap().unbound, 1);
    let open = || Index::<u64>::open(path, &options(8, Upkeep::FlushOnly, Unsynced)).unwrap();
    // A commit without changes does not add the missing digest to the manifest.
    open().commit().unwrap();
    assert_eq!(check::<u64>(path).unwrap().unbound, 1);
    open().compact().unwrap();
    let checked = check::<u64>(path).unwrap();
    assert_eq!((checked.unbound, checked.generation, checked.segments), (0, 2, 1));
    same(&read(path).unwrap().snapshot, &Living::<u64>::from([(3, 7)])).unwrap();
    // A second compaction changes nothing.
    open().compact().unwrap();
    assert_eq!(check::<u64>(path).unwrap(), checked);
}
