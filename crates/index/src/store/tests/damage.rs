//! Damaged files.

use std::fs;
use std::path::Path;

use super::*;

/// A small index with several segments and tombstones. Returns its live fingerprints.
fn index<W: Width>(path: &Path) -> Living<W> {
    let index = Index::create(path, &settings(), &options(8, Upkeep::FlushOnly, Unsynced)).unwrap();
    let changes = changes(30, 3);
    for (i, &change) in changes.iter().enumerate() {
        apply(&index, change, i + 1).unwrap();
    }
    index.commit().unwrap();
    assert!(index.snapshot().segments().count() >= 2);
    living(&changes)
}

/// Checks that results are correct or that an error names the file. Returns whether there was an error.
fn is_refused<W: Width>(path: &Path, file: &str, living: &Living<W>) -> bool {
    let outcome = read::<W>(path).and_then(|committed| same(&committed.snapshot, living));
    let checked = check::<W>(path);
    let named =
        |error: &StoreError| error.to_string().contains(file) || error.to_string().contains("manifest");
    if let Err(error) = &outcome {
        assert!(named(error), "{file}: {error}");
        // An index that cannot be read is not opened for writing, and its files stay unchanged.
        let opened = Index::<W>::open(path, &options(8, Upkeep::FlushOnly, Unsynced));
        let outcome = opened.and_then(|index| same(&index.snapshot(), living));
        assert!(outcome.is_err());
    }
    match checked {
        Err(error) => assert!(named(&error), "{file}: {error}"),
        Ok(_) => assert!(outcome.is_ok(), "{file}: the check succeeds, but reading fails"),
    }
    outcome.is_err()
}

/// Damages every byte of the small files of an index, and some bytes of its segments. The tests of segments damage all of
/// their bytes.
fn every_flipped_byte_and_every_truncation_gives_correct_results_or_names_the_file<W: Width>() {
    let segment_step = if W::BITS == 64 { 13 } else { 61 };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let living = index::<W>(path);
    let mut seen = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&file).unwrap();
        if name == "lock" {
            continue;
        }
        let is_segment = file.extension().is_some_and(|ending| ending == "seg");
        let step = if is_segment { segment_step } else { 1 };
        let (mut errors, mut damages) = (0, 0);
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&file, &damaged).unwrap();
            damages += 1;
            errors += usize::from(is_refused(path, &name, &living));
            fs::write(&file, &bytes[..at]).unwrap();
            assert!(is_refused(path, &name, &living), "{name} cut to {at} bytes");
        }
        if !is_segment {
            assert_eq!(errors, damages, "{name}: a byte is not covered by a checksum");
        }
        fs::remove_file(&file).unwrap();
        assert!(is_refused(path, &name, &living), "{name} is missing");
        fs::write(&file, &bytes).unwrap();
        same(&read(path).unwrap().snapshot, &living).unwrap();
        seen.push(name);
    }
    for ending in ["manifest", ".seg", ".del"] {
        assert!(seen.iter().any(|name| name.ends_with(ending)), "{seen:?}");
    }
}

at_every_width! {
    every_flipped_byte_and_every_truncation_gives_correct_results_or_names_the_file
}
