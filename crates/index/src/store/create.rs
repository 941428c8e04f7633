//! Creates an index: an empty one, or one with a segment that the caller builds.

use std::fs::File;
use std::path::Path;

use twinprint_fingerprint::Width;

use super::files::{FIRST_FILE_NUMBER, FIRST_GENERATION, Files};
use super::manifest::{self, MAX_LABEL, Manifest, SegmentEntry};
use super::names::NameWriter;
use super::{Index, Options, Settings, StoreError};
use crate::segment::{Segment, unfinished};

impl<W: Width> Index<W> {
    /// Creates an empty index in `directory`, which is created if it does not exist, and opens it for writing.
    ///
    /// # Errors
    /// `Exists`, `Occupied` or `InUse` if the directory cannot be used for a new index; `Label` if the label is too
    /// long; `Io`.
    pub fn create(directory: &Path, settings: &Settings, options: &Options) -> Result<Self, StoreError> {
        let files = Files::new(directory, &options.storage);
        let lock = begin::<W>(&files, settings)?;
        files.remove(files.left_over(None)?);
        files.write_manifest(&first_manifest::<W>(settings, None)?)?;
        Self::start(files, lock, options)
    }
}

/// Creates an index in `directory` from one segment. `build` writes the segment to the given path, which is temporary,
/// and returns it with a checkpoint, as for [`Index::mark`]. If an earlier build was interrupted, `build` can find it
/// at that path with [`segment::Interrupted::find`]; files that `build` does not use are removed at the end.
///
/// # Errors
/// The errors of [`Index::create`] and of `build`.
pub fn create_from<W: Width, E: From<StoreError>>(
    directory: &Path,
    settings: &Settings,
    options: &Options,
    build: impl FnOnce(&Path) -> Result<(Segment<W>, u64), E>,
) -> Result<(), E> {
    let no_names = None::<fn(&mut NameWriter<'_>) -> Result<(), E>>;
    create_with(directory, settings, options, no_names, build)
}

/// Creates an index like [`create_from`], whose ids have [names](Names). `names` pushes a name for every id, from 0 on,
/// and `build` returns the number of names as the checkpoint.
///
/// # Errors
/// The errors of [`create_from`] and of `names`.
pub fn create_named_from<W: Width, E: From<StoreError>>(
    directory: &Path,
    settings: &Settings,
    options: &Options,
    names: impl FnOnce(&mut NameWriter<'_>) -> Result<(), E>,
    build: impl FnOnce(&Path) -> Result<(Segment<W>, u64), E>,
) -> Result<(), E> {
    create_with(directory, settings, options, Some(names), build)
}

fn create_with<W: Width, E: From<StoreError>>(
    directory: &Path,
    settings: &Settings,
    options: &Options,
    names: Option<impl FnOnce(&mut NameWriter<'_>) -> Result<(), E>>,
    build: impl FnOnce(&Path) -> Result<(Segment<W>, u64), E>,
) -> Result<(), E> {
    let files = Files::new(directory, &options.storage);
    let _lock = begin::<W>(&files, settings)?;
    let path = files.new_segment();
    let to_resume = unfinished(&path);
    let left_over = files.left_over(None)?.into_iter();
    files.remove(left_over.filter(|left| !to_resume.contains(left)));
    let number = FIRST_FILE_NUMBER + 1;
    let names = names
        .map(|names| files.write_new_names(number, names))
        .transpose()?;
    let (segment, checkpoint) = build(&path)?;
    let mut manifest = first_manifest::<W>(settings, Some(SegmentEntry::of(FIRST_FILE_NUMBER, &segment)?))?;
    manifest.checkpoint = checkpoint;
    manifest.next += u64::from(names.is_some());
    manifest.names = names;
    // The segment is closed before it is renamed, because some systems do not rename a mapped file.
    drop(segment);
    files.publish_first(&manifest)?;
    files.remove(files.left_over(Some(&manifest))?);
    Ok(())
}

/// Locks a directory for a new index. Removes the segment of an earlier build that was interrupted before its manifest
/// was renamed.
fn begin<W: Width>(files: &Files, settings: &Settings) -> Result<File, StoreError> {
    // A label that is too long is refused before anything is written or removed.
    first_manifest::<W>(settings, None)?;
    files.create()?;
    // The directory is checked before it is locked, because locking creates a file, even in a directory that is then
    // refused. If there is a lock file already, its owner may be writing, and only the check under the lock counts.
    if !files.is_locked_or_was() {
        check_free(files)?;
    }
    let lock = files.lock()?;
    check_free(files)?;
    files.remove_claimed()?;
    Ok(lock)
}

/// Refuses a directory that has an index, or files that may be of one.
fn check_free(files: &Files) -> Result<(), StoreError> {
    let path = || files.root().to_owned();
    if files.read_manifest()?.is_some() {
        return Err(StoreError::Exists { path: path() });
    }
    files
        .unclaimed()?
        .map_or(Ok(()), |file| Err(StoreError::Occupied { path: path(), file }))
}

fn first_manifest<W: Width>(
    settings: &Settings,
    entry: Option<SegmentEntry>,
) -> Result<Manifest, StoreError> {
    if settings.label.len() > MAX_LABEL {
        return Err(StoreError::Label {
            limit: MAX_LABEL,
            got: settings.label.len(),
        });
    }
    Ok(Manifest {
        version: manifest::BOUND_VERSION,
        bits: W::BITS,
        radius: settings.radius,
        codec: settings.codec.bounded(),
        label: settings.label.clone(),
        generation: FIRST_GENERATION,
        checkpoint: 0,
        next: FIRST_FILE_NUMBER + entry.iter().len() as u64,
        segments: entry.into_iter().collect(),
        names: None,
    })
}
