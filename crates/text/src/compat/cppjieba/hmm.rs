//! The hidden Markov model that joins lone characters to words nobody has listed: each begins a word, ends one, is in the middle of one, or
//! is one.

use crate::segment::dictionary::Alphabet;

/// Begin, end, middle, single: their order in the file.
pub(super) const STATES: usize = 4;
const END: usize = 1;
const SINGLE: usize = 3;

/// The logarithm of what never happens, as cppjieba has it: a number, so that the sums of two are compared too.
pub(super) const NEVER: f64 = -3.14e100;

/// Logarithms of probabilities.
pub(super) struct Hmm {
    pub(super) start: [f64; STATES],
    /// From the state of the row to that of the column.
    pub(super) change: [[f64; STATES]; STATES],
    pub(super) characters: Alphabet,
    /// By the code of a character; those of an unknown one first.
    pub(super) emission: Vec<[f64; STATES]>,
}

/// What the search of a run needs, a row a character.
#[derive(Debug, Default)]
pub(super) struct Trellis {
    before: Vec<[u8; STATES]>,
    /// Whether a word ends with the character.
    ends: Vec<bool>,
}

impl Hmm {
    fn emission(&self, c: char) -> [f64; STATES] {
        let row = self.emission.get(usize::from(self.characters.code(c)));
        row.copied().unwrap_or([NEVER; STATES])
    }

    /// Calls `word` with the characters of each word that the run falls into, by the path of states that is likeliest (Viterbi 1967). Of equally
    /// likely ones the first, in the order of the states.
    pub(super) fn cut(&self, run: &[char], trellis: &mut Trellis, mut word: impl FnMut(usize)) {
        let Some((&first, others)) = run.split_first() else {
            return;
        };
        if others.is_empty() {
            return word(1);
        }
        let Trellis { before, ends } = trellis;
        before.clear();
        let mut best = self.emission(first);
        for (sum, start) in best.iter_mut().zip(self.start) {
            *sum += start;
        }
        for &c in others {
            let emission = self.emission(c);
            let mut next = [NEVER; STATES];
            let mut from = [END as u8; STATES];
            for (state, (sum, from)) in next.iter_mut().zip(&mut from).enumerate() {
                for (old, (&weight, change)) in best.iter().zip(&self.change).enumerate() {
                    let there = weight + change[state] + emission[state];
                    if there > *sum {
                        *sum = there;
                        *from = old as u8;
                    }
                }
            }
            before.push(from);
            best = next;
        }
        let mut state = if best[END] >= best[SINGLE] { END } else { SINGLE };
        ends.clear();
        for from in before.iter().rev() {
            ends.push(state == END || state == SINGLE);
            state = usize::from(from[state]);
        }
        ends.push(state == END || state == SINGLE);
        let mut length = 0;
        for &ends in ends.iter().rev() {
            length += 1;
            if ends {
                word(length);
                length = 0;
            }
        }
    }
}
