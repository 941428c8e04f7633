//! Copies to a disk that is full or fails.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::corpus_files::{Inputs, read_all};
use crate::faulty::Faulty;
use twinprint_io::sink::{OutputDir, RecordAction, SinkError, copy_records, copy_records_to};
use twinprint_io::source::SourceOptions;

/// Copies once for each point of failure, and checks the error and the remaining files.
fn fail_copies(storage: impl Fn(u64) -> Faulty, points: impl Iterator<Item = u64>, kind: ErrorKind) {
    let inputs = Inputs::new();
    let body: Vec<_> = (0..2_000)
        .map(|i| {
            format!(
                "{{\"text\":\"{}\"}}
",
                i * 7919 % 4_001
            )
        })
        .collect();
    let body = body.concat();
    for name in ["a.jsonl", "b.jsonl.gz", "c.jsonl.zst", "d.txt", "e/f.txt"] {
        inputs.put(name, &body);
    }
    let sources = inputs
        .find(&[&inputs.path("")], &SourceOptions::default())
        .expect("found");
    read_all(&sources, 1 << 20);
    let fate = |o| {
        if o % 2 == 0 {
            RecordAction::Keep
        } else {
            RecordAction::Remove
        }
    };
    let good = inputs.sibling("good");
    copy_records(&sources, &fate, &good, &|_| {}).expect("copied");
    let mut failures = 0;
    for point in points {
        let root = inputs.sibling("out");
        let copied = OutputDir::create_on(&root, storage(point))
            .and_then(|out| copy_records_to(&sources, &fate, &out, &|_| {}));
        if let Err(error) = copied {
            failures += 1;
            match (&error, kind) {
                (SinkError::NoSpace { path, expected, .. }, ErrorKind::StorageFull) => {
                    assert!(path.starts_with(&root) && !path.to_string_lossy().contains("partial"));
                    assert!(expected.is_none_or(|bytes| bytes == sources.total_bytes()));
                }
                (SinkError::Io { path, source, .. }, _) => {
                    assert!(path.starts_with(&root) && source.kind() == kind);
                }
                other => panic!("{other:?}"),
            }
        }
        for file in files_below(&root) {
            let name = file.strip_prefix(&root).expect("below");
            assert_eq!(
                fs::read(&file).expect("read"),
                fs::read(good.join(name)).expect("a finished file"),
                "{}",
                name.display()
            );
        }
        if root.exists() {
            fs::remove_dir_all(&root).expect("removed");
        }
    }
    assert!(failures > 5, "{failures}");
}

fn files_below(root: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    let paths = entries.map(|e| e.expect("an entry").path());
    paths
        .flat_map(|p| if p.is_dir() { files_below(&p) } else { vec![p] })
        .collect()
}

#[test]
fn a_full_or_failing_disk_is_an_error_and_leaves_no_incomplete_file() {
    for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
        fail_copies(
            |n| Faulty::after_bytes(n, kind),
            (0..150_000).step_by(4_999),
            kind,
        );
        fail_copies(|n| Faulty::after_operations(n, kind), 0..30, kind);
    }
}
