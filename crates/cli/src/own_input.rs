//! Refuses a result file that is one of the inputs, which the result would replace.

use std::fs;
use std::path::Path;

use twinprint::source::{SourceOptions, Sources, is_remote};

use crate::usage::usage;

/// Refuses `output` if it is one of `inputs`, or lies in one of them: the directory of an index or a collection. A file that
/// does not exist yet is no input.
///
/// # Errors
/// The input that the result would replace.
pub(crate) fn refuse_own_input<'p>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> anyhow::Result<()> {
    let Ok(existing) = fs::canonicalize(output) else {
        return Ok(());
    };
    let replaced = |input: &&Path| fs::canonicalize(input).is_ok_and(|input| existing.starts_with(input));
    match inputs.into_iter().find(replaced) {
        None => Ok(()),
        Some(input) if input == output => Err(usage(format!(
            "{}: the result would replace this input; name another file for the result",
            output.display()
        ))),
        Some(input) => Err(usage(format!(
            "{}: the result would replace a file of the input {}; name another file for the result",
            output.display(),
            input.display()
        ))),
    }
}

/// Refuses `output` if it is a file of documents that `inputs` name: files, folders and globs.
///
/// # Errors
/// The output, if it is an input.
pub(crate) fn refuse_own_documents(
    output: &Path,
    inputs: &[String],
    options: &SourceOptions,
) -> anyhow::Result<()> {
    if !output.exists() {
        return Ok(());
    }
    let is_local = |input: &&String| *input != "-" && !is_remote(input);
    let local: Vec<String> = inputs.iter().filter(is_local).cloned().collect();
    // Only stdin and remote files need a work directory.
    let Ok(sources) = Sources::discover(&local, options, Path::new("")) else {
        // The command reports an input that cannot be read.
        return Ok(());
    };
    refuse_own_input(output, sources.list().iter().map(|file| file.path.as_path()))
}
