//! `--mode annotate`: every record with fields that say what group it is in.
//!
//! The record's own bytes stay as they are; the fields go before its closing brace. A record that has a field of such a name already
//! ends the run with an error rather than with two fields of one name, of which no two readers take the same.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::rows::Ratio;
use crate::sink::{Edit, SinkError};
use crate::source::{BOM, Body, Part, Sources};

/// Files whose beginnings are looked at before the run begins.
const FILES_LOOKED_AT: usize = 16;

/// The names that the fields go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Columns {
    /// `cluster_id`, `cluster_size`, `is_leader`, `duplicate_of`, `hamming`, `jaccard`, `dup_count`.
    #[default]
    Twinprint,
    /// `minhash_cluster_id` (-1 for what is alone) and `minhash_cluster_size`.
    Datatrove,
    /// `__CLUSTER__` and `__INDEX__`; the same for the one kept.
    TextDedup,
    /// `cc_id`, `cc_size` and `cc_idx` (0 for the one kept).
    Duplodocus,
}

impl Columns {
    /// The names, in the order in which they are written.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Twinprint => &[
                "cluster_id",
                "cluster_size",
                "is_leader",
                "duplicate_of",
                "hamming",
                "jaccard",
                "dup_count",
            ],
            Self::Datatrove => &["minhash_cluster_id", "minhash_cluster_size"],
            Self::TextDedup => &["__CLUSTER__", "__INDEX__"],
            Self::Duplodocus => &["cc_id", "cc_size", "cc_idx"],
        }
    }

    fn values(self, of: &Annotation<'_>) -> Vec<Value> {
        match self {
            Self::Twinprint => vec![
                of.cluster_id.into(),
                of.cluster_size.into(),
                (of.document == of.cluster_id).into(),
                of.duplicate_of.as_deref().into(),
                of.hamming.into(),
                of.jaccard.map(Ratio::value).into(),
                of.dup_count.into(),
            ],
            Self::Datatrove => {
                let alone = of.cluster_size == 1;
                let id = if alone { -1 } else { i64::from(of.cluster_id) };
                vec![id.into(), of.cluster_size.into()]
            }
            Self::TextDedup => vec![of.cluster_id.into(), of.document.into()],
            Self::Duplodocus => vec![of.cluster_id.into(), of.cluster_size.into(), of.place.into()],
        }
    }
}

/// What is said of one document.
pub(crate) struct Annotation<'a> {
    /// Its number among the documents, in input order.
    pub(crate) document: u32,
    /// That of the leader.
    pub(crate) cluster_id: u32,
    pub(crate) cluster_size: u32,
    pub(crate) duplicate_of: Option<Cow<'a, str>>,
    pub(crate) hamming: u32,
    pub(crate) jaccard: Option<Ratio>,
    /// Documents of exactly this text, itself included.
    pub(crate) dup_count: u32,
    /// Its place in the group: 0 leads, the others follow in input order.
    pub(crate) place: u32,
}

/// Writes annotations by the names asked for.
#[derive(Clone, Debug)]
pub(crate) struct Annotator {
    columns: Columns,
    names: Vec<String>,
}

impl Annotator {
    /// `prefix` comes before every name.
    pub(crate) fn new(columns: Columns, prefix: &str) -> Self {
        let names = columns.names().iter();
        Self {
            columns,
            names: names.map(|name| format!("{prefix}{name}")).collect(),
        }
    }

    /// Looks for fields of these names in the first records of some files, so that a long run does not end with the error.
    ///
    /// # Errors
    /// [`SinkError::FieldClash`], or what reading meets.
    pub(crate) fn look_ahead(&self, sources: &Sources) -> Result<(), SinkError> {
        let files = sources.list().len();
        for file in (0..files).step_by(files.div_ceil(FILES_LOOKED_AT).max(1)) {
            let Some(batch) = sources.part(&[file as u32]).reread(1).next() else {
                continue;
            };
            for chunk in &batch?.chunks {
                let Body::Bytes { piece, .. } = &chunk.body else {
                    continue;
                };
                for (span, record) in piece.parts().filter(|(span, _)| span.part == Part::Record) {
                    self.check(record, &sources.list()[file].label, span.line)?;
                }
            }
        }
        Ok(())
    }

    fn check(&self, record: &[u8], source: &str, line: u64) -> Result<(), SinkError> {
        match self.clash(record) {
            Some(name) => Err(SinkError::FieldClash {
                place: format!("{source}:{line}"),
                name: name.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The first of the names that the record has a field of.
    fn clash(&self, record: &[u8]) -> Option<&str> {
        let record = record.strip_prefix(BOM).unwrap_or(record);
        let mut json = serde_json::Deserializer::from_slice(record);
        // What is no object is no document either.
        Fields(&self.names).deserialize(&mut json).ok().flatten()
    }

    /// Appends the record with the fields.
    ///
    /// # Errors
    /// [`SinkError::FieldClash`].
    pub(crate) fn append(
        &self,
        (record, source, line): (&[u8], &str, u64),
        annotation: &Annotation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SinkError> {
        self.check(record, source, line)?;
        let end = record
            .iter()
            .rposition(|&byte| byte == b'}')
            .unwrap_or(record.len());
        out.extend_from_slice(&record[..end]);
        for (name, value) in self.names.iter().zip(self.columns.values(annotation)) {
            // The object has the text's field at least, so a comma is due.
            out.extend_from_slice(format!(",{}:{value}", Value::from(name.as_str())).as_bytes());
        }
        out.extend_from_slice(&record[end..]);
        Ok(())
    }
}

/// Annotates the records of a whole run.
pub(crate) struct Annotate<'a, F> {
    pub(crate) annotator: Annotator,
    pub(crate) sources: &'a Sources,
    /// What to say of the record of an ordinal; `None` for a reject.
    pub(crate) of: F,
}

impl<'a, F> Edit for Annotate<'a, F>
where
    F: Fn(u64) -> Option<Annotation<'a>> + Sync,
{
    fn edit(
        &self,
        source: u32,
        line: u64,
        ordinal: u64,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SinkError> {
        let Some(annotation) = (self.of)(ordinal) else {
            out.extend_from_slice(record);
            return Ok(());
        };
        let label = &self.sources.list()[source as usize].label;
        self.annotator.append((record, label, line), &annotation, out)
    }
}

/// Finds the first of some names among the fields of an object.
struct Fields<'n>(&'n [String]);

/// Finds out whether a field has one of the names.
struct Field<'n>(&'n [String]);

impl<'de, 'n> DeserializeSeed<'de> for Fields<'n> {
    type Value = Option<&'n str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, 'n> Visitor<'de> for Fields<'n> {
    type Value = Option<&'n str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(field) = map.next_key_seed(Field(self.0))? {
            map.next_value::<IgnoredAny>()?;
            found = found.or(field);
        }
        Ok(found)
    }
}

impl<'de, 'n> DeserializeSeed<'de> for Field<'n> {
    type Value = Option<&'n str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Field<'n> {
    type Value = Option<&'n str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|known| *known == name).map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotated(columns: Columns, record: &str) -> Result<String, String> {
        let annotation = Annotation {
            document: 7,
            cluster_id: 3,
            cluster_size: 4,
            duplicate_of: Some("a \"b\"".into()),
            hamming: 5,
            jaccard: Ratio::of(0.875),
            dup_count: 2,
            place: 1,
        };
        let mut out = Vec::new();
        let annotator = Annotator::new(columns, "x_");
        let done = annotator.append((record.as_bytes(), "in", 9), &annotation, &mut out);
        done.map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn fields_go_before_the_last_brace() {
        assert_eq!(
            annotated(Columns::Twinprint, "\u{feff}{ \"text\" : \"}\" } \r\n").unwrap(),
            "\u{feff}{ \"text\" : \"}\" ,\"x_cluster_id\":3,\"x_cluster_size\":4,\"x_is_leader\":false,\
             \"x_duplicate_of\":\"a \\\"b\\\"\",\"x_hamming\":5,\"x_jaccard\":0.875,\"x_dup_count\":2} \r\n"
        );
        assert_eq!(
            annotated(Columns::Duplodocus, "{\"text\":{}}").unwrap(),
            "{\"text\":{},\"x_cc_id\":3,\"x_cc_size\":4,\"x_cc_idx\":1}"
        );
    }

    #[test]
    fn a_field_of_the_same_name_is_refused_however_it_is_written() {
        for record in [
            "{\"x_cc_id\":1}",
            "{\"a\":{\"x_cc_id\":0},\"x_cc\\u005fid\":null}",
        ] {
            let refused = annotated(Columns::Duplodocus, record).unwrap_err();
            assert!(
                refused.contains("in:9") && refused.contains("x_cc_id"),
                "{refused}"
            );
        }
        assert!(annotated(Columns::Duplodocus, "{\"a\":{\"x_cc_id\":0},\"cc_id\":1}").is_ok());
    }
}
