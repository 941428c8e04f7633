//! How stories are formed.

/// How an item finds its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The centre of highest cosine.
    Nearest,
    /// Stories whose first item had the same so many leading bits of the fingerprint: the cheap alternative to a search. No threshold,
    /// no merging.
    EqualBits(u32),
}

/// How stories are formed.
#[derive(Clone, Debug, PartialEq)]
pub struct StoryOptions {
    /// See [`Method`].
    pub method: Method,
    /// Least cosine of an item and the centre of its story.
    pub threshold: f64,
    /// Least cosine of the centres of two stories that become one; none where stories do not merge.
    pub merge: Option<f64>,
    /// Seconds after which a story that gained nothing is retired; none where stories stay.
    pub window: Option<i64>,
    /// Seconds in which the weight of a member in the centre halves; none where it stays.
    pub half_life: Option<i64>,
    /// Live stories at most; those that gained nothing for longest are retired beyond that.
    pub live: usize,
    /// Centres whose cosine is computed for an item at most, those nearest by fingerprint.
    pub compared: usize,
    /// Terms known at most.
    pub vocabulary: usize,
}

impl Default for StoryOptions {
    fn default() -> Self {
        Self {
            method: Method::Nearest,
            threshold: 0.3,
            merge: Some(0.65),
            window: None,
            half_life: None,
            live: 1_000_000,
            compared: 64,
            vocabulary: 1 << 20,
        }
    }
}
