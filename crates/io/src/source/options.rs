//! What to read and which fields matter.

use twinprint_text::charset::Charset;

use super::format::Format;

/// How inputs are found, cut into records and read.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that do not depend on one another"
)]
pub struct SourceOptions {
    /// The field of a JSON object, or the column of a table, that holds the text. A dot descends into nested objects; a field that has the
    /// dots in its own name is found as well.
    pub text_key: String,
    /// The text field holds markup, of which the main content is the text.
    /// Needs the feature `html`; without it such records are rejected.
    pub html: bool,
    /// Take the text field whatever its type, as the JSON it is written in; for fields that hold vectors.
    pub raw: bool,
    /// The field that holds the id, if ids are wanted; it may be absent from a record. An id field other than the default must be in at
    /// least one file.
    pub id_key: Option<String>,
    /// The format of stdin and of files named on the command line or by a glob. Files inside folders are known
    /// by their extension alone.
    pub format: Option<Format>,
    /// What parts the fields of a csv or tsv file, an ASCII character; otherwise the header shows it.
    pub delimiter: Option<u8>,
    /// The first row of a csv or tsv file is a record like the others, and columns go by their numbers, from 1.
    pub no_header: bool,
    /// The charset of files without a byte order mark. Otherwise that of JSON is UTF-8, that of other files is told
    /// from their beginning.
    pub charset: Option<Charset>,
    /// Text files hold one document a line.
    pub lines: bool,
    /// Further extensions taken as text, without the dot.
    pub extra_extensions: Vec<String>,
    /// Take only files that one of these patterns matches, or that lie in a folder one matches; all if there are none. Patterns are
    /// written as in a `.gitignore` file, relative to the input.
    pub include: Vec<String>,
    /// Leave out files and folders that one of these patterns matches, written likewise.
    pub exclude: Vec<String>,
    /// Take every file that decodes as text, whatever its extension. A file whose format has fields is read as records only if its first
    /// records, or its schema, have the field with the text.
    pub any_text: bool,
    /// Take responses of any status from web archives; otherwise pages of status 2xx alone are documents.
    pub any_status: bool,
    /// Longer records are rejected without being held, in bytes.
    pub max_document: u64,
    /// The bytes of the longest record that memory is there for. A longer one that `max_document` allows is yielded as
    /// [`RejectReason::BeyondMemory`](super::RejectReason::BeyondMemory) without being held. It bounds the windows of packed files as well.
    pub most_held: u64,
    /// A packed file may unpack to so many times its size, or to 1 GiB; what lies beyond is rejected.
    pub max_ratio: u64,
    /// Read only so many records (documents and rejects; blank lines do not count).
    pub limit: Option<u64>,
    /// The field by which `--keep` orders documents, such as `time`.
    pub sort_key: Option<String>,
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
            most_held: u64::MAX,
            max_ratio: 1000,
            limit: None,
            sort_key: None,
        }
    }
}
