//! The options of stories.

/// The method by which an item finds its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The story whose centre has the highest cosine with the item.
    Nearest,
    /// The story whose first item had the same leading bits of the fingerprint, of the given number: a cheap
    /// alternative to a search, without threshold and merging.
    EqualBits(u32),
}

/// Options of stories.
#[derive(Clone, Debug, PartialEq)]
pub struct StoryOptions {
    /// The method by which an item finds its story.
    pub method: Method,
    /// The minimum cosine of an item and the centre of its story.
    pub threshold: f64,
    /// The minimum cosine of the centres of two stories that merge; `None` to merge no stories.
    pub merge: Option<f64>,
    /// Seconds after which a story without a new member is retired; `None` to keep all stories.
    pub window: Option<i64>,
    /// Seconds in which the weight of a member in the centre halves; `None` for constant weights.
    pub half_life: Option<i64>,
    /// The most live stories; above that, those without a new member for longest are retired.
    pub live: usize,
    /// The maximum number of centres whose cosine with an item is computed: those nearest by fingerprint.
    pub compared: usize,
    /// The maximum number of terms of the vocabulary.
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
