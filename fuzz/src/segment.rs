//! What the target of segments does: the file is opened and asked, as it is, and with right checksums, behind which the rest of the reader
//! lies.

use twinprint::segment::{Scratch, Segment};

/// Bytes under one checksum.
const SECTOR: usize = 4096;
/// Bytes of the end that says where the footer is.
const TAIL: usize = 32;

/// Opens a segment and asks it.
pub fn open_segment(bytes: &[u8]) {
    ask(bytes);
    if let Some(right) = with_right_sums(bytes) {
        ask(&right);
    }
}

fn ask(bytes: &[u8]) {
    let path = super::put("a.seg", bytes);
    let Ok(segment) = Segment::<u64>::open(&path) else {
        return;
    };
    let mut scratch = Scratch::default();
    for k in [0, 3, 8] {
        let _ = segment.lookup(0x0123_4567_89ab_cdef, k, &mut scratch, |_, _, _| ());
        let _ = segment.lookup_batch(&[0, u64::MAX], k, &mut scratch, |_, _, _, _| ());
    }
    let _ = segment.iter().take(1000).last();
    let _ = segment.ids().take(1000).last();
}

/// The file with the checksums of its sectors, of these, and of its footer made anew; `FORMAT.md` of the index has where they are.
fn with_right_sums(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = bytes.to_vec();
    let tail = file.len().checked_sub(TAIL)?;
    let footer = usize::try_from(u64::from_le_bytes(*file[tail..].first_chunk()?)).ok()?;
    file.get(footer..tail).filter(|footer| footer.len() >= 16)?;
    // The sums are the last section: one for each sector before them.
    let sums = (0..=footer / SECTOR + 1).find_map(|n| {
        let start = footer.checked_sub(4 * n)?;
        (start.div_ceil(SECTOR) == n).then_some(start)
    })?;
    let made: Vec<u8> = file[..sums]
        .chunks(SECTOR)
        .flat_map(|sector| crc32fast::hash(sector).to_le_bytes())
        .collect();
    file[sums..footer].copy_from_slice(&made);
    file[footer + 12..footer + 16].copy_from_slice(&crc32fast::hash(&made).to_le_bytes());
    let sum = crc32fast::hash(&file[footer..tail]);
    file[tail + 8..tail + 12].copy_from_slice(&((tail - footer) as u32).to_le_bytes());
    file[tail + 12..tail + 16].copy_from_slice(&sum.to_le_bytes());
    let length = file.len() as u64;
    file[tail + 16..tail + 24].copy_from_slice(&length.to_le_bytes());
    Some(file)
}
