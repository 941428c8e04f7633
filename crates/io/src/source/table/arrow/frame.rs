//! Finds the messages of an Arrow file or stream without reading their bodies.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{Block, CompressionType, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::Schema;

use super::{Message, MessageKind, broken, claims, not_arrow};
use crate::source::loss::Loss;
use crate::source::reject::RejectReason;

/// The magic number at the start and at the end of an Arrow file.
const MAGIC: &[u8] = b"ARROW1";
/// The magic number of Feather version 1.
const FEATHER_1: &[u8] = b"FEA1";
/// The four bytes before the length of a message, since version 0.15 of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The largest accepted message header, in bytes. The schema of a table with a million columns is smaller.
const MAX_HEADER: u64 = 256 << 20;

/// The schema and the messages of an Arrow file or stream.
pub(super) struct Frame {
    pub(super) schema: Schema,
    pub(super) version: MetadataVersion,
    pub(super) messages: Vec<Message>,
    pub(super) lost: Option<RejectReason>,
    pub(super) file_metadata: Option<Vec<(String, String)>>,
    pub(super) compression: Option<CompressionType>,
    pub(super) rows: u64,
}

impl Frame {
    pub(super) fn read(input: &mut File, bytes: u64) -> Result<Self, RejectReason> {
        let mut head = [0; 8];
        let head = head.get_mut(..bytes.min(8) as usize).unwrap_or_default();
        input.read_exact(head).map_err(broken)?;
        if head.starts_with(FEATHER_1) {
            return Err(not_arrow("it is Feather of version 1; write it as version 2"));
        }
        if head.starts_with(MAGIC) {
            file(input, bytes)
        } else {
            stream(input, bytes)
        }
    }

    fn new(schema: arrow_ipc::Schema<'_>, version: MetadataVersion) -> Result<Self, RejectReason> {
        if !schema.endianness().equals_to_target_endianness() {
            return Err(not_arrow("its byte order is not that of this machine"));
        }
        Ok(Self {
            schema: fb_to_schema(schema),
            version,
            messages: Vec::new(),
            lost: None,
            file_metadata: None,
            compression: None,
            rows: 0,
        })
    }

    /// Adds a dictionary or a record batch. Returns false if the message is of another kind.
    fn add(&mut self, block: Block, message: arrow_ipc::Message<'_>) -> Result<bool, RejectReason> {
        let kind = match message.header_type() {
            MessageHeader::DictionaryBatch => MessageKind::Dictionary,
            MessageHeader::RecordBatch => {
                let batch = message
                    .header_as_record_batch()
                    .ok_or_else(|| broken("a record batch has no header"))?;
                let rows = u64::try_from(batch.length())
                    .map_err(|_| broken("a record batch states a negative number of rows"))?;
                // Every column must have the length of the batch. Otherwise rows beyond the stated length would be lost
                // without notice.
                let column = batch.nodes().and_then(|columns| columns.iter().next());
                let is_as_long = match column {
                    Some(column) => column.length() == batch.length(),
                    None => self.schema.fields().is_empty(),
                };
                if !is_as_long {
                    return Err(broken("a record batch is not as long as its columns"));
                }
                if let Some(compression) = batch.compression() {
                    self.compression = Some(compression.codec());
                }
                let first = self.rows;
                self.rows = first
                    .checked_add(rows)
                    .ok_or_else(|| broken("a record batch states too many rows"))?;
                MessageKind::Batch { first, rows }
            }
            _ => return Ok(false),
        };
        self.messages.push(Message { block, kind });
        Ok(true)
    }
}

/// Parses the flatbuffer of a message, which follows the length of the message.
pub(super) fn message(header: &[u8]) -> Result<arrow_ipc::Message<'_>, RejectReason> {
    let start = if header.starts_with(&CONTINUATION) { 8 } else { 4 };
    let flat = header
        .get(start..)
        .ok_or_else(|| broken("a message is truncated"))?;
    root_as_message(flat).map_err(broken)
}

fn file(input: &mut File, bytes: u64) -> Result<Frame, RejectReason> {
    const TAIL: u64 = 10;
    let mut tail = [0; TAIL as usize];
    let end = bytes
        .checked_sub(TAIL)
        .ok_or_else(|| not_arrow("it is too short"))?;
    input.seek(SeekFrom::Start(end)).map_err(broken)?;
    input.read_exact(&mut tail).map_err(broken)?;
    if !tail.ends_with(MAGIC) {
        return Err(not_arrow(
            "the file does not end like an Arrow file, so it is truncated",
        ));
    }
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = end.checked_sub(length).ok_or_else(|| {
        not_arrow(format_args!(
            "the footer states a length of {length} bytes, but the file has {bytes}"
        ))
    })?;
    let footer = read(input, start, length)?;
    let footer = root_as_footer(&footer).map_err(not_arrow)?;
    let schema = footer.schema().ok_or_else(|| not_arrow("it has no schema"))?;
    let mut frame = Frame::new(schema, footer.version())?;
    let mut metadata = Vec::new();
    for entry in footer.custom_metadata().iter().flatten() {
        let (key, value) = (entry.key().unwrap_or_default(), entry.value().unwrap_or_default());
        metadata.push((key.to_owned(), value.to_owned()));
    }
    frame.file_metadata = Some(metadata);
    // In an Arrow file, unlike in a stream, all dictionaries apply before the first record batch.
    let dictionaries = footer.dictionaries().into_iter().flatten();
    for &block in dictionaries.chain(footer.recordBatches().into_iter().flatten()) {
        let inside = u64::try_from(block.offset())
            .ok()
            .zip(u64::try_from(block.metaDataLength()).ok())
            .zip(u64::try_from(block.bodyLength()).ok())
            .and_then(|((offset, header), body)| offset.checked_add(header)?.checked_add(body))
            .is_some_and(|end| end <= start);
        if !inside {
            return Err(not_arrow("the position of a record batch is outside the file"));
        }
        let header = read(input, block.offset() as u64, block.metaDataLength() as u64)?;
        if !frame.add(block, message(&header)?)? {
            return Err(not_arrow("the footer lists a message that is not a record batch"));
        }
    }
    Ok(frame)
}

fn stream(input: &mut File, bytes: u64) -> Result<Frame, RejectReason> {
    let (header, block) = match next_message(input, 0, bytes) {
        Ok(Some(first)) => first,
        Ok(None) => return Err(not_arrow("it is empty")),
        Err(_) => return Err(not_arrow("it begins like neither an Arrow file nor a stream")),
    };
    let first =
        message(&header).map_err(|_| not_arrow("it begins like neither an Arrow file nor a stream"))?;
    let schema = first
        .header_as_schema()
        .ok_or_else(|| not_arrow("it does not begin with a schema"))?;
    let mut frame = Frame::new(schema, first.version())?;
    let mut at = end_of(block);
    loop {
        let added = match next_message(input, at, bytes) {
            Ok(Some((header, block))) => message(&header)
                .and_then(|message| frame.add(block, message))
                .map(|added| added.then(|| end_of(block))),
            Ok(None) => {
                if !is_end(input, at, bytes)? {
                    let reason = broken("the stream ends here, and other bytes follow");
                    frame.lost = Some(reason.losing(Loss::unread(bytes - at)));
                }
                return Ok(frame);
            }
            Err(reason) => Err(reason),
        };
        let lost = match added {
            Ok(Some(end)) => {
                at = end;
                continue;
            }
            Ok(None) => broken("a message is neither a record batch nor a dictionary"),
            Err(reason) => reason,
        };
        // If a later message is damaged, the messages before it are still read.
        frame.lost = Some(lost.losing(Loss::unread(bytes - at.min(bytes))));
        return Ok(frame);
    }
}

/// Returns true if only the end mark of a stream, and perhaps padding, follows at the offset `at`.
fn is_end(input: &mut File, at: u64, bytes: u64) -> Result<bool, RejectReason> {
    const MAX_END_BYTES: u64 = 64;
    let left = bytes.saturating_sub(at);
    if left > MAX_END_BYTES {
        return Ok(false);
    }
    let end = read(input, at, left)?;
    let zeros = end.strip_prefix(&CONTINUATION).unwrap_or(&end);
    Ok(zeros.iter().all(|&byte| byte == 0))
}

fn end_of(block: Block) -> u64 {
    block.offset() as u64 + block.metaDataLength() as u64 + block.bodyLength() as u64
}

/// Reads the header of the message at the offset `at`. Returns the header and the position of the message, or `None` at
/// the end of the stream.
fn next_message(input: &mut File, at: u64, bytes: u64) -> Result<Option<(Vec<u8>, Block)>, RejectReason> {
    if at == bytes {
        // A stream may end without an end mark.
        return Ok(None);
    }
    let left = bytes - at.min(bytes);
    let cut = || broken("the stream is truncated");
    let prefix = read(input, at, left.min(8))?;
    let (length, start) = match prefix.as_slice() {
        [0xff, 0xff, 0xff, 0xff, length @ ..] => (length, 8),
        [length @ .., _, _, _, _] => (length, 4),
        _ => return Err(cut()),
    };
    let length = u64::from(u32::from_le_bytes(length.try_into().map_err(|_| cut())?));
    if length == 0 {
        return Ok(None);
    }
    let header = start + length;
    if header > left || header > MAX_HEADER {
        return Err(cut());
    }
    let bytes_of_header = read(input, at, header)?;
    if contains_message(&bytes_of_header) {
        return Err(broken("a message is shorter than the length that it states"));
    }
    let message = message(&bytes_of_header)?;
    let body = message.bodyLength();
    if !u64::try_from(body).is_ok_and(|body| body <= left - header) {
        return Err(cut());
    }
    claims::check_length(message)?;
    Ok(Some((
        bytes_of_header,
        Block::new(at as i64, header as i32, body),
    )))
}

/// Returns true if another message begins within the header of a message. Then the stated length of the header is wrong,
/// and the rows of the other message would be lost without notice.
fn contains_message(header: &[u8]) -> bool {
    // Messages begin at multiples of 8 bytes, and the lengths of their headers are such multiples.
    const ALIGNMENT: usize = 8;
    // Few other places have such bytes. A limit keeps a prepared file from taking long.
    const MAX_TRIED: usize = 16;
    let begins = |bytes: &&[u8]| {
        let length = bytes
            .strip_prefix(&CONTINUATION)
            .and_then(|rest| rest.first_chunk());
        length.is_some_and(|&length| {
            let length = u32::from_le_bytes(length);
            length > 0 && length.is_multiple_of(ALIGNMENT as u32)
        })
    };
    let starts = (ALIGNMENT..header.len()).step_by(ALIGNMENT);
    starts
        .filter_map(|start| header.get(start..))
        .filter(begins)
        .take(MAX_TRIED)
        .any(|bytes| message(bytes).is_ok_and(|message| message.header().is_some()))
}

/// Reads `length` bytes. The caller has checked that they are within the file.
fn read(input: &mut File, start: u64, length: u64) -> Result<Vec<u8>, RejectReason> {
    let mut bytes = vec![0; length as usize];
    input
        .seek(SeekFrom::Start(start))
        .and_then(|_| input.read_exact(&mut bytes))
        .map_err(broken)?;
    Ok(bytes)
}
