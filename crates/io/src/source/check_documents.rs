//! The check that an input has documents.

use super::error::SourceError;
use super::intake::Intake;

impl Intake {
    /// Returns the intake if the input has at least one document, or no records at all.
    ///
    /// # Errors
    /// [`SourceError::NothingAccepted`] if there are records, and none of them is a document. The `warcinfo` record of a web
    /// archive does not count.
    pub fn checked(self) -> Result<Self, SourceError> {
        if self.accepted == 0 && (self.rejected > 0 || self.skips_records()) {
            return Err(SourceError::NothingAccepted(Box::new(self)));
        }
        Ok(self)
    }
}
