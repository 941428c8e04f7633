//! Reads compressed records of a web archive without decompressing them.
//!
//! Web archives usually compress each record separately, as a gzip member. If a record fills exactly one member, the
//! bytes of the member are copied. If a record shares its member with others, or fills only a part of it, the record is
//! compressed again.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;

use super::changed::changed;
use super::error::SinkError;
use crate::source::{GzipMember, SourceFile};
use twinprint_index::PositionedFile;

/// A member that is larger than its decompressed content by more than this number of bytes is not copied. Its record is
/// compressed again.
const MAX_OVERHEAD_BYTES: u64 = 64 << 10;

/// A gzip-compressed input file, with the positions of its members.
pub(super) struct PackedInput<'a> {
    input: &'a SourceFile,
    file: PositionedFile,
    /// The members that end after the records read so far, in order.
    members: VecDeque<GzipMember>,
}

impl<'a> PackedInput<'a> {
    pub(super) fn open(input: &'a SourceFile) -> Result<Self, SinkError> {
        let file = File::open(&input.path).map_err(|error| lost(input, &error))?;
        Ok(Self {
            input,
            file: PositionedFile::new(file),
            members: VecDeque::new(),
        })
    }

    /// Adds the positions of the members of the next block.
    pub(super) fn add(&mut self, members: &[GzipMember]) {
        self.members.extend(members.iter().cloned());
    }

    /// Returns the compressed bytes of the member whose decompressed content is exactly the range `unpacked`. Returns
    /// `None` if there is no such member. Ranges must be passed in ascending order.
    pub(super) fn member(&mut self, unpacked: &Range<u64>) -> Result<Option<Vec<u8>>, SinkError> {
        while self
            .members
            .pop_front_if(|member| member.unpacked.end <= unpacked.start)
            .is_some()
        {}
        let Some(member) = self.members.front().filter(|member| member.unpacked == *unpacked) else {
            return Ok(None);
        };
        let length = member.packed.end - member.packed.start;
        if length > unpacked.end - unpacked.start + MAX_OVERHEAD_BYTES {
            return Ok(None);
        }
        let mut bytes = vec![0; length as usize];
        self.file
            .read_exact_at(&mut bytes, member.packed.start)
            .map_err(|error| lost(self.input, &error))?;
        Ok(Some(bytes))
    }
}

fn lost(input: &SourceFile, error: &std::io::Error) -> SinkError {
    changed(input, format!("it can no longer be read: {error}"))
}
