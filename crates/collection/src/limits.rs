//! Limits on the fields of documents and on the length of lists.

use super::error::CollectionError;

/// The largest size of an id in bytes.
pub(crate) const MAX_ID_BYTES: usize = 2048;
/// The largest size of a URL or of a source in bytes.
pub(crate) const MAX_URL_BYTES: usize = 8192;
/// The largest size of a document's time, as text in bytes.
pub(crate) const MAX_TIME_BYTES: usize = 64;
/// The largest size of a title in bytes.
pub(crate) const MAX_TITLE_BYTES: usize = 4096;
/// The largest size of a document's text, in bytes.
pub const MAX_TEXT: usize = 16 << 20;
/// The largest size of a document's `fields`, as JSON in bytes.
pub(crate) const MAX_FIELDS_BYTES: usize = 64 << 10;
/// The longest time to live of a document in seconds: a thousand years.
pub(crate) const MAX_TTL_SECONDS: u64 = 31_557_600_000;
/// The largest number of entries that any list or page returns.
pub(crate) const MAX_LIST_ROWS: usize = 10_000;

/// Checks that `got` is at most `limit`. The error calls the value `what`.
pub(crate) fn check_limit(what: &'static str, got: usize, limit: usize) -> Result<(), CollectionError> {
    if got > limit {
        return Err(CollectionError::Limit {
            what,
            limit: limit as u64,
            got: got as u64,
        });
    }
    Ok(())
}

/// Checks that an id has from one byte to [`MAX_ID_BYTES`].
pub(crate) fn check_id(id: &str) -> Result<(), CollectionError> {
    if id.is_empty() {
        return Err(CollectionError::invalid(
            "id: the id is empty; give an id of at least one byte",
        ));
    }
    check_limit("id in bytes", id.len(), MAX_ID_BYTES)
}

/// Checks that a text has at most [`MAX_TEXT`] bytes.
pub(crate) fn check_text(text: &str) -> Result<(), CollectionError> {
    check_limit("text in bytes", text.len(), MAX_TEXT)
}
