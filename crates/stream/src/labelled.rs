//! Measures the agreement of the clusters in a file with labels of documents. This crate or another tool wrote the
//! file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use serde_json::Value;

use super::agreement::{AgreementReport, Labels};
use super::batch::BATCH_BYTES;
use super::fields::{FieldColumns, FieldKeys};
use crate::StreamError;
use twinprint_io::source::{Intake, RecordKind, SourceError, SourceOptions, Sources};
use twinprint_io::work::WorkDir;

/// The labels of documents, by the names of the documents.
#[derive(Clone, Debug, Default)]
pub struct LabelledDocuments {
    labels: HashMap<String, Option<String>>,
    /// The documents and rejects of the input.
    pub intake: Intake,
}

/// The agreement of the clusters in a file with the labels.
#[derive(Clone, Debug, Serialize)]
pub struct FileAgreement {
    /// The agreement on the documents that have a label and a cluster.
    #[serde(flatten)]
    pub agreement: AgreementReport,
    /// The number of documents with a label that have no cluster in the file.
    pub without_cluster: usize,
}

impl LabelledDocuments {
    /// Reads the documents of `inputs`, with the field `label` of each document.
    ///
    /// # Errors
    /// [`StreamError::NoLabels`], [`StreamError::RepeatedName`], and the errors of reading.
    pub fn read(
        inputs: &[String],
        options: &SourceOptions,
        label: &str,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, StreamError> {
        let work = WorkDir::temporary()?;
        let sources = Sources::discover_cancellable(inputs, options, work.path(), Arc::clone(cancel))?;
        sources.check_fields(|_| {})?;
        let keys = FieldKeys {
            label: Some(label.to_owned()),
            ..FieldKeys::default()
        };
        let mut labels = HashMap::new();
        let mut repeated = None;
        for batch in sources.read(BATCH_BYTES) {
            let batch = batch?;
            if sources.cancelled() {
                return Err(SourceError::Cancelled.into());
            }
            for chunk in &batch.chunks {
                let fields = FieldColumns::read(chunk, &sources, &keys);
                let mut number = 0;
                chunk.documents(options, &mut |record| {
                    if let RecordKind::Document { id, .. } = record.kind {
                        let file = sources.file(record.source);
                        let name = id.map_or_else(|| file.name_of(record.line), |id| id.to_string());
                        if labels.insert(name.clone(), fields.label(number)).is_some() {
                            repeated.get_or_insert(name);
                        }
                    }
                    number += 1;
                });
            }
        }
        let intake = sources.intake()?;
        if labels.values().all(Option::is_none) {
            return Err(StreamError::NoLabels {
                field: label.to_owned(),
            });
        }
        match repeated {
            Some(name) => Err(StreamError::RepeatedName { name }),
            None => Ok(Self { labels, intake }),
        }
    }

    /// Measures the agreement of the clusters in a file with the labels. The file has JSON lines, each with the `id` of
    /// a document and, in the field `cluster_field`, the number or name of its cluster. Documents without a label or
    /// without a cluster are left out.
    ///
    /// # Errors
    /// [`StreamError::Clusters`] if the file cannot be read, if a row has another form, if a document is unknown or
    /// repeated, or if no document with a label has a cluster.
    pub fn agreement(&self, clusters: &Path, cluster_field: &str) -> Result<FileAgreement, StreamError> {
        let unusable = |line: Option<u64>, problem: &str| StreamError::Clusters {
            path: clusters.to_owned(),
            line,
            problem: problem.to_owned(),
        };
        let wrong = |line: u64, problem: &str| unusable(Some(line), problem);
        let file = File::open(clusters).map_err(|error| unusable(None, &error.to_string()))?;
        let mut labels = Labels::default();
        let mut found = Vec::new();
        let mut numbers: HashMap<String, u64> = HashMap::new();
        let mut seen = HashMap::new();
        for (line, row) in (1..).zip(BufReader::new(file).lines()) {
            let row = row.map_err(|error| wrong(line, &error.to_string()))?;
            if row.trim().is_empty() {
                continue;
            }
            let row: Value = serde_json::from_str(&row)
                .map_err(|error| wrong(line, &format!("the line is not JSON ({error})")))?;
            let id = row
                .get("id")
                .and_then(Value::as_str)
                .ok_or_else(|| wrong(line, "the row has no text in the field \"id\""))?;
            let label = self
                .labels
                .get(id)
                .ok_or_else(|| wrong(line, &format!("no document has the name \"{id}\"")))?;
            if let Some(before) = seen.insert(id.to_owned(), line) {
                return Err(wrong(
                    line,
                    &format!("\"{id}\" has a cluster already, in line {before}"),
                ));
            }
            let cluster = match row.get(cluster_field) {
                Some(cluster @ (Value::Number(_) | Value::String(_))) => cluster.to_string(),
                _ => {
                    return Err(wrong(
                        line,
                        &format!("the row has no number or text in the field \"{cluster_field}\""),
                    ));
                }
            };
            let next = numbers.len() as u64;
            found.push(*numbers.entry(cluster).or_insert(next));
            labels.push(label.clone());
        }
        let agreement = labels.agreement(found.into_iter());
        if agreement.items == 0 {
            return Err(unusable(None, "it has no cluster of a document with a label"));
        }
        let labelled = self.labels.values().flatten().count();
        Ok(FileAgreement {
            without_cluster: labelled - agreement.items,
            agreement,
        })
    }
}
