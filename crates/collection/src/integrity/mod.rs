//! Verification of a collection: everything on disk is read, and related entries are compared with one another.

use std::path::Path;

use rustc_hash::FxHashMap;
use twinprint_text::Analyzer;

use super::database::{BY_SOURCE, DOCUMENTS, Database, GROUPS, GroupRecord, MEMBERS, SOURCES, TEXTS};
use super::error::CollectionError;
use super::load::open_in;
use super::prepare::decompress;
use super::settings::StoredContent;
mod stories;

use super::collection::Collection;
use super::shared::Shared;

/// The counts of a verification that found no damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct IntegrityReport {
    /// The number of documents.
    pub documents: u64,
    /// The number of groups.
    pub groups: u64,
    /// The number of texts whose fingerprints were computed again and compared with the stored ones.
    pub texts: u64,
    /// The number of stored changes.
    pub changes: u64,
    /// The number of stories, live and ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub stories: u64,
    /// The number of inputs over which runs are stored.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Collection {
    /// Verifies the collection in a directory. Checks everything that [`verify`](Self::verify) checks, and also the
    /// checksum of every used page of the file. The file is not changed and need not be writable.
    ///
    /// # Errors
    /// [`CollectionError::NotThere`], [`CollectionError::InUse`] if a process has the collection open for writing,
    /// [`CollectionError::Damaged`] for the first damage that is found.
    pub fn verify_in(dir: &Path) -> Result<IntegrityReport, CollectionError> {
        open_in(dir, Self::verify_file)
    }

    /// Does the same as [`verify_in`](Self::verify_in) for a collection's file of any name.
    pub(super) fn verify_file(path: &Path) -> Result<IntegrityReport, CollectionError> {
        Database::check_pages(path)?;
        Self::over(Database::read(path)?)?.verify()
    }

    /// Verifies the whole collection: the checksum of every value, the fingerprint of every text, the members of the
    /// groups, the documents of the sources, the documents of the stories, and the story state against a replay of its
    /// log.
    ///
    /// The time is linear in the size of the collection. Other threads may read and write during the verification. In a
    /// collection with stories, however, writes wait while the stories are verified.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`] for the first damage that is found.
    pub fn verify(&self) -> Result<IntegrityReport, CollectionError> {
        let mut checked = self.shared.verify()?;
        if self.shared.settings.stories {
            checked.stories = self.shared.verify_stories()?;
        }
        checked.runs = self.verify_runs()?;
        Ok(checked)
    }
}

impl Shared {
    fn verify(&self) -> Result<IntegrityReport, CollectionError> {
        let store = &self.store;
        store.reading(|transaction| {
            let mut checked = IntegrityReport::default();
            let mut analyzer = Analyzer::new(self.preparer.profile(), self.preparer.keys.features);
            let documents = store.table(transaction, DOCUMENTS)?;
            let texts = store.table(transaction, TEXTS)?;
            let by_source = store.table(transaction, BY_SOURCE)?;
            let members = store.table(transaction, MEMBERS)?;
            let mut groups: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
            let mut sources: FxHashMap<String, u64> = FxHashMap::default();
            let mut rows = Vec::new();
            store.each_row(transaction, |row, _| rows.push(row))?;
            for row in rows {
                let lost = |what: &str| store.damaged(format!("document {} has {what}", row.ordinal));
                let record = store
                    .document(&documents, row.ordinal)?
                    .ok_or_else(|| lost("a row but no record"))?;
                if self.preparer.id(&record.id) != row.id {
                    return Err(lost("a record with another id than its row"));
                }
                if let Some(source) = record.details.source() {
                    *sources.entry(source.to_owned()).or_default() += 1;
                    let there = by_source
                        .get((source, row.ordinal))
                        .map_err(|error| store.unreadable(error))?;
                    there.ok_or_else(|| lost("no entry in the list of its source"))?;
                }
                if self.settings.store != StoredContent::None {
                    let stored = store
                        .text(&texts, row.ordinal)?
                        .ok_or_else(|| lost("no stored text"))?;
                    if self.settings.store == StoredContent::Text {
                        let text =
                            decompress(&stored).ok_or_else(|| lost("a text that cannot be decompressed"))?;
                        if analyzer.analyze(&text).fingerprint != row.fingerprint {
                            return Err(lost("a stored fingerprint that differs from that of its text"));
                        }
                        checked.texts += 1;
                    }
                }
                let member = members.get((row.group, row.ordinal));
                let member = member.map_err(|error| store.unreadable(error))?;
                member.ok_or_else(|| lost("no entry in the list of its group"))?;
                let group = groups.entry(row.group).or_default();
                group.0 += 1;
                if row.leads {
                    if group.1 != 0 {
                        return Err(store.damaged(format!("group {} has two leaders", row.group)));
                    }
                    group.1 = row.ordinal;
                }
                checked.documents += 1;
            }
            checked.groups = groups.len() as u64;
            let table = store.table(transaction, GROUPS)?;
            let counts = [
                (store.entries(&table)?, checked.groups, "groups"),
                (store.entries(&documents)?, checked.documents, "documents"),
                (store.entries(&members)?, checked.documents, "members"),
                (
                    store.entries(&by_source)?,
                    sources.values().sum(),
                    "documents in the lists of the sources",
                ),
            ];
            store.entries(&texts)?;
            for (there, expected, what) in counts {
                if there != expected {
                    return Err(
                        store.damaged(format!("the number of {what} is {there} instead of {expected}"))
                    );
                }
            }
            for (number, (size, leader)) in groups {
                let record: GroupRecord = store
                    .group(&table, number)?
                    .ok_or_else(|| store.damaged(format!("the record of group {number} is lost")))?;
                if (record.size, record.leader) != (size, leader) {
                    return Err(
                        store.damaged(format!("the record of group {number} has a wrong size or leader"))
                    );
                }
            }
            let counted = store.table(transaction, SOURCES)?;
            store.entries(&counted)?;
            for (source, documents) in sources {
                if store.source(&counted, &source)?.map(|counts| counts.documents) != Some(documents) {
                    return Err(store.damaged(format!(
                        "source {source:?} has {documents} documents, but its record states another number"
                    )));
                }
            }
            let mut since = 0;
            loop {
                let changes = store.read_changes(transaction, since, 10_000)?;
                let Some(last) = changes.last() else { break };
                checked.changes += changes.len() as u64;
                since = last.seq + 1;
            }
            Ok(checked)
        })
    }
}
