//! Takes records of a packed web archive out of it as they are packed.
//!
//! Archives pack each record by itself, in a member of gzip. A record that fills a member goes out with the member's own bytes; one that
//! shares its member with others, or does not fill it, is packed anew.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;

use super::changed::changed;
use super::error::SinkError;
use crate::source::{GzipMember, SourceFile};
use twinprint_index::PositionedFile;

/// A member may take so many bytes beside what it holds: more is no way to pack it.
const OVERHEAD: u64 = 64 << 10;

/// An input and its members.
pub(super) struct PackedInput<'a> {
    input: &'a SourceFile,
    file: PositionedFile,
    /// Those not passed yet, in order.
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

    /// Adds the members found since.
    pub(super) fn found(&mut self, members: &[GzipMember]) {
        self.members.extend(members.iter().cloned());
    }

    /// The member that holds these bytes of the stream and no others, as it is. To be asked in order.
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
        if length > unpacked.end - unpacked.start + OVERHEAD {
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
