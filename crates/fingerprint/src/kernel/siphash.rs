//! SipHash-1-3 with 128 bits of output (Aumasson and Bernstein 2012), many messages at once.
//!
//! The lanes hash messages in parallel, in the order given. Messages come in as their 8-byte blocks (the last
//! one padded and tagged with the length, see [`last_block`]), so that the vector code does not read texts. If
//! the messages of a vector have different numbers of blocks, those that have ended keep their state while the
//! others continue. Sorting messages by length would cost more than it saves, because a block costs one round
//! and finishing three or six.

use super::dispatch::dispatch;
use super::lanes::WordVector;
use crate::level::Level;

/// Messages in a batch.
pub(crate) const BATCH: usize = 32;
/// Messages whose blocks are stored together: a multiple of every number of lanes.
pub(crate) const GROUP: usize = 8;
/// The maximum number of blocks of a message in a batch; longer messages are hashed one by one.
pub(crate) const MAX_BLOCKS: usize = 8;

/// Marks the 128-bit variant, at the start and before the first half of the output.
const WIDE_MARK: u64 = 0xee;
/// Marks the second half of the output.
const SECOND_HALF_MARK: u64 = 0xdd;

/// The four state words of one message a lane.
struct State<V>([V; 4]);

impl<V: WordVector> State<V> {
    /// The state before the first block.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn keyed([k0, k1]: [u64; 2]) -> Self {
        // SAFETY: the caller vouches for the instructions of V.
        unsafe {
            Self([
                V::splat(k0 ^ 0x736f_6d65_7073_6575),
                V::splat(k1 ^ 0x646f_7261_6e64_6f6d ^ WIDE_MARK),
                V::splat(k0 ^ 0x6c79_6765_6e65_7261),
                V::splat(k1 ^ 0x7465_6462_7974_6573),
            ])
        }
    }

    /// One SipRound.
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

    /// Mixes in one block of each message.
    #[inline(always)]
    fn absorb(&mut self, block: V) {
        self.0[3] = self.0[3].xor(block);
        self.round();
        self.0[0] = self.0[0].xor(block);
    }

    /// One half of the output: first with `word` 2 and `constant` `WIDE_MARK`, then with 1 and `SECOND_HALF_MARK`.
    #[inline(always)]
    fn finish(&mut self, word: usize, constant: u64) -> V {
        // SAFETY: the state holds vectors, which are proof of V's instructions.
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
    /// `blocks[g][b][i]` is block b of message 8 g + i; blocks after a message's last one have no meaning.
    pub(crate) blocks: [[[u64; GROUP]; MAX_BLOCKS]; BATCH / GROUP],
    /// Blocks of each message, 1..=MAX_BLOCKS.
    pub(crate) counts: [u64; BATCH],
    /// The low halves of the hashes.
    pub(crate) low: [u64; BATCH],
    /// The high halves of the hashes.
    pub(crate) high: [u64; BATCH],
}

impl Batch {
    /// A batch of empty messages.
    pub(crate) const fn new() -> Self {
        Self {
            blocks: [[[0; GROUP]; MAX_BLOCKS]; BATCH / GROUP],
            counts: [1; BATCH],
            low: [0; BATCH],
            high: [0; BATCH],
        }
    }

    /// Computes `low` of the first `messages` messages, rounded up to whole vectors.
    #[inline]
    pub(crate) fn hash_low(&mut self, level: Level, key: [u64; 2], messages: usize) {
        hash::<false>(level, key, self, messages);
    }

    /// Computes `low` and `high` of the first `messages` messages, rounded up to whole vectors.
    #[inline]
    pub(crate) fn hash_full(&mut self, level: Level, key: [u64; 2], messages: usize) {
        hash::<true>(level, key, self, messages);
    }
}

/// Hashes the first `messages` messages, rounded up to whole vectors; the high halves only if `BOTH`.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn hash_body<V: WordVector, const BOTH: bool>(key: [u64; 2], batch: &mut Batch, messages: usize) {
    const { assert!(GROUP.is_multiple_of(V::LANES) && BATCH.is_multiple_of(GROUP)) };
    for i in (0..messages.min(BATCH)).step_by(V::LANES) {
        let (group, lane) = (&batch.blocks[i / GROUP], i % GROUP);
        // SAFETY: the caller vouches for the instructions of V. `i` and `lane` are multiples of LANES, i < BATCH
        // and lane < GROUP. LANES divides GROUP and BATCH, so that LANES values from there on are inside the
        // counts, one block of the group, `low` and `high`.
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
                    // Messages that have ended keep their state.
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

/// Hashes windows of `width` bytes (1..=7), one byte apart, as [`siphash_windows`] does.
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
        // SAFETY: the caller vouches for the instructions of V; the loop condition for 16 bytes to read from i
        // on and for LANES values to write from i on.
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

/// Writes the low halves of the hashes of the windows of `width` bytes (1..=7), one byte apart, for the first
/// windows that fill whole vectors. Returns the number of windows hashed.
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

/// The last block of a message: its last `length % 8` bytes, and the length in the top byte.
#[inline]
pub(crate) fn last_block(tail: u64, length: usize) -> u64 {
    tail & tail_mask(length) | length_tag(length)
}

/// A mask of the bytes that a last block takes from the message.
#[inline(always)]
fn tail_mask(length: usize) -> u64 {
    !(u64::MAX << (8 * (length % 8)))
}

/// The length of the message, modulo 256, in the top byte.
#[inline(always)]
fn length_tag(length: usize) -> u64 {
    (length as u64) << 56
}

/// The hash of one message of any length.
pub(crate) fn siphash_one(key: [u64; 2], bytes: &[u8]) -> u128 {
    let (blocks, rest) = bytes.as_chunks::<8>();
    let mut tail = [0; 8];
    tail[..rest.len()].copy_from_slice(rest);
    // SAFETY: the vector is a plain u64, which needs no instructions beyond the target's own.
    let mut state = unsafe { State::<u64>::keyed(key) };
    for block in blocks {
        state.absorb(u64::from_le_bytes(*block));
    }
    state.absorb(last_block(u64::from_le_bytes(tail), bytes.len()));
    let low = state.finish(2, WIDE_MARK);
    u128::from(low) | u128::from(state.finish(1, SECOND_HALF_MARK)) << 64
}
