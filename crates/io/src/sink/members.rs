//! Compresses each record of a web archive separately, as a gzip member or a zstd frame, so that tools can read single
//! records by their offset in the file. If the record was compressed separately in the input, its compressed bytes are
//! copied.

use std::io::{self, Write};

use flate2::write::GzEncoder;

use super::error::SinkError;
use super::file::OutputFile;
use super::streams::{gzip, zstd};

/// An output file that consists of gzip members or zstd frames, one for each record.
pub(super) struct Members {
    file: OutputFile,
    /// True for zstd frames, false for gzip members.
    zstd: bool,
    open: Option<Member>,
    any: bool,
}

/// The gzip member or zstd frame that is being written. Compressed bytes are written to the file as they are produced.
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

    /// Appends bytes to the open member, or to a new one if none is open. Empty bytes do not begin a member, because an
    /// already compressed member may follow.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.append_packed(bytes)
    }

    fn append_packed(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        let packed = self.pack(bytes);
        let packed = packed.map_err(|error| SinkError::from_io(error, self.file.path(), "compress it"))?;
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

    /// Ends the open member and appends a member that is already compressed.
    pub(super) fn append_member(&mut self, packed: &[u8]) -> Result<(), SinkError> {
        self.end_member()?;
        self.any = true;
        self.file.append(packed)
    }

    /// Ends the open member. Bytes that follow begin a new one.
    pub(super) fn end_member(&mut self) -> Result<(), SinkError> {
        let rest = match self.open.take() {
            None => return Ok(()),
            Some(Member::Gzip(encoder)) => encoder.finish(),
            Some(Member::Zstd(encoder)) => encoder.finish(),
        };
        let rest = rest.map_err(|error| SinkError::from_io(error, self.file.path(), "compress it"))?;
        self.file.append(&rest)
    }

    pub(super) fn finish(mut self) -> Result<(), SinkError> {
        if !self.any {
            // An output without records gets one empty member, because a file without any member is not valid gzip or
            // zstd.
            self.append_packed(b"")?;
        }
        self.end_member()?;
        self.file.finish().map(|_| ())
    }
}
