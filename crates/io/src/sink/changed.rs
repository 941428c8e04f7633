//! Checks that an input file has not changed since it was found.

use std::fs;

use super::error::SinkError;
use crate::source::SourceFile;

/// Checks that a file still has the length and the modification time that it had when it was found.
///
/// # Errors
/// [`SinkError::Changed`] if one of them differs.
pub fn unchanged(input: &SourceFile) -> Result<(), SinkError> {
    if input.remote.is_some() {
        // The version of an object is compared when it is copied, and nothing changes the copy.
        return Ok(());
    }
    let now =
        fs::metadata(&input.path).map_err(|e| changed(input, format!("it can no longer be read: {e}")))?;
    if now.len() != input.bytes {
        return Err(changed(
            input,
            format!("it had {} bytes and has {} now", input.bytes, now.len()),
        ));
    }
    if now.modified().ok() != input.modified {
        return Err(changed(input, "its modification time is different".to_owned()));
    }
    Ok(())
}

/// Returns the error for an input that changed during the run. `difference` describes the change.
pub fn changed(input: &SourceFile, difference: String) -> SinkError {
    SinkError::Changed {
        label: input.label.clone(),
        what: difference,
    }
}
