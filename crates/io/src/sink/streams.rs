//! gzip and zstd streams with fixed parameters, so that the same bytes always pack to the same bytes.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

/// gzip's own default.
const GZIP_LEVEL: u32 = 6;
/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;
/// "Unknown" in the header's field for the operating system, so that output is the same on every system.
const NO_SYSTEM: u8 = 255;

/// Begins a gzip stream.
pub(super) fn gzip<W: Write>(to: W) -> GzEncoder<W> {
    let header = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
    header.write(to, Compression::new(GZIP_LEVEL))
}

/// Begins a zstd stream.
pub(super) fn zstd<W: Write>(to: W) -> io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(to, ZSTD_LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}
