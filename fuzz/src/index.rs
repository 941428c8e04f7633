//! The targets for the manifest and the deleted ids of an index. Indexes of two segments, one for each width, are opened with the input in
//! place of their manifest or their deleted ids: once unchanged, and once with a correct checksum at its end, without which most of the reader
//! is never reached. Their manifests are of version 2, which has no digests. Digests would refuse every other file of deleted ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use twinprint::Width;
use twinprint::segment::Scratch;
use twinprint::store::{check, read};

/// A small index, its manifest and its file of deleted ids.
struct SmallIndex {
    path: PathBuf,
    manifest: Vec<u8>,
    tombstones: (PathBuf, Vec<u8>),
}

/// The bytes of a manifest before its label, and the position of the label's length.
const FIXED: usize = 68;
const LABEL_LENGTH: usize = 20;
/// The length of a segment's entry in a manifest, with its digests at the end, and without them.
const ENTRY: usize = 88;
const ENTRY_WITHOUT_DIGESTS: usize = 56;

/// Converts a manifest of version 3 to version 2.
fn without_digests(manifest: &[u8]) -> Vec<u8> {
    let label = u32::from_le_bytes(*manifest[LABEL_LENGTH..].first_chunk().expect("long enough"));
    let (before, entries) = manifest[..manifest.len() - 4].split_at(FIXED + label as usize);
    let mut out = before.to_vec();
    out[8] = 2;
    for entry in entries.chunks_exact(ENTRY) {
        out.extend(&entry[..ENTRY_WITHOUT_DIGESTS]);
    }
    let sum = crc32fast::hash(&out);
    out.extend(sum.to_le_bytes());
    out
}

/// The small index of a width.
fn small_index<W: Width>() -> &'static SmallIndex {
    static SMALL: [OnceLock<SmallIndex>; 3] = [const { OnceLock::new() }; 3];
    SMALL[W::BITS.ilog2() as usize - 5].get_or_init(|| {
        let name = format!("index-{}", W::BITS);
        let path = super::directory().join(&name);
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../crates/index/testdata")
            .join(name);
        fs::create_dir_all(&path).expect("made");
        for name in ["00000001.seg", "00000002.del", "00000004.seg"] {
            fs::copy(testdata.join(name), path.join(name)).expect("copied");
        }
        let tombstones = path.join("00000002.del");
        SmallIndex {
            manifest: without_digests(&fs::read(testdata.join("manifest-3")).expect("read")),
            tombstones: (tombstones.clone(), fs::read(&tombstones).expect("read")),
            path,
        }
    })
}

/// Opens an index with names, with these bytes as its file of names, and as its manifest: unchanged, and with a correct checksum.
pub fn open_names(bytes: &[u8]) {
    static NAMED: OnceLock<PathBuf> = OnceLock::new();
    let path = NAMED.get_or_init(|| {
        let path = super::directory().join("named");
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/index/testdata/named-64");
        fs::create_dir_all(&path).expect("made");
        for entry in fs::read_dir(testdata).expect("read") {
            let file = entry.expect("listed").path();
            fs::copy(&file, path.join(file.file_name().expect("a file"))).expect("copied");
        }
        path
    });
    let mut sealed = bytes.to_vec();
    if let Some(body) = sealed.len().checked_sub(4) {
        let sum = crc32fast::hash(&sealed[..body]);
        sealed[body..].copy_from_slice(&sum.to_le_bytes());
    }
    for name in ["00000003.names", "manifest"] {
        let file = path.join(name);
        let intact = fs::read(&file).expect("read");
        for bytes in [bytes, &sealed] {
            fs::write(&file, bytes).expect("written");
            let checked = check::<u64>(path);
            if let Ok(committed) = read::<u64>(path) {
                let names = committed.names.as_ref();
                let count = names.map(|names| names.iter().count() as u64);
                assert_eq!(count, names.map(|names| names.len()));
                assert!(names.is_none_or(|names| (0..names.len()).all(|id| names.get(id).is_some())));
            } else {
                assert!(checked.is_err());
            }
        }
        fs::write(&file, intact).expect("written");
    }
}

/// Opens the index of each width with these bytes as its manifest or its deleted ids.
pub fn open_index(manifest: Option<&[u8]>, tombstones: Option<&[u8]>) {
    open_at::<u32>(manifest, tombstones);
    open_at::<u64>(manifest, tombstones);
    open_at::<u128>(manifest, tombstones);
}

fn open_at<W: Width>(manifest: Option<&[u8]>, tombstones: Option<&[u8]>) {
    let small = small_index::<W>();
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
        let checked = check::<W>(&small.path);
        let answered = read::<W>(&small.path).and_then(|committed| {
            let found = committed
                .snapshot
                .lookup(W::default(), 9, &mut Scratch::default(), |_, _, _| {});
            found.map(|_| committed.snapshot.iter().filter(Result::is_ok).count())
        });
        if let Ok(checked) = checked {
            assert_eq!(answered.expect("the check accepts it") as u64, checked.living);
        }
    }
}
