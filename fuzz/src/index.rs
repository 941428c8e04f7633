//! The targets for the manifest and the deleted ids of an index. An index of two segments, in version 2 of the format, is opened with the input
//! in place of its manifest or its deleted ids: once unchanged, and once with a correct checksum at its end, without which most of the reader
//! is never reached. A manifest of that version has no digests, which would refuse every other file of deleted ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use twinprint::segment::Scratch;
use twinprint::store::{check, read};

/// A small index, its manifest and its file of deleted ids.
struct SmallIndex {
    path: PathBuf,
    manifest: Vec<u8>,
    tombstones: (PathBuf, Vec<u8>),
}

fn small_index() -> &'static SmallIndex {
    static SMALL: OnceLock<SmallIndex> = OnceLock::new();
    SMALL.get_or_init(|| {
        let path = super::directory().join("index");
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/index/testdata/index-64");
        fs::create_dir_all(&path).expect("made");
        for name in ["00000001.seg", "00000002.del", "00000004.seg"] {
            fs::copy(testdata.join(name), path.join(name)).expect("copied");
        }
        let tombstones = path.join("00000002.del");
        SmallIndex {
            manifest: fs::read(testdata.join("manifest-2")).expect("read"),
            tombstones: (tombstones.clone(), fs::read(&tombstones).expect("read")),
            path,
        }
    })
}

/// Opens the index with these bytes as its manifest or its deleted ids.
pub fn open_index(manifest: Option<&[u8]>, tombstones: Option<&[u8]>) {
    let small = small_index();
    for right_checksum in [false, true] {
        let bytes = |given: Option<&[u8]>, own: &[u8]| {
            let mut bytes = given.unwrap_or(own).to_vec();
            if let (true, Some(body)) = (right_checksum && given.is_some(), bytes.len().checked_sub(4)) {
                let sum = crc32fast::hash(&bytes[..body]);
                bytes[body..].copy_from_slice(&sum.to_le_bytes());
            }
            bytes
        };
        fs::write(small.path.join("manifest"), bytes(manifest, &small.manifest)).expect("written");
        fs::write(&small.tombstones.0, bytes(tombstones, &small.tombstones.1)).expect("written");
        // An error is a valid result. If the check accepts the index, lookups must succeed.
        let checked = check::<u64>(&small.path);
        let answered = read::<u64>(&small.path).and_then(|committed| {
            let found = committed
                .snapshot
                .lookup(0, 9, &mut Scratch::default(), |_, _, _| {});
            found.map(|_| committed.snapshot.iter().filter(Result::is_ok).count())
        });
        if let Ok(checked) = checked {
            assert_eq!(answered.expect("the check accepts it") as u64, checked.living);
        }
    }
}
