//! What the target of journals does: a build that was interrupted is gone on with by a journal, as it is, and with right checksums, behind
//! which the rest of the reader lies. The build is that of `crates/index/testdata/journal-1-64.resume`.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use twinprint::segment::{Builder, Interrupted, Resumable, Options, ProgressCallback, unfinished};

/// Bytes under one checksum.
const SECTOR: usize = 4096;
/// Bytes before the parts of a journal.
const FIXED: usize = 48;
/// Fingerprints.
const N: u64 = 60;

/// A build that was interrupted after its first table.
struct Small {
    path: PathBuf,
    options: Options,
    /// The file so far.
    file: Vec<u8>,
}

fn small() -> &'static Small {
    static SMALL: OnceLock<Small> = OnceLock::new();
    SMALL.get_or_init(|| {
        let path = super::directory().join("journal.seg");
        let options = Options {
            address_bits: vec![5, 5],
            resume: Some(b"sample".to_vec()),
            ..Options::default()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (set, told) = (Arc::clone(&stop), AtomicU64::new(0));
        let stopping = Options {
            stop: Some(stop),
            written: Some(ProgressCallback::new(move |rows| {
                if told.fetch_add(rows, Ordering::Relaxed) + rows > N {
                    set.store(true, Ordering::Relaxed);
                }
            })),
            ..options.clone()
        };
        let mut builder = Builder::<u64>::new(&path, &stopping).expect("it can begin");
        for id in 0..N {
            builder.push(id.wrapping_mul(0x9E37_79B9_7F4A_7C15), id).expect("pushed");
        }
        builder.note(b"notes".to_vec());
        builder.finish().expect_err("it was told to stop");
        let [file, _] = unfinished(&path);
        Small {
            file: fs::read(file).expect("read"),
            path,
            options,
        }
    })
}

/// Goes on by a journal.
pub fn go_on(bytes: &[u8]) {
    let small = small();
    let [file, journal] = unfinished(&small.path);
    for bytes in [Some(bytes.to_vec()), with_right_sums(bytes, &small.file)].into_iter().flatten() {
        fs::write(&file, &small.file).expect("written");
        fs::write(&journal, bytes).expect("written");
        // An error is an answer; what counts is that there is one.
        if let Ok(Resumable::Tables(interrupted)) = Interrupted::<u64>::find(&small.path, &small.options) {
            let _finished = interrupted.finish();
        }
    }
}

/// The journal with the checksums of the file that it tells of, and its own.
fn with_right_sums(bytes: &[u8], file: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let mut end = FIXED;
    for at in [24, 32, 40] {
        end = end.checked_add(usize::try_from(number(at)?).ok()?)?;
    }
    let kept = file.get(..usize::try_from(number(16)?).ok()?)?;
    let mut out = bytes.get(..end)?.to_vec();
    for sector in kept.chunks(SECTOR) {
        out.extend(crc32fast::hash(sector).to_le_bytes());
    }
    let sum = crc32fast::hash(&out);
    out.extend(sum.to_le_bytes());
    Some(out)
}
