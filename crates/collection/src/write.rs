//! Writes: documents are prepared on the caller's threads and then queued for the writing thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{TrySendError, sync_channel};

use rayon::prelude::*;

use super::collection::Collection;
use super::document::{Answer, Content, Durability, NewDocument};
use super::error::CollectionError;
use super::prepare::Prepared;
use super::settings::StoredContent;
use super::write_request::{MAX_QUEUED_WRITES, WriteDurability, WriteOp, WriteRequest, WriteResult};

impl Collection {
    /// Adds documents in order. Each document is compared with the stored documents and with those before it in the
    /// list. All documents are committed together, or none of them.
    ///
    /// Returns one answer per document. An invalid document gets an error in its place and does not affect the others.
    /// A document with the id of a stored document updates that document. If `only_new` is true, duplicates get an
    /// answer but are not stored. Documents are prepared in parallel on rayon's current thread pool.
    ///
    /// # Errors
    /// [`CollectionError::ReadOnly`] if the collection refuses writes, [`CollectionError::Busy`] if too many writes wait.
    ///
    /// # Examples
    ///
    /// If near-duplicates are added together, exactly one of them is new:
    ///
    /// ```
    /// # use twinprint_collection::{Collection, Content, Details, Durability, NewDocument, Settings, Verdict};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let collection = Collection::create(&dir.path().join("seen"), Settings::default())?;
    /// let page = |id: &str, text: String| NewDocument {
    ///     id: id.to_owned(),
    ///     content: Content::Text(text),
    ///     details: Details { url: Some(format!("https://example.org/{id}")), ..Details::default() },
    ///     ttl: Some(86_400),
    /// };
    /// let text: String = (0..200).map(|n| format!("word{n} ")).collect();
    /// let pages = vec![page("a", text.clone()), page("b", format!("{text} printed at noon"))];
    /// let answers = collection.add(pages, false, Durability::Synced)?;
    /// let verdicts: Vec<Verdict> =
    ///     answers.into_iter().map(|answer| Ok(answer?.verdict)).collect::<Result<_, Box<dyn std::error::Error>>>()?;
    /// assert_eq!(verdicts, [Verdict::New, Verdict::Near]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add(
        &self,
        documents: Vec<NewDocument>,
        only_new: bool,
        durability: Durability,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        self.put(documents, only_new, WriteDurability::Chosen(durability))
    }

    /// Prepares documents and adds them, with any durability, as [`add`](Self::add) describes.
    pub(crate) fn put(
        &self,
        documents: Vec<NewDocument>,
        only_new: bool,
        durability: WriteDurability,
    ) -> Result<Vec<Result<Answer, CollectionError>>, CollectionError> {
        let now = self.shared.now();
        let prepare = |document| self.prepare_to_store(document, now).map(Arc::new);
        let prepared: Vec<_> = if documents.len() < 2 {
            documents.into_iter().map(prepare).collect()
        } else {
            documents.into_par_iter().map(prepare).collect()
        };
        let ops = prepared.iter().flatten().map(|prepared| WriteOp::Put {
            prepared: Arc::clone(prepared),
            only_new,
        });
        let mut results = self.write(ops.collect(), durability)?.into_iter();
        Ok(prepared
            .into_iter()
            .map(|prepared| {
                prepared?;
                match results.next() {
                    Some(WriteResult::Answer(answer)) => Ok(*answer),
                    _ => Err(CollectionError::Closed),
                }
            })
            .collect())
    }

    /// Prepares a document that will be stored. Refuses a fingerprint without a text if the collection stores texts or
    /// keeps stories.
    fn prepare_to_store(&self, document: NewDocument, now: i64) -> Result<Prepared, CollectionError> {
        let settings = &self.shared.settings;
        if matches!(document.content, Content::Fingerprint(_)) {
            if settings.stories {
                return Err(CollectionError::invalid(
                    "fingerprint: this collection keeps stories, so an added document needs a text; \
                     only checks accept fingerprints",
                ));
            }
            if settings.store != StoredContent::None {
                return Err(CollectionError::invalid(
                    "fingerprint: this collection stores texts, so an added document needs one; \
                     only checks accept fingerprints",
                ));
            }
        }
        self.shared.preparer.prepare(document, now)
    }

    /// Deletes the documents with these ids, in one commit. Returns for each id the number of the change; `None` if no
    /// document has the id.
    ///
    /// # Errors
    /// [`CollectionError::ReadOnly`] if the collection refuses writes, [`CollectionError::Busy`] if too many writes wait.
    pub fn delete(
        &self,
        ids: &[impl AsRef<str>],
        durability: Durability,
    ) -> Result<Vec<Option<u64>>, CollectionError> {
        let ops = ids
            .iter()
            .map(|id| WriteOp::Delete(self.shared.preparer.id(id.as_ref())));
        let results = self.write(ops.collect(), WriteDurability::Chosen(durability))?;
        let deleted = results.into_iter().map(|result| match result {
            WriteResult::Deleted(seq) => seq,
            WriteResult::Answer(_) | WriteResult::RunRecorded => None,
        });
        Ok(deleted.collect())
    }

    /// Sends writes to the writing thread as one request, and waits for their results.
    pub(crate) fn write(
        &self,
        ops: Vec<WriteOp>,
        durability: WriteDurability,
    ) -> Result<Vec<WriteResult>, CollectionError> {
        if let Some(error) = self.shared.refusal() {
            return Err(error);
        }
        if self.shared.store.is_read_only() {
            return Err(self.shared.store.read_only());
        }
        if ops.is_empty() {
            return Ok(Vec::new());
        }
        let count = ops.len() as u64;
        let waiting = self.shared.waiting.fetch_add(count, Ordering::Relaxed);
        let (reply, results) = sync_channel(1);
        let request = WriteRequest {
            ops,
            durability,
            reply,
        };
        let sent = if waiting > MAX_QUEUED_WRITES {
            Err(CollectionError::Busy { waiting })
        } else {
            self.send(request, waiting)
        };
        if let Err(error) = sent {
            self.shared.waiting.fetch_sub(count, Ordering::Relaxed);
            return Err(error);
        }
        // If the channel is closed without a result, the writing thread has ended and dropped the request.
        results.recv().map_err(|_| CollectionError::Closed)?
    }

    fn send(&self, request: WriteRequest, waiting: u64) -> Result<(), CollectionError> {
        let requests = self.writer.requests.lock().map_err(|_| CollectionError::Closed)?;
        let requests = requests.as_ref().ok_or(CollectionError::Closed)?;
        requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => CollectionError::Busy { waiting },
            TrySendError::Disconnected(_) => CollectionError::Closed,
        })
    }
}
