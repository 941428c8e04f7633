//! Reports what `dedup --append` added to the collection.

use std::path::Path;

use twinprint::Appended;

use crate::number::{count, counted};
use crate::terminal;

/// Prints the number of documents that were added to the collection, and of those that were replaced in it.
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
            "--append: {} {} in the collection already; the new text replaced the stored one; use different ids in each run",
            counted(appended.replaced, "id"),
            if appended.replaced == 1 { "was" } else { "were" },
        ));
    }
}
