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

use super::lanes::{ByteBlock, CounterVector, KEPT, WordVector};

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

/// Sixty-four bytes in four vectors.
#[derive(Clone, Copy)]
pub(super) struct Bytes([uint8x16_t; 4]);

impl Bytes {
    /// Returns a mask of the lanes that are 0xFF; the others must be 0.
    #[inline(always)]
    fn mask(self) -> u64 {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON; `bits` has sixteen values.
        unsafe {
            let bits: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
            let bits = vld1q_u8(bits.as_ptr());
            let [a, b, c, d] = self.0.map(|lanes| vandq_u8(lanes, bits));
            // Each addition of pairs combines neighbouring bits; after three of them a byte has eight bits.
            let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
        }
    }

    /// Returns vectors whose bytes are 0xFF where the byte is at least `low` and at most `low + more`, and 0 elsewhere.
    #[inline(always)]
    fn near(self, low: u8, more: u8) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        Self(
            self.0
                .map(|lanes| unsafe { vcleq_u8(vsubq_u8(lanes, vdupq_n_u8(low)), vdupq_n_u8(more)) }),
        )
    }
}

impl ByteBlock for Bytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has NEON and that 64 bytes are readable at `from`.
        Self(unsafe {
            [
                vld1q_u8(from),
                vld1q_u8(from.add(16)),
                vld1q_u8(from.add(32)),
                vld1q_u8(from.add(48)),
            ]
        })
    }

    #[inline(always)]
    fn high(self) -> u64 {
        self.in_range(0x80, 0xFF)
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        self.near(byte, 0).mask()
    }

    #[inline(always)]
    fn in_range(self, low: u8, high: u8) -> u64 {
        self.near(low, high - low).mask()
    }

    #[inline(always)]
    fn ascii(self) -> (Self, u64) {
        // SAFETY: `self` is a vector, which exists only on a CPU with NEON.
        unsafe {
            // The bit that distinguishes small letters from capital letters is set in all digits.
            let lower = Self(self.0.map(|lanes| vorrq_u8(lanes, vdupq_n_u8(0x20))));
            let (letters, digits, high) = (lower.near(b'a', 25), self.near(b'0', 9), self.near(0x80, 0x7F));
            let mut words = letters;
            let mut out = self;
            for (i, words) in words.0.iter_mut().enumerate() {
                *words = vorrq_u8(*words, digits.0[i]);
                let ascii = vbslq_u8(*words, lower.0[i], vdupq_n_u8(0x20));
                out.0[i] = vbslq_u8(high.0[i], self.0[i], ascii);
            }
            (out, words.mask())
        }
    }

    #[inline(always)]
    fn with_spaces(self, at: u64) -> Self {
        let mut out = self;
        for (i, lanes) in out.0.iter_mut().enumerate() {
            // SAFETY: `self` is a vector, which exists only on a CPU with NEON; `bits` has sixteen values.
            unsafe {
                let bits: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
                let at = at >> (16 * i);
                let at = vcombine_u8(vdup_n_u8(at as u8), vdup_n_u8((at >> 8) as u8));
                *lanes = vbslq_u8(vtstq_u8(at, vld1q_u8(bits.as_ptr())), vdupq_n_u8(0x20), *lanes);
            }
        }
        out
    }

    #[inline(always)]
    unsafe fn store_kept(self, keep: u64, to: *mut u8) -> usize {
        let mut stored = 0;
        for (i, lanes) in self.0.into_iter().enumerate() {
            let keep = keep >> (16 * i);
            // SAFETY: `self` is a vector, which exists only on a CPU with NEON. Eight bytes are stored for each eight
            // bytes of the block, after the bytes kept so far, so the addresses are among the 64 that the caller
            // guarantees.
            unsafe {
                for (eight, keep) in [
                    (vget_low_u8(lanes), keep as u8),
                    (vget_high_u8(lanes), (keep >> 8) as u8),
                ] {
                    let order = vld1_u8(KEPT[usize::from(keep)].as_ptr());
                    vst1_u8(to.add(stored), vtbl1_u8(eight, order));
                    stored += keep.count_ones() as usize;
                }
            }
        }
        stored
    }
}
