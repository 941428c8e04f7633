//! Lanes of 512 bits, with the bit counts and byte permutations of Ice Lake and Zen 4.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "the one argument for all is in the trait's terms: \
    the caller vouches for the instructions and the pointers"
)]

use std::arch::x86_64::*;

use super::lanes::{Counters, Words};

/// Eight 64-bit lanes.
pub(super) type U64s = __m512i;

/// The even and the odd lanes of two vectors of four 128-bit values each.
#[inline(always)]
unsafe fn halves(first: __m512i, second: __m512i) -> (__m512i, __m512i) {
    unsafe {
        let low = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let high = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        (
            _mm512_permutex2var_epi64(first, low, second),
            _mm512_permutex2var_epi64(first, high, second),
        )
    }
}

impl Words for __m512i {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        unsafe { _mm512_loadu_epi64(from.cast()) }
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const u64, n: usize) -> Self {
        unsafe { _mm512_maskz_loadu_epi64(((1u32 << n) - 1) as u8, from.cast()) }
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u128) -> (Self, Self) {
        unsafe { halves(Self::load(from.cast()), Self::load(from.add(4).cast())) }
    }

    #[inline(always)]
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self) {
        unsafe {
            let words = from.cast::<i64>();
            let mask = (1u32 << (2 * n)) - 1;
            let first = _mm512_maskz_loadu_epi64(mask as u8, words);
            // Masked lanes are not touched, so the address may lie past the end.
            let second = _mm512_maskz_loadu_epi64((mask >> 8) as u8, words.wrapping_add(8));
            halves(first, second)
        }
    }

    #[inline(always)]
    unsafe fn load_windows(from: *const u8) -> Self {
        unsafe {
            let bytes = _mm512_broadcast_i32x4(_mm_loadu_si128(from.cast()));
            let (lane, next) = (0x0706_0504_0302_0100, 0x0101_0101_0101_0101);
            let order = _mm512_setr_epi64(
                lane,
                lane + next,
                lane + 2 * next,
                lane + 3 * next,
                lane + 4 * next,
                lane + 5 * next,
                lane + 6 * next,
                lane + 7 * next,
            );
            _mm512_shuffle_epi8(bytes, order)
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        unsafe { _mm512_storeu_epi64(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm512_add_epi64(self, other) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        unsafe { _mm512_and_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        unsafe { _mm512_rol_epi64::<LEFT>(self) }
    }

    #[inline(always)]
    unsafe fn count_ones(self) -> Self {
        unsafe { _mm512_popcnt_epi64(self) }
    }

    #[inline(always)]
    unsafe fn min_small(self, other: Self) -> Self {
        // On bytes, because the minimum of 64-bit lanes is several times slower on some CPUs.
        unsafe { _mm512_min_epu8(self, other) }
    }

    #[inline(always)]
    unsafe fn below(self, bound: Self) -> u32 {
        u32::from(unsafe { _mm512_cmplt_epu64_mask(self, bound) })
    }

    #[inline(always)]
    unsafe fn or_xor(self, x: Self, y: Self) -> Self {
        // The table of a | (b ^ c).
        unsafe { _mm512_ternarylogic_epi64::<0b1111_0110>(self, x, y) }
    }

    #[inline(always)]
    unsafe fn where_below(self, bound: Self, yes: Self, no: Self) -> Self {
        unsafe { _mm512_mask_blend_epi64(_mm512_cmplt_epu64_mask(self, bound), no, yes) }
    }
}

/// Thirty-two 16-bit counters.
#[derive(Clone, Copy)]
pub(super) struct U16s(__m512i);

impl Counters for U16s {
    type Count = u16;
    const LANES: usize = 32;

    #[inline(always)]
    unsafe fn splat(x: u16) -> Self {
        Self(unsafe { _mm512_set1_epi16(x as i16) })
    }

    #[inline(always)]
    unsafe fn add_where(self, bits: *const u8, weight: Self) -> Self {
        unsafe {
            let mask = bits.cast::<u32>().read_unaligned();
            Self(_mm512_mask_add_epi16(self.0, mask, self.0, weight.0))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u16) {
        unsafe { _mm512_storeu_epi16(to.cast(), self.0) }
    }
}

/// Sixty-four 8-bit counters.
#[derive(Clone, Copy)]
pub(super) struct U8s(__m512i);

impl Counters for U8s {
    type Count = u8;
    const LANES: usize = 64;

    #[inline(always)]
    unsafe fn splat(x: u8) -> Self {
        Self(unsafe { _mm512_set1_epi8(x as i8) })
    }

    #[inline(always)]
    unsafe fn add_where(self, bits: *const u8, weight: Self) -> Self {
        unsafe {
            let mask = bits.cast::<u64>().read_unaligned();
            Self(_mm512_mask_add_epi8(self.0, mask, self.0, weight.0))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { _mm512_storeu_epi8(to.cast(), self.0) }
    }
}
