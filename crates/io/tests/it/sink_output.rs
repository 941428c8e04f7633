//! The output directory and its files.

use std::fs;
use std::io::{ErrorKind, Write};

use crate::faulty::Faulty;
use proptest::prelude::*;
use twinprint_io::sink::{OutputDir, SinkError};

#[test]
fn only_a_new_or_empty_directory_is_accepted() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(OutputDir::create(dir.path()).is_ok());
    let new = dir.path().join("a/b");
    assert!(OutputDir::create(&new).is_ok() && new.is_dir());
    let error = OutputDir::create(dir.path()).expect_err("not empty now");
    assert!(
        matches!(&error, SinkError::NotEmpty { path } if path == dir.path()),
        "{error}"
    );
    let file = dir.path().join("file");
    fs::write(&file, "").expect("written");
    assert!(matches!(
        OutputDir::create(&file),
        Err(SinkError::NotADirectory { .. })
    ));
    assert!(matches!(
        OutputDir::create(&file.join("below")),
        Err(SinkError::NotADirectory { .. } | SinkError::Io { .. })
    ));
    assert!(OutputDir::open(dir.path()).is_ok());
}

#[test]
fn a_file_appears_when_it_is_complete() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = OutputDir::create(dir.path()).expect("made");
    let mut file = out.file("deep/er/rows.jsonl").expect("begun");
    file.append(b"one\n").expect("written");
    writeln!(file, "two").expect("written");
    file.flush().expect("flushed");
    let path = dir.path().join("deep/er/rows.jsonl");
    assert!(!path.exists());
    assert_eq!(file.finish().expect("finished"), 8);
    assert_eq!(fs::read(&path).expect("read"), b"one\ntwo\n");
    let mut durable = out.file("durable").expect("begun");
    durable.append(&vec![7; 300_000]).expect("written");
    assert_eq!(durable.finish_durable().expect("finished"), 300_000);
    assert_eq!(out.written(), 300_008);
    drop(out.file("deep/er/dropped").expect("begun"));
    assert_eq!(
        fs::read_dir(dir.path().join("deep/er")).expect("listed").count(),
        1
    );
}

#[test]
fn paths_outside_the_directory_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = OutputDir::create(dir.path()).expect("made");
    for path in ["/etc/x", "../x", "a/../../x", "", "."] {
        assert!(
            matches!(out.file(path), Err(SinkError::Outside { .. })),
            "{path:?}"
        );
    }
}

#[test]
fn files_with_the_longest_names_can_be_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = OutputDir::create(dir.path()).expect("made");
    let name = "n".repeat(255);
    out.file(&name).expect("begun").finish().expect("finished");
    assert!(dir.path().join(name).exists());
}

#[test]
fn a_full_disk_is_reported_with_the_file_and_the_bytes_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let out =
        OutputDir::create_on(dir.path(), Faulty::after_bytes(200_000, ErrorKind::StorageFull)).expect("made");
    out.expect_bytes(400_000);
    let mut file = out.file("kept/a.jsonl").expect("begun");
    let error = (0..4).find_map(|_| {
        file.append(&vec![0; 130_000])
            .and_then(|()| file.append(&vec![0; 140_000]))
            .err()
    });
    let error = error.expect("full").to_string();
    for part in [
        "kept/a.jsonl",
        "the disk is full",
        "130000 of at most 400000 bytes of the output were written",
        "choose another",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(matches!(
        file.append(b"more, which does not fit the buffer any more")
            .and_then(|()| file.finish().map(|_| ())),
        Err(SinkError::GivenUp { .. })
    ));
    assert_eq!(fs::read_dir(dir.path().join("kept")).expect("listed").count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_finished_file_contains_the_appended_bytes(parts in prop::collection::vec(0usize..200_000, 0..8), room in 0u64..900_000) {
        let dir = tempfile::tempdir().expect("a directory");
        let out = OutputDir::create_on(dir.path(), Faulty::after_bytes(room, ErrorKind::Other)).expect("made");
        let mut file = out.file("a").expect("begun");
        let mut expected = Vec::new();
        let mut result = Ok(());
        for (i, &part) in parts.iter().enumerate() {
            let bytes = vec![i as u8; part];
            expected.extend_from_slice(&bytes);
            result = result.and_then(|()| file.append(&bytes));
        }
        let finished = result.and_then(|()| file.finish());
        prop_assert_eq!(finished.is_ok(), expected.len() as u64 <= room);
        prop_assert_eq!(fs::read(dir.path().join("a")).ok(), finished.is_ok().then_some(expected));
        prop_assert!(fs::read_dir(dir.path()).expect("listed").count() <= 1);
    }
}
