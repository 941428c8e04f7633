//! Checks the offsets and lengths that a record batch states before it is decoded, because the decoder trusts them.
//!
//! A stream has no list of its messages. A stated length that is too large would make the reader skip the messages that
//! follow, so the lengths of a stream are compared with what the messages contain.

use arrow_ipc::{Message, RecordBatch};

use super::broken;
use crate::source::reject::RejectReason;

/// The largest decompressed size of a record batch, in bytes.
const MAX_UNPACKED: u64 = 4 << 30;
/// The largest accepted ratio between the decompressed and the compressed size of a buffer. zstd does not reach it.
const MAX_RATIO: u64 = 1 << 16;
/// The largest accepted padding after the last buffer of a body, in bytes. Writers pad to multiples of 8 or 64 bytes. A
/// message with a column is longer than this.
const MAX_PADDING: i64 = 64;

pub(super) fn check(message: Message<'_>, body: &[u8]) -> Result<(), RejectReason> {
    batch_of(message).map_or(Ok(()), |batch| check_batch(batch, body))
}

/// Checks that the body of a message ends with the last of its buffers.
pub(super) fn check_length(message: Message<'_>) -> Result<(), RejectReason> {
    let buffers = batch_of(message).and_then(|batch| batch.buffers());
    let ends = buffers
        .into_iter()
        .flatten()
        .map(|buffer| buffer.offset().saturating_add(buffer.length()));
    let unused = message.bodyLength().saturating_sub(ends.max().unwrap_or(0));
    if unused > MAX_PADDING {
        return Err(broken(format_args!(
            "the last {unused} bytes of a message belong to none of its columns"
        )));
    }
    Ok(())
}

/// Returns the record batch of a message, or that of a dictionary.
fn batch_of(message: Message<'_>) -> Option<RecordBatch<'_>> {
    message.header_as_record_batch().or_else(|| {
        let dictionary = message.header_as_dictionary_batch()?;
        dictionary.data()
    })
}

fn check_batch(batch: RecordBatch<'_>, body: &[u8]) -> Result<(), RejectReason> {
    for node in batch.nodes().iter().flatten() {
        if node.length() < 0 || node.null_count() < 0 || node.null_count() > node.length() {
            return Err(broken("a column states an impossible length"));
        }
    }
    let counts = batch.variadicBufferCounts();
    if counts
        .iter()
        .flatten()
        .any(|count| !(0..=i64::from(i32::MAX)).contains(&count))
    {
        return Err(broken("a column states an impossible number of buffers"));
    }
    let packed = batch.compression().is_some();
    let mut unpacked = 0u64;
    for buffer in batch.buffers().iter().flatten() {
        let place = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok())
            .and_then(|(start, length)| body.get(start..start.checked_add(length)?));
        let Some(bytes) = place else {
            return Err(broken("the position of a buffer is outside its record batch"));
        };
        if !packed || bytes.is_empty() {
            continue;
        }
        // A buffer of a compressed record batch begins with its decompressed length. If it begins with -1, this buffer
        // is not compressed.
        let Some(length) = bytes.first_chunk().map(|&first| i64::from_le_bytes(first)) else {
            return Err(broken("a compressed buffer is too short"));
        };
        let length = u64::try_from(length).unwrap_or(0);
        unpacked = unpacked.saturating_add(length);
        if length / MAX_RATIO > bytes.len() as u64 || unpacked > MAX_UNPACKED {
            return Err(broken(format_args!(
                "a compressed buffer of {} bytes states {length} bytes after decompression, in a record batch of at least {unpacked} bytes",
                bytes.len()
            )));
        }
    }
    Ok(())
}
