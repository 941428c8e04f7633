//! The flags that say what to read, shared by the commands.

use std::path::PathBuf;

use clap::Args;
use twinprint::source::{Format, SourceOptions};

use crate::number::parse_bytes;

#[derive(Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files, folders, quoted globs, or - for stdin
    ///
    /// Text files (.txt .md .rst …) and HTML pages (.html .htm .xhtml) are one document a file, .jsonl and .ndjson one a line, web archives (.warc .wet) one a record; each may be packed as .gz or
    /// .zst. Folders are read in order of path; symbolic links inside them are not followed.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,

    /// Field of a JSON record that holds the text; dots descend into objects
    #[arg(
        long,
        default_value = "text",
        value_name = "FIELD",
        visible_alias = "text-field"
    )]
    text_key: String,

    /// Field that holds HTML, of which the main content is compared; instead of --text-key
    #[arg(long, value_name = "FIELD", conflicts_with = "text_key")]
    html_key: Option<String>,

    /// Field that holds the record's id; without it a record is known by file and line
    #[arg(long, default_value = "id", value_name = "FIELD")]
    id_key: String,

    /// Format of stdin and of files whose extension does not tell
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "html", "lines", "jsonl", "warc"])]
    format: Option<String>,

    /// Take every line of a text file as a document
    #[arg(long)]
    lines: bool,

    /// Further extensions to read as text, such as rs,toml
    #[arg(long, value_delimiter = ',', value_name = "EXT")]
    ext: Vec<String>,

    /// Read every file that decodes as text, whatever its extension
    #[arg(long)]
    any_text: bool,

    /// Reject longer records
    #[arg(long, default_value = "64MiB", value_name = "BYTES", value_parser = parse_bytes)]
    max_document: u64,

    /// Read only the first N records
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Take options from a file, such as the config.toml of an earlier run; the command line has precedence
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
            lines: self.lines,
            extra_extensions: self
                .ext
                .iter()
                .map(|ext| ext.trim_start_matches('.').to_owned())
                .collect(),
            any_text: self.any_text,
            max_document: self.max_document,
            limit: self.limit,
            ..SourceOptions::default()
        }
    }
}
