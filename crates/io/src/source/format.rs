//! The formats and codecs of files, and their detection from file names.
//!
//! The last extension of a name may name a codec (`.gz`, `.zst`, `.bz2`, `.xz`, `.lz4`), and the extension before it
//! the format. Case is ignored. A format that only a later version reads is distinguished from an unknown extension,
//! because the fix differs.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A file format, which decides how a file is split into documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The whole file is one document.
    Text,
    /// The whole file is one HTML page.
    Html,
    /// Each line is a document.
    Lines,
    /// Each line is a JSON object. One of its fields contains the text.
    Jsonl,
    /// The file is an array of JSON objects. One field of each contains the text.
    Json,
    /// A header row, followed by rows of fields separated by commas.
    Csv,
    /// A header row, followed by rows of fields separated by tabs.
    Tsv,
    /// A web archive, WARC or WET. The records that are pages or texts are documents.
    Warc,
    /// An Arrow IPC file or stream, such as Feather. One of its columns contains the text.
    #[cfg(feature = "tables")]
    Arrow,
    /// A Parquet file. One of its columns contains the text.
    #[cfg(feature = "tables")]
    Parquet,
}

impl Format {
    /// Returns true if a file of this format is one document. Files of the other formats contain many records.
    pub fn is_whole_file(self) -> bool {
        matches!(self, Self::Text | Self::Html)
    }

    /// Returns true if each record of this format is a line.
    pub fn is_by_line(self) -> bool {
        matches!(self, Self::Lines | Self::Jsonl)
    }

    /// Returns true if this format is a table whose rows are documents.
    pub fn is_table(self) -> bool {
        match self {
            #[cfg(feature = "tables")]
            Self::Arrow | Self::Parquet => true,
            _ => false,
        }
    }

    /// The name of the format, which [`FromStr`] accepts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::Lines => "lines",
            Self::Jsonl => "jsonl",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Warc => "warc",
            #[cfg(feature = "tables")]
            Self::Arrow => "arrow",
            #[cfg(feature = "tables")]
            Self::Parquet => "parquet",
        }
    }

    /// The extension of files of this format, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text | Self::Lines => "txt",
            named => named.name(),
        }
    }

    /// Returns true if the records of this format have named fields, one of which contains the text.
    pub fn has_fields(self) -> bool {
        matches!(self, Self::Jsonl | Self::Json | Self::Csv | Self::Tsv) || self.is_table()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of parsing the name of a format that this version does not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a format this version reads; choose text or html (one document per file), lines (one per line), jsonl, json, csv, tsv{tables} or warc", tables = if cfg!(feature = "tables") { ", parquet, arrow" } else { "" }
)]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        match name.to_ascii_lowercase().as_str() {
            "text" | "txt" | "md" | "markdown" | "rst" => Ok(Self::Text),
            "html" | "htm" | "xhtml" => Ok(Self::Html),
            "lines" => Ok(Self::Lines),
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            "json" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            "tsv" => Ok(Self::Tsv),
            "warc" | "wet" => Ok(Self::Warc),
            #[cfg(feature = "tables")]
            "arrow" | "feather" | "ipc" => Ok(Self::Arrow),
            #[cfg(feature = "tables")]
            "parquet" => Ok(Self::Parquet),
            _ => Err(UnknownFormat(name.to_owned())),
        }
    }
}

/// A compression codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// The file is not compressed.
    Plain,
    /// gzip, with one or more members.
    Gzip,
    /// Zstandard, with one or more frames, whose windows have at most 2 GiB.
    Zstd,
    /// bzip2, with one or more streams.
    Bzip2,
    /// xz, with one or more streams.
    Xz,
    /// LZ4, with one or more frames.
    Lz4,
}

impl Codec {
    /// The number of bytes that [`of_magic`](Self::of_magic) examines.
    pub const MAGIC: usize = 10;

    /// Detects the codec from the magic number at the beginning of a stream. An uncompressed text is never mistaken for
    /// a compressed stream, because no text begins with one of the magic numbers. Even that of bzip2, which consists of
    /// printable characters, is ten characters long and no word.
    pub fn of_magic(head: &[u8]) -> Self {
        match head {
            [
                b'B',
                b'Z',
                b'h',
                b'1'..=b'9',
                b'1',
                b'A',
                b'Y',
                b'&',
                b'S',
                b'Y',
                ..,
            ]
            | [
                b'B',
                b'Z',
                b'h',
                b'1'..=b'9',
                0x17,
                0x72,
                0x45,
                0x38,
                0x50,
                0x90,
                ..,
            ] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Lz4,
            [0x1f, 0x8b, ..] => Self::Gzip,
            // The magic number of a frame with data or of a skippable frame, such as one that contains a dictionary.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// The name of the codec in messages. `None` for uncompressed files.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
            Self::Bzip2 => Some("bzip2"),
            Self::Xz => Some("xz"),
            Self::Lz4 => Some("lz4"),
        }
    }

    /// The file extension of the codec, with its dot. Empty for uncompressed files.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
            Self::Bzip2 => ".bz2",
            Self::Xz => ".xz",
            Self::Lz4 => ".lz4",
        }
    }
}

/// The format and the codec that a file name indicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedFormat {
    /// A format that this version reads.
    Known(Format, Codec),
    /// A format that this version reads, but whose extension is also used for other kinds of files.
    #[cfg(feature = "tables")]
    Shared(Format, Codec, String),
    /// A format that this version does not read, with its extension.
    LaterFormat(Codec, String),
    /// An unknown format, with the extension if the name has one.
    Unknown(Codec, Option<String>),
}

/// The extensions of text files, which are one document each.
const TEXT: [&str; 5] = ["txt", "md", "markdown", "rst", "text"];
/// The extensions of HTML pages.
const HTML: [&str; 3] = ["html", "htm", "xhtml"];
/// The extensions of files with one JSON object per line.
const JSONL: [&str; 2] = ["jsonl", "ndjson"];
/// The extensions of web archives.
const WARC: [&str; 2] = ["warc", "wet"];
/// The extensions of formats that this build does not read.
#[cfg(not(feature = "tables"))]
const LATER_FORMATS: [&str; 3] = ["parquet", "arrow", "feather"];
/// The extensions of formats that this build does not read: none with the feature `tables`.
#[cfg(feature = "tables")]
const LATER_FORMATS: [&str; 0] = [];

/// Detects the format and the codec from a file name. `extra` lists further extensions of text files, in lower case,
/// without dots.
///
/// # Examples
/// ```
/// use std::path::Path;
/// use twinprint_io::source::{Codec, Format, NamedFormat, format_of_name};
///
/// let crawl = format_of_name(Path::new("crawl/part-1.warc.gz"), &[]);
/// assert_eq!(crawl, NamedFormat::Known(Format::Warc, Codec::Gzip));
/// let code = format_of_name(Path::new("main.rs"), &["rs".to_owned()]);
/// assert_eq!(code, NamedFormat::Known(Format::Text, Codec::Plain));
/// ```
pub fn format_of_name(path: &Path, extra: &[String]) -> NamedFormat {
    let name = Path::new(path.file_name().unwrap_or(OsStr::new("")));
    let outer = extension(name);
    let codec = match outer.as_deref() {
        Some("gz") => Codec::Gzip,
        Some("zst") => Codec::Zstd,
        Some("bz2") => Codec::Bzip2,
        Some("xz") => Codec::Xz,
        Some("lz4") => Codec::Lz4,
        _ => Codec::Plain,
    };
    let inner = if codec == Codec::Plain {
        outer
    } else {
        name.file_stem().map(Path::new).and_then(extension)
    };
    match inner.as_deref() {
        Some(e) if extra.iter().any(|x| x == e) => NamedFormat::Known(Format::Text, codec),
        Some(e) if TEXT.contains(&e) => NamedFormat::Known(Format::Text, codec),
        Some(e) if HTML.contains(&e) => NamedFormat::Known(Format::Html, codec),
        Some(e) if JSONL.contains(&e) => NamedFormat::Known(Format::Jsonl, codec),
        Some(e) if WARC.contains(&e) => NamedFormat::Known(Format::Warc, codec),
        Some("json") => NamedFormat::Known(Format::Json, codec),
        Some("csv") => NamedFormat::Known(Format::Csv, codec),
        Some("tsv" | "tab") => NamedFormat::Known(Format::Tsv, codec),
        #[cfg(feature = "tables")]
        Some("arrow" | "feather") => NamedFormat::Known(Format::Arrow, codec),
        #[cfg(feature = "tables")]
        Some(e @ ("arrows" | "ipc")) => NamedFormat::Shared(Format::Arrow, codec, e.to_owned()),
        #[cfg(feature = "tables")]
        Some("parquet") => NamedFormat::Known(Format::Parquet, codec),
        Some(e) if LATER_FORMATS.contains(&e) => NamedFormat::LaterFormat(codec, e.to_owned()),
        _ => NamedFormat::Unknown(codec, inner),
    }
}

impl NamedFormat {
    /// The codec that the file name indicates.
    pub fn codec(&self) -> Codec {
        match self {
            #[cfg(feature = "tables")]
            Self::Shared(_, codec, _) => *codec,
            Self::Known(_, codec) | Self::LaterFormat(codec, _) | Self::Unknown(codec, _) => *codec,
        }
    }
}

fn extension(name: &Path) -> Option<String> {
    name.extension()
        .map(|e| e.to_string_lossy().to_lowercase())
        .filter(|e| !e.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_indicate_format_and_codec() {
        let of = |n: &str| format_of_name(Path::new(n), &["rs".to_owned(), "csv".to_owned()]);
        assert_eq!(of("a/b.TXT"), NamedFormat::Known(Format::Text, Codec::Plain));
        assert_eq!(of("b.md.gz"), NamedFormat::Known(Format::Text, Codec::Gzip));
        assert_eq!(of("b.jsonl.zst"), NamedFormat::Known(Format::Jsonl, Codec::Zstd));
        assert_eq!(of("b.rs"), NamedFormat::Known(Format::Text, Codec::Plain));
        assert_eq!(
            of("b.csv"),
            NamedFormat::Known(Format::Text, Codec::Plain),
            "a further extension takes precedence over a format of that name"
        );
        assert_eq!(of("b.jsonl.xz"), NamedFormat::Known(Format::Jsonl, Codec::Xz));
        assert_eq!(of("b.json.bz2"), NamedFormat::Known(Format::Json, Codec::Bzip2));
        assert_eq!(of("b.TSV.lz4"), NamedFormat::Known(Format::Tsv, Codec::Lz4));
        #[cfg(not(feature = "tables"))]
        assert_eq!(
            of("b.parquet.gz"),
            NamedFormat::LaterFormat(Codec::Gzip, "parquet".to_owned())
        );
        #[cfg(feature = "tables")]
        assert_eq!(of("b.parquet"), NamedFormat::Known(Format::Parquet, Codec::Plain));
        #[cfg(feature = "tables")]
        assert_eq!(
            of("b.arrows"),
            NamedFormat::Shared(Format::Arrow, Codec::Plain, "arrows".to_owned())
        );
        assert_eq!(
            of("b.bin"),
            NamedFormat::Unknown(Codec::Plain, Some("bin".to_owned()))
        );
        assert_eq!(of("x.gz"), NamedFormat::Unknown(Codec::Gzip, None));
        assert_eq!(of(".gitignore"), NamedFormat::Unknown(Codec::Plain, None));
    }

    #[test]
    fn every_format_name_parses_back() {
        use Format::{Csv, Json, Jsonl, Lines, Text, Tsv};
        for format in [Text, Lines, Jsonl, Json, Csv, Tsv] {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert!("pdf".parse::<Format>().is_err());
    }
}
