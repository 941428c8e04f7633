//! WARC and WET files: what a record is, and how it becomes a document.
//!
//! A record is a header with its length, the content, and two line ends. Documents are the responses of status 2xx, the
//! resources and the conversions whose content is a page or a text. All other records (requests, metadata, revisits,
//! error pages, pictures, …) are counted by kind and stay with the records that are kept. A record with a wrong length
//! or without an end, and bytes that are not a record, are rejected, and reading continues at the next record that can
//! be found.

mod body;
mod document;
mod fields;
mod header;
mod http;
mod kind;
mod next_record;

pub(super) use document::document;
pub(super) use header::{Header, HeaderStart, MAX_HEADER_BYTES, blank_before};
pub(super) use kind::{MAX_KIND_BYTES, WarcKind, kind};
pub(super) use next_record::{MAX_BEGINNING_BYTES, NextRecord, UNDECIDED_BYTES, begins_record, has_record};
