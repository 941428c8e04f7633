//! SIMD levels: the instruction sets that the kernels are compiled for, and their detection.
//!
//! Invariant: a [`Level`] above scalar proves that this CPU has its instructions, because only the detection in this
//! module creates one. The safety of the kernels depends on it.

use std::fmt;
use std::sync::OnceLock;

/// A set of SIMD instructions that this CPU has.
///
/// Levels are ordered: scalar < neon < avx2 < avx512. Results never depend on the level.
///
/// ```
/// use twinprint_fingerprint::kernel::{self, Level};
///
/// let mut by_definition = Vec::new();
/// kernel::hamming_one_to_many_at(Level::SCALAR, 0b111u64, &[0b110, 0b000], 2, &mut by_definition);
/// for level in Level::available() {
///     let mut hits = Vec::new();
///     kernel::hamming_one_to_many_at(level, 0b111u64, &[0b110, 0b000], 2, &mut hits);
///     assert_eq!(hits, by_definition);
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(InstructionSet);

/// The instruction set of a level. All variants exist on every architecture, so that every name is known everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum InstructionSet {
    /// Only the baseline instructions of the target.
    Scalar,
    /// NEON on little-endian AArch64.
    Neon,
    /// AVX2 with POPCNT, BMI1 and BMI2.
    Avx2,
    /// AVX-512 F, BW, VL, VBMI, VBMI2 and VPOPCNTDQ, in addition to the instructions of `Avx2`.
    Avx512,
}

const ASCENDING: [InstructionSet; 4] = [
    InstructionSet::Scalar,
    InstructionSet::Neon,
    InstructionSet::Avx2,
    InstructionSet::Avx512,
];

impl Level {
    /// Plain integer code without SIMD instructions, available on every CPU.
    pub const SCALAR: Self = Self(InstructionSet::Scalar);

    /// Returns the levels that this CPU supports, in ascending order. The first one is scalar.
    #[must_use]
    pub fn available() -> Vec<Self> {
        ASCENDING
            .into_iter()
            .filter(|set| set.is_detected())
            .map(Self)
            .collect()
    }

    /// Returns the best level that this CPU supports up to the named one (`scalar`, `neon`, `avx2` or `avx512`), the
    /// best of all for `auto`, and `None` for any other name.
    #[must_use]
    pub fn at_most(name: &str) -> Option<Self> {
        let limit = match name {
            "auto" => InstructionSet::Avx512,
            _ => ASCENDING.into_iter().find(|set| set.name() == name)?,
        };
        Self::available().into_iter().rfind(|level| level.0 <= limit)
    }

    /// Returns the name of the level, as the environment variable `TWINPRINT_SIMD` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the instruction set that kernels are dispatched to.
    #[inline]
    pub(crate) fn instruction_set(self) -> InstructionSet {
        self.0
    }
}

impl InstructionSet {
    const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Returns `true` if this CPU has all features that the kernels' `dispatch` macro enables for this instruction set.
    fn is_detected(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
            }
            // Ice Lake, Zen 4 and later CPUs have all of these. Older CPUs with AVX-512 lack the vector bit count and
            // run at the AVX2 level.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_detected()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("avx512vpopcntdq")
            }
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[expect(clippy::allow_attributes, reason = "true on some architectures only")]
            #[allow(unreachable_patterns, reason = "no architecture names every variant above")]
            _ => false,
        }
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the SIMD level in use: the best that this CPU supports, limited by the environment variable `TWINPRINT_SIMD`
/// if that names a level (`scalar`, `neon`, `avx2`, `avx512`). `auto` and unknown names are no limit.
///
/// The variable is read once per process.
#[must_use]
#[inline]
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let wanted = std::env::var("TWINPRINT_SIMD").ok();
        wanted
            .and_then(|name| Level::at_most(name.trim()))
            .or_else(|| Level::at_most("auto"))
            .unwrap_or(Level::SCALAR)
    })
}
