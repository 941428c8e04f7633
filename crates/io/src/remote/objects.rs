//! The client of object storage and web servers: the crate `object_store`, which repeats failed requests.
//!
//! Credentials and endpoints come from the environment, by the names that the tools of the providers use:
//! `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `AWS_REGION`, `GOOGLE_APPLICATION_CREDENTIALS` and so on.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::Runtime;
use url::Url;

use super::storage::{Object, Storage, runtime};
use super::{Fetch, ObjectVersion};

/// The variables of the environment that the client reads begin with one of these.
const VARIABLES: [&str; 2] = ["AWS_", "GOOGLE_"];

/// The objects of one bucket or web server.
pub(super) struct Bucket {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) runtime: Arc<Runtime>,
    /// The URL up to the path of an object.
    base: String,
    pub(super) cancel: Arc<AtomicBool>,
}

impl Bucket {
    /// Connects to the bucket or the server of a URL. Returns it with the path of the URL.
    pub(super) fn open(input: &str, cancel: Arc<AtomicBool>) -> io::Result<(Self, String)> {
        // Wildcards are no part of a valid URL.
        let (scheme, rest) = input.split_once("://").unwrap_or(("", input));
        let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
        let base = format!("{scheme}://{host}/");
        let url = Url::parse(&base).map_err(io::Error::other)?;
        let variables =
            std::env::vars().filter(|(name, _)| VARIABLES.iter().any(|own| name.starts_with(own)));
        // An address of a web server says itself whether it has TLS.
        let plain = (scheme == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
        let (store, _) =
            object_store::parse_url_opts(&url, variables.chain(plain)).map_err(io::Error::other)?;
        Ok((
            Self::new(Arc::from(store), base, runtime()?, cancel),
            key.to_owned(),
        ))
    }

    /// The objects of a client. Their URLs begin with `base`.
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        base: String,
        runtime: Arc<Runtime>,
        cancel: Arc<AtomicBool>,
    ) -> Self {
        Self {
            store,
            runtime,
            base,
            cancel,
        }
    }

    fn is_web_server(&self) -> bool {
        self.base.starts_with("http")
    }

    /// The path of an object in the storage. That of a web server is percent-encoded.
    fn path(&self, key: &str) -> io::Result<Path> {
        if self.is_web_server() {
            Path::from_url_path(key).map_err(io::Error::other)
        } else {
            Path::parse(key).map_err(io::Error::other)
        }
    }

    fn object(&self, found: &ObjectMeta) -> Object {
        let key = found.location.to_string();
        Object {
            version: ObjectVersion {
                url: format!("{}{key}", self.base),
                bytes: found.size,
                tag: found.e_tag.clone(),
            },
            key,
            modified: Some(found.last_modified.into()),
        }
    }
}

impl Storage for Bucket {
    fn find(&self, key: &str) -> io::Result<Option<Object>> {
        let path = self.path(key)?;
        match self.runtime.block_on(self.store.head(&path)) {
            Ok(found) => Ok(Some(self.object(&found))),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        let prefix = Path::parse(folder.trim_end_matches('/')).map_err(io::Error::other)?;
        let listed = self.store.list(Some(&prefix));
        let objects = listed.map_ok(|found| self.object(&found)).try_collect::<Vec<_>>();
        self.runtime.block_on(objects).map_err(io::Error::other)
    }

    fn has_lists(&self) -> bool {
        !self.is_web_server()
    }
}

impl Fetch for Bucket {
    fn fetch(&self, object: &ObjectVersion, to: &mut File) -> io::Result<()> {
        let key = object.url.strip_prefix(&self.base).unwrap_or(&object.url);
        let path = self.path(key)?;
        let same = GetOptions::new().with_if_match(object.tag.clone());
        self.runtime.block_on(async {
            let mut content = self.store.get_opts(&path, same).await?.into_stream();
            while let Some(bytes) = content.try_next().await? {
                if self.cancel.load(Ordering::Relaxed) {
                    return Err(io::Error::from(io::ErrorKind::Interrupted));
                }
                to.write_all(&bytes)?;
            }
            Ok(())
        })
    }
}
