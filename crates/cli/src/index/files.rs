//! The options for the ids of fingerprints in files.

use std::path::PathBuf;

use clap::ValueHint;
use twinprint::raw::{Ids, RawError, RawFiles};

/// The source of the ids of fingerprints.
#[derive(clap::Args)]
pub(super) struct IdArgs {
    /// File of ids (*.u64), one for each fingerprint; without it, ids are positions, or the column "id" of a Parquet
    /// file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "positions")]
    pub(super) ids: Option<PathBuf>,

    /// Use positions as ids even if a Parquet file has a column of ids
    #[arg(long)]
    pub(super) positions: bool,
}

impl IdArgs {
    pub(super) fn open(&self, paths: &[PathBuf]) -> Result<RawFiles, RawError> {
        let ids = match &self.ids {
            Some(path) => Ids::File(path.clone()),
            None if self.positions => Ids::Positions,
            None => Ids::Own,
        };
        RawFiles::open(paths, &ids)
    }
}
