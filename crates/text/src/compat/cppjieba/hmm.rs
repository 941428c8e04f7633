//! The hidden Markov model that joins lone characters to words that are not in the dictionary. The state of a character is: it begins a
//! word, ends one, is in the middle of one, or is one.

use crate::segment::dictionary::Alphabet;

/// Number of states, in the order of the file: begin, end, middle, single.
pub(super) const STATES: usize = 4;
const END: usize = 1;
const SINGLE: usize = 3;

/// cppjieba's logarithm of probability 0. It is finite, so that sums of two of them can be compared.
pub(super) const LOG_ZERO: f64 = -3.14e100;

/// Logarithms of probabilities.
pub(super) struct Hmm {
    pub(super) start: [f64; STATES],
    /// Transitions from the state of the row to that of the column.
    pub(super) transition: [[f64; STATES]; STATES],
    pub(super) characters: Alphabet,
    /// Indexed by the code of a character; index 0 is for unknown characters.
    pub(super) emission: Vec<[f64; STATES]>,
}

/// Buffers of the search in a run, with one row for each character.
#[derive(Debug, Default)]
pub(super) struct Trellis {
    /// The best state before each state.
    previous: Vec<[u8; STATES]>,
    /// True if a word ends with the character.
    ends: Vec<bool>,
}

impl Hmm {
    fn emission(&self, c: char) -> [f64; STATES] {
        let row = self.emission.get(usize::from(self.characters.code(c)));
        row.copied().unwrap_or([LOG_ZERO; STATES])
    }

    /// Calls `word` with the number of characters of each word of the run, by the most likely path of states (Viterbi 1967). Ties are resolved by
    /// the order of the states.
    pub(super) fn cut(&self, run: &[char], trellis: &mut Trellis, mut word: impl FnMut(usize)) {
        let Some((&first, others)) = run.split_first() else {
            return;
        };
        if others.is_empty() {
            return word(1);
        }
        let Trellis { previous, ends } = trellis;
        previous.clear();
        let mut best = self.emission(first);
        for (sum, start) in best.iter_mut().zip(self.start) {
            *sum += start;
        }
        for &c in others {
            let emission = self.emission(c);
            let mut next = [LOG_ZERO; STATES];
            let mut from = [END as u8; STATES];
            for (state, (sum, from)) in next.iter_mut().zip(&mut from).enumerate() {
                for (old, (&weight, transition)) in best.iter().zip(&self.transition).enumerate() {
                    let sum_here = weight + transition[state] + emission[state];
                    if sum_here > *sum {
                        *sum = sum_here;
                        *from = old as u8;
                    }
                }
            }
            previous.push(from);
            best = next;
        }
        let mut state = if best[END] >= best[SINGLE] { END } else { SINGLE };
        ends.clear();
        for from in previous.iter().rev() {
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
