//! The limits on decompressing a file.

use crate::source::options::SourceOptions;

/// The base-2 logarithm of the largest accepted zstd window: 2^31 bytes, which `zstd --long=31` uses.
const ZSTD_WINDOW_LOG: u32 = 31;
/// The largest memory for decompressing an xz stream, in KiB: four times what `xz -9` needs.
const XZ_MEMORY: u32 = 256 << 10;

/// The limits on decompressing a file.
#[derive(Clone, Copy, Debug)]
pub struct UnpackLimits {
    /// The largest allowed ratio between the decompressed and the compressed size of a file. 1 GiB is allowed at any
    /// ratio.
    pub(super) max_ratio: u64,
    /// The largest memory for the decoder's window or dictionary, in bytes.
    window: u64,
}

impl Default for UnpackLimits {
    fn default() -> Self {
        Self::of(&SourceOptions::default())
    }
}

impl UnpackLimits {
    /// Allows every decompressed size. Suitable for readers that store only one block at a time.
    pub fn of_any_ratio() -> Self {
        Self {
            max_ratio: u64::MAX,
            ..Self::default()
        }
    }

    /// Returns the limits that the options set.
    pub fn of(options: &SourceOptions) -> Self {
        Self {
            max_ratio: options.max_ratio,
            window: options.max_held,
        }
    }

    /// The base-2 logarithm of the largest accepted zstd window. It is never below that of 8 MiB, which the common
    /// levels use.
    pub(super) fn zstd_window(self) -> u32 {
        self.window.max(8 << 20).ilog2().min(ZSTD_WINDOW_LOG)
    }

    /// The largest memory for decompressing an xz stream, in KiB.
    pub(super) fn xz_memory(self) -> u32 {
        u32::try_from(self.window >> 10).map_or(XZ_MEMORY, |kib| kib.clamp(16 << 10, XZ_MEMORY))
    }
}
