//! The bit vote: how much weight has bit i set, for every i.
//!
//! Votes are counted in lanes of 16 bits (8 for weight 1), one a bit, and flushed to 64-bit counters after
//! each chunk. Invariant: no lane can overflow. A chunk has at most 256 features. Where its weights come to at most
//! 65,535 together, one pass counts them; where they come to more, one pass counts their low bytes and another
//! their high bytes, and 256 · 255 < 65,536. At weight 1 a chunk has 255 features.
//!
//! Many features of weight 1 are first added up by bits: carry-save adders take the vectors of 16 at a time, as Harley and Seal count ones,
//! and keep the sums of each bit and lane as binary digits, one plane a digit. A plane's words then vote with its power of two.

use super::dispatch::{Level, dispatch};
use super::lanes::{Counters, Words};

const CHUNK: usize = 256;
const LANE_MAX: u32 = 65_535;

/// Binary digits of a sum.
const PLANES: usize = 12;
/// Words of a vector, at most.
const MOST_LANES: usize = 8;
/// Vectors added up between two carries into the upper planes.
const ADDED: usize = 16;
/// Such groups whose sums fit the planes: 16 · 255 < 2¹².
const GROUPS: usize = 255;
/// Fewer features of weight 1 are not worth the planes, whose words vote as some two hundred features do.
const MANY: usize = 384;

/// A feature hash of one or two 64-bit halves.
trait HashWord: Copy {
    /// The value whose bytes in memory are this one's in little-endian order.
    #[cfg(target_endian = "big")]
    fn little_endian(self) -> Self;
}

impl HashWord for u64 {
    #[cfg(target_endian = "big")]
    fn little_endian(self) -> Self {
        self.to_le()
    }
}

impl HashWord for u128 {
    #[cfg(target_endian = "big")]
    fn little_endian(self) -> Self {
        self.to_le()
    }
}

/// Adds `weight(i)` to counter b of half h where `hashes[i]` has bit 64 h + b set. The counts of each half are
/// those of this call alone. The bytes of the hashes are in little-endian order.
#[inline(always)]
unsafe fn count_body<C: Counters, T: HashWord, F: Fn(usize) -> C::Count, const HALVES: usize>(
    hashes: &[T],
    weight: F,
    ones: &mut [[u64; 64]; HALVES],
) {
    const { assert!(HALVES * 8 <= size_of::<T>() && C::LANES >= 8 && 64 % C::LANES == 0) };
    // SAFETY: the caller vouches for the instructions. Bits are read from the first 8 · HALVES bytes of a hash;
    // counts of LANES lanes at a time are stored to 64 of them.
    unsafe {
        // Eight registers of lanes at most; wider lanes use fewer.
        let mut lanes = [[C::splat(C::Count::from(0)); 8]; HALVES];
        for (i, hash) in hashes.iter().enumerate() {
            let weight = C::splat(weight(i));
            let bits = std::ptr::from_ref(hash).cast::<u8>();
            for (h, half) in lanes.iter_mut().enumerate() {
                for (part, lanes) in half.iter_mut().take(64 / C::LANES).enumerate() {
                    *lanes = lanes.add_where(bits.add(8 * h + part * C::LANES / 8), weight);
                }
            }
        }
        for (ones, lanes) in ones.iter_mut().zip(lanes) {
            let mut counts = [C::Count::from(0); 64];
            for (part, lanes) in lanes.iter().take(64 / C::LANES).enumerate() {
                lanes.store(counts.as_mut_ptr().add(part * C::LANES));
            }
            for (ones, count) in ones.iter_mut().zip(counts) {
                *ones = count.into();
            }
        }
    }
}

dispatch!(count_u16 [T: HashWord, F: Fn(usize) -> u16, const HALVES: usize] [T, F, HALVES]
    (hashes: &[T], weight: F, ones: &mut [[u64; 64]; HALVES]) = count_body::<U16s>);
dispatch!(count_u8 [T: HashWord, F: Fn(usize) -> u8, const HALVES: usize] [T, F, HALVES]
    (hashes: &[T], weight: F, ones: &mut [[u64; 64]; HALVES]) = count_body::<U8s>);

/// Adds the weighted votes to `ones`.
fn weighted<T: HashWord, const HALVES: usize>(
    level: Level,
    hashes: &[T],
    weights: &[u16],
    ones: &mut [[u64; 64]; HALVES],
) {
    #[cfg(target_endian = "big")]
    let hashes = &hashes.iter().map(|hash| hash.little_endian()).collect::<Vec<_>>();
    let mut counts = [[0; 64]; HALVES];
    for (hashes, weights) in hashes.chunks(CHUNK).zip(weights.chunks(CHUNK)) {
        let hashes = &hashes[..hashes.len().min(weights.len())];
        let weights = &weights[..hashes.len()];
        let total: u32 = weights.iter().map(|&w| u32::from(w)).sum();
        if total <= LANE_MAX {
            count_u16(level, hashes, |i| weights[i], &mut counts);
            add(&counts, 0, ones);
        } else {
            count_u16(level, hashes, |i| weights[i] & 0xff, &mut counts);
            add(&counts, 0, ones);
            count_u16(level, hashes, |i| weights[i] >> 8, &mut counts);
            add(&counts, 8, ones);
        }
    }
}

#[inline]
fn add<const HALVES: usize>(counts: &[[u64; 64]; HALVES], shift: u32, ones: &mut [[u64; 64]; HALVES]) {
    for (sum, &count) in ones.as_flattened_mut().iter_mut().zip(counts.as_flattened()) {
        *sum += count << shift;
    }
}

/// Votes on 128 bits: the low 64 in `ones[0]`.
pub(super) fn vote_128(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [[u64; 64]; 2]) {
    weighted(level, hashes, weights, ones);
}

/// Votes on the low 64 bits of 128-bit hashes.
pub(super) fn vote_low_64(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [u64; 64]) {
    weighted(level, hashes, weights, std::array::from_mut(ones));
}

/// Votes on 64-bit hashes.
pub(super) fn vote_64(level: Level, hashes: &[u64], weights: &[u16], ones: &mut [u64; 64]) {
    weighted(level, hashes, weights, std::array::from_mut(ones));
}

/// The sum of three digits, and what is carried.
#[inline(always)]
unsafe fn add_digits<V: Words>(a: V, b: V, c: V) -> (V, V) {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let differ = a.xor(b);
        (differ.xor(c), a.xor(differ.and(a.xor(c))))
    }
}

/// Adds up the bits of vectors from the beginning of `hashes`, as many as fit, into `planes`; how many hashes those were.
#[inline(always)]
unsafe fn add_up_body<V: Words>(hashes: &[u64], planes: &mut [[u64; MOST_LANES]; PLANES], taken: &mut usize) {
    const { assert!(V::LANES <= MOST_LANES && 1 << PLANES > ADDED * GROUPS) };
    // SAFETY: the caller vouches for the instructions. A group has ADDED vectors to load, and a plane room for every lane.
    unsafe {
        let zero = V::splat(0);
        let (mut ones, mut twos, mut fours, mut eights) = (zero, zero, zero, zero);
        let mut upper = [zero; PLANES - 4];
        let groups = hashes.chunks_exact(ADDED * V::LANES).take(GROUPS);
        *taken = groups.len() * ADDED * V::LANES;
        for group in groups {
            let vector = |i: usize| V::load(group.as_ptr().add(i * V::LANES));
            let mut of_two = [zero; 2];
            for (half, eight) in of_two.iter_mut().enumerate() {
                let mut of_four = [zero; 2];
                for (quarter, four) in of_four.iter_mut().enumerate() {
                    let first = 8 * half + 4 * quarter;
                    let (sum, low) = add_digits(ones, vector(first), vector(first + 1));
                    let (sum, high) = add_digits(sum, vector(first + 2), vector(first + 3));
                    ones = sum;
                    (twos, *four) = add_digits(twos, low, high);
                }
                (fours, *eight) = add_digits(fours, of_four[0], of_four[1]);
            }
            let mut carry;
            (eights, carry) = add_digits(eights, of_two[0], of_two[1]);
            for plane in &mut upper {
                let sum = plane.xor(carry);
                carry = plane.and(carry);
                *plane = sum;
            }
        }
        let all = [ones, twos, fours, eights].into_iter().chain(upper);
        for (to, plane) in planes.iter_mut().zip(all) {
            plane.store(to.as_mut_ptr());
        }
    }
}

dispatch!(add_up [] [] (hashes: &[u64], planes: &mut [[u64; MOST_LANES]; PLANES], taken: &mut usize) = add_up_body::<U64s>);

/// Votes of weight 1 on 64-bit hashes.
pub(super) fn vote_unit_64(level: Level, hashes: &[u64], ones: &mut [u64; 64]) {
    #[cfg(target_endian = "big")]
    let hashes = &hashes.iter().map(|hash| hash.little_endian()).collect::<Vec<_>>();
    let ones = std::array::from_mut(ones);
    let mut rest: &[u64] = hashes;
    let mut counts = [[0; 64]];
    while rest.len() >= MANY {
        let (mut planes, mut taken) = ([[0; MOST_LANES]; PLANES], 0);
        add_up(level, rest, &mut planes, &mut taken);
        // Eight lanes of sums below 2¹² come to less than 2¹⁵.
        count_u16(
            level,
            planes.as_flattened(),
            |i| 1 << (i / MOST_LANES),
            &mut counts,
        );
        add(&counts, 0, ones);
        rest = &rest[taken..];
    }
    // Hidden from the compiler, which turns a masked addition of 1 into something slower.
    let one = std::hint::black_box(1);
    for hashes in rest.chunks(usize::from(u8::MAX)) {
        count_u8(level, hashes, |_| one, &mut counts);
        add(&counts, 0, ones);
    }
}
