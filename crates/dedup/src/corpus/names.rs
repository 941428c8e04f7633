//! Names of documents in results: id, file and line.

use std::borrow::Cow;

use twinprint_io::source::Sources;

use super::Documents;

/// Names documents in rows.
#[derive(Clone, Copy)]
pub(crate) struct Names<'r> {
    pub(crate) documents: &'r Documents,
    pub(crate) sources: &'r Sources,
}

impl Names<'_> {
    /// The source and the line.
    pub(crate) fn place(&self, document: u32) -> (&str, u64) {
        let source = &self.sources.list()[self.documents.source(document) as usize];
        (&source.label, self.documents.line(document))
    }

    /// True if the id does not depend on the document's place in its file: it is the record's own, or the path of a whole file.
    pub(crate) fn is_own_id(&self, document: u32) -> bool {
        let source = &self.sources.list()[self.documents.source(document) as usize];
        self.documents.id(document).is_some() || source.format.is_whole_file()
    }

    /// The record's id, or else `source:line`, or the path of a whole file.
    pub(crate) fn id(&self, document: u32) -> Cow<'_, str> {
        if let Some(id) = self.documents.id(document) {
            return Cow::Borrowed(id);
        }
        let source = &self.sources.list()[self.documents.source(document) as usize];
        if source.format.is_whole_file() {
            Cow::Borrowed(&source.label)
        } else {
            Cow::Owned(source.name_of(self.documents.line(document)))
        }
    }
}
