//! Quality over all pairs of documents: precision and recall of a score at each cut.

use crate::corpus::Corpus;

/// A pair with its score and its truth.
#[derive(Clone, Copy, Debug)]
pub struct ScoredPair {
    /// The score; higher is more similar.
    pub score: f64,
    /// True if the pair is a true one.
    pub is_true: bool,
}

/// The quality of a cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cut {
    /// The smallest score that is called a duplicate.
    pub score: f64,
    /// The share of the called pairs that are true.
    pub precision: f64,
    /// The share of the true pairs that are called.
    pub recall: f64,
}

impl Cut {
    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 {
            2.0 * self.precision * self.recall / sum
        } else {
            0.0
        }
    }
}

/// Scores every pair of the documents. The pairs at a Jaccard of at least `threshold` are true.
pub fn score(corpus: &Corpus, threshold: f64, score: impl Fn(usize, usize) -> f64) -> Vec<ScoredPair> {
    let n = corpus.documents.len();
    let mut is_true = vec![false; n * n];
    for pair in corpus.true_pairs(threshold) {
        is_true[pair.a * n + pair.b] = true;
    }
    let mut scored = Vec::with_capacity(n * n / 2);
    for a in 0..n {
        for b in a + 1..n {
            scored.push(ScoredPair {
                score: score(a, b),
                is_true: is_true[a * n + b],
            });
        }
    }
    scored
}

/// The cut with the best F1, which is an upper bound for the score: it is chosen with knowledge of the truth.
pub fn best_cut(mut scored: Vec<ScoredPair>) -> Cut {
    scored.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    let all = scored.iter().filter(|pair| pair.is_true).count().max(1) as f64;
    let mut best = Cut::default();
    let mut right = 0.0;
    for (i, pair) in scored.iter().enumerate() {
        right += f64::from(u8::from(pair.is_true));
        // Pairs of equal score are called together.
        if scored.get(i + 1).is_some_and(|next| next.score >= pair.score) {
            continue;
        }
        let cut = Cut {
            score: pair.score,
            precision: right / (i + 1) as f64,
            recall: right / all,
        };
        if cut.f1() > best.f1() {
            best = cut;
        }
    }
    best
}

/// The quality of calling every pair whose score is at least `least`.
pub fn cut_at(scored: &[ScoredPair], least: f64) -> Cut {
    let all = scored.iter().filter(|pair| pair.is_true).count().max(1) as f64;
    let called = scored.iter().filter(|pair| pair.score >= least);
    let (mut called_pairs, mut right) = (0.0, 0.0);
    for pair in called {
        called_pairs += 1.0;
        right += f64::from(u8::from(pair.is_true));
    }
    Cut {
        score: least,
        precision: if called_pairs > 0.0 {
            right / called_pairs
        } else {
            1.0
        },
        recall: right / all,
    }
}
