//! The width of the fingerprints of a command, which its index or its files determine.

use std::path::Path;

use twinprint::store;

use crate::usage::UsageError;

/// The radii that the option `-k` accepts before the width of the fingerprints is known.
pub(super) const RADII: std::ops::RangeInclusive<i64> = 0..=128;

/// Calls a function that is generic over the type of fingerprints, with the type of a width in bits. A width that files
/// cannot have is an error.
macro_rules! at_width {
    ($bits:expr, $function:ident($($argument:expr),*)) => {
        match $bits {
            32 => $function::<u32>($($argument),*),
            64 => $function::<u64>($($argument),*),
            128 => $function::<u128>($($argument),*),
            bits => Err($crate::index::width::unsupported(bits)),
        }
    };
}
pub(super) use at_width;

/// The error about fingerprints of a width that no file has.
pub(super) fn unsupported(bits: u32) -> anyhow::Error {
    anyhow::anyhow!("fingerprints of {bits} bits cannot be read; make fingerprints of 32, 64 or 128 bits")
}

/// The width of the fingerprints of the index in a directory, in bits.
pub(super) fn of_index(directory: &Path) -> anyhow::Result<u32> {
    Ok(store::width_of(directory)?)
}

/// Refuses an index whose fingerprints do not have `bits` bits.
pub(super) fn check_index(directory: &Path, bits: u32) -> anyhow::Result<()> {
    let got = of_index(directory)?;
    anyhow::ensure!(
        got == bits,
        "{} has fingerprints of {got} bits, but {bits} bits are expected; choose an index of {bits} bits",
        directory.display()
    );
    Ok(())
}

/// Refuses a radius above the width of the fingerprints.
pub(crate) fn check_radius(k: u32, bits: u32) -> Result<(), UsageError> {
    if k <= bits {
        return Ok(());
    }
    Err(UsageError(format!(
        "-k {k}: two fingerprints of {bits} bits differ in at most {bits} bits; choose at most {bits}"
    )))
}
