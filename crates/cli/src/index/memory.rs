//! Memory that a command may take.

use twinprint::index_join::JoinError;
use twinprint::segment::SegmentError;

use crate::number;
use crate::usage::UsageError;

/// The help of --memory.
pub(super) const MEMORY_HELP: &str = "Memory limit, approximate. The rest is kept on disk. A limit below the least that the work needs is refused";

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

/// The error with `--memory`, if it is about too little memory.
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
