//! Packs each record of a web archive separately, as a gzip member or a zstd frame, so that tools can read single records by their offset in
//! the file. A record that was packed separately in the input is copied with its packed bytes.

use std::io::{self, Write};

use flate2::write::GzEncoder;

use super::error::SinkError;
use super::file::OutputFile;
use super::streams::{gzip, zstd};

/// An output file of members.
pub(super) struct Members {
    file: OutputFile,
    /// True for zstd frames, false for gzip members.
    zstd: bool,
    open: Option<Member>,
    any: bool,
}

/// The member being written. Packed bytes are written to the file as they are produced.
enum Member {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(::zstd::Encoder<'static, Vec<u8>>),
}

impl Members {
    pub(super) fn new(file: OutputFile, zstd: bool) -> Self {
        Self {
            file,
            zstd,
            open: None,
            any: false,
        }
    }

    /// Adds bytes to the open member, which is begun if there is none. Empty bytes begin no member, because a packed member may follow.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.append_packed(bytes)
    }

    fn append_packed(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        let packed = self.pack(bytes);
        let packed = packed.map_err(|error| SinkError::from_io(error, self.file.path(), "pack it"))?;
        self.file.append(&packed)
    }

    fn pack(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.any = true;
        let mut member = match self.open.take() {
            Some(member) => member,
            None if self.zstd => Member::Zstd(zstd(Vec::new())?),
            None => Member::Gzip(gzip(Vec::new())),
        };
        let packed = match &mut member {
            Member::Gzip(encoder) => {
                encoder.write_all(bytes)?;
                std::mem::take(encoder.get_mut())
            }
            Member::Zstd(encoder) => {
                encoder.write_all(bytes)?;
                std::mem::take(encoder.get_mut())
            }
        };
        self.open = Some(member);
        Ok(packed)
    }

    /// Adds a packed member.
    pub(super) fn append_member(&mut self, packed: &[u8]) -> Result<(), SinkError> {
        self.end_member()?;
        self.any = true;
        self.file.append(packed)
    }

    /// Ends the open member. Later bytes go into another.
    pub(super) fn end_member(&mut self) -> Result<(), SinkError> {
        let rest = match self.open.take() {
            None => return Ok(()),
            Some(Member::Gzip(encoder)) => encoder.finish(),
            Some(Member::Zstd(encoder)) => encoder.finish(),
        };
        let rest = rest.map_err(|error| SinkError::from_io(error, self.file.path(), "pack it"))?;
        self.file.append(&rest)
    }

    pub(super) fn finish(mut self) -> Result<(), SinkError> {
        if !self.any {
            // A file without members is not a valid packed file.
            self.append_packed(b"")?;
        }
        self.end_member()?;
        self.file.finish().map(|_| ())
    }
}
