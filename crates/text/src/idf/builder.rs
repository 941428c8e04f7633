//! Makes idf tables from documents.

use std::collections::HashMap;

use super::IdfTable;
use super::error::IdfError;
use crate::analysis::Feature;

/// The minimum number of documents that a table can be made from.
const MIN_DOCUMENTS: u64 = 10;

/// Counts the documents in which each word occurs, and makes an [`IdfTable`] from the counts.
///
/// ```
/// use twinprint_fingerprint::HashKey;
/// use twinprint_text::{Analyzer, IdfBuilder, Profile};
///
/// let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
/// let mut builder = IdfBuilder::default();
/// for i in 0..20 {
///     builder.add(&analyzer.explain(&format!("the chapter {}", i / 2)));
/// }
/// let table = builder.finish("chapters", 1000)?;
/// assert_eq!(table.documents(), 20);
/// assert!(table.value("the") < table.value("7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct IdfBuilder {
    documents: u64,
    counts: HashMap<String, u32>,
}

impl IdfBuilder {
    /// Counts one more document. `features` are its distinct features.
    pub fn add(&mut self, features: &[Feature]) {
        self.documents += 1;
        for feature in features {
            match self.counts.get_mut(&feature.text) {
                Some(count) => *count += 1,
                None => {
                    self.counts.insert(feature.text.clone(), 1);
                }
            }
        }
    }

    /// Makes the table from the `max_words` words that occur in the largest number of documents. Words that occur in
    /// only one document are left out: a word that is not in a table counts as rare anyway.
    ///
    /// # Errors
    /// [`IdfError::TooFew`] if fewer than ten documents were counted, [`IdfError::Name`] if `name` cannot be part of a
    /// profile's id.
    pub fn finish(self, name: &str, max_words: usize) -> Result<IdfTable, IdfError> {
        if self.documents < MIN_DOCUMENTS {
            return Err(IdfError::TooFew(self.documents));
        }
        let n = self.documents as f64;
        let mut counts: Vec<(String, u32)> =
            self.counts.into_iter().filter(|&(_, count)| count > 1).collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(max_words);
        let idf = |count: u32| (n / f64::from(count)).ln();
        IdfTable::new(
            name,
            self.documents,
            counts.into_iter().map(|(word, count)| (word, idf(count))),
        )
    }
}
