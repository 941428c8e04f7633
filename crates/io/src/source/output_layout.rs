//! Gives every file a path of its own under `kept/` and `removed/`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::file::SourceFile;

/// Puts the files of every input into a folder of the input's number, from 1, if two inputs would write to the same path, or if one
/// would write a file where the other needs a folder. `origins` holds the input of each file, counted from 0.
pub(super) fn separate_inputs(files: &mut [SourceFile], origins: &[usize]) {
    if origins.first() == origins.last() || !clashes(files) {
        return;
    }
    for (file, origin) in files.iter_mut().zip(origins) {
        file.relative = PathBuf::from((origin + 1).to_string()).join(&file.relative);
    }
}

fn clashes(files: &[SourceFile]) -> bool {
    let mut places: HashSet<&Path> = HashSet::with_capacity(files.len());
    if !files.iter().all(|file| places.insert(&file.relative)) {
        return true;
    }
    files.iter().any(|file| {
        file.relative
            .ancestors()
            .skip(1)
            .any(|above| places.contains(above))
    })
}
