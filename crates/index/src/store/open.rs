//! Creates an index, opens it for writing, and reads its last commit.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

use twinprint_fingerprint::Width;

use super::background::Background;
use super::files::{FIRST_FILE_NUMBER, FIRST_GENERATION, Files};
use super::manifest::{self, MAX_LABEL, Manifest, SegmentEntry};
use super::marker_guard::MarkerGuard;
use super::names::{NameWriter, Names};
use super::structure::CommittedState;
use super::tombstones::Tombstones;
use super::view::{LiveSegment, Snapshot, View};
use super::writing::{Shared, WriteState};
use super::{Index, Options, Settings, StoreError, Upkeep};
use crate::plan::{Plan, PlanError};
use crate::planner::{
    LookupCosts, LookupMode, Medium, SegmentPlan, Workload, plan_addresses, plan_lookup, plan_segment,
};
use crate::segment::{self, Segment, unfinished};

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

    fn start(files: Files, lock: File, options: &Options) -> Result<Self, StoreError> {
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
    let mut manifest = first_manifest::<W>(settings, Some(entry(FIRST_FILE_NUMBER, &segment)?))?;
    manifest.checkpoint = checkpoint;
    manifest.next += u64::from(names.is_some());
    manifest.names = names;
    // The segment is closed before it is renamed, because some systems do not rename a mapped file.
    drop(segment);
    files.publish_first(&manifest)?;
    files.remove(files.left_over(Some(&manifest))?);
    Ok(())
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

/// Returns the options for a segment of `rows` fingerprints of an index. Its tables are the fastest for batches of
/// queries within the index's radius.
///
/// # Errors
/// `Bits` if no plan exists for the width.
pub fn segment_options<W: Width>(rows: u64, settings: &Settings) -> Result<segment::Options, PlanError> {
    let choice = plan_segment(&workload::<W>(rows, settings), &LookupCosts::default())?;
    Ok(options_of(choice.plan, settings))
}

/// Like [`segment_options`], but for a given plan, whose address widths are chosen.
pub fn segment_options_of<W: Width>(plan: Plan, rows: u64, settings: &Settings) -> segment::Options {
    let choice = plan_addresses(plan, &workload::<W>(rows, settings), &LookupCosts::default());
    options_of(choice.plan, settings)
}

/// The workload that the segments of an index are planned for: batches of queries in memory.
fn workload<W: Width>(rows: u64, settings: &Settings) -> Workload {
    Workload {
        n: rows,
        bits: W::BITS,
        k: settings.radius,
        memory: None,
        medium: Medium::Memory,
        mode: LookupMode::Batch,
        skew_bits: 0.0,
        codec: settings.codec,
    }
}

fn options_of(SegmentPlan { plan, address_bits }: SegmentPlan, settings: &Settings) -> segment::Options {
    segment::Options {
        plan: Some(plan),
        address_bits,
        codec: settings.codec,
        ..segment::Options::default()
    }
}

/// Returns the plan of a memtable of `rows` fingerprints: the one with the fastest lookup among those with at most
/// about four tables. If no such plan serves the radius, it is a scan, which compares every row.
///
/// # Errors
/// `Bits` if no plan exists for the width.
fn plan_for<W: Width>(rows: u64, radius: u32) -> Result<Plan, PlanError> {
    // The memory limit is that of four tables with their rows and ids, and of a directory with about one address per
    // row.
    let tables = 4;
    let bytes = tables * rows.max(1 << 10) * u64::from(W::BITS / 8 + 4) + 4 * rows;
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    Ok(plan_lookup(rows, W::BITS, radius, Some(bytes))?.plan)
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

/// Returns the manifest's entry for a segment that the caller has written.
pub(super) fn entry<W: Width>(number: u64, segment: &Segment<W>) -> Result<SegmentEntry, StoreError> {
    let (mut first, mut last) = (u64::MAX, 0);
    for id in segment.ids() {
        let id = id?;
        (first, last) = (first.min(id), last.max(id));
    }
    Ok(SegmentEntry::new(number, segment, first..=last))
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
