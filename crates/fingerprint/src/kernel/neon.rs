//! NEON: vectors of 128 bits, on little-endian AArch64.
//!
//! Invariant, from [`lanes`](super::lanes): a vector of a type in this file exists only on a CPU with NEON. The fields
//! are private, and the functions that create a vector without having another one (`splat` and the loads) are unsafe.
//! So a function that receives a vector may use NEON.

#[allow(
    clippy::wildcard_imports,
    reason = "the file uses most intrinsics of the architecture"
)]
use std::arch::aarch64::*;

use super::lanes::{CounterVector, WordVector};

/// Two 64-bit lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U64s(uint64x2_t);

impl U64s {
    /// Splits two 128-bit values, loaded as two vectors, into a vector of the low halves and one of the high halves.
    #[inline(always)]
    fn split_halves(first: Self, second: Self) -> (Self, Self) {
        // SAFETY: `first` is a vector, which exists only on a CPU with NEON.
        unsafe {
            (
                Self(vtrn1q_u64(first.0, second.0)),
                Self(vtrn2q_u64(first.0, second.0)),
            )
        }
    }
}

impl WordVector for U64s {
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller guarantees that the CPU has NEON.
        Self(unsafe { vdupq_n_u64(x) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller guarantees that the CPU has NEON and that two values are readable at `from`; the load may
        // be unaligned.
        Self(unsafe { vld1q_u64(from) })
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const u64, n: usize) -> Self {
        let first = if n == 0 {
            0
        } else {
            // SAFETY: the caller guarantees that `n` values are readable at `from`, and n is at least 1.
            unsafe { from.read_unaligned() }
        };
        // SAFETY: the caller guarantees that the CPU has NEON.
        Self(unsafe { vcombine_u64(vcreate_u64(first), vcreate_u64(0)) })
    }

    #[inline(always)]
    unsafe fn load_u32(from: *const u32) -> Self {
        // SAFETY: the caller guarantees that the CPU has NEON and that four values are readable at `from`; the load may
        // be unaligned.
        Self(unsafe { vreinterpretq_u64_u32(vld1q_u32(from)) })
    }

    #[inline(always)]
    unsafe fn load_u32_partial(from: *const u32, n: usize) -> Self {
        let mut values = [0u32; 4];
        for (i, value) in values.iter_mut().enumerate().take(n) {
            // SAFETY: the caller guarantees that `n` values are readable at `from`, and i < n.
            *value = unsafe { from.add(i).read_unaligned() };
        }
        // SAFETY: the caller guarantees that the CPU has NEON; `values` has four values.
        unsafe { Self::load_u32(values.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u128) -> (Self, Self) {
        // SAFETY: the caller guarantees that the CPU has NEON and that two 128-bit values are readable at `from`, each
        // of which is a vector of two words.
        let (first, second) = unsafe { (Self::load(from.cast()), Self::load(from.add(1).cast())) };
        Self::split_halves(first, second)
    }

    #[inline(always)]
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self) {
        // SAFETY: the caller guarantees that the CPU has NEON.
        let zero = unsafe { Self::splat(0) };
        let row = if n == 0 {
            zero
        } else {
            // SAFETY: the caller guarantees that the CPU has NEON and that `n` 128-bit values are readable at `from`,
            // and n is at least 1.
            unsafe { Self::load(from.cast()) }
        };
        Self::split_halves(row, zero)
    }

    #[inline(always)]
    unsafe fn load_windows(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has NEON and that 16 bytes are readable at `from`; the load may be
        // unaligned.
        Self(unsafe {
            let bytes = vld1q_u8(from);
            vcombine_u64(
                vreinterpret_u64_u8(vget_low_u8(bytes)),
                vreinterpret_u64_u8(vget_low_u8(vextq_u8::<1>(bytes, bytes))),
            )
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON; the caller guarantees that `to` has room
        // for two values. The store may be unaligned.
        unsafe { vst1q_u64(to, self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe { vaddq_u64(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe { vandq_u64(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe { veorq_u64(self.0, other.0) })
    }

    #[inline(always)]
    fn or_xor(self, x: Self, y: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe { vorrq_u64(self.0, veorq_u64(x.0, y.0)) })
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe {
            match LEFT {
                32 => vreinterpretq_u64_u32(vrev64q_u32(vreinterpretq_u32_u64(self.0))),
                _ => vsriq_n_u64::<RIGHT>(vshlq_n_u64::<LEFT>(self.0), self.0),
            }
        })
    }

    #[inline(always)]
    fn count_ones(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe { vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(self.0))))) })
    }

    #[inline(always)]
    fn count_ones_u32(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe {
            let of_bytes = vcntq_u8(vreinterpretq_u8_u64(self.0));
            vreinterpretq_u64_u32(vpaddlq_u16(vpaddlq_u8(of_bytes)))
        })
    }

    #[inline(always)]
    fn min_small(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe {
            vreinterpretq_u64_u8(vminq_u8(
                vreinterpretq_u8_u64(self.0),
                vreinterpretq_u8_u64(other.0),
            ))
        })
    }

    #[inline(always)]
    fn less_than(self, bound: Self) -> u32 {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        unsafe {
            let less = vcltq_u64(self.0, bound.0);
            (vgetq_lane_u64::<0>(less) & 1 | vgetq_lane_u64::<1>(less) & 2) as u32
        }
    }

    #[inline(always)]
    fn less_than_u32(self, bound: Self) -> u32 {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON; `bits` has four values.
        unsafe {
            let bits = vld1q_u32([1u32, 2, 4, 8].as_ptr());
            let less = vcltq_u32(vreinterpretq_u32_u64(self.0), vreinterpretq_u32_u64(bound.0));
            vaddvq_u32(vandq_u32(less, bits))
        }
    }

    #[inline(always)]
    fn select_less_than(self, bound: Self, yes: Self, no: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(unsafe { vbslq_u64(vcltq_u64(self.0, bound.0), yes.0, no.0) })
    }
}

/// Eight 16-bit counters.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U16s(uint16x8_t);

impl CounterVector for U16s {
    type Count = u16;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u16) -> Self {
        // SAFETY: the caller guarantees that the CPU has NEON.
        Self(unsafe { vdupq_n_u16(x) })
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        const SELECT: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON; the caller guarantees that 8 / 8 = 1 byte
        // is readable at `bits`. `SELECT` has the eight values that are loaded.
        Self(unsafe {
            let set = vtstq_u16(vdupq_n_u16(u16::from(bits.read())), vld1q_u16(SELECT.as_ptr()));
            vaddq_u16(self.0, vandq_u16(set, weight.0))
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u16) {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON; the caller guarantees that `to` has room
        // for eight values. The store may be unaligned.
        unsafe { vst1q_u16(to, self.0) }
    }
}

/// Sixteen 8-bit counters.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U8s(uint8x16_t);

impl CounterVector for U8s {
    type Count = u8;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(x: u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has NEON.
        Self(unsafe { vdupq_n_u8(x) })
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        const SELECT: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON; the caller guarantees that 16 / 8 = 2 bytes
        // are readable at `bits`. `SELECT` has the sixteen values that are loaded.
        Self(unsafe {
            let bits = vcombine_u8(vdup_n_u8(bits.read()), vdup_n_u8(bits.add(1).read()));
            let set = vtstq_u8(bits, vld1q_u8(SELECT.as_ptr()));
            vaddq_u8(self.0, vandq_u8(set, weight.0))
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON; the caller guarantees that `to` has room
        // for 16 values. The store may be unaligned.
        unsafe { vst1q_u8(to, self.0) }
    }
}
