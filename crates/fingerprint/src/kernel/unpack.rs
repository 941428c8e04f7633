//! Unpacking of integers that are stored in a fixed number of bits each.
//!
//! With width w, value i takes the bits from i·w up to (i + 1)·w of a little-endian bit string, of which bit b is bit b
//! % 8 of byte b / 8. Bits past the end read as zeros. Eight values take exactly w bytes, so the AVX-512 code repeats
//! one byte permutation and one vector of shifts every eight values.

#[cfg(target_arch = "x86_64")]
use crate::level::InstructionSet;
use crate::level::Level;

/// Unpacks `out.len()` consecutive values of `width` bits (1..=64); the first one is value number `first`.
pub(super) fn unpack(level: Level, packed: &[u8], width: u32, first: usize, out: &mut [u64]) {
    let start = first as u128 * u128::from(width);
    let bytes = usize::try_from(start / 8)
        .ok()
        .and_then(|byte| packed.get(byte..))
        .unwrap_or_default();
    let shift = (start % 8) as u32;
    #[cfg(target_arch = "x86_64")]
    let done = match level.instruction_set() {
        // SAFETY: the level exists only on a CPU on which its instructions were detected, and the detection tests every
        // feature that `avx512` enables.
        InstructionSet::Avx512 => unsafe { avx512(bytes, width, shift, out) },
        _ => 0,
    };
    // The levels below AVX-512 use the scalar code, which takes one load, one shift and one mask per value and is hard
    // to beat there.
    #[cfg(not(target_arch = "x86_64"))]
    let (done, _) = (0, level);
    scalar(
        bytes,
        width,
        shift as usize + done * width as usize,
        &mut out[done..],
    );
}

/// Unpacks consecutive values of `width` bits into `out`; the first one starts at bit `start` of `bytes`.
fn scalar(bytes: &[u8], width: u32, start: usize, out: &mut [u64]) {
    let mask = u64::MAX >> (64 - width);
    for (bit, value) in (start..).step_by(width as usize).zip(out) {
        let (byte, shift) = (bit / 8, bit % 8);
        // Eight bytes contain any value of up to 57 bits, whatever bit of the first byte it starts at. A wider value
        // may need a ninth byte.
        *value = match bytes.get(byte..) {
            Some([b0, b1, b2, b3, b4, b5, b6, b7, rest @ ..]) => {
                let low = u64::from_le_bytes([*b0, *b1, *b2, *b3, *b4, *b5, *b6, *b7]) >> shift;
                let ninth = u64::from(rest.first().copied().unwrap_or(0));
                // The ninth byte is shifted in two steps, because a shift of a u64 by 64 bits (if `shift` is 0) would
                // overflow.
                low | ninth << 1 << (63 - shift)
            }
            Some(rest) => {
                let tail = rest.iter().rev().fold(0, |tail, &b| tail << 8 | u64::from(b));
                tail >> shift
            }
            None => 0,
        } & mask;
    }
}

/// Unpacks values in groups of eight, as long as 64 bytes can be read for a group without leaving `bytes`. Returns the
/// number of values unpacked.
///
/// # Safety
/// The CPU has the enabled features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
fn avx512(bytes: &[u8], width: u32, shift: u32, out: &mut [u64]) -> usize {
    use std::arch::x86_64::{
        __m512i, _mm512_and_si512, _mm512_loadu_epi8, _mm512_loadu_epi64, _mm512_permutexvar_epi8,
        _mm512_set1_epi64, _mm512_shrdv_epi64, _mm512_storeu_epi64,
    };

    let stride = width as usize;
    // For each lane, `eight` selects the eight bytes from the byte in which the lane's value starts, and `over` selects
    // the bytes after those. Every bit of a value is in the 64 bytes loaded, because shift + 8·width <= 512.
    let (mut eight, mut over, mut shifts) = ([0u8; 64], [0u8; 64], [0u64; 8]);
    for lane in 0..8 {
        let bit = shift as usize + lane * stride;
        shifts[lane] = bit as u64 % 8;
        for b in 0..8 {
            eight[8 * lane + b] = (bit / 8 + b) as u8;
            over[8 * lane + b] = (bit / 8 + 8 + b) as u8;
        }
    }
    // If the bits of the last lane would reach beyond the 64 bytes loaded, nothing is unpacked here.
    if shift as usize + 8 * stride > 512 {
        return 0;
    }
    let groups = out.len() / 8;
    let readable = (bytes.len().checked_sub(64)).map_or(0, |spare| spare / stride + 1);
    let groups = groups.min(readable);
    // SAFETY: `eight`, `over` and `shifts` have 64 bytes each; the loads may be unaligned.
    let (eight, over, shifts): (__m512i, __m512i, __m512i) = unsafe {
        (
            _mm512_loadu_epi8(eight.as_ptr().cast()),
            _mm512_loadu_epi8(over.as_ptr().cast()),
            _mm512_loadu_epi64(shifts.as_ptr().cast()),
        )
    };
    let mask = _mm512_set1_epi64((u64::MAX >> (64 - width)).cast_signed());
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().take(groups).enumerate() {
        // SAFETY: group < groups <= (bytes.len() - 64) / stride + 1, so that group * stride + 64 <= bytes.len();
        // `out` has eight values. Loads and stores may be unaligned.
        unsafe {
            let window = _mm512_loadu_epi8(bytes.as_ptr().add(group * stride).cast());
            let low = _mm512_permutexvar_epi8(eight, window);
            let high = _mm512_permutexvar_epi8(over, window);
            let value = _mm512_and_si512(_mm512_shrdv_epi64(low, high, shifts), mask);
            _mm512_storeu_epi64(out.as_mut_ptr().cast(), value);
        }
    }
    groups * 8
}
