//! Objects of object storage, files of web servers, and files of datasets of the Hugging Face Hub. An object is copied to the
//! work directory when it is opened, so all readers see a local file. [`Objects`] are those of a folder for results.
//!
//! Invariants: at most [`MOST_COPIES`] copies that nobody is about to open are on disk. An object is read twice, so small
//! inputs are copied once, and large ones once for each reading. An object that has changed since it was found is an error.

#[cfg(feature = "object-storage")]
pub(super) mod client;
#[cfg(feature = "object-storage")]
mod folder;
#[cfg(feature = "object-storage")]
mod hub;
#[cfg(feature = "object-storage")]
mod objects;
#[cfg(feature = "object-storage")]
pub(super) mod storage;

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

#[cfg(feature = "object-storage")]
pub(crate) use self::folder::BucketFolder;

/// The largest number of copies that are kept for later readings.
const MOST_COPIES: usize = 8;

/// The schemes of inputs that are not local.
const SCHEMES: [&str; 5] = ["s3", "gs", "hf", "http", "https"];

/// Returns true if an input is the URL of an object or of a file on a web server.
///
/// ```
/// use twinprint_io::source::is_remote;
///
/// assert!(is_remote("s3://corpora/crawl/*.jsonl.zst"));
/// assert!(!is_remote("crawl/s3"));
/// ```
pub fn is_remote(input: &str) -> bool {
    let scheme = input.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme))
}

/// An object as it was when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectVersion {
    pub(super) url: String,
    pub(super) bytes: u64,
    /// The name by which the storage tells versions apart, such as an entity tag, if it has one.
    pub(super) tag: Option<String>,
}

/// Copies the content of objects.
pub(super) trait Fetch: Send + Sync {
    /// Writes the content of an object to `to`. Fails if the object has another version now.
    fn fetch(&self, object: &ObjectVersion, to: &mut File) -> io::Result<()>;
}

/// The objects of a folder that is written. Names are relative to the folder.
pub(super) trait Objects: Send + Sync {
    fn names(&self) -> io::Result<BTreeSet<String>>;

    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()>;

    /// Copies a file. Calls `advance` with the bytes of each copied part.
    fn copy(&self, name: &str, from: &Path, advance: &(dyn Fn(u64) + Sync)) -> io::Result<()>;

    /// Does nothing if there is no such object.
    fn delete(&self, name: &str) -> io::Result<()>;
}

/// The copies of the objects of an input.
pub(super) struct Copies {
    /// The folder of the copies, which is deleted with them.
    folder: TempDir,
    fetch: Box<dyn Fetch>,
    /// The copies on disk, the oldest first.
    kept: Mutex<VecDeque<Arc<Place>>>,
}

/// The place of the copy of an object.
struct Place {
    path: PathBuf,
    /// True while the copy is on disk.
    is_here: Mutex<bool>,
}

/// An object of an input.
#[derive(Clone)]
pub struct RemoteFile {
    object: ObjectVersion,
    copies: Arc<Copies>,
    place: Arc<Place>,
}

impl Copies {
    /// The folder of the copies is made in `work_dir`.
    pub(super) fn new(work_dir: &Path, fetch: Box<dyn Fetch>) -> io::Result<Arc<Self>> {
        fs::create_dir_all(work_dir)?;
        Ok(Arc::new(Self {
            folder: tempfile::Builder::new().prefix("objects-").tempdir_in(work_dir)?,
            fetch,
            kept: Mutex::default(),
        }))
    }

    /// Keeps a new copy, and deletes the oldest one if there are too many. An open file stays readable.
    fn keep(&self, place: &Arc<Place>) {
        let mut kept = lock(&self.kept);
        kept.push_back(Arc::clone(place));
        let oldest = (kept.len() > MOST_COPIES).then(|| kept.pop_front()).flatten();
        drop(kept);
        if let Some(oldest) = oldest {
            let mut is_here = lock(&oldest.is_here);
            *is_here = false;
            // A copy that cannot be deleted now is deleted with the folder.
            let _ = fs::remove_file(&oldest.path);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RemoteFile {
    /// `number` is the number of the object among those of its input.
    pub(super) fn new(copies: &Arc<Copies>, number: usize, object: ObjectVersion) -> Self {
        let place = Place {
            path: copies.folder.path().join(number.to_string()),
            is_here: Mutex::new(false),
        };
        Self {
            object,
            copies: Arc::clone(copies),
            place: Arc::new(place),
        }
    }

    /// The path of the copy.
    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    /// The name by which the storage tells versions of the object apart, if it has one.
    pub fn tag(&self) -> Option<&str> {
        self.object.tag.as_deref()
    }

    /// Opens the copy, which is made if it is missing.
    pub(super) fn open(&self) -> io::Result<File> {
        let path = self.path();
        let mut is_here = lock(&self.place.is_here);
        if *is_here {
            return File::open(path);
        }
        let mut copy = File::create(path)?;
        let fetched = self.copies.fetch.fetch(&self.object, &mut copy);
        let found = copy.metadata()?.len();
        if let Err(error) = fetched {
            let _ = fs::remove_file(path);
            return Err(error);
        }
        let listed = self.object.bytes;
        if found != listed {
            let _ = fs::remove_file(path);
            let changed = format!("the object had {listed} bytes when it was found, and has {found} now");
            return Err(io::Error::other(changed));
        }
        let file = File::open(path)?;
        *is_here = true;
        // The lock on this place is released first, because another thread may be deleting this copy while it holds its
        // own.
        drop(is_here);
        self.copies.keep(&self.place);
        Ok(file)
    }
}

impl PartialEq for RemoteFile {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl std::fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.object.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Every object contains its own URL.
    struct Urls(Arc<AtomicUsize>);

    impl Fetch for Urls {
        fn fetch(&self, object: &ObjectVersion, to: &mut File) -> io::Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if object.url.ends_with("missing") {
                return Err(io::Error::new(io::ErrorKind::NotFound, "no such object"));
            }
            to.write_all(object.url.as_bytes())
        }
    }

    fn file(copies: &Arc<Copies>, number: usize, url: String, bytes: u64) -> RemoteFile {
        RemoteFile::new(
            copies,
            number,
            ObjectVersion {
                url,
                bytes,
                tag: None,
            },
        )
    }

    fn content(file: &RemoteFile) -> io::Result<String> {
        let mut text = String::new();
        file.open()?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn objects_are_copied_once_until_there_are_too_many_copies() {
        let work = tempfile::tempdir().unwrap();
        let fetched = Arc::new(AtomicUsize::new(0));
        let copies = Copies::new(work.path(), Box::new(Urls(Arc::clone(&fetched)))).unwrap();
        let files: Vec<RemoteFile> = (10..10 + 2 * MOST_COPIES)
            .map(|number| {
                let url = format!("s3://bucket/{number}");
                let bytes = url.len() as u64;
                file(&copies, number, url, bytes)
            })
            .collect();
        for _ in 0..3 {
            assert_eq!(content(&files[0]).unwrap(), "s3://bucket/10");
        }
        assert_eq!(fetched.load(Ordering::Relaxed), 1);
        let open = files[0].open().unwrap();
        for (number, file) in (10..).zip(&files) {
            assert_eq!(content(file).unwrap(), format!("s3://bucket/{number}"));
        }
        let on_disk = |folder: &Path| fs::read_dir(folder).unwrap().count();
        assert_eq!(on_disk(copies.folder.path()), MOST_COPIES);
        // A file that is open stays readable, and its copy is made again for the next reading.
        assert_eq!(io::read_to_string(open).unwrap(), "s3://bucket/10");
        assert_eq!(content(&files[0]).unwrap(), "s3://bucket/10");
        assert_eq!(fetched.load(Ordering::Relaxed), 2 * MOST_COPIES + 1);
        drop(files);
        drop(copies);
        assert_eq!(on_disk(work.path()), 0);
    }

    #[test]
    fn missing_and_changed_objects_are_errors_and_leave_no_copy() {
        let work = tempfile::tempdir().unwrap();
        let copies = Copies::new(work.path(), Box::new(Urls(Arc::default()))).unwrap();
        let changed = file(&copies, 0, "s3://bucket/a".to_owned(), 5);
        let missing = file(&copies, 1, "s3://bucket/missing".to_owned(), 5);
        assert!(content(&changed).unwrap_err().to_string().contains("5 bytes"));
        assert_eq!(content(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_dir(copies.folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn many_threads_share_the_copies() {
        let work = tempfile::tempdir().unwrap();
        let copies = Copies::new(work.path(), Box::new(Urls(Arc::default()))).unwrap();
        let files: Vec<RemoteFile> = (0..3 * MOST_COPIES)
            .map(|number| {
                let url = format!("s3://bucket/{number}");
                let bytes = url.len() as u64;
                file(&copies, number, url, bytes)
            })
            .collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let files = &files;
                scope.spawn(move || {
                    for turn in 0..200 {
                        let number = (turn * (thread + 3)) % files.len();
                        assert_eq!(content(&files[number]).unwrap(), format!("s3://bucket/{number}"));
                    }
                });
            }
        });
    }
}
