//! The `dispatch` macro: compiles one generic body for every instruction set, and chooses one at run time by a
//! [`Level`].
//!
//! [`Level`]: crate::level::Level

/// Defines the safe function `$name`, which runs the generic `$body` with the vector type of a SIMD level.
///
/// `$body` is an `unsafe fn` whose only condition is that the CPU has the instructions of its vector type. It and
/// everything it calls are `inline(always)`, so that they are compiled inside the function that enables those
/// instructions.
macro_rules! dispatch {
    ($name:ident [$($decl:tt)*] [$($generic:tt)*] ($($arg:ident: $ty:ty),*) = $body:ident::<$lanes:ident>) => {
        #[inline]
        fn $name<$($decl)*>(level: $crate::level::Level, $($arg: $ty),*) {
            use $crate::level::InstructionSet;

            /// # Safety
            /// The CPU has the enabled features.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq")]
            #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
            fn on_avx512<$($decl)*>($($arg: $ty),*) {
                // SAFETY: the features enabled on this function are all that the vector type needs.
                unsafe { $body::<$crate::kernel::avx512::$lanes, $($generic)*>($($arg),*) }
            }

            /// # Safety
            /// The CPU has the enabled features.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
            fn on_avx2<$($decl)*>($($arg: $ty),*) {
                // SAFETY: the features enabled on this function are all that the vector type needs.
                unsafe { $body::<$crate::kernel::avx2::$lanes, $($generic)*>($($arg),*) }
            }

            /// # Safety
            /// The CPU has the enabled feature.
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            #[target_feature(enable = "neon")]
            fn on_neon<$($decl)*>($($arg: $ty),*) {
                // SAFETY: the feature enabled on this function is all that the vector type needs.
                unsafe { $body::<$crate::kernel::neon::$lanes, $($generic)*>($($arg),*) }
            }

            match level.instruction_set() {
                // SAFETY: a level exists only on a CPU on which its instructions were detected, and the detection tests
                // every feature that `on_avx512` enables.
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx512 => unsafe { on_avx512::<$($generic)*>($($arg),*) },
                // SAFETY: a level exists only on a CPU on which its instructions were detected, and the detection tests
                // every feature that `on_avx2` enables.
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx2 => unsafe { on_avx2::<$($generic)*>($($arg),*) },
                // SAFETY: a level exists only on a CPU on which its instructions were detected.
                #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
                InstructionSet::Neon => unsafe { on_neon::<$($generic)*>($($arg),*) },
                // SAFETY: the vectors of the scalar level are plain integers, which need no special instructions.
                _ => unsafe { $body::<$crate::kernel::scalar::$lanes, $($generic)*>($($arg),*) },
            }
        }
    };
}
pub(super) use dispatch;
