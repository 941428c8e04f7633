//! Gives every input file a path of its own under `kept/` and `removed/`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::file::SourceFile;

/// Separates the outputs of inputs that would collide. If two inputs would write to the same path, or one would write a
/// file where another needs a folder, the files of every input are put into a folder named by the input's number, from
/// 1. `origins` contains the index of each file's input.
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
