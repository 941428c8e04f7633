//! Creates gzip and zstd streams with fixed parameters, so that equal bytes are always compressed to equal bytes.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

/// The default level of gzip.
const GZIP_LEVEL: u32 = 6;
/// The default level of zstd.
const ZSTD_LEVEL: i32 = 3;
/// The value "unknown" of the operating system field in a gzip header, so that the output is equal on every system.
const NO_SYSTEM: u8 = 255;

/// Starts a gzip stream that writes to `to`.
pub(super) fn gzip<W: Write>(to: W) -> GzEncoder<W> {
    let header = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
    header.write(to, Compression::new(GZIP_LEVEL))
}

/// Starts a zstd stream that writes to `to`.
pub(super) fn zstd<W: Write>(to: W) -> io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(to, ZSTD_LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}
