//! Options of the input, shared by the commands that read documents.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use twinprint::source::{Charset, Format, SourceOptions};

use crate::number::parse_bytes;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "every flag is one")]
pub(crate) struct InputArgs {
    /// Files, folders, quoted globs, or - for stdin
    ///
    /// Text files (.txt .md .rst …) and HTML pages (.html .htm .xhtml) are one document per file, .jsonl and .ndjson
    /// one per line, .json one per object of its array, .csv and .tsv one per row, web archives (.warc .wet) one per
    /// record; each may be compressed as .gz .zst .bz2 .xz or .lz4. Tables (.parquet .arrow .feather) have one document
    /// per row. Folders are read in order of path; symbolic links inside them are not followed.
    ///
    /// In a folder, files with other extensions are skipped and counted. A file that is named, or that matches a glob
    /// with its extension, such as '**/*.py', is read as text.
    #[arg(required = true, value_name = "INPUT", value_parser = OsStringValueParser::new().try_map(input))]
    pub(crate) inputs: Vec<String>,

    /// Field of a JSON record, or column of a table, that holds the text; dots descend into objects
    #[arg(
        long,
        default_value = "text",
        value_name = "FIELD",
        visible_alias = "text-field",
        help_heading = "Input"
    )]
    text_key: String,

    /// Field with HTML, whose main content is compared; instead of --text-key
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "text_key",
        help_heading = "Input"
    )]
    html_key: Option<String>,

    /// Field with the record's id. The id of a record without this field is its file and line
    #[arg(long, default_value = "id", value_name = "FIELD", help_heading = "Input")]
    id_key: String,

    /// Format of stdin and of the files that are named as inputs. The extension of a file in a folder decides its
    /// format
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "html", "lines", "jsonl", "json", "csv", "tsv", "warc", "parquet", "arrow"], help_heading = "Input")]
    format: Option<String>,

    /// Separator of fields in csv and tsv files: a character, or tab [default: detected from the header]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter, help_heading = "Input")]
    delimiter: Option<u8>,

    /// Read the first row of csv and tsv files as a record, not as column names. Columns are then named by their
    /// numbers, such as --text-key 2 --id-key 1
    #[arg(long, help_heading = "Input")]
    no_header: bool,

    /// Charset of the files, such as gbk or windows-1252. With auto, JSON is read as UTF-8, or as UTF-16 if it begins with
    /// that byte order mark, and the charset of other files is guessed
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = parse_charset, help_heading = "Input")]
    charset: CharsetArg,

    /// Read every line of a text file as a document
    #[arg(long, help_heading = "Input")]
    lines: bool,

    /// Further extensions to read as text, such as rs,toml
    #[arg(long, value_delimiter = ',', value_name = "EXT", help_heading = "Input")]
    ext: Vec<String>,

    /// Read only files that match, such as '*.py', or that are in a folder that matches, such as docs/; may be repeated
    ///
    /// Patterns are written as in a .gitignore file: a pattern without a slash matches names at any depth; a pattern
    /// with a slash matches paths below the input. Files with an extension that a pattern names are read as text.
    #[arg(long, value_name = "GLOB", help_heading = "Input")]
    include: Vec<String>,

    /// Skip files and folders that match, such as '*.min.js' or node_modules/; may be repeated
    ///
    /// Patterns are written as for --include, and take precedence over it. The files are counted as skipped.
    #[arg(long, value_name = "GLOB", help_heading = "Input")]
    exclude: Vec<String>,

    /// Read every file that can be decoded as text, whatever its extension. JSON, CSV and table files are read as
    /// records only if they have the text field
    #[arg(long, help_heading = "Input")]
    any_text: bool,

    /// Read pages of any HTTP status from web archives, not only those with status 2xx
    #[arg(long, help_heading = "Input")]
    any_status: bool,

    /// Reject records longer than this
    #[arg(long, default_value = "64MiB", value_name = "BYTES", value_parser = parse_bytes, help_heading = "Input")]
    max_document: u64,

    /// Largest ratio of a compressed file's decompressed size to its compressed size. A decompressed size of up to 1
    /// GiB is always allowed
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = crate::number::parse_count::<u64>, help_heading = "Input")]
    max_ratio: u64,

    /// Read only the first N records
    #[arg(long, value_name = "N", value_parser = crate::number::parse_count_in(1..=u64::MAX), help_heading = "Input")]
    limit: Option<u64>,

    /// Read options of this command from a file, in the form of the config.toml that dedup writes; the command line takes
    /// precedence
    #[arg(long, value_name = "FILE.toml", help_heading = "Running")]
    config: Option<PathBuf>,
}

impl InputArgs {
    pub(crate) fn options(&self) -> SourceOptions {
        SourceOptions {
            text_key: self.html_key.as_ref().unwrap_or(&self.text_key).clone(),
            html: self.html_key.is_some(),
            id_key: Some(self.id_key.clone()),
            format: self
                .format
                .as_deref()
                .and_then(|name| name.parse::<Format>().ok()),
            delimiter: self.delimiter,
            no_header: self.no_header,
            charset: self.charset.0,
            lines: self.lines,
            extra_extensions: self
                .ext
                .iter()
                .map(|ext| ext.trim_start_matches('.').to_owned())
                .collect(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            any_text: self.any_text,
            any_status: self.any_status,
            max_document: self.max_document,
            max_ratio: self.max_ratio,
            limit: self.limit,
            ..SourceOptions::default()
        }
    }
}

/// Parses an input argument. A file whose name is not UTF-8 can be read through its folder or a glob, but not named
/// here.
fn input(name: OsString) -> Result<String, String> {
    name.into_string().map_err(|name| {
        format!(
            "{}: the name is not UTF-8; name the folder it is in, or a quoted glob with a ? for each byte that is not UTF-8",
            name.display()
        )
    })
}

/// A charset. `None` means that the charset is detected from the bytes.
#[derive(Clone, Copy)]
struct CharsetArg(Option<Charset>);

fn parse_charset(name: &str) -> Result<CharsetArg, String> {
    if name.eq_ignore_ascii_case("auto") {
        return Ok(CharsetArg(None));
    }
    Charset::named(name)
        .map(|charset| CharsetArg(Some(charset)))
        .ok_or_else(|| "write auto or a charset's name, such as utf-8, gbk, big5 or windows-1252".to_owned())
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("write one ASCII character, or tab".to_owned()),
    }
}
