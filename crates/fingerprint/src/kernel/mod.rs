//! SIMD kernels behind safe slice functions.

use crate::Width;

/// Seals [`Width`].
pub trait RowKernels: Sized {}
impl RowKernels for u16 {}
impl RowKernels for u32 {}
impl RowKernels for u64 {}
impl RowKernels for u128 {}

/// Name of the level in use.
pub fn level() -> &'static str {
    "scalar"
}

/// Rows with distance ≤ k to the query: (index, distance), in order, appended to `out`.
pub fn hamming_one_to_many<W: Width>(query: W, rows: &[W], k: u32, out: &mut Vec<(u32, u8)>) {
    for (i, &row) in (0..).zip(rows) {
        let d = query.distance(row);
        if d <= k {
            out.push((i, d as u8));
        }
    }
}

/// Pairs (i in a, j in b, distance) within k.
pub fn hamming_many_to_many<W: Width>(a: &[W], b: &[W], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
    for (group, start) in a.chunks(4).zip((0..).step_by(4)) {
        for (j, &y) in (0..).zip(b) {
            for (i, &x) in (start..).zip(group) {
                let d = x.distance(y);
                if d <= k {
                    hit(i, j, d as u8);
                }
            }
        }
    }
}

/// Pairs i < j of `rows` within k.
pub fn hamming_within<W: Width>(rows: &[W], k: u32, hit: &mut impl FnMut(u32, u32, u8)) {
    for (group, start) in rows.chunks(4).zip((0u32..).step_by(4)) {
        for (j, &y) in (0u32..).zip(rows).skip(start as usize + 1) {
            for (i, &x) in (start..j).zip(group) {
                let d = x.distance(y);
                if d <= k {
                    hit(i, j, d as u8);
                }
            }
        }
    }
}

/// Asks the CPU to fetch `slice[index]`; does nothing past the end.
pub fn prefetch_read<T>(slice: &[T], index: usize) {
    let _ = slice.get(index);
}

/// Unpacks values of `width_bits` bits from value `first` on.
pub fn unpack_bits(packed: &[u8], width_bits: u32, first: usize, out: &mut [u64]) {
    let w = width_bits.clamp(1, 64) as usize;
    for (i, value) in out.iter_mut().enumerate() {
        let start = (first + i) * w;
        *value = (0..w).fold(0, |v, b| {
            let at = start + b;
            let bit = packed.get(at / 8).map_or(0, |byte| byte >> (at % 8) & 1);
            v | u64::from(bit) << b
        });
    }
}

pub(crate) fn vote_64(hashes: &[u64], weights: &[u16], ones: &mut [u64; 64]) {
    for (&hash, &weight) in hashes.iter().zip(weights) {
        for (i, one) in ones.iter_mut().enumerate() {
            *one += (hash >> i & 1) * u64::from(weight);
        }
    }
}

pub(crate) fn vote_unit_64(hashes: &[u64], ones: &mut [u64; 64]) {
    for &hash in hashes {
        for (i, one) in ones.iter_mut().enumerate() {
            *one += hash >> i & 1;
        }
    }
}

pub(crate) fn vote_low_64(hashes: &[u128], weights: &[u16], ones: &mut [u64; 64]) {
    for (&hash, &weight) in hashes.iter().zip(weights) {
        vote_64(&[hash as u64], &[weight], ones);
    }
}

pub(crate) fn vote_128(hashes: &[u128], weights: &[u16], ones: &mut [[u64; 64]; 2]) {
    for (&hash, &weight) in hashes.iter().zip(weights) {
        vote_64(&[hash as u64], &[weight], &mut ones[0]);
        vote_64(&[(hash >> 64) as u64], &[weight], &mut ones[1]);
    }
}

pub(crate) fn siphash_one([k0, k1]: [u64; 2], bytes: &[u8]) -> u128 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let (blocks, tail) = bytes.as_chunks::<8>();
    for block in blocks {
        let m = u64::from_le_bytes(*block);
        v[3] ^= m;
        round(&mut v);
        v[0] ^= m;
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let m = u64::from_le_bytes(last) | (bytes.len() as u64) << 56;
    v[3] ^= m;
    round(&mut v);
    v[0] ^= m;
    v[2] ^= 0xee;
    (0..3).for_each(|_| round(&mut v));
    let low = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    (0..3).for_each(|_| round(&mut v));
    let high = v[0] ^ v[1] ^ v[2] ^ v[3];
    u128::from(high) << 64 | u128::from(low)
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}
