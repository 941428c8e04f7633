//! The second stage: merges the classes of all slices to classes of equal texts.
//!
//! A task takes a range of text hashes from every slice, so that each class is in one task.

use std::path::Path;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::keep_key::{KeepKey, with_keep_key};
use super::outputs::{CLASSES, ClassesSummary, LINKS, slice_file};
use super::tables::{ClassLink, GlobalClass, LocalClass};
use crate::error::DedupError;
use crate::rows::{Merge, RowSorter};

/// Merges the classes of a range of text hashes.
pub(super) fn merge(job: &StagedJob<'_>, range: u32) -> Result<ClassesSummary, DedupError> {
    let task = Task::new(Stage::Classes, range);
    job.folder.run(task, |dir| {
        with_keep_key!(job.options.keep, merge_range(job, range, dir))
    })
}

fn merge_range<K: KeepKey>(
    job: &StagedJob<'_>,
    range: u32,
    dir: &Path,
) -> Result<ClassesSummary, DedupError> {
    let mut files = Vec::new();
    for part in job.spec.parts() {
        let task = Task::new(Stage::Analyse, part);
        for slice in &job.part(part)?.slices {
            let file = slice_file("classes", slice.number);
            files.push(job.folder.rows::<LocalClass<K>>(task, &file)?);
        }
    }
    let of_range = |row: &LocalClass<K>| job.spec.range_of(row.text_hash);
    let mut ranges = Vec::with_capacity(files.len());
    for file in &files {
        let from = file.partition_point(|row| of_range(row) < range)?;
        let to = file.partition_point(|row| of_range(row) <= range)?;
        ranges.push((file, from..to));
    }
    let memory = job.sort_memory() / 2;
    let mut classes = RowSorter::new(dir, memory);
    let mut links = RowSorter::new(dir, memory);
    let mut count = 0;
    let mut group: Vec<LocalClass<K>> = Vec::new();
    let mut end = |group: &mut Vec<LocalClass<K>>| -> Result<(), DedupError> {
        let Some(class) = united(group) else {
            return Ok(());
        };
        let representative = class.representative;
        classes.push(class)?;
        count += 1;
        group.drain(..).try_for_each(|row| {
            links.push(ClassLink {
                representative,
                class: row.class,
            })
        })
    };
    for (at, row) in (0..).zip(Merge::of_ranges(&ranges, job.merge_memory())) {
        let row = row?;
        job.check_at(at)?;
        if group.last().is_some_and(|last| last.text_hash != row.text_hash) {
            end(&mut group)?;
        }
        group.push(row);
    }
    end(&mut group)?;
    classes.write(&dir.join(CLASSES))?;
    links.write(&dir.join(LINKS))?;
    Ok(ClassesSummary { classes: count })
}

/// The class that the classes of slices with equal texts form. `None` without classes.
fn united<K: KeepKey>(group: &[LocalClass<K>]) -> Option<GlobalClass<K>> {
    let best = group.iter().min_by_key(|row| (row.keep, row.representative))?;
    let analysed = group.iter().find(|row| row.analysed == 1)?;
    Some(GlobalClass {
        keep: best.keep,
        representative: best.representative,
        first: group.iter().map(|row| row.first).min()?,
        size: group.iter().fold(0, |sum, row| row.size.saturating_add(sum)),
        fingerprint: analysed.fingerprint,
        features: analysed.features,
        shingles: analysed.shingles,
        measure: analysed.measure,
        part: analysed.part,
        block: analysed.block,
        offset: analysed.offset,
        len: analysed.len,
    })
}
