//! AVX2: vectors of 256 bits.
//!
//! Invariant, from [`lanes`](super::lanes): a vector of a type in this file exists only on a CPU with AVX2. The fields
//! are private, and the functions that create a vector without having another one (`splat` and the loads) are unsafe.
//! So a function that receives a vector may use AVX2.

#[allow(
    clippy::wildcard_imports,
    reason = "the file uses most intrinsics of the architecture"
)]
use std::arch::x86_64::*;

use super::lanes::{ByteBlock, CounterVector, KEPT, WordVector};

/// Four 64-bit lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U64s(__m256i);

impl U64s {
    /// Loads `n` values; the lanes from `n` on are zero.
    ///
    /// # Safety
    /// The CPU has AVX2, `n <= 4`, and `from` is valid for reading `n` values. It may be unaligned.
    #[inline(always)]
    unsafe fn load_masked(from: *const u64, n: usize) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that `n` values are readable at `from`. The mask has
        // lanes 0..n only, and a masked load neither reads nor faults in the other lanes; the address may be unaligned.
        unsafe {
            let lane = _mm256_setr_epi64x(0, 1, 2, 3);
            let mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), lane);
            Self(_mm256_maskload_epi64(from.cast(), mask))
        }
    }

    /// Counts the ones of each byte, by the method of Muła: a table lookup counts the ones of each nibble.
    #[inline(always)]
    fn ones_of_bytes(self) -> __m256i {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        unsafe {
            let table = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
            let table = _mm256_broadcastsi128_si256(table);
            let nibble = _mm256_set1_epi8(15);
            let low = _mm256_and_si256(self.0, nibble);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(self.0), nibble);
            _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high))
        }
    }

    /// Splits four 128-bit values, loaded as two vectors, into a vector of the low halves and one of the high halves.
    #[inline(always)]
    fn split_halves(first: Self, second: Self) -> (Self, Self) {
        // SAFETY: `first` is a vector, which exists only on a CPU with AVX2.
        unsafe {
            // The unpack instructions interleave the lanes of the two vectors; the permutations restore the order of
            // the values.
            let low = _mm256_unpacklo_epi64(first.0, second.0);
            let high = _mm256_unpackhi_epi64(first.0, second.0);
            (
                Self(_mm256_permute4x64_epi64::<0b11_01_10_00>(low)),
                Self(_mm256_permute4x64_epi64::<0b11_01_10_00>(high)),
            )
        }
    }
}

impl WordVector for U64s {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2.
        Self(unsafe { _mm256_set1_epi64x(x as i64) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that four values are readable at `from`; the load may
        // be unaligned.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const u64, n: usize) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that `n` values are readable at `from`.
        unsafe { Self::load_masked(from, n) }
    }

    #[inline(always)]
    unsafe fn load_u32(from: *const u32) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that eight values are readable at `from`; the load
        // may be unaligned.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_u32_partial(from: *const u32, n: usize) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that `n` values are readable at `from`. The mask has
        // lanes 0..n only, and a masked load neither reads nor faults in the other lanes; the address may be unaligned.
        unsafe {
            let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), lane);
            Self(_mm256_maskload_epi32(from.cast(), mask))
        }
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u128) -> (Self, Self) {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that four 128-bit values are readable at `from`,
        // which are two vectors of four words.
        let (first, second) = unsafe { (Self::load(from.cast()), Self::load(from.add(2).cast())) };
        Self::split_halves(first, second)
    }

    #[inline(always)]
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self) {
        let words = from.cast::<u64>();
        // SAFETY: the caller guarantees that the CPU has AVX2, that n < 4, and that `n` 128-bit values are readable at
        // `from`. These are 2n words. The first load reads words 0..4, or 0..2n if that is less; the second reads words
        // 4..2n.
        let (first, second) = unsafe {
            let first = Self::load_masked(words, 2 * n.min(2));
            let second = if n > 2 {
                Self::load_masked(words.add(4), 2 * n - 4)
            } else {
                Self::splat(0)
            };
            (first, second)
        };
        Self::split_halves(first, second)
    }

    #[inline(always)]
    unsafe fn load_windows(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that 16 bytes are readable at `from`; the load may be
        // unaligned.
        unsafe {
            let bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast()));
            let (lane, next) = (0x0706_0504_0302_0100, 0x0101_0101_0101_0101);
            let order = _mm256_setr_epi64x(lane, lane + next, lane + 2 * next, lane + 3 * next);
            Self(_mm256_shuffle_epi8(bytes, order))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2; the caller guarantees that `to` has room
        // for four values. The store may be unaligned.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn or_xor(self, x: Self, y: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_or_si256(self.0, _mm256_xor_si256(x.0, y.0)) })
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe {
            match LEFT {
                // A rotation by whole bytes is one shuffle instead of two shifts and an or.
                32 => _mm256_shuffle_epi32::<0b10_11_00_01>(self.0),
                16 => {
                    let left = _mm_setr_epi8(6, 7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10, 11, 12, 13);
                    _mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(left))
                }
                _ => _mm256_or_si256(
                    _mm256_slli_epi64::<LEFT>(self.0),
                    _mm256_srli_epi64::<RIGHT>(self.0),
                ),
            }
        })
    }

    #[inline(always)]
    fn count_ones(self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_sad_epu8(self.ones_of_bytes(), _mm256_setzero_si256()) })
    }

    #[inline(always)]
    fn count_ones_u32(self) -> Self {
        // The two multiplications by 1 add up pairs of bytes, and then pairs of 16-bit numbers.
        //
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe {
            let of_pairs = _mm256_maddubs_epi16(self.ones_of_bytes(), _mm256_set1_epi8(1));
            _mm256_madd_epi16(of_pairs, _mm256_set1_epi16(1))
        })
    }

    #[inline(always)]
    fn min_small(self, other: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_min_epu8(self.0, other.0) })
    }

    #[inline(always)]
    fn less_than(self, bound: Self) -> u32 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        let mask = unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(bound.0, self.0))) };
        mask.cast_unsigned()
    }

    #[inline(always)]
    fn less_than_u32(self, bound: Self) -> u32 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        let mask = unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(bound.0, self.0))) };
        mask.cast_unsigned()
    }

    #[inline(always)]
    fn select_less_than(self, bound: Self, yes: Self, no: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_blendv_epi8(no.0, yes.0, _mm256_cmpgt_epi64(bound.0, self.0)) })
    }
}

/// Sixteen 16-bit counters.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U16s(__m256i);

impl CounterVector for U16s {
    type Count = u16;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(x: u16) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2.
        Self(unsafe { _mm256_set1_epi16(x as i16) })
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2; the caller guarantees that 16 / 8 = 2 bytes
        // are readable at `bits`.
        Self(unsafe {
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
            _mm256_add_epi16(self.0, _mm256_and_si256(set, weight.0))
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u16) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2; the caller guarantees that `to` has room
        // for 16 values. The store may be unaligned.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
}

/// Thirty-two 8-bit counters.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct U8s(__m256i);

impl U8s {
    /// Returns a vector with 0xFF in the lanes of the bits that are set in `bits`, and 0 in the others.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn set_lanes(bits: u32) -> __m256i {
        // SAFETY: the caller guarantees that the CPU has AVX2.
        unsafe {
            // Lane i first gets byte i / 8 of the bits, and then only bit i % 8 of that byte is kept.
            let spread = _mm256_setr_epi64x(
                0,
                0x0101_0101_0101_0101,
                0x0202_0202_0202_0202,
                0x0303_0303_0303_0303,
            );
            let select = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(bits.cast_signed()), spread);
            _mm256_cmpeq_epi8(_mm256_and_si256(bits, select), select)
        }
    }
}

impl CounterVector for U8s {
    type Count = u8;
    const LANES: usize = 32;

    #[inline(always)]
    unsafe fn splat(x: u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2.
        Self(unsafe { _mm256_set1_epi8(x as i8) })
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2; the caller guarantees that 32 / 8 = 4 bytes
        // are readable at `bits`.
        Self(unsafe {
            let set = Self::set_lanes(bits.cast::<u32>().read_unaligned());
            _mm256_add_epi8(self.0, _mm256_and_si256(set, weight.0))
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2; the caller guarantees that `to` has room
        // for 32 values. The store may be unaligned.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
}

/// Thirty-two bytes, half of a block.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct U8x32(__m256i);

impl U8x32 {
    /// Returns a mask of the bytes whose highest bit is set.
    #[inline(always)]
    fn highest_bits(self) -> u32 {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        unsafe { _mm256_movemask_epi8(self.0) }.cast_unsigned()
    }

    /// Returns 0xFF for the bytes that equal `byte`, and 0 for the others.
    #[inline(always)]
    fn equal(self, byte: u8) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe { _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(byte.cast_signed())) })
    }

    /// Returns 0xFF for the bytes from `low` to `high`, both included, and 0 for the others.
    #[inline(always)]
    fn in_range(self, low: u8, high: u8) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe {
            let from_low = _mm256_sub_epi8(self.0, _mm256_set1_epi8(low.cast_signed()));
            let bounded = _mm256_min_epu8(from_low, _mm256_set1_epi8((high - low).cast_signed()));
            _mm256_cmpeq_epi8(from_low, bounded)
        })
    }

    /// Returns the vector as [`ByteBlock::ascii`] does, and 0xFF for ASCII letters and digits.
    #[inline(always)]
    fn ascii(self) -> (Self, Self) {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        unsafe {
            // The bit that distinguishes small letters from capital letters is set in all digits.
            let lower = Self(_mm256_or_si256(self.0, _mm256_set1_epi8(0x20)));
            let words = _mm256_or_si256(lower.in_range(b'a', b'z').0, self.in_range(b'0', b'9').0);
            let ascii = _mm256_blendv_epi8(_mm256_set1_epi8(0x20), lower.0, words);
            // The highest bit of a byte selects bytes that are not ASCII.
            (Self(_mm256_blendv_epi8(ascii, self.0, self.0)), Self(words))
        }
    }

    /// Returns the vector with spaces at the bytes of the mask.
    #[inline(always)]
    fn with_spaces(self, at: u32) -> Self {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2.
        Self(unsafe {
            let set = U8s::set_lanes(at);
            _mm256_blendv_epi8(self.0, _mm256_set1_epi8(0x20), set)
        })
    }

    /// Stores the bytes of the mask, as [`ByteBlock::store_kept`] does.
    ///
    /// # Safety
    /// `to` is valid for writing 32 bytes.
    #[inline(always)]
    unsafe fn store_kept(self, keep: u32, to: *mut u8) -> usize {
        // SAFETY: `self` is a vector, which exists only on a CPU with AVX2. Eight bytes are stored for each eight bytes
        // of the vector, after the bytes kept so far, so the addresses are among the 32 that the caller guarantees.
        unsafe {
            let (low, high) = (
                _mm256_castsi256_si128(self.0),
                _mm256_extracti128_si256::<1>(self.0),
            );
            let eights = [
                low,
                _mm_unpackhi_epi64(low, low),
                high,
                _mm_unpackhi_epi64(high, high),
            ];
            let mut stored = 0;
            for (eight, keep) in eights.into_iter().zip(keep.to_le_bytes()) {
                let order = _mm_loadl_epi64(KEPT[usize::from(keep)].as_ptr().cast());
                _mm_storel_epi64(to.add(stored).cast(), _mm_shuffle_epi8(eight, order));
                stored += keep.count_ones() as usize;
            }
            stored
        }
    }
}

/// Sixty-four bytes.
#[derive(Clone, Copy)]
pub(super) struct Bytes(U8x32, U8x32);

impl Bytes {
    /// Joins the masks of both halves.
    #[inline(always)]
    fn join(low: U8x32, high: U8x32) -> u64 {
        u64::from(low.highest_bits()) | u64::from(high.highest_bits()) << 32
    }
}

impl ByteBlock for Bytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2 and that 64 bytes are readable at `from`; the loads may be
        // unaligned.
        unsafe {
            Self(
                U8x32(_mm256_loadu_si256(from.cast())),
                U8x32(_mm256_loadu_si256(from.add(32).cast())),
            )
        }
    }

    #[inline(always)]
    fn high(self) -> u64 {
        Self::join(self.0, self.1)
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        Self::join(self.0.equal(byte), self.1.equal(byte))
    }

    #[inline(always)]
    fn in_range(self, low: u8, high: u8) -> u64 {
        Self::join(self.0.in_range(low, high), self.1.in_range(low, high))
    }

    #[inline(always)]
    fn ascii(self) -> (Self, u64) {
        let ((low, low_words), (high, high_words)) = (self.0.ascii(), self.1.ascii());
        (Self(low, high), Self::join(low_words, high_words))
    }

    #[inline(always)]
    fn with_spaces(self, at: u64) -> Self {
        Self(
            self.0.with_spaces(at as u32),
            self.1.with_spaces((at >> 32) as u32),
        )
    }

    #[inline(always)]
    unsafe fn store_kept(self, keep: u64, to: *mut u8) -> usize {
        // SAFETY: the caller guarantees that 64 bytes are writable at `to`. The first half stores at most 32 of them, and
        // the second half writes at most 32 bytes after these.
        unsafe {
            let stored = self.0.store_kept(keep as u32, to);
            stored + self.1.store_kept((keep >> 32) as u32, to.add(stored))
        }
    }
}
