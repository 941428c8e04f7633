//! A folder of a bucket, for results. Large files are uploaded in parts.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use object_store::buffered::BufWriter;
use object_store::path::Path as Key;
use object_store::{Error, ObjectStoreExt};
use tokio::io::AsyncWriteExt;

use super::Objects;
use super::objects::Bucket;
use super::storage::Storage;

/// The size of a part. S3 has at most 10,000 parts in a file, so a file may have 80 GB.
const PART_BYTES: usize = 8 << 20;
/// The parts of one file that are uploaded at the same time.
const PARTS: usize = 1;

/// A folder of a bucket.
pub(crate) struct BucketFolder {
    bucket: Bucket,
    /// The path of the folder, without a slash at the end.
    folder: String,
}

impl BucketFolder {
    /// Connects to the storage of a URL.
    pub(crate) fn open(url: &str, cancel: Arc<AtomicBool>) -> io::Result<Self> {
        let (bucket, folder) = Bucket::open(url, cancel)?;
        Ok(Self { bucket, folder })
    }

    fn key(&self, name: &str) -> io::Result<Key> {
        Key::parse(format!("{}/{name}", self.folder)).map_err(io::Error::other)
    }

    fn check_cancelled(&self) -> io::Result<()> {
        if self.bucket.cancel.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    async fn upload(
        &self,
        writer: &mut BufWriter,
        file: &mut File,
        advance: &(dyn Fn(u64) + Sync),
    ) -> io::Result<()> {
        loop {
            self.check_cancelled()?;
            let mut part = Vec::new();
            let read = file.take(PART_BYTES as u64).read_to_end(&mut part)?;
            if read == 0 {
                return Ok(());
            }
            writer.put(part.into()).await.map_err(io::Error::other)?;
            advance(read as u64);
        }
    }
}

impl Objects for BucketFolder {
    fn names(&self) -> io::Result<BTreeSet<String>> {
        let objects = self.bucket.list(&self.folder)?;
        let name = |key: String| Some(key.strip_prefix(&self.folder)?.strip_prefix('/')?.to_owned());
        Ok(objects
            .into_iter()
            .filter_map(|object| name(object.key))
            .collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let key = self.key(name)?;
        let content = self
            .bucket
            .runtime
            .block_on(async { self.bucket.store.get(&key).await?.bytes().await });
        Ok(content.map_err(io::Error::other)?.into())
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.check_cancelled()?;
        let key = self.key(name)?;
        let written = self.bucket.store.put(&key, content.to_owned().into());
        self.bucket.runtime.block_on(written).map_err(io::Error::other)?;
        Ok(())
    }

    fn copy(&self, name: &str, from: &Path, advance: &(dyn Fn(u64) + Sync)) -> io::Result<()> {
        let mut file = File::open(from)?;
        let mut writer =
            BufWriter::with_capacity(Arc::clone(&self.bucket.store), self.key(name)?, PART_BYTES)
                .with_max_concurrency(PARTS);
        self.bucket.runtime.block_on(async {
            let uploaded = self.upload(&mut writer, &mut file, advance).await;
            if uploaded.is_ok() {
                return writer.shutdown().await;
            }
            // The error of the upload matters more. Parts that cannot be deleted now stay until the rules of the bucket delete
            // them.
            let _ = writer.abort().await;
            uploaded
        })
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        let key = self.key(name)?;
        match self.bucket.runtime.block_on(self.bucket.store.delete(&key)) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}
