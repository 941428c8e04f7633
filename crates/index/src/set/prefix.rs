//! The inverted index over prefixes: a young part that takes inserts, and sealed sorted runs for the bulk.
//!
//! Entries begin in a hash multimap (20 bytes per entry) and move to a sorted run (8 bytes and a directory) at the
//! first seal at which there are enough of them for one. Each run is more than 8 times as long as the next newer one;
//! otherwise the two are merged. So an entry is copied O(log entries) times, a probe searches O(log entries) runs, and
//! many tiny blocks cost no more than few large ones. Merging goes shard by shard, and needs memory for one new shard
//! per thread.
//!
//! The document number of an entry decides if the entry counts as sealed, not the structure in which it is stored.

use super::filter::{PrefixFilter, Sizes};
use super::place::{PostingPlace, class};
use super::run::PostingRun;
use super::young::YoungPostings;

/// A run is merged with the next older one unless that one is more than this many times as long.
const RUN_SIZE_RATIO: usize = 8;

/// Postings are counted in a table of all documents if there are at most this many documents for each posting, and
/// otherwise by sorting them.
const POSTINGS_FOR_COUNTING: usize = 8;

/// The minimum number of entries of a run.
const MIN_RUN_ENTRIES: usize = 1 << 16;

/// Finds all sets whose Jaccard with a given set is at least the threshold, as candidates that share a prefix token;
/// see the module [`set`](crate::set).
///
/// Inserted sets are young until [`PrefixIndex::seal`] and sealed after it. A caller that works in blocks seals at the
/// start of each block. Answers about sealed sets then stay valid for the complete block, and only the young sets are
/// probed again.
///
/// ```
/// use twinprint_index::{PrefixIndex, TokenOrder};
///
/// let sets: [&[u64]; 3] = [&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 6], &[7, 8, 9]];
/// let order = TokenOrder::new(13);
/// sets.iter().for_each(|set| order.count(set));
///
/// let mut index = PrefixIndex::new(0.6);
/// let mut prefix = Vec::new();
/// for (id, set) in (0u32..).zip(&sets[1..]) {
///     order.sort_prefix(set, index.prefix_len(set.len()), &mut prefix);
///     index.insert(id, set.len() as u32, &prefix);
/// }
/// // Candidates for the first set, to be verified by the caller.
/// let mut candidates = Vec::new();
/// order.sort_prefix(sets[0], index.prefix_len(5), &mut prefix);
/// index.probe(5, &prefix, false, &mut candidates);
/// assert_eq!(candidates, [0]);
/// ```
#[derive(Clone, Debug)]
pub struct PrefixIndex {
    filter: PrefixFilter,
    /// The id and the size of each inserted set.
    documents: Vec<(u32, u32)>,
    /// Documents with numbers below this are sealed.
    sealed: u32,
    /// The entries of all young documents. Entries of sealed documents are also here as long as they are too few for a
    /// run.
    young: YoungPostings,
    /// The sorted runs, the oldest and longest first.
    runs: Vec<PostingRun>,
    least_run: usize,
}

impl PrefixIndex {
    /// Creates an empty index for a Jaccard threshold. Values outside (0, 1] are clamped; see [`PrefixFilter::new`].
    pub fn new(threshold: f64) -> Self {
        Self {
            filter: PrefixFilter::new(threshold),
            documents: Vec::new(),
            sealed: 0,
            young: YoungPostings::new(),
            runs: Vec::new(),
            least_run: MIN_RUN_ENTRIES,
        }
    }

    /// Makes runs from `least_run` entries on, so that small tests have some.
    #[cfg(test)]
    pub(super) fn with_least_run(threshold: f64, least_run: usize) -> Self {
        Self {
            least_run,
            ..Self::new(threshold)
        }
    }

    /// The number of entries of each run.
    #[cfg(test)]
    pub(super) fn runs(&self) -> Vec<usize> {
        self.runs.iter().map(PostingRun::len).collect()
    }

    /// Returns the length of the prefix of a set of `size` tokens; see [`PrefixFilter::prefix_len`].
    pub fn prefix_len(&self, size: usize) -> usize {
        self.filter.prefix_len(size)
    }

    /// Returns the tokens of a prefix that can be the first token shared with a set of fitting size, each with the
    /// class of the largest such size.
    fn places(&self, size: u32, prefix: &[u64]) -> Vec<(PostingPlace, u8)> {
        let Sizes { low, high } = self.filter.sizes(size);
        let reaches = prefix
            .iter()
            .enumerate()
            .map(|(at, &token)| (token, self.filter.reach(size, at)));
        let fitting = reaches.filter(|&(_, most)| most >= low);
        fitting
            .map(|(token, most)| (PostingPlace::of(token), class(most.min(high))))
            .collect()
    }

    /// Returns `true` if the size class of a document is at most `most`.
    fn is_within(&self, document: u32, most: u8) -> bool {
        self.documents
            .get(document as usize)
            .is_some_and(|d| class(d.1) <= most)
    }

    /// Adds a set of `size` distinct tokens. `prefix` has its first [`PrefixIndex::prefix_len`] tokens in the global
    /// order. Amortised O(prefix).
    ///
    /// # Panics
    /// If there are 2³² − 1 sets already, which is the most that postings can number, or as many tokens since the last
    /// seal.
    pub fn insert(&mut self, id: u32, size: u32, prefix: &[u64]) {
        let document = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
        assert!(
            document != u32::MAX,
            "a prefix index holds fewer than 2^32 - 1 sets"
        );
        if self.documents.len() == self.documents.capacity() {
            self.documents.reserve_exact(self.documents.len() / 8 + 64);
        }
        self.documents.push((id, size));
        for &token in prefix {
            self.young.insert(PostingPlace::of(token), document);
        }
    }

    /// Seals all sets inserted so far. Uses all threads of the rayon pool; amortised O(log entries) for each entry.
    pub fn seal(&mut self) {
        self.sealed = self.documents.len() as u32;
        if self.young.len() < self.least_run.max(1) {
            return;
        }
        // The document of every entry was inserted before, so its size is known.
        let size_of = |document: u32| self.documents.get(document as usize).map_or(0, |d| d.1);
        let mut run = PostingRun::from_young(&self.young, size_of);
        self.young.clear();
        while let Some(elder) = self.runs.pop_if(|elder| {
            run.len() * RUN_SIZE_RATIO >= elder.len() && u32::try_from(run.len() + elder.len()).is_ok()
        }) {
            let newer = std::mem::replace(&mut run, elder);
            run.absorb(newer);
        }
        self.runs.push(run);
    }

    /// Replaces `out` by the ids of all sealed sets that share a prefix token and whose size allows Jaccard ≥ threshold,
    /// distinct and ascending.
    ///
    /// If `counted` is true, the tokens that two prefixes share are counted, and sets that share too few are not among
    /// the candidates. That reads more postings, and is faster where many sets have the tokens.
    /// O(runs + postings of the prefix's tokens with a fitting size).
    pub fn probe_sealed(&self, size: u32, prefix: &[u64], counted: bool, out: &mut Vec<u32>) {
        self.probe_by(size, prefix, counted, out, |places, low, out| {
            for run in &self.runs {
                run.collect(places, class(low), out);
            }
            if self.young.len() > 0 {
                for &(place, most) in places {
                    let sealed = self.young.documents(place).skip_while(|&d| d >= self.sealed);
                    out.extend(sealed.filter(|&d| self.is_within(d, most)));
                }
            }
        });
    }

    /// Like [`PrefixIndex::probe_sealed`], but for the young sets, which were inserted since the last seal.
    pub fn probe_young(&self, size: u32, prefix: &[u64], counted: bool, out: &mut Vec<u32>) {
        out.clear();
        if self.sealed as usize == self.documents.len() {
            return;
        }
        self.probe_by(size, prefix, counted, out, |places, _, out| {
            for &(place, most) in places {
                let young = self.young.documents(place).take_while(|&d| d >= self.sealed);
                out.extend(young.filter(|&d| self.is_within(d, most)));
            }
        });
    }

    /// Like [`PrefixIndex::probe_sealed`], but for all inserted sets.
    pub fn probe(&self, size: u32, prefix: &[u64], counted: bool, out: &mut Vec<u32>) {
        let mut young = Vec::new();
        self.probe_sealed(size, prefix, counted, out);
        self.probe_young(size, prefix, counted, &mut young);
        out.append(&mut young);
        out.sort_unstable();
        out.dedup();
    }

    /// Replaces `out` by the ids of the candidates. `collect(places, low, out)` appends the document of every posting
    /// of the tokens at `places` whose size class is at least that of `low` and at most the class given with the token.
    ///
    /// Only the tokens are read that can be the first shared one. If shared tokens are counted, all tokens of the prefix
    /// are read, because their number excludes far more sets.
    fn probe_by(
        &self,
        size: u32,
        prefix: &[u64],
        counted: bool,
        out: &mut Vec<u32>,
        collect: impl Fn(&[(PostingPlace, u8)], u32, &mut Vec<u32>),
    ) {
        out.clear();
        if self.documents.is_empty() {
            return;
        }
        let sizes = self.filter.sizes(size);
        if !counted {
            collect(&self.places(size, prefix), sizes.low, out);
            // Document numbers are sorted first, so that each size is looked up once and in memory order.
            out.sort_unstable();
            out.dedup();
            out.retain_mut(|document| self.fitting(document, sizes).is_some());
            Self::sort_ids(out);
            return;
        }
        let high = class(sizes.high);
        let place = |&token: &u64| (PostingPlace::of(token), high);
        let places: Vec<(PostingPlace, u8)> = prefix.iter().map(place).collect();
        collect(&places, sizes.low, out);
        self.retain_sharing(size, prefix.len(), out);
    }

    /// Replaces a document number by its id and returns the size of the document, if that is in the range `sizes`.
    fn fitting(&self, document: &mut u32, sizes: Sizes) -> Option<u32> {
        let &(id, size) = self.documents.get(*document as usize)?;
        *document = id;
        (sizes.low..=sizes.high).contains(&size).then_some(size)
    }

    /// Replaces the document numbers in `out`, one for each posting, by the ids of those documents of a fitting size that
    /// share enough tokens of the prefix, distinct and ascending.
    ///
    /// Let x be the probe with a prefix of q tokens, and y a document with a prefix of p tokens. If y's prefix ends after
    /// that of x in the global order, then it has every token that y shares with the prefix of x, and at most |x| − q
    /// more tokens are shared. Otherwise the prefix of x has every token that x shares with the prefix of y, and at most
    /// |y| − p more are shared. So if the prefixes share c tokens, the sets share at most c + max(|x| − q, |y| − p).
    /// (This is the suffix bound of PPJoin; Xiao and others 2008.)
    fn retain_sharing(&self, size: u32, prefix_len: usize, out: &mut Vec<u32>) {
        let sizes = self.filter.sizes(size);
        let shares_enough = |document: u32, shared: usize| {
            let mut id = document;
            let other = self.fitting(&mut id, sizes)?;
            let left = (size as usize - prefix_len).max(other as usize - self.prefix_len(other as usize));
            (shared + left >= self.filter.needed(size as usize, other as usize)).then_some(id)
        };
        // Counting takes time for every document, and sorting for every posting.
        if out.len() * POSTINGS_FOR_COUNTING >= self.documents.len() {
            let mut shared = vec![0u32; self.documents.len()];
            for &document in &*out {
                shared[document as usize] += 1;
            }
            out.clear();
            let counted = (0u32..).zip(&shared).filter(|&(_, &shared)| shared > 0);
            out.extend(counted.filter_map(|(document, &shared)| shares_enough(document, shared as usize)));
        } else {
            out.sort_unstable();
            let equal = out.chunk_by(|a, b| a == b);
            let ids: Vec<u32> = equal
                .filter_map(|equal| shares_enough(equal[0], equal.len()))
                .collect();
            *out = ids;
        }
        Self::sort_ids(out);
    }

    /// Sorts ids, which are mostly in the order of insertion. An id that was inserted twice occurs twice.
    fn sort_ids(ids: &mut Vec<u32>) {
        if !ids.is_sorted_by(|a, b| a < b) {
            ids.sort_unstable();
            ids.dedup();
        }
    }

    /// The number of inserted sets.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns `true` if no set was inserted.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The size of the set that was inserted after `before` other sets; `None` if there are fewer.
    pub fn size_at(&self, before: usize) -> Option<u32> {
        self.documents.get(before).map(|&(_, size)| size)
    }

    /// The number of bytes allocated.
    pub fn bytes(&self) -> usize {
        self.documents.capacity() * 8
            + self.young.bytes()
            + self.runs.iter().map(PostingRun::bytes).sum::<usize>()
    }
}
