//! Documents as they come in, and the answers that go out.

use serde::{Deserialize, Serialize};
use twinprint_fingerprint::{HashKey, Width, hash_one};

use super::error::CollectionError;

/// Bytes of an id at most.
pub(crate) const MAX_ID: usize = 2048;
/// Bytes of a hash behind an id, with its separator.
const HASH: usize = 17;
/// Bytes of a url or of a source at most.
pub(crate) const MAX_URL: usize = 8192;
/// Bytes of a time at most.
pub(crate) const MAX_TIME: usize = 64;
/// Bytes of a text at most.
pub const MAX_TEXT: usize = 16 << 20;
/// Bytes of the JSON of the fields at most.
pub(crate) const MAX_FIELDS: usize = 64 << 10;
/// Seconds a document may be kept by its own wish: a thousand years.
pub(crate) const MAX_TTL: u64 = 31_557_600_000;

/// What a document says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Its text.
    Text(String),
    /// Its markup, of which the main content is the text (feature `html`).
    Html(String),
    /// A fingerprint made elsewhere under the collection's profile.
    Fingerprint(u128),
}

/// A document to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDocument {
    /// Its name; the same one again is an update.
    pub id: String,
    /// What it says.
    pub content: Content,
    /// What is kept beside it.
    pub details: Details,
    /// Seconds until it expires; the collection's own unless given.
    pub ttl: Option<u64>,
}

impl NewDocument {
    /// Adds what it says to the name of a document that is called by where it stood, so that what stands there another day has another name.
    /// A name that would get too long for that loses its end, which then counts for the hash.
    pub fn name_by_text(&mut self) {
        let end = self.id.floor_char_boundary(MAX_ID - HASH);
        let cut = hash_one(&HashKey::PUBLIC, &self.id.as_bytes()[end..]).low_u64();
        let hash = match &self.content {
            Content::Text(said) | Content::Html(said) => {
                hash_one(&HashKey::PUBLIC, said.as_bytes()).low_u64()
            }
            Content::Fingerprint(fingerprint) => fingerprint.low_u64(),
        };
        let hash = if end < self.id.len() { hash ^ cut } else { hash };
        self.id = format!("{}#{hash:016x}", &self.id[..end]);
    }
}

/// What is kept beside a document and decides nothing about likeness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Details {
    /// Where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What it belongs to: the host of its url unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was found or written, in RFC 3339 or as the caller orders times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How good it is, for the choice of a group's canonical document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Details {
    /// The source, or the host of the url.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source
            .as_deref()
            .or_else(|| self.url.as_deref().and_then(host))
    }
}

/// The host of a url.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(_) => host.get(..=host.find(']')?)?,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then_some(host)
}

fn limit(what: &'static str, got: usize, limit: usize) -> Result<(), CollectionError> {
    if got > limit {
        return Err(CollectionError::Limit {
            what,
            limit: limit as u64,
            got: got as u64,
        });
    }
    Ok(())
}

/// Refuses an id that no document can have.
pub(crate) fn check_id(id: &str) -> Result<(), CollectionError> {
    if id.is_empty() {
        return Err(CollectionError::invalid("id: an id has one byte at least"));
    }
    limit("id in bytes", id.len(), MAX_ID)
}

/// Refuses a text that is too long.
pub(crate) fn check_text(text: &str) -> Result<(), CollectionError> {
    limit("text in bytes", text.len(), MAX_TEXT)
}

/// Refuses what is too long or makes no sense.
pub(crate) fn check(document: &NewDocument) -> Result<(), CollectionError> {
    check_id(&document.id)?;
    let details = &document.details;
    limit(
        "url in bytes",
        details.url.as_deref().map_or(0, str::len),
        MAX_URL,
    )?;
    limit(
        "source in bytes",
        details.source.as_deref().map_or(0, str::len),
        MAX_URL,
    )?;
    limit(
        "time in bytes",
        details.time.as_deref().map_or(0, str::len),
        MAX_TIME,
    )?;
    if details.score.is_some_and(|score| !score.is_finite()) {
        return Err(CollectionError::invalid("score: not a finite number"));
    }
    if let Content::Text(text) | Content::Html(text) = &document.content {
        check_text(text)?;
    }
    let fields = serde_json::to_vec(&details.fields).map_or(0, |json| json.len());
    limit("fields in bytes of JSON", fields, MAX_FIELDS)?;
    match document.ttl {
        Some(0) => Err(CollectionError::invalid("ttl: 0 seconds would keep nothing")),
        Some(ttl) if ttl > MAX_TTL => Err(CollectionError::Limit {
            what: "ttl in seconds",
            limit: MAX_TTL,
            got: ttl,
        }),
        _ => Ok(()),
    }
}

/// What a document is beside those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Verdict {
    /// Nothing like it was there: it leads a group of its own.
    New,
    /// A document of the same canonical text was there.
    Exact,
    /// A near-duplicate was there.
    Near,
    /// A document of the same id was there, and this took its place.
    Updated,
}

/// The document that decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Best {
    /// Its id. Collections made before 0.1 call it `doc_id`.
    #[serde(alias = "doc_id")]
    pub id: String,
    /// Bits in which the fingerprints differ.
    pub hamming: u32,
    /// Exact shingle Jaccard; absent where there was nothing to verify on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jaccard: Option<f64>,
    /// Shingles in common over those of the smaller text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<f64>,
}

/// A document named in an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Named {
    /// Its id.
    pub id: String,
    /// Where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What was found out about one document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of its own in JSON")]
pub struct Answer {
    /// The document asked about.
    pub id: String,
    /// New, or seen.
    pub verdict: Verdict,
    /// The group it belongs to; of a check that found nothing, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<u64>,
    /// The story it is in, or would be with its group; none where the collection keeps none, and of a check that found nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story_id: Option<u64>,
    /// The document that stands for the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<Named>,
    /// The document that decided; none where there was none like it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// Of an update: bits by which the fingerprint moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<u32>,
    /// Of an update: what the document is beside the others, as if it were new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_new: Option<Verdict>,
    /// It is an update whose canonical text is the one that was there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Whether a text was compared, or fingerprints alone.
    pub verified: bool,
    /// The limit of texts looked at was reached, so a duplicate farther away may have been missed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
    /// Number of the change; of a check, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Whether the change survives a power cut by now.
    pub durable: bool,
}

/// What survives once a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The write is on the disk: it survives a crash of the process, of the system, and a power cut.
    #[default]
    Synced,
    /// The write is in memory and seen by every later call. It is on the disk at the latest a second later, and a crash before that
    /// loses it, never a part of it, and never something acknowledged before it while keeping something after.
    Buffered,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_hash_is_never_too_long() {
        let named = |id: String, text: &str| {
            let mut document = NewDocument {
                id,
                content: Content::Text(text.to_owned()),
                details: Details::default(),
                ttl: None,
            };
            document.name_by_text();
            check(&document).expect("a name that is taken");
            document.id
        };
        assert!(named("a".to_owned(), "x").starts_with("a#"));
        for length in [MAX_ID - HASH, MAX_ID - HASH + 1, MAX_ID, 3 * MAX_ID] {
            for letter in ["a", "日"] {
                let id = letter.repeat(length / letter.len());
                assert_ne!(named(id.clone(), "x"), named(id.clone() + "b", "x"));
                assert_ne!(named(id.clone(), "x"), named(id, "y"));
            }
        }
    }

    #[test]
    fn the_source_is_the_host_unless_given() {
        let of = |url: &str| {
            let details = Details {
                url: Some(url.to_owned()),
                ..Details::default()
            };
            details.source().map(str::to_owned)
        };
        assert_eq!(of("https://a.example/b?c").as_deref(), Some("a.example"));
        assert_eq!(of("https://u:p@a.example:8080").as_deref(), Some("a.example"));
        assert_eq!(of("http://[::1]:80/x").as_deref(), Some("[::1]"));
        assert_eq!(of("nothing"), None);
        assert_eq!(of("http:///x"), None);
    }
}
