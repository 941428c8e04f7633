//! Building indexes and adding to them, from arrays.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint::segment::{self, Builder, Segment, SegmentError};
use twinprint::store::{self, Index, Options, Settings, Upkeep};
use twinprint::{Progress, Unit};

use super::error::IndexError;
use super::row::Row;

/// The ids of fingerprints.
pub(super) enum Ids {
    /// The positions, from the next free id on.
    Positions,
    Numbers(Vec<u64>),
    Names(Vec<String>),
}

/// The memory, the progress and the cancellation of a build.
pub(super) struct Build<'b> {
    pub(super) memory: u64,
    pub(super) progress: &'b dyn Progress,
    pub(super) cancel: &'b Arc<AtomicBool>,
}

/// The options of a process that writes to an index. There is no thread in the background, so a call that returns has
/// ended all its work.
fn options() -> Options {
    Options {
        upkeep: Upkeep::Caller,
        ..Options::default()
    }
}

/// Opens an index as its only writer.
pub(super) fn writer<W: Row>(path: &Path) -> Result<Index<W>, IndexError> {
    Ok(Index::open(path, &options())?)
}

fn twice(id: impl std::fmt::Debug) -> IndexError {
    IndexError::Argument("ids", format!("the id {id:?} occurs twice; make ids unique"))
}

/// Checks that there is one id for each of `count` fingerprints, and that no id occurs twice.
fn check(ids: &Ids, count: usize) -> Result<(), IndexError> {
    let given = match ids {
        Ids::Positions => count,
        Ids::Numbers(numbers) => {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            if let Some([id, _]) = sorted.array_windows().find(|[a, b]| a == b) {
                return Err(twice(id));
            }
            if sorted.last() == Some(&u64::MAX) {
                let problem = format!("the id {} is too large; give smaller ids", u64::MAX);
                return Err(IndexError::Argument("ids", problem));
            }
            numbers.len()
        }
        Ids::Names(names) => {
            let mut seen = HashSet::with_capacity(names.len());
            if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
                return Err(twice(name));
            }
            names.len()
        }
    };
    if given == count {
        return Ok(());
    }
    let problem = format!("there are {given} ids for {count} fingerprints");
    Err(IndexError::Argument("ids", problem))
}

impl Build<'_> {
    /// Writes a segment, and returns it with the largest id plus one.
    fn segment<W: Row>(
        &self,
        path: &Path,
        settings: &Settings,
        fingerprints: &[W],
        id: impl Fn(usize) -> u64,
    ) -> Result<(Segment<W>, u64), IndexError> {
        let count = fingerprints.len() as u64;
        let next = (0..fingerprints.len())
            .map(|position| id(position).saturating_add(1))
            .max()
            .unwrap_or(0);
        let options = segment::Options {
            ids_below: Some(next),
            stop: Some(Arc::clone(self.cancel)),
            memory: self.memory,
            ..store::segment_options::<W>(count, settings).map_err(store::StoreError::from)?
        };
        let needed = options.least_memory::<W>(count)?;
        SegmentError::check_memory(needed, self.memory)?;
        self.progress.stage("build", count, Unit::Fingerprints);
        let mut builder = Builder::new(path, &options)?;
        for (position, &fingerprint) in fingerprints.iter().enumerate() {
            builder.push(fingerprint, id(position))?;
        }
        let segment = builder.finish()?;
        self.progress.advance(count);
        Ok((segment, next))
    }

    /// Creates an index.
    pub(super) fn create<W: Row>(
        &self,
        path: &Path,
        settings: &Settings,
        fingerprints: &[W],
        ids: &Ids,
    ) -> Result<(), IndexError> {
        check(ids, fingerprints.len())?;
        let build = |segment: &Path| {
            self.segment(segment, settings, fingerprints, |position| match ids {
                Ids::Numbers(numbers) => numbers.get(position).copied().unwrap_or_default(),
                Ids::Positions | Ids::Names(_) => position as u64,
            })
        };
        let Ids::Names(names) = ids else {
            return store::create_from(path, settings, &options(), build);
        };
        let write = |writer: &mut store::NameWriter<'_>| {
            names
                .iter()
                .try_for_each(|name| writer.push(name))
                .map_err(IndexError::from)
        };
        store::create_named_from(path, settings, &options(), write, build)
    }

    /// Adds fingerprints to an index. An id that is in the index gets its new fingerprint. Returns the ids that the
    /// fingerprints got.
    pub(super) fn add<W: Row>(
        &self,
        path: &Path,
        fingerprints: &[W],
        ids: Ids,
    ) -> Result<Vec<u64>, IndexError> {
        check(&ids, fingerprints.len())?;
        let index = writer::<W>(path)?;
        let first = index.checkpoint();
        let kind = |problem: &str| Err(IndexError::Argument("ids", problem.to_owned()));
        let ids: Vec<u64> = match (ids, index.names()) {
            (Ids::Numbers(_) | Ids::Positions, Some(_)) => {
                return kind("the ids of this index are str; give a str for each fingerprint");
            }
            (Ids::Names(_), None) => {
                return kind("the ids of this index are int; give an int for each fingerprint, or none");
            }
            (Ids::Names(names), Some(known)) => {
                let numbers: HashMap<&str, u64> = known.iter().zip(0..).collect();
                let mut next = known.len();
                let mut new = Vec::new();
                let mut number = |name: &String| {
                    numbers.get(name.as_str()).copied().unwrap_or_else(|| {
                        new.push(name.clone());
                        next += 1;
                        next - 1
                    })
                };
                let ids = names.iter().map(&mut number).collect();
                if !new.is_empty() {
                    index.append_names(|writer| {
                        new.iter()
                            .try_for_each(|name| writer.push(name))
                            .map_err(IndexError::from)
                    })?;
                }
                ids
            }
            (Ids::Numbers(numbers), None) => numbers,
            (Ids::Positions, None) => (first..u64::MAX).take(fingerprints.len()).collect(),
        };
        if ids.len() != fingerprints.len() {
            return kind("no free ids remain; give ids");
        }
        if fingerprints.is_empty() {
            return Ok(ids);
        }
        index.add_segment(|segment| {
            let id = |position: usize| ids.get(position).copied().unwrap_or_default();
            let (built, next) = self.segment(segment, index.settings(), fingerprints, id)?;
            // Sets the next free id. The commit that adds the segment makes it durable.
            index.mark(index.checkpoint().max(next))?;
            Ok::<_, IndexError>(built)
        })?;
        Ok(ids)
    }
}
