//! The only place that writes to the terminal.
#![expect(clippy::print_stderr, reason = "this is where the program speaks")]

use std::io::{self, Write};

/// Writes to stdout; a closed pipe is an error like any other (see [`is_closed_pipe`]).
pub(crate) fn out(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// A message beside the results.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// An error and what led to it.
pub(crate) fn error(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

/// Whether the reader of our output has had enough, as `head` does.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
