//! Looks for a member of gzip that begins a record of a web archive.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use flate2::bufread::GzDecoder;
use memchr::memmem;

use crate::source::warc::{begins_record, blank_before};

/// The beginning of a member: its magic number, and deflate as its method.
const MAGIC: &[u8] = b"\x1f\x8b\x08";
/// Bytes looked through at a time.
const WINDOW: usize = 256 << 10;
/// Bytes that a member takes at most up to the first bytes of its content.
const BEGINNING: usize = 4 << 10;
/// Bytes unpacked of a candidate.
const UNPACKED: usize = 64;
/// Candidates tried at most, so that a file full of magic numbers does not take for ever.
const CANDIDATES: usize = 100_000;
/// Most bytes that are read again.
const AGAIN: u64 = 64 << 20;

/// A member found.
pub(super) struct Found {
    /// Where it begins in the file.
    pub(super) at: u64,
    /// The bytes from there to the end of those read before.
    pub(super) again: Vec<u8>,
}

/// The first member that begins at `read.start` or behind it and holds a record, in a file that was read to `read.end`.
pub(super) fn next_record_member(path: &Path, read: Range<u64>) -> io::Result<Option<Found>> {
    let mut file = File::open(path)?;
    let Some(at) = find(&mut file, read.start)? else {
        return Ok(None);
    };
    let length = read.end.saturating_sub(at);
    if length > AGAIN {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(at))?;
    let mut again = Vec::new();
    file.take(length).read_to_end(&mut again)?;
    Ok((again.len() as u64 == length).then_some(Found { at, again }))
}

fn find(file: &mut File, from: u64) -> io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(from))?;
    let mut window = Vec::with_capacity(WINDOW);
    let mut start = from;
    let mut candidates = 0;
    loop {
        let room = WINDOW - window.len();
        let read = file.by_ref().take(room as u64).read_to_end(&mut window)?;
        let last = read < room;
        // A member near the end of the window is looked at in the next one.
        let whole = if last { window.len() } else { WINDOW - BEGINNING };
        for at in memmem::find_iter(&window, MAGIC).take_while(|&at| at < whole) {
            candidates += 1;
            if holds_record(&window[at..]) {
                return Ok(Some(start + at as u64));
            }
            if candidates == CANDIDATES {
                return Ok(None);
            }
        }
        if last {
            return Ok(None);
        }
        window.drain(..whole);
        start += whole as u64;
    }
}

/// Whether the content of a member begins with a record.
fn holds_record(member: &[u8]) -> bool {
    let mut content = Vec::with_capacity(UNPACKED);
    // A member that ends within the window is damaged or short; what came out of it counts.
    let _cut_off = GzDecoder::new(member)
        .take(UNPACKED as u64)
        .read_to_end(&mut content);
    begins_record(&content[blank_before(&content)..]) == Some(true)
}
