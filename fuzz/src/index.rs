//! What the targets of an index's own files do: an index of one segment is opened with a file in place of its manifest or its deleted ids,
//! as it is, and with a right checksum at its end, behind which the rest of the reader lies.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use twinprint::segment::{Codec, Scratch};
use twinprint::store::{Index, Options, Settings, Upkeep, check, read};

/// A small index and its two files.
struct Small {
    path: PathBuf,
    manifest: Vec<u8>,
    tombstones: (PathBuf, Vec<u8>),
}

fn small() -> &'static Small {
    static SMALL: OnceLock<Small> = OnceLock::new();
    SMALL.get_or_init(|| {
        let path = super::directory().join("index");
        let options = Options {
            upkeep: Upkeep::FlushOnly,
            ..Options::default()
        };
        let settings = Settings {
            radius: 3,
            codec: Codec::default(),
            label: "label".into(),
        };
        let index = Index::<u64>::create(&path, &settings, &options).expect("an index can be made");
        for id in 0..20 {
            index.add(id, id.wrapping_mul(0x9E37_79B9_7F4A_7C15)).expect("added");
        }
        index.commit().expect("committed");
        index.delete(7).expect("deleted");
        index.commit().expect("committed");
        let files = fs::read_dir(&path).expect("listed").map(|entry| entry.expect("listed").path());
        let tombstones = files.into_iter().find(|file| file.extension().is_some_and(|e| e == "del"));
        let tombstones = tombstones.expect("a deletion was committed");
        Small {
            manifest: fs::read(path.join("manifest")).expect("read"),
            tombstones: (tombstones.clone(), fs::read(&tombstones).expect("read")),
            path,
        }
    })
}

/// Opens the index with these bytes as its manifest or its deleted ids.
pub fn open_index(manifest: Option<&[u8]>, tombstones: Option<&[u8]>) {
    let small = small();
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
        // An error is an answer; what counts is that there is one, and that the check accepts nothing that answers do not.
        let checked = check::<u64>(&small.path);
        let answered = read::<u64>(&small.path).and_then(|committed| {
            let found = committed.snapshot.lookup(0, 9, &mut Scratch::default(), |_, _, _| {});
            found.map(|_| committed.snapshot.iter().filter(Result::is_ok).count())
        });
        if let Ok(checked) = checked {
            assert_eq!(answered.expect("the check accepts it") as u64, checked.living);
        }
    }
}
