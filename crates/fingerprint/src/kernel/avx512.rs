//! AVX-512: vectors of 512 bits, with the bit counts and byte permutations of Ice Lake and Zen 4.
//!
//! Invariant, from [`lanes`](super::lanes): a vector of a type in this file exists only on a CPU with these
//! instructions. The fields are private, and the functions that create a vector without having another one (`splat` and
//! the loads) are unsafe. So a function that receives a vector may use the instructions.

#[allow(
    clippy::wildcard_imports,
    reason = "the file uses most intrinsics of the architecture"
)]
use std::arch::x86_64::*;

use super::lanes::{ByteBlock, CounterVector, WordVector};

/// Eight 64-bit lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U64s(__m512i);

impl U64s {
    /// Splits eight 128-bit values, loaded as two vectors, into a vector of the low halves and one of the high halves.
    #[inline(always)]
    fn split_halves(first: Self, second: Self) -> (Self, Self) {
        // SAFETY: `first` is a vector, which exists only on a CPU with AVX-512.
        unsafe {
            let low = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let high = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            (
                Self(_mm512_permutex2var_epi64(first.0, low, second.0)),
                Self(_mm512_permutex2var_epi64(first.0, high, second.0)),
            )
        }
    }
}

impl WordVector for U64s {
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512.
        Self(unsafe { _mm512_set1_epi64(x as i64) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512 and that eight values are readable at `from`; the load
        // may be unaligned.
        Self(unsafe { _mm512_loadu_epi64(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const u64, n: usize) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512, that n < 8, and that `n` values are readable at
        // `from`. The mask has lanes 0..n only, and a masked load neither reads nor faults in the other lanes; the
        // address may be unaligned.
        Self(unsafe { _mm512_maskz_loadu_epi64(((1u32 << n) - 1) as u8, from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_u32(from: *const u32) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512 and that sixteen values are readable at `from`; the
        // load may be unaligned.
        Self(unsafe { _mm512_loadu_epi32(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_u32_partial(from: *const u32, n: usize) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512, that n < 16, and that `n` values are readable at
        // `from`. The mask has lanes 0..n only, and a masked load neither reads nor faults in the other lanes; the
        // address may be unaligned.
        Self(unsafe { _mm512_maskz_loadu_epi32(((1u32 << n) - 1) as u16, from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u128) -> (Self, Self) {
        // SAFETY: the caller guarantees that the CPU has AVX-512 and that eight 128-bit values are readable at `from`,
        // which are two vectors of eight words.
        let (first, second) = unsafe { (Self::load(from.cast()), Self::load(from.add(4).cast())) };
        Self::split_halves(first, second)
    }

    #[inline(always)]
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self) {
        let words = from.cast::<i64>();
        let mask = (1u32 << (2 * n)) - 1;
        // SAFETY: the caller guarantees that the CPU has AVX-512, that n < 8, and that `n` 128-bit values are readable
        // at `from`. These are 2n words. The mask has bits 0..2n only, and a masked load neither reads nor faults in
        // the other lanes, so that the second address may be past the end.
        let (first, second) = unsafe {
            (
                Self(_mm512_maskz_loadu_epi64(mask as u8, words)),
                Self(_mm512_maskz_loadu_epi64((mask >> 8) as u8, words.wrapping_add(8))),
            )
        };
        Self::split_halves(first, second)
    }

    #[inline(always)]
    unsafe fn load_windows(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512 and that 16 bytes are readable at `from`; the load may
        // be unaligned.
        Self(unsafe {
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
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512; the caller guarantees that `to` has room
        // for eight values. The store may be unaligned.
        unsafe { _mm512_storeu_epi64(to.cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_and_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn or_xor(self, x: Self, y: Self) -> Self {
        // The constant is the truth table of a | (b ^ c) for the ternary-logic instruction.
        //
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_ternarylogic_epi64::<0b1111_0110>(self.0, x.0, y.0) })
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_rol_epi64::<LEFT>(self.0) })
    }

    #[inline(always)]
    fn count_ones(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512, including the bit count (VPOPCNTDQ).
        Self(unsafe { _mm512_popcnt_epi64(self.0) })
    }

    #[inline(always)]
    fn count_ones_u32(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512, including the bit count (VPOPCNTDQ).
        Self(unsafe { _mm512_popcnt_epi32(self.0) })
    }

    #[inline(always)]
    fn min_small(self, other: Self) -> Self {
        // The minimum of bytes is the same for lanes below 256. It is used because the minimum of 64-bit lanes is
        // several times slower on some CPUs.
        //
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_min_epu8(self.0, other.0) })
    }

    #[inline(always)]
    fn less_than(self, bound: Self) -> u32 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        u32::from(unsafe { _mm512_cmplt_epu64_mask(self.0, bound.0) })
    }

    #[inline(always)]
    fn less_than_u32(self, bound: Self) -> u32 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        u32::from(unsafe { _mm512_cmplt_epu32_mask(self.0, bound.0) })
    }

    #[inline(always)]
    fn select_less_than(self, bound: Self, yes: Self, no: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_mask_blend_epi64(_mm512_cmplt_epu64_mask(self.0, bound.0), no.0, yes.0) })
    }
}

/// Thirty-two 16-bit counters.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U16s(__m512i);

impl CounterVector for U16s {
    type Count = u16;
    const LANES: usize = 32;

    #[inline(always)]
    unsafe fn splat(x: u16) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512.
        Self(unsafe { _mm512_set1_epi16(x as i16) })
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512; the caller guarantees that 32 / 8 = 4
        // bytes are readable at `bits`.
        Self(unsafe {
            let mask = bits.cast::<u32>().read_unaligned();
            _mm512_mask_add_epi16(self.0, mask, self.0, weight.0)
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u16) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512; the caller guarantees that `to` has room
        // for 32 values. The store may be unaligned.
        unsafe { _mm512_storeu_epi16(to.cast(), self.0) }
    }
}

/// Sixty-four 8-bit counters.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U8s(__m512i);

impl CounterVector for U8s {
    type Count = u8;
    const LANES: usize = 64;

    #[inline(always)]
    unsafe fn splat(x: u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512.
        Self(unsafe { _mm512_set1_epi8(x as i8) })
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512; the caller guarantees that 64 / 8 = 8
        // bytes are readable at `bits`.
        Self(unsafe {
            let mask = bits.cast::<u64>().read_unaligned();
            _mm512_mask_add_epi8(self.0, mask, self.0, weight.0)
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512; the caller guarantees that `to` has room
        // for 64 values. The store may be unaligned.
        unsafe { _mm512_storeu_epi8(to.cast(), self.0) }
    }
}

/// Sixty-four bytes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Bytes(__m512i);

impl ByteBlock for Bytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX-512 and that 64 bytes are readable at `from`; the load may be
        // unaligned.
        Self(unsafe { _mm512_loadu_epi8(from.cast()) })
    }

    #[inline(always)]
    fn high(self) -> u64 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        unsafe { _mm512_movepi8_mask(self.0) }
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte.cast_signed())) }
    }

    #[inline(always)]
    fn in_range(self, low: u8, high: u8) -> u64 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        unsafe {
            let from_low = _mm512_sub_epi8(self.0, _mm512_set1_epi8(low.cast_signed()));
            _mm512_cmple_epu8_mask(from_low, _mm512_set1_epi8((high - low).cast_signed()))
        }
    }

    #[inline(always)]
    fn ascii(self) -> (Self, u64) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        unsafe {
            // The bit that distinguishes small letters from capital letters is set in all digits.
            let lower = Self(_mm512_or_si512(self.0, _mm512_set1_epi8(0x20)));
            let words = lower.in_range(b'a', b'z') | self.in_range(b'0', b'9');
            let ascii = _mm512_mask_blend_epi8(words, _mm512_set1_epi8(0x20), lower.0);
            (Self(_mm512_mask_blend_epi8(self.high(), ascii, self.0)), words)
        }
    }

    #[inline(always)]
    fn with_spaces(self, at: u64) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512.
        Self(unsafe { _mm512_mask_set1_epi8(self.0, at, 0x20) })
    }

    #[inline(always)]
    unsafe fn store_kept(self, keep: u64, to: *mut u8) -> usize {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX-512; the caller guarantees that `to` has room for 64
        // bytes. The store may be unaligned. Compressing in a register and storing all bytes is faster than a compressing store.
        unsafe { _mm512_storeu_epi8(to.cast(), _mm512_maskz_compress_epi8(keep, self.0)) };
        keep.count_ones() as usize
    }

    #[inline(always)]
    unsafe fn store_code_points(from: *const u8, begins: u64, to: *mut u32) -> usize {
        const CODES: usize = 16;
        let count = begins.count_ones() as usize;
        // SAFETY: the caller guarantees that the CPU has AVX-512, that 66 bytes are readable at `from`, and that `to` has room for
        // 64 values. The masked load reads two bytes. A step stores 16 values from a multiple of 16 on that is less than
        // `count`, so all are among the first 64.
        unsafe {
            let near = _mm512_loadu_epi8(from.cast());
            let far = _mm512_maskz_loadu_epi8(0b11, from.add(64).cast());
            let places: [i64; 8] =
                std::array::from_fn(|i| 0x0706_0504_0302_0100 + 0x0808_0808_0808_0808 * i as i64);
            let mut places = _mm512_maskz_compress_epi8(begins, _mm512_loadu_epi64(places.as_ptr()));
            for done in (0..count).step_by(CODES) {
                let place = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
                // The places of the three bytes of each character.
                let three = _mm512_add_epi32(
                    _mm512_mullo_epi32(place, _mm512_set1_epi32(0x0001_0101)),
                    _mm512_set1_epi32(0x0002_0100),
                );
                let bytes = _mm512_permutex2var_epi8(near, three, far);
                let first = _mm512_and_si512(bytes, _mm512_set1_epi32(0xFF));
                let is_long = _mm512_test_epi32_mask(bytes, _mm512_set1_epi32(0x80));
                // Four bits of the first byte and six of each of the others.
                let bits = _mm512_and_si512(bytes, _mm512_set1_epi32(0x003F_3F0F));
                let pairs = _mm512_maddubs_epi16(bits, _mm512_set1_epi32(0x0001_0140));
                let codes = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0040));
                let codes = _mm512_mask_mov_epi32(first, is_long, codes);
                _mm512_storeu_epi32(to.add(done).cast(), codes);
                places = _mm512_alignr_epi64::<2>(places, places);
            }
        }
        count
    }
}
