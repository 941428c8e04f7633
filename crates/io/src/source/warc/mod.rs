//! Reads WARC and WET files: decides which records are documents, and makes documents from them.
//!
//! A record consists of a header that states the length of the content, the content, and two line ends. Documents are
//! responses with status 2xx, resources and conversions, if their content is a page or a text. All other records
//! (requests, metadata, revisits, error pages, pictures, …) are counted by kind and copied together with the kept
//! records. A record with a wrong length or without an end, and bytes that are not a record, are rejected. Reading
//! continues at the next record that can be found.

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
