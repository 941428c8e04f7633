//! The second pass: kept and removed records are copied byte for byte.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::corpus_files::{Inputs, Kind, Owned, packed, read_all, unpacked};
use proptest::prelude::*;
use twinprint_io::sink::{CopyCounts, RecordAction, SinkError, copy_records};
use twinprint_io::source::{Codec, SourceOptions, Sources};

const NAMES: [&str; 12] = [
    "a.jsonl",
    "a.jsonl.gz",
    "a.jsonl.zst",
    "a.jsonl.bz2",
    "a.jsonl.xz",
    "a.jsonl.lz4",
    "a.txt.bz2",
    "a.txt.xz",
    "a.txt.lz4",
    "a.txt",
    "a.txt.gz",
    "a.txt.zst",
];

/// The action for each record: documents are kept or removed by `pattern`, and rejects are rejected.
fn fates(records: &[Owned], pattern: &[bool]) -> Vec<RecordAction> {
    let records = records.iter().filter(|r| r.kind != Kind::Blank);
    let kept = pattern.iter().chain(std::iter::repeat(&true));
    records
        .zip(kept)
        .map(|(record, &kept)| match (&record.kind, kept) {
            (Kind::Rejected(_), _) => RecordAction::Reject,
            (_, true) => RecordAction::Keep,
            (_, false) => RecordAction::Remove,
        })
        .collect()
}

fn copy(sources: &Sources, fates: &[RecordAction], out: &Path) -> Result<CopyCounts, SinkError> {
    let read = RefCell::new(0);
    let written = copy_records(sources, &|o| fates[o as usize], out, &|bytes| {
        *read.borrow_mut() += bytes;
    })?;
    assert_eq!(read.into_inner(), sources.total_bytes());
    Ok(written)
}

/// The expected lines of both sides, by the rules of the module.
fn expected_sides(bytes: &[u8], records: &[Owned], fates: &[RecordAction]) -> (Vec<u8>, Vec<u8>) {
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    let mut fates = fates.iter();
    let lines = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(lines) => {
            for side in [&mut kept, &mut removed] {
                side.extend_from_slice(b"\xef\xbb\xbf");
            }
            lines
        }
        None => bytes,
    };
    for (line, record) in lines.split_inclusive(|&b| b == b'\n').zip(records) {
        let fate = if record.kind == Kind::Blank {
            &RecordAction::Keep
        } else {
            fates.next().expect("a fate")
        };
        let side = match fate {
            RecordAction::Keep => &mut kept,
            RecordAction::Remove => &mut removed,
            RecordAction::Reject | RecordAction::Annotate => continue,
        };
        side.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            side.push(b'\n');
        }
    }
    (kept, removed)
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => "[a-z]{0,20}".prop_map(|t| format!("{{\"text\":\"{t}\"}}").into_bytes()),
        1 => "[a-z]{0,200}".prop_map(|t| format!("{{\"text\":\"{t}\"}}").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => "[ \t]{0,2}\r?".prop_map(String::into_bytes),
    ];
    (prop::collection::vec(line, 0..30), any::<bool>(), any::<bool>()).prop_map(|(lines, mark, end)| {
        let mut bytes = if mark {
            b"\xef\xbb\xbf".to_vec()
        } else {
            Vec::new()
        };
        bytes.extend(lines.join(&b'\n'));
        if end {
            bytes.push(b'\n');
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn kept_and_removed_are_the_input_for_every_codec(
        bytes in content(), name in prop::sample::select(&NAMES[..]),
        pattern in prop::collection::vec(any::<bool>(), 0..30), max in prop_oneof![Just(40u64), Just(1 << 20)],
    ) {
        let inputs = Inputs::new();
        let path = inputs.put(name, &bytes);
        let options = SourceOptions { lines: true, max_document: max, ..SourceOptions::default() };
        let sources = inputs.find(&[&path], &options).expect("found");
        let records = read_all(&sources, 1 << 20);
        let fates = fates(&records, &pattern);
        let out = inputs.sibling("out");
        let written = copy(&sources, &fates, &out).expect("copied");
        let (kept, removed) = expected_sides(&bytes, &records, &fates);
        prop_assert_eq!(unpacked(&out.join("kept").join(name)), Some(kept));
        let has_removed = fates.contains(&RecordAction::Remove);
        prop_assert_eq!(unpacked(&out.join("removed").join(name)), has_removed.then_some(removed));
        let count = |fate| fates.iter().filter(|&&f| f == fate).count() as u64;
        prop_assert_eq!((written.kept_records, written.removed_records), (count(RecordAction::Keep), count(RecordAction::Remove)));
    }
}

#[test]
fn outputs_are_byte_identical_in_every_run() {
    for name in NAMES {
        let inputs = Inputs::new();
        let bytes: Vec<u8> = (0..40_000)
            .flat_map(|i| format!("{{\"text\":\"{i}\"}}\n").into_bytes())
            .collect();
        let path = inputs.put(name, bytes);
        let options = SourceOptions {
            lines: true,
            ..SourceOptions::default()
        };
        let sources = inputs.find(&[&path], &options).expect("found");
        read_all(&sources, 1 << 16);
        let fate = |o| {
            if o % 3 == 0 {
                RecordAction::Remove
            } else {
                RecordAction::Keep
            }
        };
        let outs = ["one", "two"].map(|out| {
            let out = inputs.sibling(out);
            copy_records(&sources, &fate, &out, &|_| {}).expect("copied");
            ["kept", "removed"].map(|side| fs::read(out.join(side).join(name)).expect("read"))
        });
        assert_eq!(outs[0], outs[1]);
        if sources.list()[0].codec == Codec::Gzip {
            assert_eq!(outs[0][0][4..8], [0; 4], "the gzip header has a time");
        }
    }
}

#[test]
fn whole_files_are_copied_unchanged_with_their_paths() {
    let inputs = Inputs::new();
    let names = [
        "a.txt",
        "deep/er/b.md.gz",
        "deep/c.txt.zst",
        "d.jsonl",
        "empty.jsonl",
        "z.txt",
    ];
    for name in names {
        inputs.put(
            name,
            if name == "empty.jsonl" {
                ""
            } else {
                "{\"text\":\"x\"}\nsecond"
            },
        );
    }
    let sources = inputs
        .find(&[&inputs.path("")], &SourceOptions::default())
        .expect("found");
    let records = read_all(&sources, 1 << 20);
    assert_eq!(records.len(), 6);
    let out = inputs.sibling("out");
    // In order: a.txt, d.jsonl (a document and a reject), deep/c, deep/er/b, z.txt.
    let fates = [
        RecordAction::Keep,
        RecordAction::Remove,
        RecordAction::Reject,
        RecordAction::Keep,
        RecordAction::Remove,
        RecordAction::Reject,
    ];
    let written = copy(&sources, &fates, &out).expect("copied");
    assert_eq!((written.kept_records, written.removed_records), (2, 2));
    for (output, input) in [
        ("kept/a.txt", "a.txt"),
        ("kept/deep/c.txt.zst", "deep/c.txt.zst"),
        ("removed/deep/er/b.md.gz", "deep/er/b.md.gz"),
    ] {
        assert_eq!(
            fs::read(out.join(output)).expect("copied"),
            fs::read(inputs.path(input)).expect("read")
        );
    }
    assert_eq!(fs::read(out.join("kept/d.jsonl")).expect("there"), b"");
    assert_eq!(fs::read(out.join("kept/empty.jsonl")).expect("there"), b"");
    assert_eq!(
        fs::read(out.join("removed/d.jsonl")).expect("there"),
        b"{\"text\":\"x\"}\n"
    );
    for absent in [
        "removed/empty.jsonl",
        "removed/a.txt",
        "kept/z.txt",
        "removed/z.txt",
        "kept/deep/er",
    ] {
        assert!(!out.join(absent).exists(), "{absent}");
    }
}

#[test]
fn a_truncated_stream_is_copied_up_to_the_cut() {
    for codec in ["gz", "zst"] {
        let inputs = Inputs::new();
        let name = format!("a.jsonl.{codec}");
        let bytes: Vec<u8> = (0..60_000u64)
            .flat_map(|i| format!("{{\"text\":\"{}\"}}\n", i * i).into_bytes())
            .collect();
        let compressed = packed(&name, &bytes);
        let path = inputs.put_raw(&name, &compressed[..compressed.len() - 7]);
        let sources = inputs.find(&[&path], &SourceOptions::default()).expect("found");
        let records = read_all(&sources, 1 << 16);
        let fates = fates(&records, &[]);
        let out = inputs.sibling("out");
        let written = copy(&sources, &fates, &out).expect("copied");
        assert_eq!(written.kept_records, records.len() as u64 - 1);
        let kept = unpacked(&out.join("kept").join(&name)).expect("kept");
        assert!(kept.len() > 1000 && bytes.starts_with(&kept) && kept.ends_with(b"\n"));
    }
}

#[test]
fn inputs_that_changed_between_the_passes_are_named() {
    let line = "{\"text\":\"x\"}\n";
    for name in ["a.jsonl", "a.txt", "a.jsonl.gz"] {
        type Change = fn(&Path);
        let changes: [Change; 4] = [
            |path| fs::remove_file(path).expect("removed"),
            |path| fs::write(path, "{\"text\":\"longer than it was\"}\n".repeat(3)).expect("written"),
            |path| {
                // The same length with another modification time.
                let file = fs::File::options().write(true).open(path).expect("opened");
                file.set_modified(std::time::UNIX_EPOCH).expect("set");
            },
            |path| fs::write(path, "").expect("written"),
        ];
        for change in changes {
            let inputs = Inputs::new();
            let path = inputs.put(name, line.repeat(2));
            let sources = inputs.find(&[&path], &SourceOptions::default()).expect("found");
            let records = read_all(&sources, 1 << 20);
            change(Path::new(&path));
            let out = inputs.sibling("out");
            // The closure panics if it is called for a record that did not exist.
            let fates = fates(&records, &[]);
            let error = copy_records(&sources, &|o| fates[o as usize], &out, &|_| {}).expect_err("changed");
            assert!(
                matches!(&error, SinkError::Changed { label, .. } if *label == path),
                "{error}"
            );
            assert!(!out.join("kept").join(name).exists());
        }
    }
}

#[test]
fn inputs_of_one_name_do_not_collide() {
    let inputs = Inputs::new();
    let (a, b) = (
        inputs.put("a/x.jsonl", "{\"text\":\"1\"}\n"),
        inputs.put("b/x.jsonl", "{\"text\":\"2\"}\n"),
    );
    let other = inputs.put("other.txt", "3");
    let sources = inputs
        .find(&[&a, &b, &other], &SourceOptions::default())
        .expect("found");
    let records = read_all(&sources, 1 << 20);
    let out = inputs.sibling("out");
    copy(&sources, &fates(&records, &[]), &out).expect("copied");
    assert_eq!(
        fs::read(out.join("kept/1/x.jsonl")).expect("kept"),
        b"{\"text\":\"1\"}\n"
    );
    assert_eq!(
        fs::read(out.join("kept/2/x.jsonl")).expect("kept"),
        b"{\"text\":\"2\"}\n"
    );
    assert_eq!(fs::read(out.join("kept/3/other.txt")).expect("kept"), b"3");
}

#[test]
fn cancelling_stops_both_passes() {
    let inputs = Inputs::new();
    let path = inputs.put("a.jsonl", "{\"text\":\"1\"}\n");
    let cancel = Arc::new(AtomicBool::new(false));
    let found = Sources::discover_cancellable(
        &[path],
        &SourceOptions::default(),
        &inputs.sibling("work"),
        Arc::clone(&cancel),
    );
    let sources = found.expect("found");
    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(sources.read(1).next().expect("an answer").is_err());
    let copied = copy_records(&sources, &|_| RecordAction::Keep, &inputs.sibling("out"), &|_| {});
    assert!(matches!(copied, Err(SinkError::Cancelled)));
}

#[test]
fn the_limit_applies_to_the_second_pass() {
    let inputs = Inputs::new();
    let a = inputs.put("a.jsonl", "{\"text\":\"1\"}\n{\"text\":\"2\"}\n");
    let b = inputs.put("b.jsonl", "{\"text\":\"3\"}\n");
    let options = SourceOptions {
        limit: Some(1),
        ..SourceOptions::default()
    };
    let sources = inputs.find(&[&a, &b], &options).expect("found");
    read_all(&sources, 1 << 20);
    let out = inputs.sibling("out");
    copy_records(&sources, &|_| RecordAction::Keep, &out, &|_| {}).expect("copied");
    assert_eq!(
        fs::read(out.join("kept/a.jsonl")).expect("kept"),
        b"{\"text\":\"1\"}\n"
    );
    assert!(!out.join("kept/b.jsonl").exists());
}
