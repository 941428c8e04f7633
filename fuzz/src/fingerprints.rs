//! The target for files of fingerprints, which `index build` and `index add` read. The bytes are a table, a file of integers of each width, and
//! a compressed one.
//!
//! Reading must not panic, and must yield as many fingerprints and ids as the file declares.

use std::path::Path;

use twinprint::Width;
use twinprint::raw::{Ids, RawError, RawFiles};

/// Reads `bytes` as a file of fingerprints of every format and width.
pub fn read_fingerprints(bytes: &[u8]) {
    // The decoder of tables may panic on damaged files. The reader catches that.
    super::remove_panic_hook();
    for name in ["a.parquet", "a.u32", "a.u64", "a.u128", "a.u32.gz", "a.u64.zst"] {
        let path = super::put(name, bytes);
        for ids in [Ids::Own, Ids::Positions, Ids::File(path.with_file_name("a.u64"))] {
            read(&path, &ids);
        }
    }
}

fn read(path: &Path, ids: &Ids) {
    // An error is a valid result.
    let Ok(files) = RawFiles::open(&[path.to_owned()], ids) else {
        return;
    };
    match files.bits() {
        32 => read_at::<u32>(&files),
        64 => read_at::<u64>(&files),
        128 => read_at::<u128>(&files),
        bits => panic!("a file of fingerprints of {bits} bits is accepted"),
    }
}

fn read_at<W: Width>(files: &RawFiles) {
    let mut count = 0;
    let read = files.read(7, |fingerprints: &[W], ids| {
        assert_eq!(fingerprints.len(), ids.len());
        if !files.has_ids() {
            assert_eq!(ids.first(), Some(&(7 + count)));
        }
        count += fingerprints.len() as u64;
        Ok::<_, RawError>(())
    });
    if read.is_ok() {
        assert_eq!(count, files.len());
    }
}
