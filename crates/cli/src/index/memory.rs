//! The option `--memory` of the commands for indexes.

use twinprint::index_join::JoinError;
use twinprint::segment::SegmentError;

use crate::number;
use crate::usage::UsageError;

/// The help text of `--memory`.
pub(super) const MEMORY_HELP: &str = "Approximate memory limit. Data that does not fit is kept on disk. A limit too low for the work is an error";

#[derive(clap::Args)]
pub(super) struct MemoryArgs {
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = number::parse_bytes, help = MEMORY_HELP)]
    memory: u64,
}

impl MemoryArgs {
    pub(super) fn bytes(&self) -> u64 {
        self.memory
    }
}

/// Adds the name of the option `--memory` to an error about too little memory. Other errors stay as they are.
pub(super) fn within_memory(error: anyhow::Error) -> anyhow::Error {
    let segment = match error.downcast_ref() {
        Some(JoinError::Segment(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    match segment {
        Some(refused @ SegmentError::Memory { .. }) => UsageError(format!("--memory: {refused}")).into(),
        _ => error,
    }
}
