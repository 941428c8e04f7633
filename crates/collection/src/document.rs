//! Documents that are added or checked, and the answers about them.

use serde::{Deserialize, Serialize};
use twinprint_fingerprint::{HashKey, Width, hash_one};

use super::error::CollectionError;
use super::limits::{
    MAX_FIELDS_BYTES, MAX_ID_BYTES, MAX_TIME_BYTES, MAX_TTL_SECONDS, MAX_URL_BYTES, check_id, check_limit,
    check_text,
};

/// The size of the hash that [`NewDocument::name_by_text`] appends to an id, with its separator, in bytes.
const ID_HASH_BYTES: usize = 17;

/// The content of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A text.
    Text(String),
    /// HTML markup, of which the main content is the text (feature `html`).
    Html(String),
    /// A fingerprint that was computed elsewhere with the collection's profile.
    Fingerprint(u128),
}

/// A document to add or to check.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDocument {
    /// The external name. A document with the id of a stored one is an update of it.
    pub id: String,
    /// The content, which decides similarity.
    pub content: Content,
    /// Data that is stored with it.
    pub details: Details,
    /// Seconds until it expires; `None` stands for the collection's own setting.
    pub ttl: Option<u64>,
}

impl NewDocument {
    /// Appends a hash of the content to the id.
    ///
    /// For documents that are named by their position in a file: another document at the same position gets another id. If the id would
    /// be too long, its end is cut and included in the hash.
    pub fn name_by_text(&mut self) {
        let end = self.id.floor_char_boundary(MAX_ID_BYTES - ID_HASH_BYTES);
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

    /// Checks every part of a self.
    ///
    /// # Errors
    /// [`CollectionError::Limit`] or [`CollectionError::Invalid`] for the first part that is not allowed.
    pub(crate) fn check(&self) -> Result<(), CollectionError> {
        check_id(&self.id)?;
        let details = &self.details;
        check_limit(
            "url in bytes",
            details.url.as_deref().map_or(0, str::len),
            MAX_URL_BYTES,
        )?;
        check_limit(
            "source in bytes",
            details.source.as_deref().map_or(0, str::len),
            MAX_URL_BYTES,
        )?;
        check_limit(
            "time in bytes",
            details.time.as_deref().map_or(0, str::len),
            MAX_TIME_BYTES,
        )?;
        if details.score.is_some_and(|score| !score.is_finite()) {
            return Err(CollectionError::invalid("score: not a finite number"));
        }
        if let Content::Text(text) | Content::Html(text) = &self.content {
            check_text(text)?;
        }
        let fields = serde_json::to_vec(&details.fields).map_or(0, |json| json.len());
        check_limit("fields in bytes of JSON", fields, MAX_FIELDS_BYTES)?;
        match self.ttl {
            Some(0) => Err(CollectionError::invalid("ttl: 0 seconds would keep nothing")),
            Some(ttl) if ttl > MAX_TTL_SECONDS => Err(CollectionError::Limit {
                what: "ttl in seconds",
                limit: MAX_TTL_SECONDS,
                got: ttl,
            }),
            _ => Ok(()),
        }
    }
}

/// Data that is stored with a document and has no influence on similarity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Details {
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The site or feed that it belongs to; the host of its URL if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The time when it was found or written, in RFC 3339, or in any format whose texts sort by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Its quality, for the choice of a group's canonical document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Further fields of the caller.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Details {
    /// The source, or else the host of the URL.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source
            .as_deref()
            .or_else(|| self.url.as_deref().and_then(host))
    }
}

/// Returns the host of a URL.
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

/// The relation of a document to the stored ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Verdict {
    /// No stored document is a duplicate of it: it leads a group of its own.
    New,
    /// A document of the same canonical text is stored.
    Exact,
    /// A near-duplicate is stored.
    Near,
    /// A document of the same id is stored, and this one replaces it.
    Updated,
}

/// The stored document that a verdict is based on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Best))]
pub struct BestMatch {
    /// Its id. Collections made before 0.1 call it `doc_id`.
    #[serde(alias = "doc_id")]
    pub id: String,
    /// The Hamming distance of the fingerprints.
    pub hamming: u32,
    /// The exact Jaccard of the shingle sets; `None` if there were no shingles to verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jaccard: Option<f64>,
    /// The number of common shingles over that of the smaller text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<f64>,
}

/// The id and address of a stored document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Named))]
pub struct DocumentRef {
    /// Its id.
    pub id: String,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The answer for one document that was added or checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of its own in JSON")]
pub struct Answer {
    /// The id of the document.
    pub id: String,
    /// Its relation to the stored documents.
    pub verdict: Verdict,
    /// The group that it belongs to; `None` for a check that found no duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<u64>,
    /// The story that it is in, or that its group is in; `None` if the collection keeps no stories, and for a check that found no duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story_id: Option<u64>,
    /// The canonical document of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<DocumentRef>,
    /// The document that the verdict is based on; `None` if there is no duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestMatch>,
    /// For an update, the Hamming distance of the new fingerprint to the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<u32>,
    /// For an update, its relation to the other documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_new: Option<Verdict>,
    /// True for an update that does not change the canonical text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// True if texts were compared, false if only fingerprints were.
    pub verified: bool,
    /// True if there were more candidates than texts may be compared (`max_texts`), so a more distant duplicate may have been missed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
    /// The number of the change; `None` for a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// True if the change survives a power cut from now on.
    pub durable: bool,
}

/// The durability of a write when it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The write is on the disk. It survives a crash of the process or the system and a power cut.
    #[default]
    Synced,
    /// The write is in memory and visible to every later call. It is on the disk within a second. A crash before that loses the write as a
    /// whole, together with all writes after it.
    Buffered,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_a_hash_never_exceeds_the_limit() {
        let named = |id: String, text: &str| {
            let mut document = NewDocument {
                id,
                content: Content::Text(text.to_owned()),
                details: Details::default(),
                ttl: None,
            };
            document.name_by_text();
            document.check().expect("an id that is allowed");
            document.id
        };
        assert!(named("a".to_owned(), "x").starts_with("a#"));
        for length in [
            MAX_ID_BYTES - ID_HASH_BYTES,
            MAX_ID_BYTES - ID_HASH_BYTES + 1,
            MAX_ID_BYTES,
            3 * MAX_ID_BYTES,
        ] {
            for letter in ["a", "日"] {
                let id = letter.repeat(length / letter.len());
                assert_ne!(named(id.clone(), "x"), named(id.clone() + "b", "x"));
                assert_ne!(named(id.clone(), "x"), named(id, "y"));
            }
        }
    }

    #[test]
    fn the_source_is_the_host_unless_it_is_given() {
        let source_of = |url: &str| {
            let details = Details {
                url: Some(url.to_owned()),
                ..Details::default()
            };
            details.source().map(str::to_owned)
        };
        assert_eq!(source_of("https://a.example/b?c").as_deref(), Some("a.example"));
        assert_eq!(
            source_of("https://u:p@a.example:8080").as_deref(),
            Some("a.example")
        );
        assert_eq!(source_of("http://[::1]:80/x").as_deref(), Some("[::1]"));
        assert_eq!(source_of("nothing"), None);
        assert_eq!(source_of("http:///x"), None);
    }
}
