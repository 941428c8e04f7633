//! `--append`: what a run kept goes to the collection that it was held against.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use twinprint::collection::{Collection, Durability, Fed, NewDocument, feed};
use twinprint::source::SourceOptions;
use twinprint::stream::FieldKeys;
use twinprint::{DedupError, DedupOptions, Mode};

use crate::number::{count, counted};
use crate::progress::Bars;
use crate::terminal;

/// A file beside the result that is there while not all of it has been appended.
const UNFINISHED: &str = "append-unfinished.txt";

/// Refuses, before the run, what could not be appended after it.
pub(crate) fn check(options: &DedupOptions) -> anyhow::Result<()> {
    let refuse = |message: &str| Err(DedupError::Option(format!("--append: {message}")).into());
    if options.mode != Mode::Remove {
        return refuse("what is kept is read from kept/, which --mode annotate and report do not write");
    }
    match &options.against {
        Some(path) if path.is_dir() && !Collection::is_at(path) => refuse(
            "--against names an index, which has no texts; add fingerprints with `twinprint index add`",
        ),
        _ => Ok(()),
    }
}

/// Adds the documents in `out`/kept to a collection.
pub(crate) fn append(
    to: &Path,
    out: &Path,
    source: &SourceOptions,
    cancel: &Arc<AtomicBool>,
    quiet: bool,
) -> anyhow::Result<()> {
    let kept = out.join("kept");
    let collection = Collection::open(to)?;
    let (mut added, mut replaced, mut rejected) = (0u64, 0u64, 0u64);
    let mut tell = |why: &str| {
        rejected += 1;
        terminal::note(&format!("--append: {why}"));
    };
    let bars = Bars::new(quiet);
    // Keys of sorting and limits have done their part.
    let source = SourceOptions {
        sort_key: None,
        limit: None,
        ..source.clone()
    };
    // Whoever finds the result of a run that was killed is told that the rest of it is not known yet.
    let unfinished = out.join(UNFINISHED);
    let go_on = format!(
        "twinprint collection add {} {}, with the options of this run for records, goes on",
        to.display(),
        kept.display()
    );
    std::fs::write(
        &unfinished,
        format!("not all of kept/ is in {} yet; {go_on}\n", to.display()),
    )
    .with_context(|| unfinished.display().to_string())?;
    let keys = collection.settings().looks_beside().then(FieldKeys::default);
    let inputs = [kept.to_string_lossy().into_owned()];
    let result = feed(&inputs, &source, keys.as_ref(), &bars, cancel, |fed: Vec<Fed>| {
        let documents: Vec<NewDocument> = fed
            .into_iter()
            .filter_map(|record| {
                let told = |reason| tell(&format!("{}: {reason}", record.place));
                record.document.map_err(told).ok()
            })
            .collect();
        for answer in collection.add(documents, false, Durability::Synced)? {
            match answer {
                Ok(answer) => {
                    added += 1;
                    replaced += u64::from(answer.moved.is_some_and(|bits| bits > 0));
                }
                Err(error) => tell(&error.to_string()),
            }
        }
        anyhow::Ok(())
    });
    bars.finish();
    result.map_err(|error| {
        error.context(format!(
            "the result in {} is whole, but not all of it is in {}; {go_on}",
            out.display(),
            to.display(),
        ))
    })?;
    std::fs::remove_file(&unfinished).with_context(|| unfinished.display().to_string())?;
    if !quiet {
        terminal::note(&format!("{} added to {}", count(added), to.display()));
    }
    if replaced > 0 {
        terminal::note(&format!(
            "--append: {} {} there with another text, which this one replaces; ids must differ between runs",
            counted(replaced, "id"),
            if replaced == 1 { "was" } else { "were" },
        ));
    }
    if rejected > 0 {
        anyhow::bail!(
            "{rejected} of the documents kept could not be added to {}",
            to.display()
        );
    }
    Ok(())
}
