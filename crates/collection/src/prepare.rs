//! What can be made of a document before it is its turn: text, fingerprint, hashes, shingles, compressed bytes.
//!
//! This is nearly all the work a document takes, and depends on nothing but the document and the settings; so callers do it on
//! their own threads, and the writer has little left.

use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{ShingleSet, Shingler};
use twinprint_text::{Analyzer, Measure, Profile};

use super::document::{self, Content, Details, NewDocument};
use super::error::CollectionError;
use super::row::Row;
use super::settings::{Settings, Store};
use super::stories::Item;
use twinprint_io::object_pool::ObjectPool;
use twinprint_stream::words::WordCounts;
use twinprint_text::MIN_FEATURES;

/// Texts of fewer features than this are found by their shingles as well: so that a text of fewer than [`MIN_FEATURES`] meets every other
/// that can be its duplicate.
const SET_FEATURES: u32 = 2 * MIN_FEATURES;
/// Bytes of canonical text above which a text of few features is searched by its fingerprint too.
const SHORT_TEXT: usize = 600;
/// Level of compression: texts are read back one by one, and quickly.
const LEVEL: i32 = 1;
/// Analyzers kept for the next callers.
const IDLE: usize = 16;

/// The secrets of a collection.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// Of ids and equal texts.
    pub(crate) names: (u64, u64),
    /// Of shingles.
    pub(crate) shingles: HashKey,
    /// Of features: published, unless the collection is keyed.
    pub(crate) features: HashKey,
}

/// Turns documents into what the writer takes.
pub(crate) struct Workshop {
    pub(crate) keys: Keys,
    profile: Profile,
    store: Store,
    threshold: f64,
    ttl: Option<u64>,
    stories: bool,
    reject_empty: bool,
    idle: ObjectPool<Tools>,
}

/// What one thread works with.
struct Tools {
    analyzer: Analyzer,
    shingler: Shingler,
    words: twinprint_text::Words,
    #[cfg(feature = "html")]
    extractor: twinprint_text::html::Extractor,
    compressor: Option<zstd::bulk::Compressor<'static>>,
}

/// A document ready to be placed.
pub(crate) struct Prepared {
    pub(crate) id: String,
    pub(crate) details: Details,
    /// As far as it is known: without number, group and leadership.
    pub(crate) row: Row,
    /// Canonical text; none of a document that is a fingerprint alone.
    pub(crate) canonical: Option<String>,
    /// What is stored of the text.
    pub(crate) stored: Vec<u8>,
    /// Bytes of the text.
    pub(crate) bytes: u64,
    /// What its story is found by, and the same packed; where stories are kept.
    pub(crate) item: Option<(Item, Vec<u8>)>,
    shingles: HashKey,
    sets: [OnceLock<Arc<ShingleSet>>; 2],
}

impl Prepared {
    /// Its shingles, cut on first demand.
    pub(crate) fn set(&self, measure: Measure) -> Option<Arc<ShingleSet>> {
        let canonical = self.canonical.as_deref()?;
        let place = usize::from(measure == Measure::CharGrams);
        let cut = || {
            let mut shingler = Shingler::new(self.shingles);
            Arc::new(ShingleSet::new(shingler.shingle(canonical, measure)))
        };
        Some(Arc::clone(self.sets[place].get_or_init(cut)))
    }
}

impl Workshop {
    pub(crate) fn new(settings: &Settings, profile: Profile, keys: Keys) -> Self {
        Self {
            keys,
            profile,
            store: settings.store,
            threshold: settings.threshold,
            ttl: settings.ttl,
            stories: settings.stories,
            reject_empty: settings.reject_empty,
            idle: ObjectPool::with_capacity(IDLE),
        }
    }

    pub(crate) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The keyed hash of an id.
    pub(crate) fn id(&self, id: &str) -> u128 {
        self.hash(id.as_bytes(), 0)
    }

    /// A number that no other collection has, since it follows from the secrets.
    pub(crate) fn identity(&self) -> u128 {
        self.hash(b"collection", 3)
    }

    fn hash(&self, bytes: &[u8], kind: u8) -> u128 {
        let (k0, k1) = self.keys.names;
        let mut hasher = SipHasher13::new_with_keys(k0, k1);
        hasher.write(bytes);
        hasher.write_u8(kind);
        hasher.finish128().as_u128()
    }

    fn tools(&self) -> Tools {
        self.idle.get().unwrap_or_else(|| Tools {
            analyzer: Analyzer::new(&self.profile, self.keys.features),
            shingler: Shingler::new(self.keys.shingles),
            words: twinprint_text::Words::default(),
            #[cfg(feature = "html")]
            extractor: twinprint_text::html::Extractor::new(),
            compressor: None,
        })
    }

    /// Prepares a document that came in at `now`. Linear in its text.
    ///
    /// # Errors
    /// What the document cannot be.
    pub(crate) fn prepare(&self, document: NewDocument, now: i64) -> Result<Prepared, CollectionError> {
        document::check(&document)?;
        let ttl = document.ttl.or(self.ttl);
        let expires = ttl.map_or(i64::MAX, |ttl| now.saturating_add_unsigned(ttl));
        let id = self.id(&document.id);
        let mut row = Row {
            ordinal: 0,
            fingerprint: 0,
            id,
            text: 0,
            group: 0,
            expires,
            features: 0,
            measure: Measure::WordGrams,
            story: 0,
            leads: false,
            by_fingerprint: true,
            set_size: 0,
            prefix: Box::default(),
        };
        let mut tools = self.tools();
        let text = match document.content {
            Content::Fingerprint(fingerprint) => {
                self.check_fingerprint(fingerprint)?;
                row.fingerprint = fingerprint;
                row.features = MIN_FEATURES;
                row.text = self.hash(&fingerprint.to_le_bytes(), 2);
                None
            }
            Content::Text(text) => Some(text),
            Content::Html(markup) => Some(tools.main_text(&markup)?),
        };
        let mut canonical = None;
        let mut stored = Vec::new();
        let mut item = None;
        let sets = [OnceLock::new(), OnceLock::new()];
        if let Some(text) = &text {
            let analysis = tools.analyzer.analyze(text);
            if analysis.is_empty() && self.reject_empty {
                self.idle.put(tools);
                return Err(CollectionError::EmptyText);
            }
            row.fingerprint = analysis.fingerprint;
            row.features = analysis.features;
            row.measure = analysis.measure;
            let words = analysis.canonical.to_owned();
            row.text = self.hash(words.as_bytes(), 1);
            let short = row.features < MIN_FEATURES;
            let verified = self.store != Store::None;
            row.by_fingerprint = row.features > 0 && (!verified || !short || words.len() > SHORT_TEXT);
            let place = usize::from(row.measure == Measure::CharGrams);
            if verified && row.features < SET_FEATURES || self.store == Store::Shingles {
                let shingles = tools.shingler.shingle(&words, row.measure);
                if (1..SET_FEATURES).contains(&row.features) {
                    (row.set_size, row.prefix) = prefix(&shingles, self.threshold);
                }
                if self.store == Store::Shingles {
                    stored = shingles.iter().flat_map(|s| s.to_le_bytes()).collect();
                }
                let _first = sets[place].set(Arc::new(ShingleSet::new(shingles)));
            }
            if self.store == Store::Text {
                stored = tools.compress(text.as_bytes())?;
            }
            if self.stories {
                item = Some(tools.item(&document.details, text, &words)?);
            }
            canonical = Some(words);
        }
        self.idle.put(tools);
        Ok(Prepared {
            id: document.id,
            details: document.details,
            row,
            canonical,
            stored,
            bytes: text.map_or(0, |text| text.len() as u64),
            item,
            shingles: self.keys.shingles,
            sets,
        })
    }

    /// Refuses a text without features, where such texts are not taken.
    pub(crate) fn check_features(&self, text: &str) -> Result<(), CollectionError> {
        if !self.reject_empty {
            return Ok(());
        }
        let mut tools = self.tools();
        let is_empty = tools.analyzer.analyze(text).is_empty();
        self.idle.put(tools);
        if is_empty {
            return Err(CollectionError::EmptyText);
        }
        Ok(())
    }

    fn check_fingerprint(&self, fingerprint: u128) -> Result<(), CollectionError> {
        let bits = self.profile.bits();
        if bits < 128 && fingerprint >> bits != 0 {
            return Err(CollectionError::Invalid(format!(
                "fingerprint: wider than the {bits} bits of the profile {}",
                self.profile.id()
            )));
        }
        if self.keys.features != HashKey::PUBLIC {
            return Err(CollectionError::invalid(
                "fingerprint: this collection's fingerprints are made under a secret key; send the text",
            ));
        }
        Ok(())
    }

    /// The shingles of a stored text; none where what is stored cannot tell them.
    pub(crate) fn stored_set(&self, stored: &[u8], own: Measure, measure: Measure) -> Option<ShingleSet> {
        match self.store {
            Store::None => None,
            Store::Shingles => {
                let (shingles, _) = stored.as_chunks::<8>();
                let set = || shingles.iter().map(|&s| u64::from_le_bytes(s)).collect();
                (own == measure).then(|| ShingleSet::new(set()))
            }
            Store::Text => {
                let text = decompress(stored)?;
                let mut tools = self.tools();
                let canonical = twinprint_text::canonical(&text);
                let set = ShingleSet::new(tools.shingler.shingle(&canonical, measure));
                self.idle.put(tools);
                Some(set)
            }
        }
    }
}

/// The text of what is stored of it.
pub(crate) fn decompress(stored: &[u8]) -> Option<String> {
    let bytes = zstd::bulk::decompress(stored, document::MAX_TEXT).ok()?;
    String::from_utf8(bytes).ok()
}

impl Tools {
    /// What a story is found by, packed as well.
    fn item(
        &mut self,
        details: &Details,
        text: &str,
        canonical: &str,
    ) -> Result<(Item, Vec<u8>), CollectionError> {
        let counts = if canonical.is_empty() {
            WordCounts::default()
        } else {
            WordCounts::count(canonical, self.words.cut(canonical))
        };
        let title = details.fields.get("title").and_then(serde_json::Value::as_str);
        let item = Item::new(title, details.url.as_deref(), text, (canonical, &counts));
        let packed = self.compress(&item.encode())?;
        Ok((item, packed))
    }

    fn compress(&mut self, text: &[u8]) -> Result<Vec<u8>, CollectionError> {
        let failed = |error: std::io::Error| CollectionError::Invalid(format!("text: {error}"));
        if self.compressor.is_none() {
            self.compressor = Some(zstd::bulk::Compressor::new(LEVEL).map_err(failed)?);
        }
        let packed = self
            .compressor
            .as_mut()
            .map(|compressor| compressor.compress(text));
        packed.unwrap_or_else(|| Ok(Vec::new())).map_err(failed)
    }

    #[cfg(feature = "html")]
    fn main_text(&mut self, markup: &str) -> Result<String, CollectionError> {
        match self.extractor.extract(markup) {
            Ok(page) => Ok(page.text.into_owned()),
            Err(error) => Err(CollectionError::Invalid(format!("html: {error}"))),
        }
    }

    #[cfg(not(feature = "html"))]
    #[expect(clippy::unused_self, reason = "as with the feature")]
    fn main_text(&mut self, _: &str) -> Result<String, CollectionError> {
        Err(CollectionError::invalid(
            "html: built without the feature html; send text",
        ))
    }
}

/// The size of a set and the tokens it is found by. Hashes under a secret key are in as good an order as any: the same for all sets.
fn prefix(shingles: &[u64], threshold: f64) -> (u32, Box<[u64]>) {
    let length = twinprint_index::PrefixIndex::new(threshold).prefix_len(shingles.len());
    let prefix = shingles.get(..length).unwrap_or_default();
    (shingles.len() as u32, prefix.into())
}
