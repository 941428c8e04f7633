//! The names of documents in results: their ids, files and lines.

use std::borrow::Cow;

use twinprint_io::source::{SourceFile, Sources};

use super::Documents;
use crate::error::DedupError;
use crate::ids::{DocumentId, Id};

/// The name of a document in rows.
#[derive(Clone, Debug)]
pub(crate) struct DocumentName<'n> {
    pub(crate) id: Cow<'n, str>,
    pub(crate) source: Cow<'n, str>,
    /// The line or row in the source, from 1.
    pub(crate) line: u64,
}

/// Finds the names of documents by their numbers in input order.
pub(crate) trait DocumentNames {
    /// The name of a document.
    ///
    /// # Errors
    /// The name is on disk and cannot be read.
    fn name(&self, document: u32) -> Result<DocumentName<'_>, DedupError>;
}

impl DocumentNames for Names<'_> {
    fn name(&self, document: u32) -> Result<DocumentName<'_>, DedupError> {
        let document = DocumentId::new(document);
        let (source, line) = self.place(document);
        Ok(DocumentName {
            id: self.id(document),
            source: source.into(),
            line,
        })
    }
}

/// Looks up the names of documents, for rows and reports.
#[derive(Clone, Copy)]
pub(crate) struct Names<'r> {
    pub(crate) documents: &'r Documents,
    pub(crate) sources: &'r Sources,
}

impl Names<'_> {
    /// The file that a document is from.
    fn file(&self, document: DocumentId) -> &SourceFile {
        self.sources.file(self.documents.source(document))
    }

    /// The source of a document, and its line or row.
    pub(crate) fn place(&self, document: DocumentId) -> (&str, u64) {
        let source = self.file(document);
        (&source.label, self.documents.line(document))
    }

    /// True if the id of a document does not depend on its position in a file: the record states the id, or the
    /// document is a whole file and its path is the id.
    pub(crate) fn is_own_id(&self, document: DocumentId) -> bool {
        let source = self.file(document);
        self.documents.id(document).is_some() || source.format.is_whole_file()
    }

    /// The id of a document in results: the id that the record states, the path if the document is a whole file, or
    /// else `source:line`.
    pub(crate) fn id(&self, document: DocumentId) -> Cow<'_, str> {
        if let Some(id) = self.documents.id(document) {
            return Cow::Borrowed(id);
        }
        unnamed(self.file(document), self.documents.line(document))
    }
}

/// The id in results of a document whose record states none.
pub(crate) fn unnamed(source: &SourceFile, line: u64) -> Cow<'_, str> {
    if source.format.is_whole_file() {
        Cow::Borrowed(&source.label)
    } else {
        Cow::Owned(source.name_of(line))
    }
}
