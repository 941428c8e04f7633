//! The limits on the length of a record.

use super::options::SourceOptions;
use super::reject::RejectReason;

/// Two limits on the length of a record, in bytes: the limit that the user set, and the limit that follows from the
/// available memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordLimits {
    document: u64,
    memory: u64,
}

impl RecordLimits {
    /// Returns the limits that the options set.
    pub(crate) fn of(options: &SourceOptions) -> Self {
        Self {
            document: options.max_document,
            memory: options.max_held,
        }
    }

    /// The length of the longest record that may be stored in memory, in bytes.
    pub(crate) fn max_bytes(self) -> u64 {
        self.document.min(self.memory)
    }

    /// Checks that a record of `bytes` bytes may be stored in memory. The error is the reason to reject it.
    pub(crate) fn check(self, bytes: u64) -> Result<(), RejectReason> {
        if bytes > self.max_bytes() {
            Err(self.rejection(Some(bytes)))
        } else {
            Ok(())
        }
    }

    /// Returns the reason to reject a record that is longer than [`max_bytes`](Self::max_bytes). If its length is
    /// unknown, it is assumed to be within the limit that the user set.
    pub(crate) fn rejection(self, bytes: Option<u64>) -> RejectReason {
        let beyond_memory = self.memory < self.document && bytes.is_none_or(|bytes| bytes <= self.document);
        if beyond_memory {
            RejectReason::BeyondMemory {
                bytes,
                limit: self.memory,
            }
        } else {
            RejectReason::TooLong {
                bytes,
                limit: self.document,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_within_the_limit_of_the_user_is_beyond_memory_and_a_longer_one_is_too_long() {
        let of = |max_document, max_held| {
            RecordLimits::of(&SourceOptions {
                max_document,
                max_held,
                ..SourceOptions::default()
            })
        };
        let tight = of(100, 10);
        assert!(tight.check(10).is_ok());
        assert!(matches!(tight.check(11), Err(RejectReason::BeyondMemory { .. })));
        assert!(matches!(tight.check(101), Err(RejectReason::TooLong { .. })));
        assert!(matches!(tight.rejection(None), RejectReason::BeyondMemory { .. }));
        assert!(matches!(
            of(100, u64::MAX).check(101),
            Err(RejectReason::TooLong { .. })
        ));
    }
}
