//! Chooses the client of a URL by its scheme.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::hub::Dataset;
use super::objects::Bucket;
use super::storage::Storage;

/// Connects to the storage of a URL. Returns it with the path of the URL.
pub(crate) fn open(input: &str, cancel: Arc<AtomicBool>) -> io::Result<(Box<dyn Storage>, String)> {
    if input.starts_with("hf://") {
        let (dataset, key) = Dataset::open(input, cancel)?;
        Ok((Box::new(dataset), key))
    } else {
        let (bucket, key) = Bucket::open(input, cancel)?;
        Ok((Box::new(bucket), key))
    }
}
