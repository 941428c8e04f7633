//! Options for finding and reading inputs.

use std::fmt;

use twinprint_text::charset::Charset;

use super::format::Format;

/// Options for finding inputs, splitting them into records and reading their fields.
///
/// # Examples
/// ```
/// use twinprint_io::source::SourceOptions;
///
/// // Reviews in JSON Lines or CSV: the text is in `review.body`, the id in `uid`, and files of drafts are skipped.
/// let options = SourceOptions {
///     text_key: "review.body".into(),
///     id_key: Some("uid".into()),
///     exclude: vec!["drafts/".into()],
///     ..SourceOptions::default()
/// };
/// assert_eq!(options.max_document, 64 << 20);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that do not depend on one another"
)]
pub struct SourceOptions {
    /// The field of a JSON object, or the column of a table, that contains the text. A dot in the name leads into a
    /// nested object. A field whose own name contains the dot is found as well.
    pub text_key: String,
    /// If true, the text field contains HTML, and the main content of the page is the text. Without the feature `html`
    /// such records are rejected.
    pub html: bool,
    /// If true, the text field may have any type, and its JSON source is the text. Serves fields that contain vectors.
    pub raw: bool,
    /// The field that contains the id, if ids are wanted. Single records may lack it. A field other than the default
    /// must exist in at least one file.
    pub id_key: Option<String>,
    /// The format of stdin and of files that an input names directly, by path or glob. The format of files in folders
    /// follows from their extension.
    pub format: Option<Format>,
    /// The delimiter of the fields in CSV and TSV files, an ASCII character. `None` detects the delimiter from the
    /// header.
    pub delimiter: Option<u8>,
    /// If true, the first row of a CSV or TSV file is a record, not a header, and the columns are named by their
    /// numbers, from 1.
    pub no_header: bool,
    /// The charset of files without a byte order mark. If it is `None`, JSON is read as UTF-8, and the charset of other
    /// files is detected from their beginning.
    pub charset: Option<Charset>,
    /// If true, each line of a text file is a document. Otherwise a text file is one document.
    pub lines: bool,
    /// Further extensions of text files, without the dot.
    pub extra_extensions: Vec<String>,
    /// If the list is not empty, only files are read that match one of these patterns or are in a folder that matches.
    /// Patterns are written as in a `.gitignore` file, relative to the input.
    pub include: Vec<String>,
    /// Files and folders that match one of these patterns are skipped. Patterns are written as in `include`.
    pub exclude: Vec<String>,
    /// If true, every file that can be decoded as text is read, whatever its extension. A file of a format with fields
    /// is then read as records only if its schema or its first records have the text field, and otherwise as text.
    pub any_text: bool,
    /// If true, responses of any HTTP status in web archives are documents. Otherwise only responses with status 2xx
    /// are.
    pub any_status: bool,
    /// The largest length of a record, in bytes. Longer records are rejected without being stored in memory.
    pub max_document: u64,
    /// The largest length of a record that fits into the available memory, in bytes. A longer record that
    /// `max_document` allows is rejected as [`RejectReason::BeyondMemory`](super::RejectReason::BeyondMemory) without
    /// being stored in memory. It also limits the window sizes of compressed files.
    pub max_held: u64,
    /// The largest allowed ratio between the decompressed and the compressed size of a file. Up to 1 GiB every ratio is
    /// allowed. The part of a file beyond the limit is rejected.
    pub max_ratio: u64,
    /// The largest number of records to read. Documents and rejects count, blank lines do not.
    pub limit: Option<u64>,
    /// The field that documents are sorted by, such as `time`.
    pub sort_key: Option<String>,
}

/// The options as a text that is part of the [`identity`](crate::runs::identity) of a run.
///
/// Collections and the states of streams store hashes of this text, so it must not change if a field of
/// [`SourceOptions`] is renamed. It therefore writes [`SourceOptions::max_held`] under its earlier name, `most_held`.
#[derive(Clone, Copy, Debug)]
pub struct SourceIdentity<'a>(pub &'a SourceOptions);

impl fmt::Display for SourceIdentity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceOptions {
            text_key,
            html,
            raw,
            id_key,
            format,
            delimiter,
            no_header,
            charset,
            lines,
            extra_extensions,
            include,
            exclude,
            any_text,
            any_status,
            max_document,
            max_held,
            max_ratio,
            limit,
            sort_key,
        } = self.0;
        f.debug_struct("SourceOptions")
            .field("text_key", text_key)
            .field("html", html)
            .field("raw", raw)
            .field("id_key", id_key)
            .field("format", format)
            .field("delimiter", delimiter)
            .field("no_header", no_header)
            .field("charset", charset)
            .field("lines", lines)
            .field("extra_extensions", extra_extensions)
            .field("include", include)
            .field("exclude", exclude)
            .field("any_text", any_text)
            .field("any_status", any_status)
            .field("max_document", max_document)
            .field("most_held", max_held)
            .field("max_ratio", max_ratio)
            .field("limit", limit)
            .field("sort_key", sort_key)
            .finish()
    }
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            text_key: "text".to_owned(),
            html: false,
            raw: false,
            id_key: Some("id".to_owned()),
            format: None,
            delimiter: None,
            no_header: false,
            charset: None,
            lines: false,
            extra_extensions: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            any_text: false,
            any_status: false,
            max_document: 64 << 20,
            max_held: u64::MAX,
            max_ratio: 1000,
            limit: None,
            sort_key: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_of_the_default_options_is_unchanged() {
        assert_eq!(
            SourceIdentity(&SourceOptions::default()).to_string(),
            "SourceOptions { text_key: \"text\", html: false, raw: false, id_key: Some(\"id\"), format: None, delimiter: None, \
             no_header: false, charset: None, lines: false, extra_extensions: [], include: [], exclude: [], any_text: false, \
             any_status: false, max_document: 67108864, most_held: 18446744073709551615, max_ratio: 1000, limit: None, sort_key: None }"
        );
    }
}
