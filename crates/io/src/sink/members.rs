//! Packs each record of a web archive by itself: a gzip member or a zstd frame each, so that tools can read single
//! records by their place in the file. A record that came packed so goes out with its own packed bytes.

use std::io::{self, Write};

use flate2::write::GzEncoder;

use super::encode::{gzip, zstd};
use super::error::SinkError;
use super::file::OutputFile;

/// An output file of members.
pub(super) struct Members {
    file: OutputFile,
    /// The kind of members.
    zstd: bool,
    open: Option<Member>,
    any: bool,
}

/// The member being written. What is packed goes on to the file as it comes.
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

    /// Adds bytes to the open member, which is begun if need be: not for nothing, since what follows may be a member itself.
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

    /// Adds a member as it is.
    pub(super) fn append_member(&mut self, packed: &[u8]) -> Result<(), SinkError> {
        self.end_member()?;
        self.any = true;
        self.file.append(packed)
    }

    /// Ends the open member: what follows goes into another.
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
            // A file of no member is no packed file.
            self.append_packed(b"")?;
        }
        self.end_member()?;
        self.file.finish().map(|_| ())
    }
}
