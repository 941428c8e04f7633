//! Reads the packed records of a web archive without unpacking them.
//!
//! Archives pack each record separately, in a gzip member. A record that fills a member is copied with the bytes of the member. A record that
//! shares its member with others, or does not fill it, is packed again.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;

use super::changed::changed;
use super::error::SinkError;
use crate::source::{GzipMember, SourceFile};
use twinprint_index::PositionedFile;

/// The largest overhead of a member over its unpacked bytes. A member with more is packed again.
const MAX_OVERHEAD_BYTES: u64 = 64 << 10;

/// An input and its members.
pub(super) struct PackedInput<'a> {
    input: &'a SourceFile,
    file: PositionedFile,
    /// The members that have not been passed, in order.
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

    /// Adds the members of the next piece.
    pub(super) fn add(&mut self, members: &[GzipMember]) {
        self.members.extend(members.iter().cloned());
    }

    /// The packed bytes of the member that has exactly these bytes of the stream; `None` if there is no such member. Calls must be in order.
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
