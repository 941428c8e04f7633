//! Opens an index for writing, and reads its last commit.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

use twinprint_fingerprint::Width;

use super::background::Background;
use super::files::Files;
use super::manifest::{Manifest, SegmentEntry};
use super::marker_guard::MarkerGuard;
use super::names::Names;
use super::structure::CommittedState;
use super::tables::plan_for;
use super::tombstones::Tombstones;
use super::view::{LiveSegment, Snapshot, View};
use super::writing::{Shared, WriteState};
use super::{Index, Options, Settings, StoreError, Upkeep};
use crate::segment::Segment;

/// The maximum number of attempts of a reader to open an index while a writer replaces its files.
const READ_ATTEMPTS: usize = 100;

/// The last commit of an index, opened for reading.
#[derive(Debug)]
pub struct Committed<W> {
    /// The content of the index at the last commit.
    pub snapshot: Snapshot<W>,
    /// The settings that the index was created with.
    pub settings: Settings,
    /// The number of commits and compactions so far.
    pub generation: u64,
    /// The position that the writer stored with [`Index::mark`] before the last commit.
    pub checkpoint: u64,
    /// The total length of its segments in bytes.
    pub bytes: u64,
    /// The number of deleted ids that a compaction will drop. Some of them may never have been stored.
    pub tombstones: u64,
    /// The names of the ids; `None` if ids are numbers.
    pub names: Option<Arc<Names>>,
}

impl<W: Width> Index<W> {
    /// Opens an index as its only writer. Files that an interrupted writer left are removed.
    ///
    /// # Errors
    /// `NoDirectory`; `NotAnIndex`; `Unfinished`; `InUse`; `Unnamed`; a file is missing, damaged, or of another version; the index is
    /// of another width.
    pub fn open(directory: &Path, options: &Options) -> Result<Self, StoreError> {
        let files = Files::new(directory, &options.storage);
        // The manifest is read before the directory is locked, because locking would create a file even in a directory
        // that is not an index.
        required(&files)?;
        let lock = files.lock()?;
        Self::start(files, lock, options)
    }

    pub(super) fn start(files: Files, lock: File, options: &Options) -> Result<Self, StoreError> {
        let mut manifest = required(&files)?;
        let view = view(&files, &manifest)?;
        let names = files.read_names(&manifest)?.map(Arc::new);
        // The entries of the view have the digests that a manifest of an earlier version lacks.
        manifest.segments = view.segments.iter().map(|live| live.entry.clone()).collect();
        files.remove_left_over(&manifest)?;
        let marker = MarkerGuard::begin(&files, &manifest)?;
        let plan = plan_for::<W>(u64::from(options.memtable), manifest.radius)?;
        let shared = Arc::new(Shared {
            settings: settings(&manifest),
            options: options.clone(),
            plan,
            writing: Mutex::new(WriteState {
                checkpoint: manifest.checkpoint,
                refused: None,
            }),
            structure: Mutex::new(CommittedState {
                next: manifest.next,
                stamp: 0,
                manifest,
                names,
                staged_names: None,
            }),
            now: RwLock::new(snapshot(view)),
            compacting: Mutex::new(()),
            stop: Arc::default(),
            wakeup: Arc::default(),
            _marker: marker,
            lock,
            files,
        });
        let background = match options.upkeep {
            Upkeep::Caller | Upkeep::FlushOnly => None,
            Upkeep::Background => {
                let started = Background::start(&shared);
                Some(started.map_err(StoreError::io(shared.files.root(), "start a thread for it"))?)
            }
        };
        Ok(Self { shared, background })
    }
}

/// Opens the last commit of an index for reading; a writer may continue to change it. Files are mapped, and read as
/// lookups touch them.
///
/// # Errors
/// The same as for [`Index::open`], except `InUse`.
pub fn read<W: Width>(directory: &Path) -> Result<Committed<W>, StoreError> {
    let files = Files::new(directory, &Options::default().storage);
    let mut manifest = required(&files)?;
    let mut attempts = 0;
    let (view, names) = loop {
        let opened = view(&files, &manifest).and_then(|view| Ok((view, files.read_names(&manifest)?)));
        match opened {
            Err(error) => {
                // A compaction may have replaced the files since the manifest was read.
                let newer = required(&files)?;
                attempts += 1;
                if newer == manifest || attempts == READ_ATTEMPTS {
                    return Err(error);
                }
                manifest = newer;
            }
            Ok(opened) => break opened,
        }
    };
    Ok(Committed {
        snapshot: snapshot(view),
        settings: settings(&manifest),
        generation: manifest.generation,
        checkpoint: manifest.checkpoint,
        bytes: manifest.segments.iter().map(|e| e.bytes).sum(),
        tombstones: manifest.segments.iter().map(SegmentEntry::deleted_ids).sum(),
        names: names.map(Arc::new),
    })
}

/// Returns the width of the fingerprints of an index, in bits.
///
/// # Errors
/// `NoDirectory`; `NotAnIndex`; `Unfinished`; the manifest is damaged or of another version.
pub fn width_of(directory: &Path) -> Result<u32, StoreError> {
    let files = Files::new(directory, &Options::default().storage);
    Ok(required(&files)?.bits)
}

pub(super) fn required(files: &Files) -> Result<Manifest, StoreError> {
    files.read_manifest()?.ok_or_else(|| {
        let path = files.root().to_owned();
        if files.unfinished() {
            StoreError::Unfinished { path }
        } else if !path.exists() {
            StoreError::NoDirectory { path }
        } else {
            StoreError::NotAnIndex { path }
        }
    })
}

/// Opens the files that a manifest names. Refuses the directory if it has other files of an index that no interrupted
/// writer left.
pub(super) fn view<W: Width>(files: &Files, manifest: &Manifest) -> Result<View<W>, StoreError> {
    if manifest.bits != W::BITS {
        return Err(StoreError::Width {
            path: files.root().to_owned(),
            got: manifest.bits,
            expected: W::BITS,
        });
    }
    let mut segments = Vec::new();
    for entry in &manifest.segments {
        let path = files.segment(entry.number);
        let segment = Segment::open(&path)?;
        let digest = segment.digest();
        let is_named = entry.digest.is_none_or(|named| named == digest);
        if !is_named || (segment.bytes(), segment.len()) != (entry.bytes, entry.rows) {
            return Err(StoreError::OtherFile { path });
        }
        let mut entry = entry.clone();
        entry.digest = Some(digest);
        let tombstones = match &mut entry.deleted {
            None => Tombstones::default(),
            Some(deleted) => {
                let read = files.read_tombstones(deleted)?;
                deleted.digest = Some(read.digest);
                Tombstones::settled(&read.ids)
            }
        };
        segments.push(Arc::new(LiveSegment {
            entry,
            segment,
            tombstones,
        }));
    }
    if let Some(file) = files.foreign(manifest)? {
        return Err(StoreError::Unnamed {
            path: files.root().to_owned(),
            file,
        });
    }
    Ok(View {
        segments,
        frozen: Vec::new(),
        active: None,
    })
}

fn snapshot<W>(view: View<W>) -> Snapshot<W> {
    Snapshot {
        view: Arc::new(view),
        stamp: 0,
        entries: 0,
    }
}

fn settings(manifest: &Manifest) -> Settings {
    Settings {
        radius: manifest.radius,
        codec: manifest.codec,
        label: manifest.label.clone(),
    }
}
