//! Memory that a command may take.

use twinprint::DedupError;
use twinprint::index_join::JoinError;
use twinprint::segment::SegmentError;

use crate::number;

#[derive(clap::Args)]
pub(super) struct MemoryArgs {
    /// Memory to stay within, about; what does not fit waits on disk, and less than the work takes in any case is refused
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = number::parse_bytes)]
    memory: u64,
}

impl MemoryArgs {
    pub(super) fn bytes(&self) -> u64 {
        self.memory
    }
}

/// An error about too little memory as one of the option that says how much there is; any other error as it is.
pub(super) fn within_memory(error: anyhow::Error) -> anyhow::Error {
    let segment = match error.downcast_ref() {
        Some(JoinError::Segment(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    match segment {
        Some(refused @ SegmentError::Memory { .. }) => {
            DedupError::Option(format!("--memory: {refused}")).into()
        }
        _ => error,
    }
}
