//! Checks that an input has documents.

use super::error::SourceError;
use super::intake::Intake;

impl Intake {
    /// Returns the intake if it counts at least one document, or no records at all.
    ///
    /// # Errors
    /// [`SourceError::NothingAccepted`] if the input has records, but none of them is a document. The `warcinfo` record
    /// of a web archive does not count as a record here.
    pub fn checked(self) -> Result<Self, SourceError> {
        if self.accepted == 0 && (self.rejected > 0 || self.skips_records()) {
            return Err(SourceError::NothingAccepted(Box::new(self)));
        }
        Ok(self)
    }
}
