//! Hamming distances of rows that lie packed, in short runs here and there.
//!
//! Probes of many queries come as runs of a few rows each, far apart. Eight rows of w bits take w bytes, so a run is unpacked and
//! compared eight rows at a time by one permutation of bytes and one row of shifts, which depend on the bit that the run starts at within
//! its byte: eight cases, prepared once for a width. Rows that are wider than 57 bits, and other levels, go one by one.
//!
//! Layout of the packed rows: as in [`super::unpack`].

use super::dispatch::{Level, dispatch};
use super::lanes::Words;
use crate::Width;

/// Widest rows of which every one lies in eight bytes, wherever it starts.
const NARROW: u32 = 57;

/// A run of packed rows to be compared with one query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The first row.
    pub start: u32,
    /// The row after the last; nothing is compared where it is not above `start`.
    pub end: u32,
    /// Which query.
    pub slot: u32,
}

/// Compares packed rows of one width with queries.
#[derive(Clone, Debug)]
pub struct PackedRows {
    width: u32,
    /// For each bit within a byte that a run may start at, where its next eight rows lie.
    cases: Box<[Case; 8]>,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Case {
    /// Lane i takes the eight bytes from byte `bytes[8 * i]` on.
    bytes: [u8; 64],
    /// And then drops so many bits.
    shifts: [u64; 8],
}

impl PackedRows {
    /// For rows of `width_bits` bits, at most 128.
    #[must_use]
    pub fn new(width_bits: u32) -> Self {
        let width = width_bits.min(128);
        let mut cases = Box::new(
            [Case {
                bytes: [0; 64],
                shifts: [0; 8],
            }; 8],
        );
        for (shift, case) in cases.iter_mut().enumerate() {
            for lane in 0..8 {
                let bit = shift + lane * width as usize;
                case.shifts[lane] = bit as u64 % 8;
                for b in 0..8 {
                    // Below 64 wherever the width is narrow, which is where the case is used.
                    case.bytes[8 * lane + b] = (bit / 8 + b) as u8;
                }
            }
        }
        Self { width, cases }
    }

    /// Appends (run, row) for every row of a run within k of the query `queries[slot]`, which has no bits above the width; in ascending order.
    ///
    /// Rows past the end of `packed` read as zeros, slots past the end of `queries` as a query of zeros. O(rows of all runs).
    pub fn within<W: Width>(
        &self,
        packed: &[u8],
        runs: &[Run],
        queries: &[W],
        k: u32,
        out: &mut Vec<(u32, u32)>,
    ) {
        self.within_at(super::level(), packed, runs, queries, k, out);
    }

    /// [`PackedRows::within`] at a given level.
    pub fn within_at<W: Width>(
        &self,
        level: Level,
        packed: &[u8],
        runs: &[Run],
        queries: &[W],
        k: u32,
        out: &mut Vec<(u32, u32)>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if level.kind() == super::dispatch::Kind::Avx512 && self.width <= NARROW {
            // SAFETY: the level exists only where its instructions were detected.
            unsafe { self.avx512(packed, runs, queries, k, out) }
            return;
        }
        one_by_one(level, (packed, self.width), (runs, 0), queries, k, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vpopcntdq,popcnt,bmi1,bmi2")]
    fn avx512<W: Width>(
        &self,
        packed: &[u8],
        runs: &[Run],
        queries: &[W],
        k: u32,
        out: &mut Vec<(u32, u32)>,
    ) {
        use std::arch::x86_64::{
            _mm512_add_epi8, _mm512_and_si512, _mm512_cmple_epu64_mask, _mm512_load_si512, _mm512_loadu_epi8,
            _mm512_permutexvar_epi8, _mm512_popcnt_epi64, _mm512_set1_epi8, _mm512_set1_epi64,
            _mm512_srlv_epi64, _mm512_xor_si512,
        };

        let width = u64::from(self.width);
        let mask = _mm512_set1_epi64(((1u64 << width) - 1).cast_signed());
        let bound = _mm512_set1_epi64(i64::from(k.min(64)));
        for (number, run) in (0u32..).zip(runs) {
            let bit = u64::from(run.start) * width;
            let (mut byte, case) = ((bit / 8) as usize, &self.cases[(bit % 8) as usize]);
            let query = queries
                .get(run.slot as usize)
                .copied()
                .unwrap_or_default()
                .low_u64();
            let query = _mm512_set1_epi64(query.cast_signed());
            // SAFETY: both are arrays of 64 bytes at a multiple of 64.
            let (order, shifts) = unsafe {
                (
                    _mm512_load_si512(case.bytes.as_ptr().cast()),
                    _mm512_load_si512(case.shifts.as_ptr().cast()),
                )
            };
            let mut row = run.start;
            while row < run.end {
                let left = (run.end - row).min(8);
                // Where the rows lie within one line of the cache, that line is loaded and no other is touched: bytes are counted round the
                // line by the permutation, which takes positions modulo 64.
                let line = byte / 64 * 64;
                let within = (byte % 64 + (left as usize * self.width as usize + 7).div_ceil(8)) <= 64;
                let at = if within { line } else { byte };
                let Some(window) = packed.get(at..).and_then(<[u8]>::first_chunk::<64>) else {
                    at_the_end(
                        (packed, self.width),
                        (Run { start: row, ..*run }, number),
                        queries,
                        k,
                        out,
                    );
                    break;
                };
                // SAFETY: the window has 64 bytes.
                let window = unsafe { _mm512_loadu_epi8(window.as_ptr().cast()) };
                let order = _mm512_add_epi8(order, _mm512_set1_epi8((byte - at) as i8));
                let values = _mm512_srlv_epi64(_mm512_permutexvar_epi8(order, window), shifts);
                let differing = _mm512_xor_si512(_mm512_and_si512(values, mask), query);
                let near = u32::from(_mm512_cmple_epu64_mask(_mm512_popcnt_epi64(differing), bound));
                let near = near & ((1 << left) - 1);
                if near != 0 {
                    emit(number, row, near, out);
                }
                row += left;
                byte += self.width as usize;
            }
        }
    }
}

/// A run so near the end that no whole line can be loaded. Apart, so that its registers are not saved where rows are compared.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn at_the_end<W: Width>(
    packed: (&[u8], u32),
    (run, number): (Run, u32),
    queries: &[W],
    k: u32,
    out: &mut Vec<(u32, u32)>,
) {
    one_by_one(super::level(), packed, (&[run], number), queries, k, out);
}

/// Appends the rows `row + i` for the bits i of `near`. Cold, so that nothing is saved around it where rows are compared.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn emit(number: u32, row: u32, mut near: u32, out: &mut Vec<(u32, u32)>) {
    while near != 0 {
        out.push((number, row + near.trailing_zeros()));
        near &= near - 1;
    }
}

/// The word at a byte; zeros past the end.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or_else(|| tail_at(bytes, at), |&word| u64::from_le_bytes(word))
}

#[cold]
fn tail_at(bytes: &[u8], at: usize) -> u64 {
    let tail = bytes.get(at..).unwrap_or_default();
    tail.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b))
}

#[inline(always)]
unsafe fn body<V: Words, R: Width>(
    (packed, width): (&[u8], u32),
    (runs, first): (&[Run], u32),
    queries: &[R],
    k: u32,
    out: &mut Vec<(u32, u32)>,
) {
    for (number, run) in (first..).zip(runs) {
        let query = queries.get(run.slot as usize).copied().unwrap_or_default();
        if width <= NARROW {
            let (mask, query) = ((1u64 << width) - 1, query.low_u64());
            for row in run.start..run.end {
                let bit = u64::from(row) * u64::from(width);
                let value = word_at(packed, (bit / 8) as usize) >> (bit % 8);
                if ((value & mask) ^ query).count_ones() <= k {
                    out.push((number, row));
                }
            }
        } else {
            let (mask, query) = (u128::MAX >> (128 - width), query.widen());
            for row in run.start..run.end {
                let bit = u64::from(row) * u64::from(width);
                let (byte, shift) = ((bit / 8) as usize, bit % 8);
                let low = u128::from(word_at(packed, byte)) | u128::from(word_at(packed, byte + 8)) << 64;
                let over = u128::from(word_at(packed, byte + 16));
                // Shifted in two steps, because a shift by 128 is not one.
                let value = low >> shift | over << 1 << (127 - shift);
                if ((value & mask) ^ query).count_ones() <= k {
                    out.push((number, row));
                }
            }
        }
    }
}

dispatch!(one_by_one [R: Width] [R]
    (packed: (&[u8], u32), runs: (&[Run], u32), queries: &[R], k: u32, out: &mut Vec<(u32, u32)>) = body::<U64s>);
