//! SipHash-1-3 with 128 bits of output (Aumasson and Bernstein 2012), many messages at once.
//!
//! The lanes hash messages in parallel, in the order given. A message is passed as its 8-byte blocks (the last one
//! padded and tagged with the length, see [`last_block`]), so the vector code does not read texts. If the messages of a
//! vector have different numbers of blocks, those that have ended keep their state while the others continue. Sorting
//! messages by length would cost more than it saves, because a block costs one round, and finishing a message costs
//! three rounds or six.

use super::dispatch::dispatch;
use super::lanes::WordVector;
use crate::level::Level;

/// The number of messages in a batch.
pub(crate) const BATCH: usize = 32;
/// The number of messages whose blocks are stored next to one another: a multiple of the number of lanes at every SIMD
/// level.
pub(crate) const GROUP: usize = 8;
/// The maximum number of blocks of a message in a batch; longer messages are hashed one by one.
pub(crate) const MAX_BLOCKS: usize = 8;

/// The constant of SipHash's 128-bit variant. It is XORed into the state at the start, and again before the first half
/// of the output.
const WIDE_MARK: u64 = 0xee;
/// The constant of SipHash's 128-bit variant that is XORed into the state before the second half of the output.
const SECOND_HALF_MARK: u64 = 0xdd;

/// The SipHash states of several messages: four vectors of state words, with one message per lane.
struct State<V>([V; 4]);

impl<V: WordVector> State<V> {
    /// Creates the state before the first block, under a key.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn keyed([k0, k1]: [u64; 2]) -> Self {
        // SAFETY: the caller guarantees that the CPU has the instructions of V.
        unsafe {
            Self([
                V::splat(k0 ^ 0x736f_6d65_7073_6575),
                V::splat(k1 ^ 0x646f_7261_6e64_6f6d ^ WIDE_MARK),
                V::splat(k0 ^ 0x6c79_6765_6e65_7261),
                V::splat(k1 ^ 0x7465_6462_7974_6573),
            ])
        }
    }

    /// The round function of SipHash, on all messages of the vectors.
    #[inline(always)]
    fn round(&mut self) {
        let [v0, v1, v2, v3] = self.0;
        let v0 = v0.add(v1);
        let v2 = v2.add(v3);
        let v1 = v1.rotate::<13, 51>().xor(v0);
        let v3 = v3.rotate::<16, 48>().xor(v2);
        let v0 = v0.rotate::<32, 32>();
        let v2 = v2.add(v1);
        let v0 = v0.add(v3);
        let v1 = v1.rotate::<17, 47>().xor(v2);
        let v3 = v3.rotate::<21, 43>().xor(v0);
        let v2 = v2.rotate::<32, 32>();
        self.0 = [v0, v1, v2, v3];
    }

    /// Mixes one block of each message into the state.
    #[inline(always)]
    fn absorb(&mut self, block: V) {
        self.0[3] = self.0[3].xor(block);
        self.round();
        self.0[0] = self.0[0].xor(block);
    }

    /// Computes one half of the output. The first call takes `word` 2 and the constant `WIDE_MARK`, the second takes
    /// `word` 1 and `SECOND_HALF_MARK`.
    #[inline(always)]
    fn finish(&mut self, word: usize, constant: u64) -> V {
        // SAFETY: the state contains vectors of type V, which exist only on a CPU with the instructions of V.
        let constant = unsafe { V::splat(constant) };
        self.0[word] = self.0[word].xor(constant);
        self.round();
        self.round();
        self.round();
        let [v0, v1, v2, v3] = self.0;
        v0.xor(v1).xor(v2.xor(v3))
    }
}

/// A batch of messages, and their hashes once computed.
pub(crate) struct Batch {
    /// `blocks[g][b][i]` is block b of message 8 g + i. Blocks after the last one of a message are ignored.
    pub(crate) blocks: [[[u64; GROUP]; MAX_BLOCKS]; BATCH / GROUP],
    /// The number of blocks of each message, in `1..=MAX_BLOCKS`.
    pub(crate) counts: [u64; BATCH],
    /// The low halves of the hashes.
    pub(crate) low: [u64; BATCH],
    /// The high halves of the hashes.
    pub(crate) high: [u64; BATCH],
}

impl Batch {
    /// Creates a batch of empty messages.
    pub(crate) const fn new() -> Self {
        Self {
            blocks: [[[0; GROUP]; MAX_BLOCKS]; BATCH / GROUP],
            counts: [1; BATCH],
            low: [0; BATCH],
            high: [0; BATCH],
        }
    }

    /// Computes the low halves of the hashes of the first `messages` messages. The number is rounded up to whole
    /// vectors.
    #[inline]
    pub(crate) fn hash_low(&mut self, level: Level, key: [u64; 2], messages: usize) {
        hash::<false>(level, key, self, messages);
    }

    /// Computes both halves of the hashes of the first `messages` messages. The number is rounded up to whole vectors.
    #[inline]
    pub(crate) fn hash_full(&mut self, level: Level, key: [u64; 2], messages: usize) {
        hash::<true>(level, key, self, messages);
    }
}

/// Hashes the first `messages` messages, a number that is rounded up to whole vectors. Computes the high halves of the
/// hashes only if `BOTH` is true.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn hash_body<V: WordVector, const BOTH: bool>(key: [u64; 2], batch: &mut Batch, messages: usize) {
    const { assert!(GROUP.is_multiple_of(V::LANES) && BATCH.is_multiple_of(GROUP)) };
    for i in (0..messages.min(BATCH)).step_by(V::LANES) {
        let (group, lane) = (&batch.blocks[i / GROUP], i % GROUP);
        // SAFETY: the caller guarantees that the CPU has the instructions of V. `i` and `lane` are multiples of LANES,
        // i < BATCH and lane < GROUP. LANES divides GROUP and BATCH, so LANES values from `i` on are inside `counts`,
        // `low` and `high`, and LANES values from `lane` on are inside a block of the group.
        unsafe {
            let counts = V::load(batch.counts.as_ptr().add(i));
            let mut state = State::<V>::keyed(key);
            for (b, block) in (0u64..).zip(group) {
                let b = V::splat(b);
                let running = b.less_than(counts);
                if running == 0 {
                    break;
                }
                let before = state.0;
                state.absorb(V::load(block.as_ptr().add(lane)));
                if running != (1 << V::LANES) - 1 {
                    // Messages that have ended keep the state from before this block.
                    for (after, before) in state.0.iter_mut().zip(before) {
                        *after = b.select_less_than(counts, *after, before);
                    }
                }
            }
            state.finish(2, WIDE_MARK).store(batch.low.as_mut_ptr().add(i));
            if BOTH {
                state
                    .finish(1, SECOND_HALF_MARK)
                    .store(batch.high.as_mut_ptr().add(i));
            }
        }
    }
}

dispatch!(hash [const BOTH: bool] [BOTH]
    (key: [u64; 2], batch: &mut Batch, messages: usize) = hash_body::<U64s>);

/// The least value of the high half of a message of two blocks: a length of 8 in the top byte.
const TWO_BLOCKS: u64 = 8 << 56;

/// Hashes the first `count` messages of at most 15 bytes, a number that is rounded up to whole vectors. A message is its
/// bytes in little-endian order, zeros, and its length in the top byte. Computes the high halves of the hashes only if
/// `BOTH` is true.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn short_body<V: WordVector, const BOTH: bool>(
    key: [u64; 2],
    messages: &[u128; BATCH],
    low: &mut [u64; BATCH],
    high: &mut [u64; BATCH],
    count: usize,
) {
    const { assert!(BATCH.is_multiple_of(V::LANES)) };
    for i in (0..count.min(BATCH)).step_by(V::LANES) {
        // SAFETY: the caller guarantees that the CPU has the instructions of V. `i` is a multiple of LANES below BATCH,
        // and LANES divides BATCH, so LANES values from `i` on are inside all three arrays.
        unsafe {
            let (first, last) = V::load_halves(messages.as_ptr().add(i));
            let two = V::splat(TWO_BLOCKS);
            let mut state = State::<V>::keyed(key);
            // The only block of a message of fewer than 8 bytes is its bytes and its length, which are in different
            // halves and do not overlap.
            state.absorb(last.select_less_than(two, first.xor(last), first));
            let before = state.0;
            state.absorb(last);
            for (after, before) in state.0.iter_mut().zip(before) {
                *after = last.select_less_than(two, before, *after);
            }
            state.finish(2, WIDE_MARK).store(low.as_mut_ptr().add(i));
            if BOTH {
                state.finish(1, SECOND_HALF_MARK).store(high.as_mut_ptr().add(i));
            }
        }
    }
}

dispatch!(short [const BOTH: bool] [BOTH]
    (key: [u64; 2], messages: &[u128; BATCH], low: &mut [u64; BATCH], high: &mut [u64; BATCH], count: usize)
    = short_body::<U64s>);

/// Hashes the first `count` messages of at most 15 bytes. A message is its bytes in little-endian order, zeros, and its
/// length in the top byte. Computes the high halves of the hashes only if `BOTH` is true. The outputs after the first
/// `count` are unspecified.
#[inline]
pub(crate) fn siphash_short<const BOTH: bool>(
    level: Level,
    key: [u64; 2],
    messages: &[u128; BATCH],
    low: &mut [u64; BATCH],
    high: &mut [u64; BATCH],
    count: usize,
) {
    short::<BOTH>(level, key, messages, low, high, count);
}

/// Hashes the windows of `width` bytes (1..=7) that start at consecutive bytes, as [`siphash_windows`] does. Sets
/// `done` to the number of windows hashed.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn windows_body<V: WordVector>(
    key: [u64; 2],
    bytes: &[u8],
    width: usize,
    low: &mut [u64],
    done: &mut usize,
) {
    let mut i = 0;
    while i + 16 <= bytes.len() && i + V::LANES <= low.len() {
        // SAFETY: the caller guarantees that the CPU has the instructions of V. By the loop condition, 16 bytes are
        // readable from `i` on, and LANES values are writable from `i` on.
        unsafe {
            let tail = V::load_windows(bytes.as_ptr().add(i)).and(V::splat(tail_mask(width)));
            let mut state = State::<V>::keyed(key);
            state.absorb(tail.xor(V::splat(length_tag(width))));
            state.finish(2, WIDE_MARK).store(low.as_mut_ptr().add(i));
        }
        i += V::LANES;
    }
    *done = i;
}

dispatch!(windows [] [] (key: [u64; 2], bytes: &[u8], width: usize, low: &mut [u64], done: &mut usize)
    = windows_body::<U64s>);

/// Hashes the windows of `width` bytes (1..=7) that start at consecutive bytes, and writes the low halves of the hashes
/// to `low`. Stops where no whole vector can be loaded. Returns the number of windows hashed.
pub(crate) fn siphash_windows(
    level: Level,
    key: [u64; 2],
    bytes: &[u8],
    width: usize,
    low: &mut [u64],
) -> usize {
    let mut done = 0;
    windows(level, key, bytes, width, low, &mut done);
    done
}

/// Returns the last block of a message: the last `length % 8` bytes of the message, taken from `tail`, and the length
/// in the top byte.
#[inline]
pub(crate) fn last_block(tail: u64, length: usize) -> u64 {
    tail & tail_mask(length) | length_tag(length)
}

/// Returns a mask of the `length % 8` low bytes, which the last block takes from the message.
#[inline(always)]
fn tail_mask(length: usize) -> u64 {
    !(u64::MAX << (8 * (length % 8)))
}

/// Returns the length of a message, modulo 256, in the top byte of a word.
#[inline(always)]
fn length_tag(length: usize) -> u64 {
    (length as u64) << 56
}

/// Hashes one message of any length.
pub(crate) fn siphash_one(key: [u64; 2], bytes: &[u8]) -> u128 {
    let (blocks, rest) = bytes.as_chunks::<8>();
    let mut tail = [0; 8];
    tail[..rest.len()].copy_from_slice(rest);
    // SAFETY: the vector type is u64, a plain integer, which needs no special instructions.
    let mut state = unsafe { State::<u64>::keyed(key) };
    for block in blocks {
        state.absorb(u64::from_le_bytes(*block));
    }
    state.absorb(last_block(u64::from_le_bytes(tail), bytes.len()));
    let low = state.finish(2, WIDE_MARK);
    u128::from(low) | u128::from(state.finish(1, SECOND_HALF_MARK)) << 64
}
