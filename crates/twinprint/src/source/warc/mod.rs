//! WARC and WET files: what a record is, and how it becomes a document.
//!
//! A record is a header with its length, the content, and two line ends. Documents are the responses, resources and
//! conversions whose content is a page or a text; everything else (requests, metadata, revisits, pictures, …) is counted by
//! kind and stays with what is kept. A record whose length is wrong, whose end is missing, or bytes that are no record are
//! rejected, and reading goes on at the next record that can be found.

mod document;
mod header;
mod kind;

pub(crate) use document::document;
pub(crate) use header::{Begun, Header, LONGEST_HEADER};
pub(crate) use kind::{Kind, LONGEST_HEAD, has_whole_head, kind};
