//! Changes of an index: additions and deletions, each with a stamp of its own.
//!
//! Three locks are always taken in this order: `structure` for writing files, `writing` for any change, `now` for
//! reading the current snapshot. The lock `now` is held for a few instructions only.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use twinprint_fingerprint::Width;

use super::files::Files;
use super::locks::lock;
use super::marker_guard::MarkerGuard;
use super::memtable::Memtable;
use super::names::{NameWriter, Names};
use super::structure::CommittedState;
use super::view::{FrozenMemtable, Snapshot, View};
use super::wakeup::Wakeup;
use super::{Index, Lock, Options, Settings, StoreError, Upkeep};
use crate::plan::Plan;

/// The maximum number of full memtables that wait for the background thread. Beyond it, the thread that makes a change
/// flushes them itself.
const MAX_FROZEN_MEMTABLES: usize = 4;

/// State that the writer and its background thread share.
#[derive(Debug)]
pub(super) struct Shared<W> {
    pub(super) files: Files,
    pub(super) settings: Settings,
    pub(super) options: Options,
    /// The plan of memtables.
    pub(super) plan: Plan,
    pub(super) structure: Mutex<CommittedState>,
    pub(super) writing: Mutex<WriteState>,
    /// The current snapshot. It changes only while `writing` is locked.
    pub(super) now: RwLock<Snapshot<W>>,
    /// Locked by a running compaction, so that only one runs at a time.
    pub(super) compacting: Mutex<()>,
    /// Once this is set, running merges end early.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) wakeup: Arc<Wakeup>,
    /// The marker of this writer. It is dropped, and so removed, before the directory is unlocked.
    pub(super) _marker: MarkerGuard,
    /// The file of the lock on the directory, which is unlocked when this value is dropped.
    pub(super) lock: File,
}

/// State that only a running change uses.
#[derive(Debug)]
pub(super) struct WriteState {
    /// The caller's last position; see [`Index::mark`].
    pub(super) checkpoint: u64,
    /// The reason why changes are refused; `None` if they are not.
    pub(super) refused: Option<String>,
}

impl<W: Width> Index<W> {
    /// Adds an id with its fingerprint, which replaces an earlier fingerprint of the id. Lookups find it at once; it is
    /// durable with the next commit.
    ///
    /// # Errors
    /// `Refused` after a failed write; the errors of [`Index::commit`], because a full memtable is committed.
    pub fn add(&self, id: u64, fingerprint: W) -> Result<(), StoreError> {
        let shared = &*self.shared;
        loop {
            let writing = shared.writing()?;
            let now = shared.now();
            let active = match &now.view.active {
                Some(active) if now.entries < active.capacity() => active.clone(),
                Some(_) if now.view.frozen.len() >= shared.frozen_allowed() => {
                    drop(writing);
                    shared.flush()?;
                    shared.compact_by_caller()?;
                    continue;
                }
                full_or_none => {
                    if full_or_none.is_some() {
                        shared.freeze(&writing);
                        shared.wakeup.notify();
                    }
                    shared.begin_memtable(&writing)?
                }
            };
            // Freezing a memtable does not change the stamp, so `now.stamp` is still the current one.
            let (stamp, view) = (now.stamp + 1, shared.now().view);
            view.kill(id, stamp);
            // The memtable is not full, so `push` returns the number of entries.
            let entries = active.push(id, fingerprint).unwrap_or(now.entries);
            shared.advance(&writing, |now| (now.stamp, now.entries) = (stamp, entries));
            return Ok(());
        }
    }

    /// Deletes an id without checking that it exists. Later answers do not contain it. The deletion is durable with the
    /// next commit. The id stays in its file until a compaction.
    ///
    /// # Errors
    /// `Refused` after a failed write.
    pub fn delete(&self, id: u64) -> Result<(), StoreError> {
        let writing = self.shared.writing()?;
        let now = self.shared.now();
        now.view.kill(id, now.stamp + 1);
        self.shared.advance(&writing, |now| now.stamp += 1);
        Ok(())
    }

    /// Deletes those of the ids that are stored, all with one stamp, and returns their number. Reads all ids of the
    /// segments that may contain them; other changes wait in the meantime.
    ///
    /// # Errors
    /// The errors of [`Index::delete`]; `Damaged` if a file is damaged.
    pub fn delete_known(&self, ids: impl IntoIterator<Item = u64>) -> Result<u64, StoreError> {
        let ids = ids.into_iter().collect();
        let writing = self.shared.writing()?;
        let now = self.shared.now();
        let killed = now.view.kill_known(&ids, now.stamp + 1)?;
        if killed > 0 {
            self.shared.advance(&writing, |now| now.stamp += 1);
        }
        Ok(killed)
    }

    /// Stores the caller's position: it states that all changes of the caller up to `checkpoint` have been made. See
    /// [`Index::checkpoint`].
    ///
    /// # Errors
    /// `Refused` after a failed write.
    pub fn mark(&self, checkpoint: u64) -> Result<(), StoreError> {
        let mut writing = self.shared.writing()?;
        writing.checkpoint = checkpoint;
        // The new position gets a stamp of its own, so that the next commit writes it even if nothing else has changed.
        self.shared.advance(&writing, |now| now.stamp += 1);
        Ok(())
    }

    /// Makes all changes and the caller's position durable. Writes nothing if nothing has changed.
    ///
    /// # Errors
    /// `Refused` after a failed write; `Io`. After an error, uncommitted changes may or may not be durable, and further
    /// changes are refused.
    pub fn commit(&self) -> Result<(), StoreError> {
        self.shared.commit()?;
        self.shared.wakeup.notify();
        self.shared.compact_by_caller()
    }

    /// Returns the names of the ids, including those that are appended but not committed; `None` if ids are numbers.
    pub fn names(&self) -> Option<Arc<Names>> {
        lock(&self.shared.structure).names.clone()
    }

    /// Appends names for new ids, which follow the last id that has a name. `write` pushes them. The next commit of a
    /// change makes them durable. They must be appended before the ids are added. Writes all names of the index to a new
    /// file.
    ///
    /// # Errors
    /// `NoNames` if ids are numbers; `Refused` after a failed write; `Io`; any error of `write`, after which the names
    /// are unchanged.
    pub fn append_names<E: From<StoreError>>(
        &self,
        write: impl FnOnce(&mut NameWriter<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let shared = &*self.shared;
        drop(shared.writing()?);
        let mut structure = lock(&shared.structure);
        let Some(before) = structure.names.clone() else {
            let path = shared.files.root().to_owned();
            return Err(StoreError::NoNames { path }.into());
        };
        let number = structure.take_number();
        // An error of `write` leaves the index as it was. After an error of the store, the disk is in doubt.
        let written = shared.files.write_new_names(number, |names| {
            for name in before.iter() {
                names.push(name).map_err(Appending::Store)?;
            }
            write(names).map_err(Appending::Caller)
        });
        let published = written.and_then(|names| {
            shared.files.publish_names(&names)?;
            let opened = Names::open_named(shared.files.names(number), &names)?;
            Ok((names, opened))
        });
        let (names, opened) = match published {
            Ok(published) => published,
            Err(Appending::Caller(error)) => return Err(error),
            Err(Appending::Store(error)) => return Err(shared.refuse(error).into()),
        };
        // Names that were appended before, and not committed, are in the new file too.
        let unused = structure.staged_names.replace(names);
        shared
            .files
            .remove(unused.map(|names| shared.files.names(names.number)));
        structure.names = Some(Arc::new(opened));
        Ok(())
    }

    /// Ends the writer. The directory stays locked until the returned value is dropped. Uncommitted changes are lost.
    pub fn close(self) -> Lock {
        drop(self.background);
        // The background thread has ended, so no other thread shares the state.
        let shared = Arc::try_unwrap(self.shared).ok();
        Lock {
            _file: shared.map(|shared| shared.lock),
        }
    }

    /// Returns a snapshot of the index as it is now.
    pub fn snapshot(&self) -> Snapshot<W> {
        self.shared.now()
    }

    /// Returns the caller's position at the last commit. After reopening the index, the caller must repeat its changes
    /// from there on.
    pub fn checkpoint(&self) -> u64 {
        lock(&self.shared.structure).manifest.checkpoint
    }

    /// The number of commits and compactions so far.
    pub fn generation(&self) -> u64 {
        lock(&self.shared.structure).manifest.generation
    }

    /// The settings that the index was created with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The directory of the index.
    pub fn path(&self) -> &Path {
        self.shared.files.root()
    }

    /// Returns the reason why changes are refused, or `None` if they are not.
    pub fn refused(&self) -> Option<String> {
        lock(&self.shared.writing).refused.clone()
    }
}

impl<W: Width> Shared<W> {
    /// Locks the state for a change. Returns `Refused` if changes are refused.
    pub(super) fn writing(&self) -> Result<MutexGuard<'_, WriteState>, StoreError> {
        let writing = lock(&self.writing);
        match &writing.refused {
            None => Ok(writing),
            Some(because) => Err(StoreError::Refused {
                path: self.files.root().to_owned(),
                because: because.clone(),
            }),
        }
    }

    /// Makes the index refuse changes from now on because of `error`, and returns the error.
    pub(super) fn refuse(&self, error: StoreError) -> StoreError {
        lock(&self.writing).refused.get_or_insert_with(|| reasons(&error));
        error
    }

    pub(super) fn now(&self) -> Snapshot<W> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the current snapshot. The parameter `_right` proves that the caller has locked `writing`.
    pub(super) fn advance(&self, _right: &WriteState, change: impl FnOnce(&mut Snapshot<W>)) {
        change(&mut self.now.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Freezes the active memtable, if there is one, so that it takes no more entries.
    pub(super) fn freeze(&self, writing: &WriteState) {
        self.advance(writing, |now| {
            if let Some(active) = now.view.active.clone() {
                let mut frozen = now.view.frozen.clone();
                frozen.push(Arc::new(FrozenMemtable {
                    memtable: active,
                    entries: now.entries,
                    stamp: now.stamp,
                    checkpoint: writing.checkpoint,
                }));
                now.entries = 0;
                now.view = Arc::new(View {
                    segments: now.view.segments.clone(),
                    frozen,
                    active: None,
                });
            }
        });
    }

    fn begin_memtable(&self, writing: &WriteState) -> Result<Arc<Memtable<W>>, StoreError> {
        let made = Memtable::new(self.options.memtable, &self.plan);
        let memtable = Arc::new(made.map_err(crate::segment::SegmentError::from)?);
        self.advance(writing, |now| {
            now.entries = 0;
            now.view = Arc::new(View {
                segments: now.view.segments.clone(),
                frozen: now.view.frozen.clone(),
                active: Some(memtable.clone()),
            });
        });
        Ok(memtable)
    }

    pub(super) fn compact_by_caller(&self) -> Result<(), StoreError> {
        match self.options.upkeep {
            Upkeep::Caller => self.compact_where_due(),
            Upkeep::Background | Upkeep::FlushOnly => Ok(()),
        }
    }

    fn frozen_allowed(&self) -> usize {
        match self.options.upkeep {
            Upkeep::Background => MAX_FROZEN_MEMTABLES,
            Upkeep::Caller | Upkeep::FlushOnly => 0,
        }
    }
}

/// The reason why names were not appended.
enum Appending<E> {
    Store(StoreError),
    Caller(E),
}

impl<E> From<StoreError> for Appending<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Joins the messages of an error and of its causes.
fn reasons(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
