//! Errors of indexes.

use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError,
};
use pyo3::prelude::*;
use twinprint::index_join::JoinError;
use twinprint::segment::SegmentError;
use twinprint::store::StoreError;

use crate::errors::{TwinprintError, argument, exception};

/// The reason why a call on an index failed.
#[derive(Debug)]
pub(super) enum IndexError {
    Store(StoreError),
    Segment(SegmentError),
    Join(JoinError),
    /// An argument and its problem.
    Argument(&'static str, String),
    Interrupted,
    Closed,
}

impl From<StoreError> for IndexError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Segment(error) => error.into(),
            error => Self::Store(error),
        }
    }
}

impl From<SegmentError> for IndexError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Stopped => Self::Interrupted,
            SegmentError::Memory { .. } => Self::Argument("memory", error.to_string()),
            error => Self::Segment(error),
        }
    }
}

impl From<JoinError> for IndexError {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Interrupted => Self::Interrupted,
            JoinError::Segment(error) => error.into(),
            JoinError::Store(error) => error.into(),
            JoinError::TooManyRows { rows, limit, .. } => Self::Argument(
                "max_rows",
                format!(
                    "the join has at least {rows} rows, more than the limit of {limit}; give a smaller k or a higher limit"
                ),
            ),
            error => Self::Join(error),
        }
    }
}

impl From<IndexError> for PyErr {
    fn from(error: IndexError) -> Self {
        match &error {
            IndexError::Argument(name, problem) => argument(name, problem),
            IndexError::Interrupted => PyKeyboardInterrupt::new_err(()),
            IndexError::Closed => PyValueError::new_err("the index is closed; open it again"),
            IndexError::Store(store) => match store {
                StoreError::NoDirectory { .. } | StoreError::NotAnIndex { .. } => {
                    PyFileNotFoundError::new_err(store.to_string())
                }
                StoreError::Exists { .. } | StoreError::Occupied { .. } => {
                    PyFileExistsError::new_err(store.to_string())
                }
                StoreError::Refused { .. } => PyOSError::new_err(store.to_string()),
                StoreError::InUse { .. } => TwinprintError::new_err(store.to_string()),
                store => exception(store),
            },
            IndexError::Segment(error) => exception(error),
            IndexError::Join(error) => exception(error),
        }
    }
}
