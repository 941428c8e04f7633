//! The check that an input has not changed since it was found.

use std::fs;

use super::error::SinkError;
use crate::source::SourceFile;

/// Checks that the length and the modification time of a file are still those with which it was found.
///
/// # Errors
/// [`SinkError::Changed`].
pub fn unchanged(input: &SourceFile) -> Result<(), SinkError> {
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

/// The error for an input that changed.
pub fn changed(input: &SourceFile, difference: String) -> SinkError {
    SinkError::Changed {
        label: input.label.clone(),
        what: difference,
    }
}
