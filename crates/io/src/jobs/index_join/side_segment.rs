//! Provides each side of a join as a segment.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_fingerprint::Width;
use twinprint_index::segment::{self, Builder, Segment};

use super::error::JoinError;
use super::{JoinOptions, JoinSide};
use crate::progress::{Progress, Unit};

/// Number of rows between two checks whether the join is cancelled.
pub(super) const CHECK_INTERVAL: u64 = 1 << 16;

/// The segment that is joined for one side.
pub(super) enum SideSegment<'s, W> {
    /// The only segment of an index.
    Stored(&'s Segment<W>),
    /// A segment that the join has written to the work directory.
    Built(Box<Segment<W>>),
}

impl<'s, W: Width> SideSegment<'s, W> {
    /// Returns the segment of an index that has only one. For any other side, writes a new segment at `path`.
    pub(super) fn new(
        side: &'s JoinSide<W>,
        path: &Path,
        options: &JoinOptions,
        progress: &dyn Progress,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, JoinError> {
        if let Some(segment) = side.stored() {
            return Ok(Self::Stored(segment));
        }
        let build = segment::Options {
            stop: Some(Arc::clone(cancel)),
            ..options.gathering(side)?
        };
        let mut builder = Builder::new(path, &build)?;
        progress.stage("gather", side.len(), Unit::Fingerprints);
        match side {
            JoinSide::Index(snapshot) => {
                for (i, row) in (1..).zip(snapshot.iter()) {
                    let (fingerprint, id) = row?;
                    builder.push(fingerprint, id)?;
                    if i % CHECK_INTERVAL == 0 {
                        progress.advance(CHECK_INTERVAL);
                        check_cancelled(cancel)?;
                    }
                }
            }
            JoinSide::Files(files) => files.read(0, |fingerprints, ids| {
                check_cancelled(cancel)?;
                for (&fingerprint, &id) in fingerprints.iter().zip(ids) {
                    builder.push(fingerprint, id)?;
                }
                progress.advance(fingerprints.len() as u64);
                Ok::<_, JoinError>(())
            })?,
        }
        Ok(Self::Built(Box::new(builder.finish()?)))
    }

    /// Returns the segment.
    pub(super) fn segment(&self) -> &Segment<W> {
        match self {
            Self::Stored(segment) => segment,
            Self::Built(segment) => segment,
        }
    }
}

/// Returns an error once `cancel` is set.
pub(super) fn check_cancelled(cancel: &AtomicBool) -> Result<(), JoinError> {
    if cancel.load(Ordering::Relaxed) {
        Err(JoinError::Interrupted)
    } else {
        Ok(())
    }
}
