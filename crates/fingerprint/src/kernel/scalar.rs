//! Plain integers as vectors: the SIMD level that every CPU has, and the reference that the tests compare the other
//! levels with.

use super::lanes::{ByteBlock, CounterVector, WordVector};

/// One 64-bit lane.
pub(super) type U64s = u64;

impl WordVector for u64 {
    const LANES: usize = 1;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        x
    }

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller guarantees that one value is readable at `from`.
        unsafe { from.read_unaligned() }
    }

    #[inline(always)]
    unsafe fn load_partial(_from: *const u64, _n: usize) -> Self {
        0
    }

    #[inline(always)]
    unsafe fn load_u32(from: *const u32) -> Self {
        // SAFETY: the caller guarantees that two values are readable at `from`.
        let (low, high) = unsafe { (from.read_unaligned(), from.add(1).read_unaligned()) };
        u64::from(low) | u64::from(high) << 32
    }

    #[inline(always)]
    unsafe fn load_u32_partial(from: *const u32, n: usize) -> Self {
        if n == 0 {
            return 0;
        }
        // SAFETY: the caller guarantees that `n` values are readable at `from`, and n is at least 1.
        u64::from(unsafe { from.read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_halves(from: *const u128) -> (Self, Self) {
        // SAFETY: the caller guarantees that one value is readable at `from`.
        let x = unsafe { from.read_unaligned() };
        (x as u64, (x >> 64) as u64)
    }

    #[inline(always)]
    unsafe fn load_halves_partial(_from: *const u128, _n: usize) -> (Self, Self) {
        (0, 0)
    }

    #[inline(always)]
    unsafe fn load_windows(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that 16 bytes are readable at `from`, of which the only lane needs eight. Byte
        // arrays need no alignment.
        u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller guarantees that `to` has room for one value.
        unsafe { to.write_unaligned(self) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn or_xor(self, x: Self, y: Self) -> Self {
        self | (x ^ y)
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        self.rotate_left(LEFT.unsigned_abs())
    }

    #[inline(always)]
    fn count_ones(self) -> Self {
        u64::from(u64::count_ones(self))
    }

    #[inline(always)]
    fn count_ones_u32(self) -> Self {
        u64::from((self as u32).count_ones()) | u64::from((self >> 32).count_ones()) << 32
    }

    #[inline(always)]
    fn min_small(self, other: Self) -> Self {
        let (low, high) = (self as u32, self >> 32);
        u64::from(low.min(other as u32)) | high.min(other >> 32) << 32
    }

    #[inline(always)]
    fn less_than(self, bound: Self) -> u32 {
        u32::from(self < bound)
    }

    #[inline(always)]
    fn less_than_u32(self, bound: Self) -> u32 {
        u32::from((self as u32) < bound as u32) | u32::from(self >> 32 < bound >> 32) << 1
    }

    #[inline(always)]
    fn select_less_than(self, bound: Self, yes: Self, no: Self) -> Self {
        if self < bound { yes } else { no }
    }
}

/// Returns, for every byte value, its eight bits in eight lanes of `lane` bits each: lane i is bit i of the byte, as
/// the number 0 or 1, and lane 0 is the lowest.
const fn spread(lane: u32) -> [u128; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte] |= (byte as u128 >> bit & 1) << (bit * lane);
            bit += 1;
        }
        byte += 1;
    }
    table
}

/// Eight 16-bit counters, four in each of two integers. One integer addition adds to four counters, because no counter
/// overflows into the next.
#[derive(Clone, Copy)]
pub(super) struct U16s(u64, u64);

static SPREAD_16: [(u64, u64); 256] = {
    let (from, mut table, mut byte) = (spread(16), [(0, 0); 256], 0);
    while byte < 256 {
        table[byte] = (from[byte] as u64, (from[byte] >> 64) as u64);
        byte += 1;
    }
    table
};

impl CounterVector for U16s {
    type Count = u16;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u16) -> Self {
        let x = u64::from(x) * 0x0001_0001_0001_0001;
        Self(x, x)
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        // SAFETY: the caller guarantees that 8 / 8 = 1 byte is readable at `bits`.
        let (low, high) = SPREAD_16[usize::from(unsafe { bits.read() })];
        // The product of lanes of 0 or 1 and a weight has the weight in each lane of 1, and 0 in the others.
        let weight = weight.0 & 0xffff;
        Self(
            self.0.wrapping_add(low * weight),
            self.1.wrapping_add(high * weight),
        )
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u16) {
        for (half, x) in [self.0, self.1].into_iter().enumerate() {
            for lane in 0..4 {
                let value = (x >> (16 * lane)) as u16;
                // SAFETY: the caller guarantees that `to` has room for eight values, and 4 * half + lane < 8.
                unsafe { to.add(4 * half + lane).write_unaligned(value) }
            }
        }
    }
}

/// Eight 8-bit counters in one integer.
#[derive(Clone, Copy)]
pub(super) struct U8s(u64);

static SPREAD_8: [u64; 256] = {
    let (from, mut table, mut byte) = (spread(8), [0; 256], 0);
    while byte < 256 {
        table[byte] = from[byte] as u64;
        byte += 1;
    }
    table
};

impl CounterVector for U8s {
    type Count = u8;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: u8) -> Self {
        Self(u64::from(x) * 0x0101_0101_0101_0101)
    }

    #[inline(always)]
    unsafe fn add_masked(self, bits: *const u8, weight: Self) -> Self {
        // SAFETY: the caller guarantees that 8 / 8 = 1 byte is readable at `bits`.
        let set = SPREAD_8[usize::from(unsafe { bits.read() })];
        Self(self.0.wrapping_add(set * (weight.0 & 0xff)))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller guarantees that `to` has room for eight values; byte arrays have no alignment.
        unsafe { to.cast::<[u8; 8]>().write(self.0.to_le_bytes()) }
    }
}

/// Sixty-four bytes.
#[derive(Clone, Copy)]
pub(super) struct Bytes([u8; 64]);

impl Bytes {
    /// Returns a mask of the bytes that `is_wanted` accepts.
    #[inline(always)]
    fn mask(self, is_wanted: impl Fn(u8) -> bool) -> u64 {
        let (eights, _) = self.0.as_chunks::<8>();
        eights.iter().rev().fold(0, |mask, eight| {
            let bits = eight
                .iter()
                .rev()
                .fold(0, |bits, &byte| bits << 1 | u64::from(is_wanted(byte)));
            mask << 8 | bits
        })
    }
}

impl ByteBlock for Bytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees that 64 bytes are readable at `from`; byte arrays have no alignment.
        Self(unsafe { from.cast::<[u8; 64]>().read() })
    }

    #[inline(always)]
    fn high(self) -> u64 {
        self.mask(|byte| byte >= 0x80)
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        self.mask(|other| other == byte)
    }

    #[inline(always)]
    fn in_range(self, low: u8, high: u8) -> u64 {
        self.mask(|byte| (low..=high).contains(&byte))
    }

    #[inline(always)]
    fn ascii(self) -> (Self, u64) {
        let lower = self.0.map(|byte| match byte {
            b'a'..=b'z' | b'0'..=b'9' | 0x80.. => byte,
            b'A'..=b'Z' => byte | 0x20,
            _ => b' ',
        });
        (Self(lower), self.mask(|byte| byte.is_ascii_alphanumeric()))
    }

    #[inline(always)]
    fn with_spaces(mut self, at: u64) -> Self {
        for (i, byte) in self.0.iter_mut().enumerate() {
            *byte = if at >> i & 1 == 1 { b' ' } else { *byte };
        }
        self
    }

    #[inline(always)]
    unsafe fn store_kept(self, keep: u64, to: *mut u8) -> usize {
        let mut stored = 0;
        for (i, byte) in self.0.into_iter().enumerate() {
            // SAFETY: at most `i` bytes are kept before byte i, so the address is among the 64 that the caller
            // guarantees.
            unsafe { to.add(stored).write(byte) };
            stored += (keep >> i & 1) as usize;
        }
        stored
    }
}
