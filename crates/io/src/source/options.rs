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
    /// The field of a JSON object, or the column of a table, that holds the text. A dot descends into nested objects; a field that has the
    /// dots in its own name is found as well.
    pub text_key: String,
    /// If true, the text field contains HTML, and the text is its main content. Without the feature `html` such records
    /// are rejected.
    pub html: bool,
    /// If true, the text field may have any type and is read as JSON text, for fields with vectors.
    pub raw: bool,
    /// The field that holds the id, if ids are wanted; it may be absent from a record. An id field other than the default must be in at
    /// least one file.
    pub id_key: Option<String>,
    /// The format of stdin and of files that an input names itself, by path or glob. For files inside folders the extension decides.
    pub format: Option<Format>,
    /// The delimiter of the fields of a csv or tsv file, an ASCII character. `None` detects it from the header.
    pub delimiter: Option<u8>,
    /// If true, the first row of a csv or tsv file is a record and not a header, and columns are named by their
    /// numbers, from 1.
    pub no_header: bool,
    /// The charset of files without a byte order mark. `None` means UTF-8 for JSON, and detection from the beginning for other files.
    pub charset: Option<Charset>,
    /// If true, each line of a text file is a document. Otherwise a text file is one document.
    pub lines: bool,
    /// Further extensions of text files, without the dot.
    pub extra_extensions: Vec<String>,
    /// Only files that match one of these patterns, or are in a folder that matches one, are read; all files if there
    /// are no patterns. Patterns are written as in a `.gitignore` file, relative to the input.
    pub include: Vec<String>,
    /// Skip files and folders that one of these patterns matches, written in the same way.
    pub exclude: Vec<String>,
    /// If true, every file that decodes as text is read, whatever its extension. A file whose format has fields is read
    /// as records only if its first records, or its schema, have the field with the text.
    pub any_text: bool,
    /// If true, responses of any status in web archives are documents. Otherwise only pages of status 2xx are.
    pub any_status: bool,
    /// The longest record in bytes. Longer ones are rejected without being held in memory.
    pub max_document: u64,
    /// The longest record in bytes that the available memory can hold. A longer one that `max_document` allows is yielded as
    /// [`RejectReason::BeyondMemory`](super::RejectReason::BeyondMemory) without being held. It bounds the windows of packed files as well.
    pub max_held: u64,
    /// The largest ratio of the unpacked size of a file to its packed size. Every file may unpack to 1 GiB. The rest is rejected.
    pub max_ratio: u64,
    /// The largest number of records to read (documents and rejects; blank lines do not count).
    pub limit: Option<u64>,
    /// The field whose value orders documents, such as `time`.
    pub sort_key: Option<String>,
}

/// The options as the text from which identities of runs are hashed ([`identity`](crate::runs::identity)).
///
/// Collections and the states of streams store these hashes, so the text must not change with the names in the code: `most_held` is
/// [`SourceOptions::max_held`].
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
