//! Lanes of 128 bits on little-endian AArch64.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "the one argument for all is in the trait's terms: \
    the caller vouches for the instructions and the pointers"
)]

use std::arch::aarch64::*;

use super::lanes::{Counters, Words};

/// Two 64-bit lanes.
pub(super) type U64s = uint64x2_t;

impl Words for uint64x2_t {
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        unsafe { vdupq_n_u64(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        unsafe { vld1q_u64(from) }
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const u64, n: usize) -> Self {
        let first = if n == 0 {
            0
        } else {
            unsafe { from.read_unaligned() }
        };
        unsafe { vcombine_u64(vcreate_u64(first), vcreate_u64(0)) }
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u128) -> (Self, Self) {
        unsafe {
            let (first, second) = (Self::load(from.cast()), Self::load(from.add(1).cast()));
            (vtrn1q_u64(first, second), vtrn2q_u64(first, second))
        }
    }

    #[inline(always)]
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self) {
        unsafe {
            let row = if n == 0 {
                Self::splat(0)
            } else {
                Self::load(from.cast())
            };
            (vtrn1q_u64(row, Self::splat(0)), vtrn2q_u64(row, Self::splat(0)))
        }
    }

    #[inline(always)]
    unsafe fn load_windows(from: *const u8) -> Self {
        unsafe {
            let bytes = vld1q_u8(from);
            vcombine_u64(
                vreinterpret_u64_u8(vget_low_u8(bytes)),
                vreinterpret_u64_u8(vget_low_u8(vextq_u8::<1>(bytes, bytes))),
            )
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        unsafe { vst1q_u64(to, self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { vaddq_u64(self, other) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        unsafe { vandq_u64(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        unsafe { veorq_u64(self, other) }
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        unsafe {
            match LEFT {
                32 => vreinterpretq_u64_u32(vrev64q_u32(vreinterpretq_u32_u64(self))),
                _ => vsriq_n_u64::<RIGHT>(vshlq_n_u64::<LEFT>(self), self),
            }
        }
    }

    #[inline(always)]
    unsafe fn count_ones(self) -> Self {
        unsafe { vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(self))))) }
    }

    #[inline(always)]
    unsafe fn min_small(self, other: Self) -> Self {
        unsafe { vreinterpretq_u64_u8(vminq_u8(vreinterpretq_u8_u64(self), vreinterpretq_u8_u64(other))) }
    }

    #[inline(always)]
    unsafe fn below(self, bound: Self) -> u32 {
        unsafe {
            let below = vcltq_u64(self, bound);
            (vgetq_lane_u64::<0>(below) & 1 | vgetq_lane_u64::<1>(below) & 2) as u32
        }
    }

    #[inline(always)]
    unsafe fn or_xor(self, x: Self, y: Self) -> Self {
        unsafe { vorrq_u64(self, veorq_u64(x, y)) }
    }

    #[inline(always)]
    unsafe fn where_below(self, bound: Self, yes: Self, no: Self) -> Self {
        unsafe { vbslq_u64(vcltq_u64(self, bound), yes, no) }
    }
}

/// Eight 16-bit counters.
#[derive(Clone, Copy)]
pub(super) struct U16s(uint16x8_t);

impl Counters for U16s {
    type Count = u16;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u16) -> Self {
        Self(unsafe { vdupq_n_u16(x) })
    }

    #[inline(always)]
    unsafe fn add_where(self, bits: *const u8, weight: Self) -> Self {
        const SELECT: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
        unsafe {
            let set = vtstq_u16(vdupq_n_u16(u16::from(bits.read())), vld1q_u16(SELECT.as_ptr()));
            Self(vaddq_u16(self.0, vandq_u16(set, weight.0)))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u16) {
        unsafe { vst1q_u16(to, self.0) }
    }
}

/// Sixteen 8-bit counters.
#[derive(Clone, Copy)]
pub(super) struct U8s(uint8x16_t);

impl Counters for U8s {
    type Count = u8;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(x: u8) -> Self {
        Self(unsafe { vdupq_n_u8(x) })
    }

    #[inline(always)]
    unsafe fn add_where(self, bits: *const u8, weight: Self) -> Self {
        const SELECT: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        unsafe {
            let bits = vcombine_u8(vdup_n_u8(bits.read()), vdup_n_u8(bits.add(1).read()));
            let set = vtstq_u8(bits, vld1q_u8(SELECT.as_ptr()));
            Self(vaddq_u8(self.0, vandq_u8(set, weight.0)))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { vst1q_u8(to, self.0) }
    }
}
