//! `--append`: the report of the documents that a run added to its collection.

use std::path::Path;

use twinprint::Appended;

use crate::number::{count, counted};
use crate::terminal;

/// Prints the counts of added and replaced documents.
pub(crate) fn report(appended: &Appended, to: &Path, quiet: bool) {
    if !quiet {
        let earlier = if appended.earlier > 0 {
            let had = if appended.earlier == 1 { "was" } else { "were" };
            format!(", {} {had} in it already", count(appended.earlier))
        } else {
            String::new()
        };
        terminal::note(&format!(
            "{} added to {}{earlier}",
            count(appended.added),
            to.display()
        ));
    }
    if appended.replaced > 0 {
        terminal::note(&format!(
            "--append: {} {} in the collection with another text, which was replaced; ids must differ between runs",
            counted(appended.replaced, "id"),
            if appended.replaced == 1 { "was" } else { "were" },
        ));
    }
}
