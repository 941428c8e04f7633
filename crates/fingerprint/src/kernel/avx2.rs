//! Lanes of 256 bits.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "the one argument for all is in the trait's terms: \
    the caller vouches for the instructions and the pointers"
)]

use std::arch::x86_64::*;

use super::lanes::{Counters, Words};

/// Four 64-bit lanes.
pub(super) type U64s = __m256i;

/// The even and the odd lanes of two vectors of two 128-bit values each.
#[inline(always)]
unsafe fn halves(first: __m256i, second: __m256i) -> (__m256i, __m256i) {
    unsafe {
        // Unpacking takes lanes 0 and 2 of both in turn; the permutation puts them in order.
        let low = _mm256_unpacklo_epi64(first, second);
        let high = _mm256_unpackhi_epi64(first, second);
        (
            _mm256_permute4x64_epi64::<0b11_01_10_00>(low),
            _mm256_permute4x64_epi64::<0b11_01_10_00>(high),
        )
    }
}

impl Words for __m256i {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        unsafe { _mm256_set1_epi64x(x as i64) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const u64, n: usize) -> Self {
        unsafe {
            let lane = _mm256_setr_epi64x(0, 1, 2, 3);
            let mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), lane);
            _mm256_maskload_epi64(from.cast(), mask)
        }
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u128) -> (Self, Self) {
        unsafe { halves(Self::load(from.cast()), Self::load(from.add(2).cast())) }
    }

    #[inline(always)]
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self) {
        unsafe {
            let words = from.cast::<u64>();
            let first = Self::load_partial(words, 2 * n.min(2));
            let second = if n > 2 {
                Self::load_partial(words.add(4), 2 * n - 4)
            } else {
                Self::splat(0)
            };
            halves(first, second)
        }
    }

    #[inline(always)]
    unsafe fn load_windows(from: *const u8) -> Self {
        unsafe {
            let bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast()));
            let (lane, next) = (0x0706_0504_0302_0100, 0x0101_0101_0101_0101);
            let order = _mm256_setr_epi64x(lane, lane + next, lane + 2 * next, lane + 3 * next);
            _mm256_shuffle_epi8(bytes, order)
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm256_add_epi64(self, other) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        unsafe { _mm256_and_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        unsafe {
            match LEFT {
                // Whole bytes move by one shuffle instead of two shifts and an or.
                32 => _mm256_shuffle_epi32::<0b10_11_00_01>(self),
                16 => {
                    let left = _mm_setr_epi8(6, 7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10, 11, 12, 13);
                    _mm256_shuffle_epi8(self, _mm256_broadcastsi128_si256(left))
                }
                _ => _mm256_or_si256(_mm256_slli_epi64::<LEFT>(self), _mm256_srli_epi64::<RIGHT>(self)),
            }
        }
    }

    #[inline(always)]
    unsafe fn count_ones(self) -> Self {
        // Muła's table of the ones in a nibble; the sum of absolute differences adds the eight bytes.
        unsafe {
            let table = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
            let table = _mm256_broadcastsi128_si256(table);
            let nibble = _mm256_set1_epi8(15);
            let low = _mm256_and_si256(self, nibble);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(self), nibble);
            let ones = _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high));
            _mm256_sad_epu8(ones, _mm256_setzero_si256())
        }
    }

    #[inline(always)]
    unsafe fn min_small(self, other: Self) -> Self {
        unsafe { _mm256_min_epu8(self, other) }
    }

    #[inline(always)]
    unsafe fn below(self, bound: Self) -> u32 {
        let below = unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(bound, self))) };
        below.cast_unsigned()
    }

    #[inline(always)]
    unsafe fn or_xor(self, x: Self, y: Self) -> Self {
        unsafe { _mm256_or_si256(self, _mm256_xor_si256(x, y)) }
    }

    #[inline(always)]
    unsafe fn where_below(self, bound: Self, yes: Self, no: Self) -> Self {
        unsafe { _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi64(bound, self)) }
    }
}

/// Sixteen 16-bit counters.
#[derive(Clone, Copy)]
pub(super) struct U16s(__m256i);

impl Counters for U16s {
    type Count = u16;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(x: u16) -> Self {
        Self(unsafe { _mm256_set1_epi16(x as i16) })
    }

    #[inline(always)]
    unsafe fn add_where(self, bits: *const u8, weight: Self) -> Self {
        unsafe {
            let select = _mm256_setr_epi16(
                1,
                1 << 1,
                1 << 2,
                1 << 3,
                1 << 4,
                1 << 5,
                1 << 6,
                1 << 7,
                1 << 8,
                1 << 9,
                1 << 10,
                1 << 11,
                1 << 12,
                1 << 13,
                1 << 14,
                i16::MIN,
            );
            let bits = _mm256_set1_epi16(bits.cast::<i16>().read_unaligned());
            let set = _mm256_cmpeq_epi16(_mm256_and_si256(bits, select), select);
            Self(_mm256_add_epi16(self.0, _mm256_and_si256(set, weight.0)))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u16) {
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
}

/// Thirty-two 8-bit counters.
#[derive(Clone, Copy)]
pub(super) struct U8s(__m256i);

impl Counters for U8s {
    type Count = u8;
    const LANES: usize = 32;

    #[inline(always)]
    unsafe fn splat(x: u8) -> Self {
        Self(unsafe { _mm256_set1_epi8(x as i8) })
    }

    #[inline(always)]
    unsafe fn add_where(self, bits: *const u8, weight: Self) -> Self {
        unsafe {
            // Lane i gets byte i / 8 of the bits, then keeps bit i % 8.
            let spread = _mm256_setr_epi64x(
                0,
                0x0101_0101_0101_0101,
                0x0202_0202_0202_0202,
                0x0303_0303_0303_0303,
            );
            let select = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            let bits = _mm256_set1_epi32(bits.cast::<i32>().read_unaligned());
            let bits = _mm256_shuffle_epi8(bits, spread);
            let set = _mm256_cmpeq_epi8(_mm256_and_si256(bits, select), select);
            Self(_mm256_add_epi8(self.0, _mm256_and_si256(set, weight.0)))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
}
