//! The only place that writes to the terminal.

use std::io::{self, Write};

use anyhow::Context;

/// The message of an error in writing to stdout.
pub(crate) const STDOUT: &str = "stdout cannot be written";

/// Writes to stdout; a closed pipe is an error like any other (see [`is_closed_pipe`]).
pub(crate) fn out(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.context(STDOUT)
}

/// A message beside the results. Where nobody reads it any more, the work goes on.
pub(crate) fn note(text: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "{text}");
}

/// An error and what led to it; a cause that is told already is not told again.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let parted = if text.is_empty() { "" } else { ": " };
            text = text + parted + &cause;
        }
    }
    note(&format!("error: {text}"));
}

/// Whether the reader of our output has had enough, as `head` does.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
