//! Tells whether an input is still what it was when it was found.

use std::fs;

use super::error::SinkError;
use crate::source::SourceFile;

/// Compares length and time of change to those when the file was found.
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
        return Err(changed(input, "its time of change is another".to_owned()));
    }
    Ok(())
}

/// The error for an input that changed.
pub fn changed(input: &SourceFile, what: String) -> SinkError {
    SinkError::Changed {
        label: input.label.clone(),
        what,
    }
}
