//! Gives every file a place of its own under `kept/` and `removed/`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::sources::SourceFile;

/// Where two inputs would write to the same place, or one where the other needs a folder, every input's files go
/// into a folder of the input's number, from 1. `origins` holds each file's input, counted from 0.
pub(super) fn part_inputs(files: &mut [SourceFile], origins: &[usize]) {
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
