//! The only place that writes to the terminal.

use std::io::{self, Write};

use anyhow::Context;

/// The message of an error in writing to stdout.
pub(crate) const STDOUT_ERROR: &str = "stdout cannot be written";

/// Writes to stdout; a closed pipe is an error like any other (see [`is_closed_pipe`]).
pub(crate) fn out(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.context(STDOUT_ERROR)
}

/// Writes a message to stderr. An error is ignored, so that the work continues.
pub(crate) fn note(text: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error and its causes.
pub(crate) fn error(error: &anyhow::Error) {
    note(&format!("error: {}", with_causes(error)));
}

/// The messages of an error and its causes. A cause that the text contains already is not repeated.
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

/// True if the error is a closed pipe: the reader of the output, such as `head`, has ended.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
