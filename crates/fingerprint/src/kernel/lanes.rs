//! The vector traits that the kernels are generic over. Each instruction set implements them once.
//!
//! Invariant: a vector proves that its instructions are available. A value of an implementing type exists only on a CPU
//! with the instructions of the type, because the functions that create the first value (`splat` and the loads) are
//! unsafe and no field is visible outside the implementing file. So functions that take a vector can use its
//! instructions without further checks, and arithmetic on vectors is safe.
//!
//! Functions that take a pointer are unsafe, because only the caller knows that the memory is valid. Pointers need not
//! be aligned.

/// A vector of 64-bit lanes, for Hamming distances and the feature hash.
pub(super) trait WordVector: Copy {
    /// The number of lanes of a vector: a power of two, at most 8.
    const LANES: usize;

    /// Creates a vector with `x` in every lane.
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

    /// Loads `n` values; the lanes from lane `n` on are zero.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, `n < LANES`, and `from` is valid for reading `n` values. It may
    /// be unaligned.
    unsafe fn load_partial(from: *const u64, n: usize) -> Self;

    /// Loads `2 · LANES` values of 32 bits. Lane i has values 2i and 2i + 1 in its low and its high half.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, and `from` is valid for reading `2 · LANES` values. It may be
    /// unaligned.
    unsafe fn load_u32(from: *const u32) -> Self;

    /// Loads `n` values of 32 bits, as [`load_u32`](Self::load_u32) does; the halves of lanes from value `n` on are zero.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, `n < 2 · LANES`, and `from` is valid for reading `n` values. It may
    /// be unaligned.
    unsafe fn load_u32_partial(from: *const u32, n: usize) -> Self;

    /// Loads `LANES` values of 128 bits, and returns a vector of their low halves and one of their high halves.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, and `from` is valid for reading `LANES` values. It may be
    /// unaligned.
    unsafe fn load_halves(from: *const u128) -> (Self, Self);

    /// Loads `n` values of 128 bits, and returns a vector of their low halves and one of their high halves, as
    /// [`load_halves`](Self::load_halves) does. The lanes from lane `n` on are zero.
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

    /// Adds two vectors lane by lane, wrapping on overflow.
    fn add(self, other: Self) -> Self;

    /// Returns the bitwise AND of two vectors.
    fn and(self, other: Self) -> Self;

    /// Returns the bitwise XOR of two vectors.
    fn xor(self, other: Self) -> Self;

    /// Returns `self | (x ^ y)`.
    fn or_xor(self, x: Self, y: Self) -> Self;

    /// Rotates each lane left by `LEFT` bits. `RIGHT` is 64 − `LEFT`; it is a parameter of its own because Rust
    /// cannot yet compute with const parameters.
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self;

    /// Counts the ones in each lane.
    fn count_ones(self) -> Self;

    /// Counts the ones in each half of a lane, of 32 bits.
    fn count_ones_u32(self) -> Self;

    /// Returns the lane-wise minimum. All lanes of both vectors must be below 256, or all halves of lanes. In the second
    /// case it is the minimum of each half.
    fn min_small(self, other: Self) -> Self;

    /// Compares lane by lane: bit i of the result is set if lane i of `self` is less than lane i of `bound`. All lanes
    /// of both vectors must be below 2³¹.
    fn less_than(self, bound: Self) -> u32;

    /// Compares the halves of lanes: bit i of the result is set if value i of 32 bits of `self` is less than value i of
    /// `bound`. All values must be below 2³¹.
    fn less_than_u32(self, bound: Self) -> u32;

    /// Returns lane i of `yes` if lane i of `self` is less than lane i of `bound`, and lane i of `no` otherwise. All
    /// lanes of `self` and `bound` must be below 2⁶³.
    fn select_less_than(self, bound: Self, yes: Self, no: Self) -> Self;
}

/// A vector of 8-bit or 16-bit lanes that count votes.
pub(super) trait CounterVector: Copy {
    /// The integer type of a lane.
    type Count: Copy + Into<u64> + From<u8>;
    /// The number of lanes of a vector: a divisor of 64 and a multiple of 8.
    const LANES: usize;

    /// Creates a vector with `x` in every lane.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`.
    unsafe fn splat(x: Self::Count) -> Self;

    /// For every bit i that is set in the bit string at `bits`, adds lane i of `weight` to lane i. Bit i of the string
    /// is bit i % 8 of byte i / 8.
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

/// A block of 64 bytes of UTF-8, for canonical texts. Bit i of a mask stands for byte i.
pub(super) trait ByteBlock: Copy {
    /// Loads 64 bytes.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, and `from` is valid for reading 64 bytes.
    unsafe fn load(from: *const u8) -> Self;

    /// Returns a mask of the bytes that are not ASCII.
    fn high(self) -> u64;

    /// Returns a mask of the bytes that equal `byte`.
    fn equal(self, byte: u8) -> u64;

    /// Returns a mask of the bytes from `low` to `high`, both included.
    fn in_range(self, low: u8, high: u8) -> u64;

    /// Returns the block with ASCII letters in lower case and ASCII characters other than letters and digits replaced by
    /// spaces, and a mask of the ASCII letters and digits.
    fn ascii(self) -> (Self, u64);

    /// Returns the block with spaces at the bytes of the mask.
    fn with_spaces(self, at: u64) -> Self;

    /// Stores the bytes of the mask `keep` next to one another from `to` on, and returns their number. Bytes after these
    /// may be overwritten, up to 64 in all.
    ///
    /// # Safety
    /// `to` is valid for writing 64 bytes.
    unsafe fn store_kept(self, keep: u64, to: *mut u8) -> usize;

    /// Stores the code points of the characters that begin at the bytes of the mask `begins`, counted from `from`, next to one
    /// another from `to` on, and returns their number. Each is ASCII or has three bytes. Values after these may be overwritten, up
    /// to 64 in all.
    ///
    /// # Safety
    /// The CPU has the instructions of `Self`, `from` is valid for reading 66 bytes, and `to` for writing 64 values.
    #[inline(always)]
    unsafe fn store_code_points(from: *const u8, mut begins: u64, to: *mut u32) -> usize {
        let count = begins.count_ones() as usize;
        for done in 0..count {
            let at = begins.trailing_zeros() as usize;
            begins &= begins - 1;
            // SAFETY: `at` is below 64, so the caller guarantees that three bytes are readable there. `done` is below the number of
            // bits of the mask, so it is at most 63.
            let [a, b, c] = [0, 1, 2].map(|i| u32::from(unsafe { *from.add(at + i) }));
            let long = (a & 0x0F) << 12 | (b & 0x3F) << 6 | c & 0x3F;
            // SAFETY: see above.
            unsafe { *to.add(done) = if a < 0x80 { a } else { long } };
        }
        count
    }
}

/// For each mask of eight bytes, the positions of the bits that are set, in ascending order. The rest is unspecified.
pub(super) static KEPT: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut bit, mut kept) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 == 1 {
                table[mask][kept] = bit as u8;
                kept += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    table
};
