//! The bit vote: the total weight of the features whose hash has bit i set, for every i.
//!
//! Votes are counted in one lane per bit, of 16 bits (8 bits for weight 1), and flushed to 64-bit counters after
//! each chunk. Invariant: no lane overflows. A chunk has at most 256 features. If its weights add up to at most
//! 65,535, one pass counts them; else one pass counts their low bytes and another their high bytes, and
//! 256 · 255 < 65,536. At weight 1 a chunk has 255 features.
//!
//! Many consecutive features of the same weight w are first added up bit by bit. Carry-save adders take the vectors of
//! 16 at a time, as the Harley–Seal bit count does (Muła, Kurz and Lemire 2016), and keep the sum of each bit and lane as
//! binary digits: one plane, a vector, for each digit. The words of plane d then vote with weight 2^d w. So the features
//! of n such vectors vote as log₂ n vectors.

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
/// The minimum number of features of equal weight that are added up bit by bit with carry-save adders. Fewer are
/// counted faster one by one.
const MIN_BIT_SUM_FEATURES: usize = 64;
/// The minimum number of features of weight 1 that are added up bit by bit. At this weight, counting one by one is
/// faster, because it needs lanes of 8 bits only.
const MIN_UNIT_SUM_FEATURES: usize = 192;

/// Sums of the bits of hashes, as binary digits.
struct BitSums {
    /// The planes, one after another. The words of hashes of 128 bits alternate between low and high halves.
    planes: [u128; PLANES * MAX_LANES / 2],
    /// The number of planes that are not zero.
    digits: usize,
    /// The number of 64-bit words in a plane.
    lanes: usize,
    /// The number of hashes in the sums.
    taken: usize,
}

/// A feature hash of 64 bits, or of two 64-bit halves.
trait HashWord: Copy {
    /// The number of 64-bit halves.
    const HALVES: usize;

    /// The words of all planes of the sums of hashes of this type, as hashes of this type.
    fn words(sums: &BitSums) -> &[Self];

    /// The value whose bytes in memory are those of `self` in little-endian order.
    #[cfg(target_endian = "big")]
    fn little_endian(self) -> Self;
}

impl HashWord for u64 {
    const HALVES: usize = 1;

    fn words(sums: &BitSums) -> &[Self] {
        let words = size_of_val(&sums.planes) / size_of::<u64>();
        // SAFETY: the array of planes has that many words, its alignment suffices for them, and every bit pattern is a
        // valid word.
        let words = unsafe { std::slice::from_raw_parts(sums.planes.as_ptr().cast::<u64>(), words) };
        &words[..sums.digits * sums.lanes]
    }

    #[cfg(target_endian = "big")]
    fn little_endian(self) -> Self {
        self.to_le()
    }
}

impl HashWord for u128 {
    const HALVES: usize = 2;

    fn words(sums: &BitSums) -> &[Self] {
        &sums.planes[..sums.digits * sums.lanes / 2]
    }

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
    let n = hashes.len().min(weights.len());
    let (hashes, weights) = (&hashes[..n], &weights[..n]);
    let mut done = 0;
    let mut start = 0;
    for run in weights.chunk_by(|a, b| a == b) {
        let end = start + run.len();
        if run.len() >= MIN_BIT_SUM_FEATURES {
            one_by_one(level, &hashes[done..start], &weights[done..start], ones);
            done = start + equal::<T, HALVES>(level, &hashes[start..end], run[0], ones);
        }
        start = end;
    }
    one_by_one(level, &hashes[done..], &weights[done..], ones);
}

/// Adds the votes of features of weight `weight` at the beginning of `hashes` to `ones`. Returns their number.
fn equal<T: HashWord, const HALVES: usize>(
    level: Level,
    hashes: &[T],
    weight: u16,
    ones: &mut [[u64; 64]; HALVES],
) -> usize {
    let mut done = 0;
    let mut counts = [[0; 64]; HALVES];
    while hashes.len() - done >= MIN_BIT_SUM_FEATURES {
        let sums = bit_sums(level, &hashes[done..]);
        if sums.taken == 0 {
            break;
        }
        done += sums.taken;
        // The counts of the planes are sums of at most eight lanes below 2¹², so they are less than 2¹⁵. They are
        // multiplied by the weight afterwards.
        let hashes_per_plane = sums.lanes / T::HALVES;
        count_u16(
            level,
            T::words(&sums),
            |i| 1 << (i / hashes_per_plane),
            &mut counts,
        );
        for (sum, &count) in ones.as_flattened_mut().iter_mut().zip(counts.as_flattened()) {
            *sum += count * u64::from(weight);
        }
    }
    done
}

/// Adds the votes of features to `ones`, without a sum of bits.
fn one_by_one<T: HashWord, const HALVES: usize>(
    level: Level,
    hashes: &[T],
    weights: &[u16],
    ones: &mut [[u64; 64]; HALVES],
) {
    let mut counts = [[0; 64]; HALVES];
    for (hashes, weights) in hashes.chunks(CHUNK).zip(weights.chunks(CHUNK)) {
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

/// Adds up, bit by bit, the hashes at the beginning of `hashes`, as many as fill whole groups of vectors and fit into the
/// planes. A vector has one or more whole hashes; at a level with smaller vectors, none are added.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn add_up_body<V: WordVector, T: HashWord>(hashes: &[T], sums: &mut BitSums) {
    const { assert!(V::LANES <= MAX_LANES && 1 << PLANES > VECTORS_PER_CARRY * MAX_CARRIES) };
    let per_vector = V::LANES / T::HALVES;
    if per_vector == 0 {
        return;
    }
    // SAFETY: the caller guarantees that the CPU has the instructions of V. A group has 16 vectors of LANES words, which
    // are `per_vector` hashes of HALVES words each, and `vector(i)` is called for i < 16. The planes have room for
    // PLANES · MAX_LANES words, and PLANES vectors of at most MAX_LANES words are stored.
    unsafe {
        let zero = V::splat(0);
        let (mut ones, mut twos, mut fours, mut eights) = (zero, zero, zero, zero);
        let mut upper = [zero; PLANES - 4];
        let groups = hashes
            .chunks_exact(VECTORS_PER_CARRY * per_vector)
            .take(MAX_CARRIES);
        let vectors = groups.len() * VECTORS_PER_CARRY;
        sums.taken = vectors * per_vector;
        sums.lanes = V::LANES;
        sums.digits = (usize::BITS - vectors.leading_zeros()) as usize;
        // The carries out of a group reach only the planes of the digits that the sums have.
        let upper_digits = sums.digits.saturating_sub(4);
        for group in groups {
            let words = group.as_ptr().cast::<u64>();
            let vector = |i: usize| V::load(words.add(i * V::LANES));
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
            for plane in upper.iter_mut().take(upper_digits) {
                let sum = plane.xor(carry);
                carry = plane.and(carry);
                *plane = sum;
            }
        }
        let all = [ones, twos, fours, eights].into_iter().chain(upper);
        let to = sums.planes.as_mut_ptr().cast::<u64>();
        for (i, plane) in all.enumerate() {
            plane.store(to.add(i * V::LANES));
        }
    }
}

dispatch!(add_up [T: HashWord] [T] (hashes: &[T], sums: &mut BitSums) = add_up_body::<U64s>);

/// Adds up hashes bit by bit, as [`add_up_body`] does.
fn bit_sums<T: HashWord>(level: Level, hashes: &[T]) -> BitSums {
    let mut sums = BitSums {
        planes: [0; PLANES * MAX_LANES / 2],
        digits: 0,
        lanes: 0,
        taken: 0,
    };
    add_up(level, hashes, &mut sums);
    sums
}

/// Counts votes of weight 1 on 64-bit hashes.
pub(super) fn vote_unit_64(level: Level, hashes: &[u64], ones: &mut [u64; 64]) {
    #[cfg(target_endian = "big")]
    let hashes = &hashes.iter().map(|hash| hash.little_endian()).collect::<Vec<_>>();
    let ones = std::array::from_mut(ones);
    let mut rest: &[u64] = hashes;
    if rest.len() >= MIN_UNIT_SUM_FEATURES {
        rest = &rest[equal::<u64, 1>(level, rest, 1, ones)..];
    }
    let mut counts = [[0; 64]];
    // `black_box` hides the constant 1 from the compiler, which would turn a masked addition of 1 into something
    // slower.
    let one = std::hint::black_box(1);
    for hashes in rest.chunks(usize::from(u8::MAX)) {
        count_u8(level, hashes, |_| one, &mut counts);
        add(&counts, 0, ones);
    }
}
