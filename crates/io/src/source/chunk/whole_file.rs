//! Reads a file that is one document, on the thread that processes the document.

use std::sync::Arc;

use twinprint_text::charset;

use crate::source::block::BOM;
use crate::source::charset::hints;
use crate::source::decode::{self, UnpackLimits};
use crate::source::format::{Codec, Format};
use crate::source::loss::Loss;
use crate::source::page::PageExtractor;
use crate::source::record::RecordKind;
use crate::source::record_limits::RecordLimits;
use crate::source::reject::RejectReason;
use crate::source::shared::Shared;

/// Reads the file `source` as one document. The text is stored in `buffer`.
pub(super) fn whole_file<'b>(
    shared: &Shared,
    source: u32,
    pages: &mut PageExtractor,
    buffer: &'b mut Vec<u8>,
) -> (u64, RecordKind<'b>) {
    let file = &shared.files[source as usize];
    let record_limits = RecordLimits::of(&shared.options);
    buffer.clear();
    let rejected = |raw_len, reason| (raw_len, RecordKind::Rejected { reason });
    if let Some(reason) = &file.unreadable {
        return rejected(0, reason.clone());
    }
    if file.codec == Codec::Plain && file.bytes > record_limits.max_bytes().saturating_add(BOM.len() as u64) {
        return rejected(file.bytes, record_limits.rejection(Some(file.bytes)));
    }
    let told = Arc::default();
    let (bytes, limits) = (file.bytes, UnpackLimits::of(&shared.options));
    let opened = file.open();
    let mut stream =
        match opened.and_then(|opened| decode::open_as_named(opened, file.codec, bytes, limits, &told)) {
            Ok(stream) => stream,
            Err(error) => {
                let reason = decode::reason(&error, Codec::Plain);
                return rejected(0, reason.losing(Loss::unread(bytes)));
            }
        };
    // A byte order mark does not count towards the length. One byte more than the limit is read, to detect a file that
    // exceeds it.
    let most = record_limits.max_bytes().saturating_add(BOM.len() as u64 + 1);
    if let Err(error) = stream.append_to(buffer, most) {
        let reason = decode::reason(&error, file.codec);
        let loss = Loss {
            bytes: buffer.len() as u64,
            ..Loss::unread(told.unread(bytes, &reason))
        };
        let reason = match reason {
            RejectReason::Junk => RejectReason::JunkBehindDocument,
            reason => reason,
        };
        return rejected(loss.bytes, reason.losing(loss));
    }
    let bytes = buffer.strip_prefix(BOM).unwrap_or(buffer);
    let raw_len = bytes.len() as u64;
    if raw_len > record_limits.max_bytes() {
        return rejected(raw_len, record_limits.rejection(None));
    }
    let decoded = match file.format {
        Format::Html => pages.of_bytes(buffer, hints(file.format, &shared.options).declared),
        _ => charset::decode(buffer, hints(file.format, &shared.options)).map_err(RejectReason::from),
    };
    match decoded {
        Ok((text, charset)) => {
            shared.set_charset(source, charset);
            let document = RecordKind::Document {
                id: None,
                text,
                sort_value: None,
            };
            (raw_len, document)
        }
        Err(error) => rejected(raw_len, error),
    }
}
