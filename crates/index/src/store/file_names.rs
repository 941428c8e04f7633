//! The names of the files of an index. Only files with these names are ever removed.

use std::path::{Path, PathBuf};

/// The name of the manifest.
pub(super) const MANIFEST_NAME: &str = "manifest";
/// The name of the file that a writer locks.
pub(super) const LOCK_NAME: &str = "lock";
/// The name of the marker of a writer.
pub(super) const MARKER_NAME: &str = "writing";
/// The extension of files that are not complete.
pub(super) const TEMPORARY_ENDING: &str = "tmp";
/// The extension of journals of builds. It is appended to the whole name of the segment.
pub(super) const JOURNAL_ENDING: &str = "resume";
/// The extension of segments.
pub(super) const SEGMENT_ENDING: &str = "seg";
/// The extension of a new index's only segment until the index has a manifest. It is appended to the segment's final
/// name.
pub(super) const NEW_ENDING: &str = "new";
/// The extension of files of deleted ids.
pub(super) const TOMBSTONES_ENDING: &str = "del";
/// The extension of files of names.
pub(super) const NAMES_ENDING: &str = "names";

/// Returns the name that a file has until it is complete.
pub(super) fn temporary(path: &Path) -> PathBuf {
    path.with_extension(TEMPORARY_ENDING)
}

/// Returns `true` if the store gives this name to a complete segment, or a complete file of deleted ids or of names.
pub(super) fn is_whole(name: &str) -> bool {
    let others = [TOMBSTONES_ENDING, NAMES_ENDING];
    is_segment(name)
        || others
            .iter()
            .any(|ending| stem(name, ending).is_some_and(is_number))
}

/// Returns `true` if the store gives this name to a file that is not complete, or that does not belong to an index yet.
pub(super) fn is_temporary(name: &str) -> bool {
    // An unfinished build names its files after the segment, with a further extension.
    let is_built = |name: &str| is_segment(name) || stem(name, NEW_ENDING).is_some_and(is_segment);
    let is_journal = |name: &str| stem(name, JOURNAL_ENDING).is_some_and(is_built);
    if let Some(whole) = stem(name, TEMPORARY_ENDING) {
        return whole == MANIFEST_NAME
            || whole == MARKER_NAME
            || is_number(whole)
            || is_built(whole)
            || is_journal(whole);
    }
    name == MARKER_NAME || is_journal(name) || stem(name, NEW_ENDING).is_some_and(is_segment)
}

fn is_segment(name: &str) -> bool {
    stem(name, SEGMENT_ENDING).is_some_and(is_number)
}

fn is_number(name: &str) -> bool {
    name.len() >= 8 && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the part of a name before an extension and its dot.
fn stem<'n>(name: &'n str, ending: &str) -> Option<&'n str> {
    name.strip_suffix(ending)?.strip_suffix('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_files_and_temporary_files_are_recognised() {
        for whole in ["00000001.seg", "123456789.del", "00000002.names"] {
            assert!(is_whole(whole) && !is_temporary(whole), "{whole}");
        }
        for temporary in [
            "00000001.seg.tmp",
            "00000001.seg.resume",
            "00000001.seg.resume.tmp",
            "00000001.seg.new",
            "00000001.seg.new.tmp",
            "00000001.seg.new.resume",
            "00000001.seg.new.resume.tmp",
            "00000001.tmp",
            "manifest.tmp",
            "writing",
            "writing.tmp",
        ] {
            assert!(is_temporary(temporary) && !is_whole(temporary), "{temporary}");
        }
        for others in [
            "manifest",
            "lock",
            "notes.tmp",
            "1.seg",
            "00000001.txt",
            "00000001",
            "my.seg",
            "my.names",
            "2.names",
            "a.del.tmp",
            "00000001.resume",
            "a.seg.resume",
            "a.seg.new",
            "00000001.new",
        ] {
            assert!(!is_whole(others) && !is_temporary(others), "{others}");
        }
    }
}
