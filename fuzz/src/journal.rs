//! The target for journals. An interrupted build is resumed with the input as its journal: once unchanged, and once with correct checksums,
//! without which most of the reader is never reached. There is a build for each width, that of `crates/index/testdata/journal-1-BITS.resume`.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use twinprint::Width;
use twinprint::segment::{Builder, Interrupted, Options, ProgressCallback, Resumable, unfinished};

/// Bytes under one checksum.
const SECTOR: usize = 4096;
/// Bytes before the parts of a journal.
const FIXED: usize = 48;
/// Fingerprints.
const N: u64 = 60;

/// A build that was interrupted after its first table.
struct InterruptedBuild {
    path: PathBuf,
    options: Options,
    /// The unfinished segment file.
    file: Vec<u8>,
}

fn interrupted_build<W: Width>() -> &'static InterruptedBuild {
    static SMALL: [OnceLock<InterruptedBuild>; 3] = [const { OnceLock::new() }; 3];
    SMALL[W::BITS.ilog2() as usize - 5].get_or_init(|| {
        let path = super::directory().join(format!("journal-{}.seg", W::BITS));
        let options = Options {
            address_bits: vec![5, 5],
            resume: Some(b"sample".to_vec()),
            ..Options::default()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (set, written_rows) = (Arc::clone(&stop), AtomicU64::new(0));
        let stopping = Options {
            stop: Some(stop),
            written: Some(ProgressCallback::new(move |rows| {
                if written_rows.fetch_add(rows, Ordering::Relaxed) + rows > N {
                    set.store(true, Ordering::Relaxed);
                }
            })),
            ..options.clone()
        };
        let mut builder = Builder::<W>::new(&path, &stopping).expect("it can begin");
        for id in 0..N {
            builder
                .push(W::truncate(id.wrapping_mul(0x9E37_79B9_7F4A_7C15).into()), id)
                .expect("pushed");
        }
        builder.note(b"notes".to_vec());
        builder.finish().expect_err("it was stopped");
        let [file, _] = unfinished(&path);
        InterruptedBuild {
            file: fs::read(file).expect("read"),
            path,
            options,
        }
    })
}

/// Resumes the build of each width with these bytes as its journal.
pub fn resume_build(bytes: &[u8]) {
    resume_at::<u32>(bytes);
    resume_at::<u64>(bytes);
    resume_at::<u128>(bytes);
}

fn resume_at<W: Width>(bytes: &[u8]) {
    let small = interrupted_build::<W>();
    let [file, journal] = unfinished(&small.path);
    for bytes in [Some(bytes.to_vec()), with_correct_checksums(bytes, &small.file)]
        .into_iter()
        .flatten()
    {
        fs::write(&file, &small.file).expect("written");
        fs::write(&journal, bytes).expect("written");
        // An error is a valid result; only a panic is not.
        if let Ok(Resumable::Tables(interrupted)) = Interrupted::<W>::find(&small.path, &small.options) {
            let _finished = interrupted.finish();
        }
    }
}

/// Returns the journal with the checksums of the unfinished file, and its own.
fn with_correct_checksums(bytes: &[u8], file: &[u8]) -> Option<Vec<u8>> {
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
