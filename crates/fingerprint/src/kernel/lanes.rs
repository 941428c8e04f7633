//! The vectors that the kernels are written over; one implementation a level.
//!
//! Every method is unsafe for one reason: the CPU must have the implementor's instructions. Methods with a
//! pointer also need it to be valid for what they read or write; no alignment is needed.

/// Lanes of 64 bits, for Hamming distances and the feature hash.
pub(super) trait Words: Copy {
    const LANES: usize;

    /// `x` in every lane.
    unsafe fn splat(x: u64) -> Self;

    /// `LANES` values from `from`, the first in lane 0.
    unsafe fn load(from: *const u64) -> Self;

    /// `n < LANES` values from `from`, zeros above; reads nothing past them.
    unsafe fn load_partial(from: *const u64, n: usize) -> Self;

    /// `LANES` values of 128 bits from `from` as their low and their high halves.
    unsafe fn load_halves(from: *const u128) -> (Self, Self);

    /// The halves of `n < LANES` values from `from`, zeros above; reads nothing past them.
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self);

    /// Lane i is the little-endian word of the eight bytes from `from + i` on; reads 16 bytes.
    unsafe fn load_windows(from: *const u8) -> Self;

    /// The lanes to `to`.
    unsafe fn store(self, to: *mut u64);

    unsafe fn add(self, other: Self) -> Self;

    unsafe fn and(self, other: Self) -> Self;

    unsafe fn xor(self, other: Self) -> Self;

    /// Rotates left by `LEFT`; `RIGHT` is 64 − `LEFT`, given because constants cannot yet be computed with.
    unsafe fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self;

    /// `self | (x ^ y)`.
    unsafe fn or_xor(self, x: Self, y: Self) -> Self;

    /// The number of ones in each lane.
    unsafe fn count_ones(self) -> Self;

    /// The smaller of two, for lanes below 256.
    unsafe fn min_small(self, other: Self) -> Self;

    /// Bit i of the answer is set where lane i is below that of `bound`, for lanes below 2³¹.
    unsafe fn below(self, bound: Self) -> u32;

    /// Lane i of `yes` where lane i is below that of `bound`, else of `no`; for lanes below 2³¹.
    unsafe fn where_below(self, bound: Self, yes: Self, no: Self) -> Self;
}

/// Lanes of 8 or 16 bits that count votes.
pub(super) trait Counters: Copy {
    type Count: Copy + Into<u64> + From<u8>;
    /// A divisor of 64 and a multiple of 8.
    const LANES: usize;

    /// `x` in every lane.
    unsafe fn splat(x: Self::Count) -> Self;

    /// Adds lane i of `weight` to lane i where bit i of the little-endian bits at `bits` is set; reads
    /// `LANES / 8` bytes.
    unsafe fn add_where(self, bits: *const u8, weight: Self) -> Self;

    /// The lanes to `to`.
    unsafe fn store(self, to: *mut Self::Count);
}
