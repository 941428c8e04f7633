//! The options of stories.

/// The method by which an item finds its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The story whose centre has the highest cosine with the item.
    Nearest,
    /// The story whose first item has the same leading bits of the fingerprint; the value is the number of bits. A
    /// cheap alternative to the search, without a threshold and without merging.
    EqualBits(u32),
}

/// A threshold of cosines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Threshold {
    /// Estimated from the first items: see [`Estimate`](super::Estimate).
    #[default]
    Estimated,
    /// This cosine.
    Given(f64),
}

impl Threshold {
    /// The given cosine; `None` if the threshold is estimated.
    pub fn given(self) -> Option<f64> {
        match self {
            Self::Estimated => None,
            Self::Given(cosine) => Some(cosine),
        }
    }
}

impl From<Option<f64>> for Threshold {
    fn from(given: Option<f64>) -> Self {
        given.map_or(Self::Estimated, Self::Given)
    }
}

/// Options of stories.
#[derive(Clone, Debug, PartialEq)]
pub struct StoryOptions {
    /// The method by which an item finds its story.
    pub method: Method,
    /// The minimum cosine between an item and the centre of the story that it joins.
    pub threshold: Threshold,
    /// Two stories merge if the cosine of their centres is at least this value; `None` merges no stories.
    pub merge: Option<Threshold>,
    /// A story is retired if it gains no member for this number of seconds; `None` keeps all stories live.
    pub window: Option<i64>,
    /// The weight of a member in the centre is halved after each such number of seconds; `None` keeps the weights
    /// constant.
    pub half_life: Option<i64>,
    /// The maximum number of live stories. If there are more, the stories that gained no member for the longest time
    /// are retired.
    pub live: usize,
    /// The maximum number of centres whose cosine with an item is computed. Those with the nearest fingerprints are
    /// used.
    pub compared: usize,
    /// The maximum number of terms of the vocabulary. Above it, rare terms are evicted.
    pub vocabulary: usize,
}

impl Default for StoryOptions {
    fn default() -> Self {
        Self {
            method: Method::Nearest,
            threshold: Threshold::Estimated,
            merge: Some(Threshold::Estimated),
            window: None,
            half_life: None,
            live: 1_000_000,
            compared: 64,
            vocabulary: 1 << 20,
        }
    }
}

impl StoryOptions {
    /// True if a threshold is to be estimated.
    pub(super) fn estimates(&self) -> bool {
        let estimated = [Some(self.threshold), self.merge].contains(&Some(Threshold::Estimated));
        estimated && self.method == Method::Nearest
    }
}
