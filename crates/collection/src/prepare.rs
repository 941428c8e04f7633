//! Preparation of a document before it is stored or checked: main text, fingerprint, hashes, shingles and compressed
//! bytes.
//!
//! The preparation is nearly all the work for a document. It depends only on the document and the settings. So callers
//! prepare documents on their own threads, and the single writing thread has little left to do.

use std::sync::Arc;

use twinprint_fingerprint::HashKey;
use twinprint_io::object_pool::ObjectPool;
use twinprint_stream::leader_index::{SHORT_TEXT_FEATURES, ShinglePrefix};
use twinprint_stream::words::WordCounts;
use twinprint_text::overlap::ShingleSet;
use twinprint_text::{
    KeyedHasher, MIN_FEATURES, Measure, PreparationKeys, PreparedText, Profile, TextPreparer,
};

use super::document::{Content, Details, NewDocument};
use super::error::CollectionError;
use super::limits::MAX_TEXT;
use super::row::Row;
use super::settings::{Settings, StoredContent};
use super::story_item::{CountedText, StoryItem};

/// A text with few features is searched by its shingles. If its canonical text is longer than this number of bytes, it
/// is searched by its fingerprint as well.
const MAX_SHORT_TEXT_BYTES: usize = 600;
/// The zstd level of stored texts. A fast level is used because every text is compressed on its own, when it is added.
const LEVEL: i32 = 1;
/// The largest number of idle [`Tools`] in the pool.
const MAX_IDLE_TOOLS: usize = 16;

/// The kinds of content that a collection hashes. The number of the kind is part of every stored hash, so the numbers
/// must not change.
#[derive(Clone, Copy)]
enum HashDomain {
    Id = 0,
    CanonicalText = 1,
    Fingerprint = 2,
    Identity = 3,
}

/// The secret hash keys of a collection.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// The key for hashing ids and texts.
    pub(crate) names: (u64, u64),
    /// The key for hashing shingles.
    pub(crate) shingles: HashKey,
    /// The key for hashing features: a secret key if the setting `keyed` is true, otherwise the public key.
    pub(crate) features: HashKey,
}

/// Computes everything about a document that does not depend on other documents. Can be used from any thread.
pub(crate) struct DocumentPreparer {
    pub(crate) keys: Keys,
    profile: Profile,
    store: StoredContent,
    threshold: f64,
    ttl: Option<u64>,
    stories: bool,
    reject_empty: bool,
    hasher: KeyedHasher,
    idle: ObjectPool<Tools>,
}

/// The reusable buffers that one thread needs to prepare a document.
struct Tools {
    texts: TextPreparer,
    words: twinprint_text::Words,
    #[cfg(feature = "html")]
    extractor: twinprint_text::html::Extractor,
    compressor: Option<zstd::bulk::Compressor<'static>>,
}

/// A prepared document: everything is computed except its number and its group, which depend on the stored documents.
pub(crate) struct Prepared {
    pub(crate) id: String,
    pub(crate) details: Details,
    /// The document's row. The writing thread sets the fields `ordinal`, `group`, `story` and `leads`.
    pub(crate) row: Row,
    /// The prepared text; `None` if the document is only a fingerprint.
    pub(crate) text: Option<PreparedText>,
    /// The bytes to store for the text: the compressed text, the shingles of the text, or nothing.
    pub(crate) stored: Vec<u8>,
    /// The length of the document's text in bytes.
    pub(crate) bytes: u64,
    /// The features that place the document in a story, and the same features encoded and compressed; `None` if the
    /// collection keeps no stories.
    pub(crate) item: Option<(StoryItem, Vec<u8>)>,
}

impl Prepared {
    /// The shingle set of the document, in words or characters; `None` if the document has no text.
    pub(crate) fn set(&self, measure: Measure) -> Option<Arc<ShingleSet>> {
        Some(Arc::clone(self.text.as_ref()?.shingle_set(measure)))
    }
}

impl DocumentPreparer {
    /// Creates a preparer for a collection with these settings, profile and keys.
    pub(crate) fn new(settings: &Settings, profile: Profile, keys: Keys) -> Self {
        Self {
            keys,
            profile,
            store: settings.store,
            threshold: settings.threshold,
            ttl: settings.ttl,
            stories: settings.stories,
            reject_empty: settings.reject_empty,
            hasher: KeyedHasher::new(keys.names.0, keys.names.1),
            idle: ObjectPool::with_capacity(MAX_IDLE_TOOLS),
        }
    }

    /// The profile of the collection's fingerprints.
    pub(crate) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The hash of a document's id, under the collection's secret key.
    pub(crate) fn id(&self, id: &str) -> u128 {
        self.hash(id.as_bytes(), HashDomain::Id)
    }

    /// A number that identifies the collection. It is computed from the collection's secret keys, so only backups of
    /// the collection have the same number.
    pub(crate) fn identity(&self) -> u128 {
        self.hash(b"collection", HashDomain::Identity)
    }

    fn hash(&self, bytes: &[u8], domain: HashDomain) -> u128 {
        self.hasher.hash(bytes, domain as u8)
    }

    fn tools(&self) -> Tools {
        self.idle.get().unwrap_or_else(|| Tools {
            texts: TextPreparer::new(
                &self.profile,
                PreparationKeys {
                    features: self.keys.features,
                    shingles: self.keys.shingles,
                },
            ),
            words: twinprint_text::Words::default(),
            #[cfg(feature = "html")]
            extractor: twinprint_text::html::Extractor::new(),
            compressor: None,
        })
    }

    /// Prepares a document that arrived at the Unix time `now`. The time is linear in the length of the text.
    ///
    /// # Errors
    /// [`CollectionError::Invalid`] or [`CollectionError::Limit`] if a field of the document is invalid,
    /// [`CollectionError::EmptyText`] if the text has no features and the collection refuses such texts.
    pub(crate) fn prepare(&self, document: NewDocument, now: i64) -> Result<Prepared, CollectionError> {
        document.check()?;
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
                row.text = self.hash(&fingerprint.to_le_bytes(), HashDomain::Fingerprint);
                None
            }
            Content::Text(text) => Some(text),
            Content::Html(markup) => Some(tools.main_text(&markup)?),
        };
        let mut prepared_text = None;
        let mut stored = Vec::new();
        let mut item = None;
        if let Some(text) = &text {
            let prepared = tools.texts.prepare(text);
            if prepared.is_empty() && self.reject_empty {
                self.idle.put(tools);
                return Err(CollectionError::EmptyText);
            }
            row.fingerprint = prepared.fingerprint();
            row.features = prepared.features();
            row.measure = prepared.measure();
            let canonical = prepared.canonical();
            row.text = self.hash(canonical.as_bytes(), HashDomain::CanonicalText);
            let short = row.features < MIN_FEATURES;
            let verified = self.store != StoredContent::None;
            row.by_fingerprint =
                row.features > 0 && (!verified || !short || canonical.len() > MAX_SHORT_TEXT_BYTES);
            if verified && row.features < SHORT_TEXT_FEATURES || self.store == StoredContent::Shingles {
                let shingles = tools.texts.shingle(&prepared).shingles();
                if (1..SHORT_TEXT_FEATURES).contains(&row.features) {
                    let prefix = ShinglePrefix::new(shingles, row.measure, self.threshold);
                    row.set_size = prefix.set_size;
                    row.prefix = prefix.tokens.into();
                }
                if self.store == StoredContent::Shingles {
                    stored = shingles.iter().flat_map(|s| s.to_le_bytes()).collect();
                }
            }
            if self.store == StoredContent::Text {
                stored = tools.compress(text.as_bytes())?;
            }
            if self.stories {
                item = Some(tools.item(&document.details, text, canonical)?);
            }
            prepared_text = Some(prepared);
        }
        self.idle.put(tools);
        Ok(Prepared {
            id: document.id,
            details: document.details,
            row,
            text: prepared_text,
            stored,
            bytes: text.map_or(0, |text| text.len() as u64),
            item,
        })
    }

    /// Fails if a text has no features and the collection refuses such texts.
    pub(crate) fn check_features(&self, text: &str) -> Result<(), CollectionError> {
        if !self.reject_empty {
            return Ok(());
        }
        let mut tools = self.tools();
        let is_empty = tools.texts.analyze(text).is_empty();
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
                "fingerprint: the value has more than the {bits} bits of the profile {}",
                self.profile.id()
            )));
        }
        if self.keys.features != HashKey::PUBLIC {
            return Err(CollectionError::invalid(
                "fingerprint: this collection makes fingerprints under a secret key and accepts no others; send text",
            ));
        }
        Ok(())
    }

    /// The shingle set of a stored document by `measure`, from its bytes in the table of texts. `None` if the
    /// collection stores no texts, or stores only shingles and those have the other measure, `own`.
    pub(crate) fn stored_set(&self, stored: &[u8], own: Measure, measure: Measure) -> Option<ShingleSet> {
        match self.store {
            StoredContent::None => None,
            StoredContent::Shingles => {
                let (shingles, _) = stored.as_chunks::<8>();
                let set = || shingles.iter().map(|&s| u64::from_le_bytes(s)).collect();
                (own == measure).then(|| ShingleSet::new(set()))
            }
            StoredContent::Text => {
                let text = decompress(stored)?;
                let mut tools = self.tools();
                let canonical = twinprint_text::canonical(&text);
                let set = tools.texts.shingle_set(&canonical, measure);
                self.idle.put(tools);
                Some(set)
            }
        }
    }
}

/// Decompresses a stored text; `None` if the bytes are damaged.
pub(crate) fn decompress(stored: &[u8]) -> Option<String> {
    let bytes = zstd::bulk::decompress(stored, MAX_TEXT).ok()?;
    String::from_utf8(bytes).ok()
}

impl Tools {
    /// The features that place a text in a story, and the same features encoded and compressed.
    fn item(
        &mut self,
        details: &Details,
        text: &str,
        canonical: &str,
    ) -> Result<(StoryItem, Vec<u8>), CollectionError> {
        let counts = if canonical.is_empty() {
            WordCounts::default()
        } else {
            WordCounts::count(canonical, self.words.cut(canonical))
        };
        let title = details.fields.get("title").and_then(serde_json::Value::as_str);
        let item = StoryItem::new(
            title,
            details.url.as_deref(),
            text,
            &CountedText {
                canonical,
                counts: &counts,
            },
        );
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
            "html: this build cannot read HTML (the crate feature html is off); send the text",
        ))
    }
}
