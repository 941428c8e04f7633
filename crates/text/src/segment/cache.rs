//! Remembers how runs of ideographs were cut. Corpora repeat themselves: boilerplate, quotations, the copies that are looked for.
//!
//! Direct-mapped and exact: a slot holds one run whole and where its words end; another run at its place drives it out. One table a
//! thread, 8 MiB, made when the first ideograph is met.

use std::cell::RefCell;

/// Slots, a power of two.
const SLOTS: usize = 1 << 17;
/// Bytes of a run at most: 20 ideographs of three bytes. Longer runs are cut anew each time.
const RUN: usize = 60;
/// Bytes of an ideograph; runs with longer ones (rare, beyond the basic plane) are not kept.
const IDEOGRAPH: usize = 3;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot {
    run: [u8; RUN],
    /// Bit i: a word ends after ideograph i. Zero in an empty slot, since every run ends with a word.
    ends: u32,
}

/// Calls `word` with the byte range of each word of `run`; `cut` cuts a run that is not known, by calling its argument likewise.
pub(super) fn cut_with(
    run: &str,
    cut: impl Fn(&str, &mut dyn FnMut(usize, usize)),
    mut word: impl FnMut(usize, usize),
) {
    thread_local! {
        static SLOTS_HERE: RefCell<Vec<Slot>> = RefCell::new(vec![Slot { run: [0; RUN], ends: 0 }; SLOTS]);
    }
    if run.len() > RUN {
        return cut(run, &mut word);
    }
    let mut key = [0; RUN];
    key[..run.len()].copy_from_slice(run.as_bytes());
    SLOTS_HERE.with_borrow_mut(|slots| {
        let slot = &mut slots[place(&key)];
        if slot.ends == 0 || slot.run != key {
            let mut ends = 0;
            let mut whole = true;
            cut(run, &mut |from, to| {
                whole &= to % IDEOGRAPH == 0;
                ends |= 1u32 << (to / IDEOGRAPH).saturating_sub(1).min(31);
                word(from, to);
            });
            if whole {
                *slot = Slot { run: key, ends };
            }
            return;
        }
        let (mut from, mut ends) = (0, slot.ends);
        while ends != 0 {
            let to = (ends.trailing_zeros() as usize + 1) * IDEOGRAPH;
            word(from, to);
            from = to;
            ends &= ends - 1;
        }
    });
}

/// The slot of a run: products of its words with odd constants, folded. Quality matters little and safety not at all, since the run
/// itself is compared.
fn place(key: &[u8; RUN]) -> usize {
    let (words, _) = key.as_chunks::<8>();
    let mut mixed = 0x9E37_79B9_7F4A_7C15u64;
    for word in words {
        mixed = (mixed.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }
    (mixed >> 47) as usize % SLOTS
}
