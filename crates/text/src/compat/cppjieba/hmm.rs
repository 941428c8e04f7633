//! The hidden Markov model that joins single characters into words that the dictionary does not have. The state of a
//! character is its role: beginning, end or middle of a word, or a word by itself.

use crate::segment::dictionary::Alphabet;

/// Number of states. The model's file has them in the order begin, end, middle, single.
pub(super) const STATES: usize = 4;
const END: usize = 1;
const SINGLE: usize = 3;

/// The logarithm of probability 0 in cppjieba. It is finite, so that sums of two such values can be compared.
pub(super) const LOG_ZERO: f64 = -3.14e100;

/// The parameters of the model: logarithms of probabilities.
pub(super) struct Hmm {
    pub(super) start: [f64; STATES],
    /// Transition probabilities: the row is the state of a character, the column the state of the next character.
    pub(super) transition: [[f64; STATES]; STATES],
    pub(super) characters: Alphabet,
    /// Emission probabilities for each character code; index 0 is for unknown characters.
    pub(super) emission: Vec<[f64; STATES]>,
}

/// Buffers for finding the best path of states in a run, with one row for each character.
#[derive(Debug, Default)]
pub(super) struct Trellis {
    /// For each state of a character: the state before it on the best path.
    previous: Vec<[u8; STATES]>,
    /// For each character: true if a word ends with it.
    ends: Vec<bool>,
}

impl Hmm {
    fn emission(&self, c: char) -> [f64; STATES] {
        let row = self.emission.get(usize::from(self.characters.code(c)));
        row.copied().unwrap_or([LOG_ZERO; STATES])
    }

    /// Cuts a run into words along the most likely path of states (Viterbi 1967) and calls `word` with the number of
    /// characters of each. Of equally likely paths, the order of the states decides.
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
