//! All output to the terminal goes through this module.

use std::io::{self, Write};

use anyhow::Context;

/// The message if writing to stdout fails.
pub(crate) const STDOUT_ERROR: &str = "stdout cannot be written";

/// Writes to stdout. A closed pipe is an error too; [`is_closed_pipe`] recognises it.
pub(crate) fn out(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.context(STDOUT_ERROR)
}

/// Writes a message to stderr. Errors are ignored, so that the command continues.
pub(crate) fn note(text: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error and its causes.
pub(crate) fn error(error: &anyhow::Error) {
    note(&format!("error: {}", with_causes(error)));
}

/// The messages of an error and of its causes, joined. A cause is left out if its message is already part of the text.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let parted = if text.is_empty() { "" } else { ": " };
            text = text + parted + &cause;
        }
    }
    text
}

/// Returns `true` if the error is a closed pipe: the reader of the output, such as `head`, has ended.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
