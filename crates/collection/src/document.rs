//! The documents that callers add or check, and the answers that they get.

use serde::{Deserialize, Serialize};
use twinprint_fingerprint::{HashKey, Width, hash_one};

use super::error::CollectionError;
use super::limits::{
    MAX_FIELDS_BYTES, MAX_ID_BYTES, MAX_TIME_BYTES, MAX_TTL_SECONDS, MAX_URL_BYTES, check_id, check_limit,
    check_text,
};

/// The number of bytes that [`NewDocument::name_by_text`] appends to an id: a separator and a hash.
const ID_HASH_BYTES: usize = 17;

/// The content of a document: a text, HTML, or only a fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A text.
    Text(String),
    /// An HTML page. Its main content becomes the text of the document. Needs the crate feature `html`.
    Html(String),
    /// A fingerprint that the caller has computed with the collection's profile.
    Fingerprint(u128),
}

/// A document to add or to check.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDocument {
    /// The caller's name of the document. If a stored document has the same id, it is updated.
    pub id: String,
    /// The content, which alone decides the similarity to other documents.
    pub content: Content,
    /// Data that is stored with the document.
    pub details: Details,
    /// The seconds until the document expires. If it is `None`, the setting [`ttl`](crate::Settings::ttl) of the
    /// collection applies.
    pub ttl: Option<u64>,
}

impl NewDocument {
    /// Appends a hash of the content to the document's id.
    ///
    /// This is meant for ids that consist of a position in a file. If another document is at that position later, it
    /// gets another id and does not update the first document. An id that would become too long is shortened. The
    /// removed end then becomes part of the hash.
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

    /// Checks that the id, the content, the details and the time to live are within their limits.
    ///
    /// # Errors
    /// [`CollectionError::Limit`] or [`CollectionError::Invalid`] for the first value that is not allowed.
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
            return Err(CollectionError::invalid(
                "score: the value is not a finite number",
            ));
        }
        if let Content::Text(text) | Content::Html(text) = &self.content {
            check_text(text)?;
        }
        let fields = serde_json::to_vec(&details.fields).map_or(0, |json| json.len());
        check_limit("fields in bytes of JSON", fields, MAX_FIELDS_BYTES)?;
        match self.ttl {
            Some(0) => Err(CollectionError::invalid(
                "ttl: with 0 seconds the document would expire at once; give at least 1, or no ttl",
            )),
            Some(ttl) if ttl > MAX_TTL_SECONDS => Err(CollectionError::Limit {
                what: "ttl in seconds",
                limit: MAX_TTL_SECONDS,
                got: ttl,
            }),
            _ => Ok(()),
        }
    }
}

/// Data that is stored with a document. It does not influence the similarity of documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Details {
    /// The URL of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The site or feed that the document belongs to. If it is absent, the host of the URL is the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The time when the document was found or written, in RFC 3339 or in another format whose alphabetical order is
    /// the order of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The quality of the document. If the collection chooses canonical documents by score, the highest score wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Other fields that the caller wants to store with the document.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Details {
    /// Returns the given source; if there is no source, the host of the URL.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source
            .as_deref()
            .or_else(|| self.url.as_deref().and_then(host))
    }
}

/// Returns the host of a URL; `None` if the URL has no host.
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

/// The relation of a document to the stored documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Verdict {
    /// No stored document is a duplicate of this document. If it is stored, it leads a new group.
    New,
    /// A stored document has the same canonical text.
    Exact,
    /// A stored document is a near-duplicate: its text differs, but the similarity reaches the threshold.
    Near,
    /// A stored document has the same id. The new document replaces it.
    Updated,
}

/// The stored document that a verdict is based on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Best))]
pub struct BestMatch {
    /// The id of the stored document. Collections created before version 0.1 call this field `doc_id`.
    #[serde(alias = "doc_id")]
    pub id: String,
    /// The Hamming distance between the fingerprints of the two documents.
    pub hamming: u32,
    /// The exact Jaccard of the two shingle sets; `None` if no shingles were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jaccard: Option<f64>,
    /// The number of common shingles, divided by the number of shingles of the smaller text; `None` if no shingles were
    /// compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<f64>,
}

/// The id and the URL of a stored document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Named))]
pub struct DocumentRef {
    /// The id of the document.
    pub id: String,
    /// The URL of the document.
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
    /// The relation of the document to the stored documents.
    pub verdict: Verdict,
    /// The group that the document belongs to, or would join; `None` if a check found no duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<u64>,
    /// The story of the document; for a check, the story of the group that the document would join. `None` if the
    /// collection keeps no stories or a check found no duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story_id: Option<u64>,
    /// The canonical document of the group `group_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<DocumentRef>,
    /// The stored document that the verdict is based on; `None` if no stored document is a duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestMatch>,
    /// For an update, the Hamming distance between the old and the new fingerprint; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<u32>,
    /// For an update, the verdict that the document would have got as a new document; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_new: Option<Verdict>,
    /// True if the document is an update that does not change the canonical text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// True if duplicates are verified by comparing shingles; false if the verdict is based on fingerprints only.
    pub verified: bool,
    /// True if only the `max_texts` nearest candidates were compared, so that a more distant duplicate may have been
    /// missed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
    /// The number of the change that stored the document; `None` if nothing was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// True if the change already survives a power cut, or if nothing was stored.
    pub durable: bool,
}

/// The guarantee that a write has when its result is returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The write is on the disk. It survives a crash of the process or the system and a power cut.
    #[default]
    Synced,
    /// The write is in memory and visible to every later call. It is on the disk within a second. If the process or the
    /// system crashes before that, the whole write is lost, together with all later writes.
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
