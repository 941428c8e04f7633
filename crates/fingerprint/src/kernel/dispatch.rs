//! Which instructions to use: found out once, obeyed by every kernel.
//!
//! Invariant: a [`Level`] above scalar is a proof that this CPU has its instructions, because only the
//! detection here makes one. The kernels' safety rests on that.

use std::fmt;
use std::sync::OnceLock;

/// A set of SIMD instructions this CPU has.
///
/// Levels are ordered: scalar < neon < avx2 < avx512. Results never depend on the level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(Kind);

/// The variants exist on every architecture, so that a name means the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Scalar,
    Neon,
    Avx2,
    Avx512,
}

const ASCENDING: [Kind; 4] = [Kind::Scalar, Kind::Neon, Kind::Avx2, Kind::Avx512];

impl Level {
    /// Plain code, available everywhere.
    pub const SCALAR: Self = Self(Kind::Scalar);

    /// The levels this CPU has, in ascending order; the first is scalar.
    #[must_use]
    pub fn available() -> Vec<Self> {
        ASCENDING
            .into_iter()
            .filter(|kind| kind.detected())
            .map(Self)
            .collect()
    }

    /// The best available level not above the one named (`scalar`, `neon`, `avx2`, `avx512`); the best there is
    /// for `auto`, `None` for any other name.
    #[must_use]
    pub fn at_most(name: &str) -> Option<Self> {
        let limit = match name {
            "auto" => Kind::Avx512,
            _ => ASCENDING.into_iter().find(|kind| kind.name() == name)?,
        };
        Self::available().into_iter().rfind(|level| level.0 <= limit)
    }

    /// The name that `TWINPRINT_SIMD` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        self.0
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The features tested here are those that the `dispatch` macro enables.
    fn detected(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
            }
            // Ice Lake and Zen 4 onwards: the older AVX-512 CPUs lack the bit count, and run at the level of AVX2.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.detected()
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
            #[allow(
                unreachable_patterns,
                reason = "every variant is named above on no architecture"
            )]
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

/// The level in use: the best this CPU has, or less where the environment variable `TWINPRINT_SIMD` says so
/// (`scalar`, `neon`, `avx2`, `avx512`, `auto`; a name not known counts as `auto`). Read once a process.
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

/// Defines `$name`, which runs the generic `$body` on the lanes of a level.
///
/// `$body` is an `unsafe fn` whose one demand is that the CPU has the instructions of its lanes. It and all it
/// calls are `inline(always)`, so that they are compiled inside the function that enables those instructions.
macro_rules! dispatch {
    ($name:ident [$($decl:tt)*] [$($generic:tt)*] ($($arg:ident: $ty:ty),*) = $body:ident::<$lanes:ident>) => {
        #[inline]
        fn $name<$($decl)*>(level: $crate::kernel::dispatch::Level, $($arg: $ty),*) {
            use $crate::kernel::dispatch::Kind;

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq")]
            #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
            fn on_avx512<$($decl)*>($($arg: $ty),*) {
                // SAFETY: the features enabled above are those the lanes need.
                unsafe { $body::<$crate::kernel::avx512::$lanes, $($generic)*>($($arg),*) }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
            fn on_avx2<$($decl)*>($($arg: $ty),*) {
                // SAFETY: the features enabled above are those the lanes need.
                unsafe { $body::<$crate::kernel::avx2::$lanes, $($generic)*>($($arg),*) }
            }

            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            #[target_feature(enable = "neon")]
            fn on_neon<$($decl)*>($($arg: $ty),*) {
                // SAFETY: the feature enabled above is the one the lanes need.
                unsafe { $body::<$crate::kernel::neon::$lanes, $($generic)*>($($arg),*) }
            }

            match level.kind() {
                // SAFETY: a level exists only where its instructions were detected.
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 => unsafe { on_avx512::<$($generic)*>($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => unsafe { on_avx2::<$($generic)*>($($arg),*) },
                // SAFETY: as above.
                #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
                Kind::Neon => unsafe { on_neon::<$($generic)*>($($arg),*) },
                // SAFETY: scalar lanes need no instructions beyond the target's own.
                _ => unsafe { $body::<$crate::kernel::scalar::$lanes, $($generic)*>($($arg),*) },
            }
        }
    };
}
pub(super) use dispatch;
