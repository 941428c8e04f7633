//! The target for segments. The file is opened and queried: once unchanged, and once with correct checksums, without which most of the
//! reader is never reached.

use std::path::Path;

use twinprint::Width;
use twinprint::segment::{Scratch, Segment};

/// Bytes under one checksum.
const SECTOR: usize = 4096;
/// Bytes at the end of the file that locate the footer.
const TAIL: usize = 32;

/// Opens a segment at every width and queries it.
pub fn open_segment(bytes: &[u8]) {
    query(bytes);
    if let Some(right) = with_correct_checksums(bytes) {
        query(&right);
    }
}

fn query(bytes: &[u8]) {
    let path = super::put("a.seg", bytes);
    query_at::<u16>(&path);
    query_at::<u32>(&path);
    query_at::<u64>(&path);
    query_at::<u128>(&path);
}

fn query_at<W: Width>(path: &Path) {
    let Ok(segment) = Segment::<W>::open(path) else {
        return;
    };
    let some = W::truncate(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    let mut scratch = Scratch::default();
    for k in [0, 3, 8] {
        let _ = segment.lookup(some, k, &mut scratch, |_, _, _| ());
        let _ = segment.lookup_batch(&[W::default(), !W::default()], k, &mut scratch, |_, _, _, _| ());
    }
    let _ = segment.iter().take(1000).last();
    let _ = segment.ids().take(1000).last();
}

/// Returns the file with recomputed checksums of its sectors, of these checksums, and of its footer. `FORMAT.md` of the index specifies
/// their positions.
fn with_correct_checksums(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = bytes.to_vec();
    let tail = file.len().checked_sub(TAIL)?;
    let footer = usize::try_from(u64::from_le_bytes(*file[tail..].first_chunk()?)).ok()?;
    file.get(footer..tail).filter(|footer| footer.len() >= 16)?;
    // The checksums are the last section: one for each sector before them.
    let sums = (0..=footer / SECTOR + 1).find_map(|n| {
        let start = footer.checked_sub(4 * n)?;
        (start.div_ceil(SECTOR) == n).then_some(start)
    })?;
    let checksums: Vec<u8> = file[..sums]
        .chunks(SECTOR)
        .flat_map(|sector| crc32fast::hash(sector).to_le_bytes())
        .collect();
    file[sums..footer].copy_from_slice(&checksums);
    file[footer + 12..footer + 16].copy_from_slice(&crc32fast::hash(&checksums).to_le_bytes());
    let sum = crc32fast::hash(&file[footer..tail]);
    file[tail + 8..tail + 12].copy_from_slice(&((tail - footer) as u32).to_le_bytes());
    file[tail + 12..tail + 16].copy_from_slice(&sum.to_le_bytes());
    let length = file.len() as u64;
    file[tail + 16..tail + 24].copy_from_slice(&length.to_le_bytes());
    Some(file)
}
