//! Compresses an output file with the codec of its input. The parameters are fixed, so equal bytes are always
//! compressed to equal bytes.

use std::io::Write;
use std::path::Path;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use lz4_flex::frame::{FrameEncoder, FrameInfo};
use lzma_rust2::{XzOptions, XzWriter};

use super::error::SinkError;
use super::file::OutputFile;
use super::members::Members;
use super::streams::{gzip, zstd};
use crate::source::Codec;

/// The default level of bzip2.
const BZIP2_LEVEL: u32 = 9;
/// The xz level. It is below xz's default, which needs three times the memory for each output.
const XZ_LEVEL: u32 = 3;
/// An output file that compresses what is written to it.
pub(super) enum Packed {
    Plain(OutputFile),
    Gzip(Box<GzEncoder<OutputFile>>),
    Zstd(Box<zstd::Encoder<'static, OutputFile>>),
    /// Each record is compressed separately.
    Members(Box<Members>),
    Bzip2(Box<BzEncoder<OutputFile>>),
    Xz(Box<XzWriter<OutputFile>>),
    Lz4(Box<FrameEncoder<OutputFile>>),
}

impl Packed {
    pub(super) fn new(file: OutputFile, codec: Codec) -> Result<Self, SinkError> {
        Ok(match codec {
            Codec::Plain => Self::Plain(file),
            Codec::Gzip => Self::Gzip(Box::new(gzip(file))),
            Codec::Zstd => {
                let path = file.path().to_owned();
                let encoder =
                    zstd(file).map_err(|e| SinkError::from_io(e, &path, "start its zstd stream"))?;
                Self::Zstd(Box::new(encoder))
            }
            Codec::Bzip2 => Self::Bzip2(Box::new(BzEncoder::new(
                file,
                bzip2::Compression::new(BZIP2_LEVEL),
            ))),
            Codec::Xz => {
                let path = file.path().to_owned();
                let encoder = XzWriter::new(file, XzOptions::with_preset(XZ_LEVEL));
                let encoder = encoder.map_err(|e| SinkError::from_io(e, &path, "start its xz stream"))?;
                Self::Xz(Box::new(encoder))
            }
            Codec::Lz4 => {
                let info = FrameInfo::new().content_checksum(true);
                Self::Lz4(Box::new(FrameEncoder::with_frame_info(info, file)))
            }
        })
    }

    /// Like [`new`](Self::new), but compresses each record separately if the codec is gzip or zstd.
    pub(super) fn by_record(file: OutputFile, codec: Codec) -> Result<Self, SinkError> {
        match codec {
            Codec::Gzip | Codec::Zstd => {
                Ok(Self::Members(Box::new(Members::new(file, codec == Codec::Zstd))))
            }
            Codec::Plain | Codec::Bzip2 | Codec::Xz | Codec::Lz4 => Self::new(file, codec),
        }
    }

    /// Ends the current record. If records are compressed separately, the next one begins a new gzip member or zstd
    /// frame.
    pub(super) fn end_record(&mut self) -> Result<(), SinkError> {
        match self {
            Self::Members(members) => members.end_member(),
            _ => Ok(()),
        }
    }

    /// Appends a record that is already compressed. Requires that records are compressed separately.
    pub(super) fn append_member(&mut self, packed: &[u8]) -> Result<(), SinkError> {
        match self {
            Self::Members(members) => members.append_member(packed),
            _ => self.append(packed),
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        let (written, file) = match self {
            Self::Plain(file) => return file.append(bytes),
            Self::Members(members) => return members.append(bytes),
            Self::Gzip(encoder) => (encoder.write_all(bytes), encoder.get_ref()),
            Self::Zstd(encoder) => (encoder.write_all(bytes), encoder.get_ref()),
            Self::Bzip2(encoder) => (encoder.write_all(bytes), encoder.get_ref()),
            Self::Xz(encoder) => (encoder.write_all(bytes), encoder.inner()),
            Self::Lz4(encoder) => (encoder.write_all(bytes), encoder.get_ref()),
        };
        written.map_err(|error| SinkError::from_io(error, file.path(), "compress it"))
    }

    pub(super) fn finish(self) -> Result<(), SinkError> {
        let path = match &self {
            Self::Plain(file) => file.path(),
            Self::Members(_) => Path::new(""),
            Self::Gzip(encoder) => encoder.get_ref().path(),
            Self::Zstd(encoder) => encoder.get_ref().path(),
            Self::Bzip2(encoder) => encoder.get_ref().path(),
            Self::Xz(encoder) => encoder.inner().path(),
            Self::Lz4(encoder) => encoder.get_ref().path(),
        };
        let path = path.to_owned();
        let file = match self {
            Self::Plain(file) => Ok(file),
            Self::Members(members) => return members.finish(),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Bzip2(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
            Self::Lz4(encoder) => encoder.finish().map_err(Into::into),
        };
        file.map_err(|error| SinkError::from_io(error, &path, "compress it"))?
            .finish()?;
        Ok(())
    }
}
