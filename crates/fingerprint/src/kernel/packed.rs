//! Hamming distances of bit-packed rows, in short ranges at scattered positions.
//!
//! The probes of many queries are ranges of a few rows each, far apart. Eight rows of w bits take w bytes, so a range
//! is unpacked and compared eight rows at a time by one byte permutation and one vector of shifts. Both depend on the
//! bit of its byte at which the range starts: there are eight cases, which [`PackedRows`] prepares once for its width.
//! Rows wider than 57 bits, and the levels below AVX-512, are compared one by one.
//!
//! Layout of the packed rows: as in [`super::unpack`].

use super::dispatch::dispatch;
use super::lanes::WordVector;
use crate::Width;
use crate::hits::RangeHit;
#[cfg(target_arch = "x86_64")]
use crate::level::InstructionSet;
use crate::level::{Level, level};

/// The largest width at which eight consecutive bytes contain a complete row, whatever bit of the first byte it starts
/// at.
const MAX_NARROW_BITS: u32 = 57;

/// A range of packed rows, and the query that they are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowRange {
    /// The first row.
    pub start: u32,
    /// One past the last row. The range is empty unless `end > start`.
    pub end: u32,
    /// The position of the query in the list of queries, from 0.
    pub query: u32,
}

/// Compares bit-packed rows of one width with queries.
///
/// ```
/// use twinprint_fingerprint::kernel::{PackedRows, RowRange};
///
/// // Rows of 8 bits, one per byte.
/// let packed = [0b0000_0000, 0b0000_0001, 0b0000_0011, 0b1111_1111];
/// let ranges = [
///     RowRange { start: 0, end: 3, query: 0 },
///     RowRange { start: 2, end: 4, query: 1 },
/// ];
/// let queries = [0b0000_0001u64, 0b1111_1110];
/// let mut hits = Vec::new();
/// PackedRows::new(8).within(&packed, &ranges, &queries, 1, &mut hits);
/// let rows: Vec<(u32, u32)> = hits.iter().map(|hit| (hit.range, hit.row)).collect();
/// assert_eq!(rows, [(0, 0), (0, 1), (0, 2), (1, 3)]);
/// ```
#[derive(Clone, Debug)]
pub struct PackedRows {
    width: u32,
    /// For each bit of a byte, the positions of eight consecutive rows of which the first starts at that bit.
    #[cfg(target_arch = "x86_64")]
    cases: Box<[RowPositions; 8]>,
}

/// The positions of eight consecutive rows, relative to the byte in which the first starts.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct RowPositions {
    /// Byte permutation: lane i takes the eight bytes from byte `bytes[8 * i]` on.
    bytes: [u8; 64],
    /// The number of bits by which lane i is shifted right after the permutation.
    shifts: [u64; 8],
}

#[cfg(target_arch = "x86_64")]
impl RowPositions {
    /// Returns the positions for rows of `width` bits: one case for each bit of a byte at which the first row may
    /// start.
    fn cases(width: u32) -> Box<[Self; 8]> {
        let mut cases = Box::new(
            [Self {
                bytes: [0; 64],
                shifts: [0; 8],
            }; 8],
        );
        for (shift, case) in cases.iter_mut().enumerate() {
            for lane in 0..8 {
                let bit = shift + lane * width as usize;
                case.shifts[lane] = bit as u64 % 8;
                for b in 0..8 {
                    // For widths up to MAX_NARROW_BITS the byte position is below 64. Wider rows do not use these
                    // positions.
                    case.bytes[8 * lane + b] = (bit / 8 + b) as u8;
                }
            }
        }
        cases
    }
}

/// A bit string of packed rows of one width.
#[derive(Clone, Copy)]
struct PackedBits<'a> {
    bytes: &'a [u8],
    /// The number of bits of a row.
    width: u32,
}

/// Consecutive ranges of a list, with the position of the first one in the list.
#[derive(Clone, Copy)]
struct IndexedRanges<'a> {
    first: u32,
    ranges: &'a [RowRange],
}

impl PackedRows {
    /// Prepares comparisons of rows of `width_bits` bits. A width above 128 counts as 128.
    #[must_use]
    pub fn new(width_bits: u32) -> Self {
        let width = width_bits.min(128);
        Self {
            width,
            #[cfg(target_arch = "x86_64")]
            cases: RowPositions::cases(width),
        }
    }

    /// Compares the rows of each range with the query of the range. Appends every row within Hamming distance `k` to
    /// `out`, in the order of the ranges and of the rows in them.
    ///
    /// Queries must have no bits above the width. Rows past the end of `packed` read as zeros, and a query number past
    /// the end of `queries` stands for the query 0. O(rows of all ranges).
    pub fn within<W: Width>(
        &self,
        packed: &[u8],
        ranges: &[RowRange],
        queries: &[W],
        k: u32,
        out: &mut Vec<RangeHit>,
    ) {
        self.within_at(level(), packed, ranges, queries, k, out);
    }

    /// [`PackedRows::within`] at a given SIMD level.
    pub fn within_at<W: Width>(
        &self,
        level: Level,
        packed: &[u8],
        ranges: &[RowRange],
        queries: &[W],
        k: u32,
        out: &mut Vec<RangeHit>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if level.instruction_set() == InstructionSet::Avx512 && self.width <= MAX_NARROW_BITS {
            // SAFETY: the level exists only on a CPU on which its instructions were detected, and the detection tests
            // every feature that `avx512` enables.
            unsafe { self.avx512(packed, ranges, queries, k, out) }
            return;
        }
        let packed = PackedBits {
            bytes: packed,
            width: self.width,
        };
        one_by_one(level, packed, IndexedRanges { first: 0, ranges }, queries, k, out);
    }

    /// [`PackedRows::within`] on rows of at most [`MAX_NARROW_BITS`] bits.
    ///
    /// # Safety
    /// The CPU has the enabled features.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vpopcntdq,popcnt,bmi1,bmi2")]
    fn avx512<W: Width>(
        &self,
        packed: &[u8],
        ranges: &[RowRange],
        queries: &[W],
        k: u32,
        out: &mut Vec<RangeHit>,
    ) {
        use std::arch::x86_64::{
            _mm512_add_epi8, _mm512_and_si512, _mm512_cmple_epu64_mask, _mm512_load_si512, _mm512_loadu_epi8,
            _mm512_permutexvar_epi8, _mm512_popcnt_epi64, _mm512_set1_epi8, _mm512_set1_epi64,
            _mm512_srlv_epi64, _mm512_xor_si512,
        };

        let width = u64::from(self.width);
        let mask = _mm512_set1_epi64(((1u64 << width) - 1).cast_signed());
        let bound = _mm512_set1_epi64(i64::from(k.min(64)));
        for (index, range) in (0u32..).zip(ranges) {
            let query = queries
                .get(range.query as usize)
                .copied()
                .unwrap_or_default()
                .low_u64();
            let query = _mm512_set1_epi64(query.cast_signed());
            let mut row = range.start;
            let mut left = range.end.saturating_sub(row);
            // Nearly all ranges end after one step. So the step is taken without a test, also by an empty range.
            loop {
                let bit = u64::from(row) * width;
                let (byte, case) = ((bit / 8) as usize, &self.cases[(bit % 8) as usize]);
                // SAFETY: `case.bytes` and `case.shifts` have 64 bytes each and start at multiples of 64, because
                // `RowPositions` is aligned to 64 bytes and `repr(C)` puts the two arrays at offsets 0 and 64.
                let (order, shifts) = unsafe {
                    (
                        _mm512_load_si512(case.bytes.as_ptr().cast()),
                        _mm512_load_si512(case.shifts.as_ptr().cast()),
                    )
                };
                // If the rows of this step are inside one cache line, only that line is loaded. The positions of the
                // byte permutation then count from the start of the line.
                let last = ((u64::from(row + left.min(8)) * width) / 8) as usize;
                let start = if byte / 64 == last / 64 {
                    byte / 64 * 64
                } else {
                    byte
                };
                let Some(window) = packed.get(start..).and_then(<[u8]>::first_chunk::<64>) else {
                    let packed = PackedBits {
                        bytes: packed,
                        width: self.width,
                    };
                    finish_range(packed, RowRange { start: row, ..*range }, index, queries, k, out);
                    break;
                };
                // SAFETY: the window has 64 bytes; the load may be unaligned.
                let window = unsafe { _mm512_loadu_epi8(window.as_ptr().cast()) };
                let order = _mm512_add_epi8(order, _mm512_set1_epi8((byte - start) as i8));
                let values = _mm512_srlv_epi64(_mm512_permutexvar_epi8(order, window), shifts);
                let differing = _mm512_xor_si512(_mm512_and_si512(values, mask), query);
                let near = u32::from(_mm512_cmple_epu64_mask(_mm512_popcnt_epi64(differing), bound));
                let near = near & !(u32::MAX << left.min(8));
                if near != 0 {
                    emit(index, row, near, out);
                }
                if left <= 8 {
                    break;
                }
                left -= 8;
                row += 8;
            }
        }
    }
}

/// Compares the last rows of a range when fewer than 64 bytes are left to load. Not inlined, so that the loop that
/// calls it need not save its registers.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn finish_range<W: Width>(
    packed: PackedBits<'_>,
    range: RowRange,
    index: u32,
    queries: &[W],
    k: u32,
    out: &mut Vec<RangeHit>,
) {
    let ranges = IndexedRanges {
        first: index,
        ranges: &[range],
    };
    one_by_one(level(), packed, ranges, queries, k, out);
}

/// For every bit i that is set in `near`, appends row `row + i` of the range `index`. Cold and not inlined, so that the
/// loop that calls it need not save its registers.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn emit(index: u32, row: u32, mut near: u32, out: &mut Vec<RangeHit>) {
    while near != 0 {
        out.push(RangeHit {
            range: index,
            row: row + near.trailing_zeros(),
        });
        near &= near - 1;
    }
}

/// Reads eight bytes from `start` on as a little-endian integer. Bytes past the end count as zeros.
#[inline(always)]
fn word_from(bytes: &[u8], start: usize) -> u64 {
    let word = bytes.get(start..).and_then(<[u8]>::first_chunk);
    word.map_or_else(|| tail_from(bytes, start), |&word| u64::from_le_bytes(word))
}

#[cold]
fn tail_from(bytes: &[u8], start: usize) -> u64 {
    let tail = bytes.get(start..).unwrap_or_default();
    tail.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b))
}

/// Compares one row at a time. `V` only selects the instruction set that this function is compiled for, and with it the
/// instruction that counts bits.
///
/// # Safety
/// There is no condition. The function is unsafe only because `dispatch` takes unsafe functions.
#[inline(always)]
unsafe fn one_by_one_body<V: WordVector, R: Width>(
    packed: PackedBits<'_>,
    ranges: IndexedRanges<'_>,
    queries: &[R],
    k: u32,
    out: &mut Vec<RangeHit>,
) {
    let PackedBits { bytes, width } = packed;
    for (index, range) in (ranges.first..).zip(ranges.ranges) {
        let query = queries.get(range.query as usize).copied().unwrap_or_default();
        if width <= MAX_NARROW_BITS {
            let (mask, query) = ((1u64 << width) - 1, query.low_u64());
            for row in range.start..range.end {
                let bit = u64::from(row) * u64::from(width);
                let value = word_from(bytes, (bit / 8) as usize) >> (bit % 8);
                if ((value & mask) ^ query).count_ones() <= k {
                    out.push(RangeHit { range: index, row });
                }
            }
        } else {
            let (mask, query) = (u128::MAX >> (128 - width), query.widen());
            for row in range.start..range.end {
                let bit = u64::from(row) * u64::from(width);
                let (byte, shift) = ((bit / 8) as usize, bit % 8);
                let low = u128::from(word_from(bytes, byte)) | u128::from(word_from(bytes, byte + 8)) << 64;
                let over = u128::from(word_from(bytes, byte + 16));
                // The bits above the low 128 are shifted in two steps, because a shift of a u128 by 128 bits would
                // overflow.
                let value = low >> shift | over << 1 << (127 - shift);
                if ((value & mask) ^ query).count_ones() <= k {
                    out.push(RangeHit { range: index, row });
                }
            }
        }
    }
}

dispatch!(one_by_one [R: Width] [R]
    (packed: PackedBits<'_>, ranges: IndexedRanges<'_>, queries: &[R], k: u32,
    out: &mut Vec<RangeHit>) = one_by_one_body::<U64s>);
