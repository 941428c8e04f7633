//! Names of documents in results: id, file and line.

use std::borrow::Cow;

use twinprint_io::source::{SourceFile, Sources};

use super::Documents;
use crate::ids::DocumentId;

/// The lookup of documents' names, for rows and reports.
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

    /// The source and the line.
    pub(crate) fn place(&self, document: DocumentId) -> (&str, u64) {
        let source = self.file(document);
        (&source.label, self.documents.line(document))
    }

    /// True if the id does not depend on the document's place in its file: it is the record's own, or the path of a whole file.
    pub(crate) fn is_own_id(&self, document: DocumentId) -> bool {
        let source = self.file(document);
        self.documents.id(document).is_some() || source.format.is_whole_file()
    }

    /// The record's id, or else `source:line`, or the path of a whole file.
    pub(crate) fn id(&self, document: DocumentId) -> Cow<'_, str> {
        if let Some(id) = self.documents.id(document) {
            return Cow::Borrowed(id);
        }
        let source = self.file(document);
        if source.format.is_whole_file() {
            Cow::Borrowed(&source.label)
        } else {
            Cow::Owned(source.name_of(self.documents.line(document)))
        }
    }
}
