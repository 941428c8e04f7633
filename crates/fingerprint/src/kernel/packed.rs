//! Hamming distances of bit-packed rows, in short ranges at scattered positions.
//!
//! Probes of many queries come as ranges of a few rows each, far apart. Eight rows of w bits take w bytes, so a
//! range is unpacked and compared eight rows at a time by one byte permutation and one vector of shifts. Both
//! depend on the bit within its byte at which the range starts: eight cases, prepared once for a width. Rows
//! wider than 57 bits, and the levels below AVX-512, are compared one by one.
//!
//! Layout of the packed rows: as in [`super::unpack`].

use super::dispatch::dispatch;
use super::lanes::WordVector;
use crate::Width;
use crate::hits::RangeHit;
#[cfg(target_arch = "x86_64")]
use crate::level::InstructionSet;
use crate::level::{Level, level};

/// The widest rows of which each is inside eight bytes, at any bit within the first byte.
const MAX_NARROW_BITS: u32 = 57;

/// A range of packed rows, and the query that they are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowRange {
    /// The first row.
    pub start: u32,
    /// One past the last row. The range is empty unless `end > start`.
    pub end: u32,
    /// The index of the query.
    pub query: u32,
}

/// Compares packed rows of one width with queries.
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
    /// The positions of the next eight rows, for each bit within a byte that a range may start at.
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
    /// The number of low bits that lane i drops after that.
    shifts: [u64; 8],
}

#[cfg(target_arch = "x86_64")]
impl RowPositions {
    /// The positions for rows of `width` bits, one case for each bit at which the first row may start.
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
                    // The byte's position is below 64 for every narrow width; wider rows do not use the cases.
                    case.bytes[8 * lane + b] = (bit / 8 + b) as u8;
                }
            }
        }
        cases
    }
}

/// A string of packed rows.
#[derive(Clone, Copy)]
struct PackedBits<'a> {
    bytes: &'a [u8],
    /// Bits of a row.
    width: u32,
}

/// Consecutive ranges, with the index of the first.
#[derive(Clone, Copy)]
struct IndexedRanges<'a> {
    first: u32,
    ranges: &'a [RowRange],
}

impl PackedRows {
    /// A comparison of rows of `width_bits` bits. A width above 128 counts as 128.
    #[must_use]
    pub fn new(width_bits: u32) -> Self {
        let width = width_bits.min(128);
        Self {
            width,
            #[cfg(target_arch = "x86_64")]
            cases: RowPositions::cases(width),
        }
    }

    /// Appends every row of a range within k of the range's query, in the order of the ranges and rows.
    ///
    /// Queries have no bits above the width. Rows past the end of `packed` read as zeros, and a query past the
    /// end of `queries` is zero. O(rows of all ranges).
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

    /// [`PackedRows::within`] at a given level.
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
            // SAFETY: the level exists only where its instructions were detected, and detection tests every
            // feature that `avx512` enables.
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
            let bit = u64::from(range.start) * width;
            let (mut byte, case) = ((bit / 8) as usize, &self.cases[(bit % 8) as usize]);
            let query = queries
                .get(range.query as usize)
                .copied()
                .unwrap_or_default()
                .low_u64();
            let query = _mm512_set1_epi64(query.cast_signed());
            // SAFETY: both arrays have 64 bytes and start at a multiple of 64: the struct is aligned to 64 bytes,
            // and `repr(C)` puts the arrays at offsets 0 and 64.
            let (order, shifts) = unsafe {
                (
                    _mm512_load_si512(case.bytes.as_ptr().cast()),
                    _mm512_load_si512(case.shifts.as_ptr().cast()),
                )
            };
            let mut row = range.start;
            while row < range.end {
                let left = (range.end - row).min(8);
                // If the rows are inside one cache line, only that line is loaded. The permutation takes positions
                // modulo 64, so that it counts bytes from the start of the line.
                let line = byte / 64 * 64;
                let is_within_line =
                    (byte % 64 + (left as usize * self.width as usize + 7).div_ceil(8)) <= 64;
                let start = if is_within_line { line } else { byte };
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
                let near = near & ((1 << left) - 1);
                if near != 0 {
                    emit(index, row, near, out);
                }
                row += left;
                byte += self.width as usize;
            }
        }
    }
}

/// Compares the rest of a range that is too near the end of the string for loading 64 bytes. Out of line, so
/// that its registers are not saved in the loop that calls it.
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

/// Appends the row `row + i` of the range `index` for every bit i that is set in `near`. Cold, so that no register is saved around
/// it in the loop that calls it.
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

/// The little-endian word of the eight bytes from `start` on; bytes past the end are zeros.
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

/// Compares row by row. `V` is not used: the body is compiled for each instruction set because of the bit count.
///
/// # Safety
/// No duty; `dispatch` takes unsafe bodies only.
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
                // Shifted in two steps, because a shift by 128 is not defined.
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
