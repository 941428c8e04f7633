//! The bit vote: the total weight of the features whose hash has bit i set, for every i.
//!
//! Votes are counted in one lane per bit, of 16 bits (8 bits for weight 1), and flushed to 64-bit counters after
//! each chunk. Invariant: no lane overflows. A chunk has at most 256 features. If its weights add up to at most
//! 65,535, one pass counts them; else one pass counts their low bytes and another their high bytes, and
//! 256 · 255 < 65,536. At weight 1 a chunk has 255 features.
//!
//! Many features of weight 1 are first added up bit by bit. Carry-save adders take the vectors of 16 at a time, as the
//! Harley–Seal bit count does (Muła, Kurz and Lemire 2016), and keep the sum of each bit and lane as binary digits: one
//! plane, an array of words, for each digit. The words of plane d then vote with weight 2^d.

use super::dispatch::dispatch;
use super::lanes::{CounterVector, WordVector};
use crate::level::Level;

/// The number of features whose votes are counted in narrow lanes before the lanes are flushed.
const CHUNK: usize = 256;
/// The largest count of a 16-bit lane.
const LANE_MAX: u32 = 65_535;

/// The number of binary digits of a sum of bits; each digit has a plane of its own.
const PLANES: usize = 12;
/// The maximum number of lanes of a vector at any level.
const MAX_LANES: usize = 8;
/// The number of vectors that are added up between two carries into the upper planes.
const VECTORS_PER_CARRY: usize = 16;
/// The largest number of groups of `VECTORS_PER_CARRY` vectors whose sums fit the planes: 16 · 255 < 2¹².
const MAX_CARRIES: usize = 255;
/// The minimum number of features of weight 1 that are added up bit by bit with carry-save adders. Counting the planes
/// afterwards costs as much as about two hundred features, so fewer features are counted directly.
const MIN_BIT_SUM_FEATURES: usize = 384;

/// A feature hash of 64 bits, or of two 64-bit halves.
trait HashWord: Copy {
    /// The value whose bytes in memory are those of `self` in little-endian order.
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

/// Counts the votes of one chunk: sets counter b of half h to the sum of `weight(i)` over the hashes i that have bit 64
/// h + b set. The bytes of the hashes must be in little-endian order.
///
/// # Safety
/// The CPU has the instructions of `C`.
#[inline(always)]
unsafe fn count_body<C: CounterVector, T: HashWord, F: Fn(usize) -> C::Count, const HALVES: usize>(
    hashes: &[T],
    weight: F,
    ones: &mut [[u64; 64]; HALVES],
) {
    const { assert!(HALVES * 8 <= size_of::<T>() && C::LANES >= 8 && 64 % C::LANES == 0) };
    // SAFETY: the caller guarantees that the CPU has the instructions of C. Part p of half h reads LANES / 8 bytes of a
    // hash from byte 8 h + p LANES / 8 on. As p < 64 / LANES and h < HALVES, these bytes are among the first 8 · HALVES
    // of the hash, and by the assertion above a hash has that many. Part p stores LANES of the 64 counts from count p
    // LANES on.
    unsafe {
        // The 64 counters of a half take at most eight vectors; wider vectors take fewer.
        let mut lanes = [[C::splat(C::Count::from(0)); 8]; HALVES];
        for (i, hash) in hashes.iter().enumerate() {
            let weight = C::splat(weight(i));
            let bits = std::ptr::from_ref(hash).cast::<u8>();
            for (h, half) in lanes.iter_mut().enumerate() {
                for (part, lanes) in half.iter_mut().take(64 / C::LANES).enumerate() {
                    *lanes = lanes.add_masked(bits.add(8 * h + part * C::LANES / 8), weight);
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

/// For every bit 64 h + b, adds the total weight of the features whose hash has that bit set to `ones[h][b]`.
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

/// Adds each count, shifted left by `shift` bits, to its sum in `ones`.
#[inline]
fn add<const HALVES: usize>(counts: &[[u64; 64]; HALVES], shift: u32, ones: &mut [[u64; 64]; HALVES]) {
    for (sum, &count) in ones.as_flattened_mut().iter_mut().zip(counts.as_flattened()) {
        *sum += count << shift;
    }
}

/// Counts votes on all bits of 128-bit hashes; `ones[0]` is for the low 64 bits, `ones[1]` for the high ones.
pub(super) fn vote_128(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [[u64; 64]; 2]) {
    weighted(level, hashes, weights, ones);
}

/// Counts votes on the low 64 bits of 128-bit hashes.
pub(super) fn vote_low_64(level: Level, hashes: &[u128], weights: &[u16], ones: &mut [u64; 64]) {
    weighted(level, hashes, weights, std::array::from_mut(ones));
}

/// Counts votes on 64-bit hashes.
pub(super) fn vote_64(level: Level, hashes: &[u64], weights: &[u16], ones: &mut [u64; 64]) {
    weighted(level, hashes, weights, std::array::from_mut(ones));
}

/// A full adder for every bit position: returns the sum digit and the carry digit of three binary digits.
#[inline(always)]
fn add_digits<V: WordVector>(a: V, b: V, c: V) -> (V, V) {
    let differ = a.xor(b);
    (differ.xor(c), a.xor(differ.and(a.xor(c))))
}

/// Adds up, bit by bit, the hashes at the beginning of `hashes`, as many as fit into `planes`. Sets `taken` to the
/// number of hashes added.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn add_up_body<V: WordVector>(
    hashes: &[u64],
    planes: &mut [[u64; MAX_LANES]; PLANES],
    taken: &mut usize,
) {
    const { assert!(V::LANES <= MAX_LANES && 1 << PLANES > VECTORS_PER_CARRY * MAX_CARRIES) };
    // SAFETY: the caller guarantees that the CPU has the instructions of V. A group has 16 vectors of LANES hashes, and
    // `vector(i)` is called for i < 16. A plane has room for MAX_LANES values, at least LANES.
    unsafe {
        let zero = V::splat(0);
        let (mut ones, mut twos, mut fours, mut eights) = (zero, zero, zero, zero);
        let mut upper = [zero; PLANES - 4];
        let groups = hashes
            .chunks_exact(VECTORS_PER_CARRY * V::LANES)
            .take(MAX_CARRIES);
        *taken = groups.len() * VECTORS_PER_CARRY * V::LANES;
        for group in groups {
            let vector = |i: usize| V::load(group.as_ptr().add(i * V::LANES));
            let mut half_carries = [zero; 2];
            for (half, eight) in half_carries.iter_mut().enumerate() {
                let mut quarter_carries = [zero; 2];
                for (quarter, four) in quarter_carries.iter_mut().enumerate() {
                    let first = 8 * half + 4 * quarter;
                    let (sum, low) = add_digits(ones, vector(first), vector(first + 1));
                    let (sum, high) = add_digits(sum, vector(first + 2), vector(first + 3));
                    ones = sum;
                    (twos, *four) = add_digits(twos, low, high);
                }
                (fours, *eight) = add_digits(fours, quarter_carries[0], quarter_carries[1]);
            }
            let mut carry;
            (eights, carry) = add_digits(eights, half_carries[0], half_carries[1]);
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

dispatch!(add_up [] []
    (hashes: &[u64], planes: &mut [[u64; MAX_LANES]; PLANES], taken: &mut usize) = add_up_body::<U64s>);

/// Counts votes of weight 1 on 64-bit hashes.
pub(super) fn vote_unit_64(level: Level, hashes: &[u64], ones: &mut [u64; 64]) {
    #[cfg(target_endian = "big")]
    let hashes = &hashes.iter().map(|hash| hash.little_endian()).collect::<Vec<_>>();
    let ones = std::array::from_mut(ones);
    let mut rest: &[u64] = hashes;
    let mut counts = [[0; 64]];
    while rest.len() >= MIN_BIT_SUM_FEATURES {
        let (mut planes, mut taken) = ([[0; MAX_LANES]; PLANES], 0);
        add_up(level, rest, &mut planes, &mut taken);
        // A 16-bit counter cannot overflow here: it sums eight lanes, each below 2¹², to less than 2¹⁵.
        count_u16(
            level,
            planes.as_flattened(),
            |i| 1 << (i / MAX_LANES),
            &mut counts,
        );
        add(&counts, 0, ones);
        rest = &rest[taken..];
    }
    // `black_box` hides the constant 1 from the compiler, which would turn a masked addition of 1 into something
    // slower.
    let one = std::hint::black_box(1);
    for hashes in rest.chunks(usize::from(u8::MAX)) {
        count_u8(level, hashes, |_| one, &mut counts);
        add(&counts, 0, ones);
    }
}
