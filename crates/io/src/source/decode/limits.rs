//! The limits on unpacking a file.

use crate::source::options::SourceOptions;

/// The largest zstd window accepted: 2^31 bytes, as `zstd --long=31` writes it.
const ZSTD_WINDOW_LOG: u32 = 31;
/// The maximum memory for unpacking an xz stream, in KiB: four times what `xz -9` needs.
const XZ_MEMORY: u32 = 256 << 10;

/// The limits on unpacking a file.
#[derive(Clone, Copy, Debug)]
pub struct UnpackLimits {
    /// The largest ratio of a file's unpacked size to its own; 1 GiB is allowed in any case.
    pub(super) max_ratio: u64,
    /// The bytes that a window or dictionary may take.
    window: u64,
}

impl Default for UnpackLimits {
    fn default() -> Self {
        Self::of(&SourceOptions::default())
    }
}

impl UnpackLimits {
    /// No limit on the unpacked size, for readers that hold one block at a time.
    pub fn of_any_ratio() -> Self {
        Self {
            max_ratio: u64::MAX,
            ..Self::default()
        }
    }

    /// The limits of a run.
    pub fn of(options: &SourceOptions) -> Self {
        Self {
            max_ratio: options.max_ratio,
            window: options.max_held,
        }
    }

    /// The logarithm of the largest zstd window. Streams of the usual levels need windows of 8 MiB.
    pub(super) fn zstd_window(self) -> u32 {
        self.window.max(8 << 20).ilog2().min(ZSTD_WINDOW_LOG)
    }

    /// The maximum memory for unpacking an xz stream, in KiB.
    pub(super) fn xz_memory(self) -> u32 {
        u32::try_from(self.window >> 10).map_or(XZ_MEMORY, |kib| kib.clamp(16 << 10, XZ_MEMORY))
    }
}
