//! The vector traits that the kernels are generic over. Each instruction set implements them once.
//!
//! Invariant: a vector is a proof. A value of an implementing type exists only while the CPU has the type's
//! instructions, because the functions that make the first value (`splat` and the loads) are unsafe and no
//! field is visible outside the implementing file. Functions that take a vector can therefore use its
//! instructions without further checks, and arithmetic on vectors is safe.
//!
//! Functions with a pointer are unsafe because nothing else vouches for the memory. They need no alignment.

/// A vector of 64-bit lanes, for Hamming distances and the feature hash.
pub(super) trait WordVector: Copy {
    /// Lanes of a vector: a power of two, at most 8.
    const LANES: usize;

    /// The vector with `x` in every lane.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`.
    unsafe fn splat(x: u64) -> Self;

    /// Loads `LANES` values; the value at `from` goes to lane 0.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, and `from` is valid for reading `LANES` values. It may be
    /// unaligned.
    unsafe fn load(from: *const u64) -> Self;

    /// Loads `n` values; the lanes from `n` on are zero.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, `n < LANES`, and `from` is valid for reading `n` values. It may
    /// be unaligned.
    unsafe fn load_partial(from: *const u64, n: usize) -> Self;

    /// Loads `LANES` values of 128 bits, split into the vectors of their low and their high halves.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, and `from` is valid for reading `LANES` values. It may be
    /// unaligned.
    unsafe fn load_halves(from: *const u128) -> (Self, Self);

    /// Loads `n` values of 128 bits as [`load_halves`](Self::load_halves) does; the lanes from `n` on are zero.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, `n < LANES`, and `from` is valid for reading `n` values. It may
    /// be unaligned.
    unsafe fn load_halves_partial(from: *const u128, n: usize) -> (Self, Self);

    /// Loads overlapping words: lane i is the little-endian word of the eight bytes from `from + i` on.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, and `from` is valid for reading 16 bytes.
    unsafe fn load_windows(from: *const u8) -> Self;

    /// Stores the lanes; lane 0 goes to `to`.
    ///
    /// # Safety
    /// `to` is valid for writing `LANES` values. It may be unaligned.
    unsafe fn store(self, to: *mut u64);

    /// Adds lane by lane, wrapping.
    fn add(self, other: Self) -> Self;

    /// The bitwise and.
    fn and(self, other: Self) -> Self;

    /// The bitwise exclusive or.
    fn xor(self, other: Self) -> Self;

    /// `self | (x ^ y)`.
    fn or_xor(self, x: Self, y: Self) -> Self;

    /// Rotates each lane left by `LEFT` bits. `RIGHT` is 64 − `LEFT`; it is a parameter of its own because Rust
    /// cannot yet compute with const parameters.
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self;

    /// The number of ones in each lane.
    fn count_ones(self) -> Self;

    /// The smaller value of each lane, for lanes below 256.
    fn min_small(self, other: Self) -> Self;

    /// The lanes below `bound` as a mask: bit i is set where lane i of `self` is less than lane i of `bound`.
    /// Both have lanes below 2³¹.
    fn less_than(self, bound: Self) -> u32;

    /// Lane i of `yes` where lane i of `self` is less than lane i of `bound`, else of `no`. `self` and `bound`
    /// have lanes below 2³¹.
    fn select_less_than(self, bound: Self, yes: Self, no: Self) -> Self;
}

/// A vector of 8-bit or 16-bit lanes that count votes.
pub(super) trait CounterVector: Copy {
    /// The integer in a lane.
    type Count: Copy + Into<u64> + From<u8>;
    /// Lanes of a vector: a divisor of 64 and a multiple of 8.
    const LANES: usize;

    /// The vector with `x` in every lane.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`.
    unsafe fn splat(x: Self::Count) -> Self;

    /// Adds lane i of `weight` to lane i where bit i of the bit string at `bits` is set. Bit i of the string is
    /// bit i % 8 of byte i / 8.
    ///
    /// # Safety
    /// `bits` is valid for reading `LANES / 8` bytes.
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self;

    /// Stores the lanes; lane 0 goes to `to`.
    ///
    /// # Safety
    /// `to` is valid for writing `LANES` values. It may be unaligned.
    unsafe fn store(self, to: *mut Self::Count);
}
