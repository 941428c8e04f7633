//! Chooses the format and codec in which a file is read. The options, the name of the file, its first bytes and its
//! first records decide.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::source::file::SourceFile;
use crate::source::format::{Codec, Format, NamedFormat, format_of_name};
use crate::source::options::SourceOptions;
use crate::source::probe::{FieldPresence, probe_field};
use crate::source::sniff::FileHead;

/// The format and codec in which a file is read.
pub(super) struct FileFormat {
    pub format: Format,
    pub codec: Codec,
    /// The extension of a file that is read as text although its extension names another format or none; see
    /// [`SourceFile::as_text`].
    pub as_text: Option<String>,
}

/// The reason why a file is not read.
pub(super) enum UnreadReason {
    LaterFormat(String),
    /// The file does not begin with text.
    NotText,
    /// The file does not begin with text, and its records lack the text field. Contains the fields that they have.
    NoTextField(Vec<String>),
    UnknownExtension(Option<String>),
}

impl UnreadReason {
    /// The key under which a file of a folder is counted as skipped.
    pub(super) fn counted_as(self) -> String {
        match self {
            Self::NotText => "(not text)".to_owned(),
            // The file is not text either.
            Self::NoTextField(_) => "(no text field)".to_owned(),
            Self::LaterFormat(found) | Self::UnknownExtension(Some(found)) => format!(".{found}"),
            Self::UnknownExtension(None) => "(no extension)".to_owned(),
        }
    }
}

/// The way in which the user named a file.
pub(super) struct FileNaming<'a> {
    /// True if the user named the file itself, by its path or by a glob, and not only a folder above it. The format in
    /// the options applies only to such files.
    pub is_file_itself: bool,
    /// Returns true if the user spelled out the file's extension. The argument is the codec with which the file is
    /// compressed.
    pub spells_extension: &'a dyn Fn(Codec) -> bool,
}

/// The rules that choose the format of a file.
pub(super) struct FormatRules<'a> {
    options: &'a SourceOptions,
    /// Further extensions of text files, in lower case, without dots.
    text_extensions: Vec<String>,
}

impl<'a> FormatRules<'a> {
    /// Creates the rules that `options` set.
    pub(super) fn new(options: &'a SourceOptions) -> Self {
        let extensions = options.extra_extensions.iter();
        Self {
            options,
            text_extensions: extensions
                .map(|extension| extension.trim_start_matches('.').to_lowercase())
                .collect(),
        }
    }

    /// Chooses the format and codec in which a file is read. The error is the reason not to read it.
    pub(super) fn choose(&self, path: &Path, naming: &FileNaming<'_>) -> Result<FileFormat, UnreadReason> {
        let name = format_of_name(path, &self.text_extensions);
        let codec = name.codec();
        let kind = |format, extension: Option<String>| {
            Ok(FileFormat {
                format: self.by_lines(format),
                codec,
                as_text: extension.map(|extension| format!(".{extension}")),
            })
        };
        if let Some(format) = self.options.format.filter(|_| naming.is_file_itself) {
            return kind(format, None);
        }
        let extension = match name {
            NamedFormat::Known(format, _) => return self.known(format, path, codec),
            #[cfg(feature = "tables")]
            NamedFormat::Shared(format, ..) if FileHead::read(path, codec).begins_like(format) => {
                return self.known(format, path, codec);
            }
            #[cfg(feature = "tables")]
            NamedFormat::Shared(.., extension) => Some(extension),
            NamedFormat::LaterFormat(_, found) if !self.options.any_text => {
                return Err(UnreadReason::LaterFormat(found));
            }
            NamedFormat::LaterFormat(..) => None,
            NamedFormat::Unknown(_, extension) => extension,
        };
        if self.options.any_text && FileHead::read(path, codec).is_utf8() {
            return kind(Format::Text, None);
        }
        match extension {
            Some(extension) if (naming.spells_extension)(codec) => {
                if self.options.charset.is_some() || FileHead::read(path, codec).is_text() {
                    kind(Format::Text, Some(extension))
                } else {
                    Err(UnreadReason::NotText)
                }
            }
            _ if self.options.any_text => Err(UnreadReason::NotText),
            extension => Err(UnreadReason::UnknownExtension(extension)),
        }
    }

    /// Chooses the format of a file whose name states `format`. If the options accept every text file, a file whose
    /// content does not fit that format is read as text: its records lack the text field, or it lacks the magic number
    /// of the format.
    fn known(&self, format: Format, path: &Path, codec: Codec) -> Result<FileFormat, UnreadReason> {
        let file = FileFormat {
            format: self.by_lines(format),
            codec,
            as_text: None,
        };
        if !self.options.any_text || format.is_whole_file() {
            return Ok(file);
        }
        let head = FileHead::read(path, codec);
        let holds_records = match self.field_presence(path, &file) {
            FieldPresence::There | FieldPresence::Unseen => true,
            FieldPresence::Missing(fields) if !head.is_utf8() => {
                return Err(UnreadReason::NoTextField(fields));
            }
            FieldPresence::Missing(_) | FieldPresence::NotAtFirst(..) => false,
            FieldPresence::Empty | FieldPresence::Unknown => head.may_be(format),
        };
        if holds_records || !head.is_utf8() {
            // If the file is not valid in this format either, reading it reports the error.
            return Ok(file);
        }
        Ok(FileFormat {
            format: self.by_lines(Format::Text),
            as_text: Some(format!(".{}", spelled_as(path, codec))),
            ..file
        })
    }

    /// Determines whether the records of a file have the text field.
    fn field_presence(&self, path: &Path, kind: &FileFormat) -> FieldPresence {
        let Ok(metadata) = fs::metadata(path) else {
            return FieldPresence::Unseen;
        };
        let kind = FileFormat {
            as_text: None,
            ..*kind
        };
        let file = source_file(path.to_owned(), PathBuf::new(), kind, &metadata);
        probe_field(&file, self.options, &self.options.text_key)
    }

    pub(super) fn by_lines(&self, format: Format) -> Format {
        if format == Format::Text && self.options.lines {
            Format::Lines
        } else {
            format
        }
    }
}

/// Returns the extension that names the format of a file, in lower case.
fn spelled_as(path: &Path, codec: Codec) -> String {
    let name = match codec {
        Codec::Plain => path,
        _ => Path::new(path.file_stem().unwrap_or_default()),
    };
    let extension = name.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// Creates the description of a readable file, with its size and modification time.
pub(super) fn source_file(
    path: PathBuf,
    relative: PathBuf,
    format: FileFormat,
    metadata: &Metadata,
) -> SourceFile {
    let label = path.display().to_string();
    let (bytes, modified) = (metadata.len(), metadata.modified().ok());
    SourceFile {
        path,
        label,
        relative,
        format: format.format,
        codec: format.codec,
        bytes,
        as_text: format.as_text,
        unreadable: None,
        modified,
        remote: None,
    }
}
