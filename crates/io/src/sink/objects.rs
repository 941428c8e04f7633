//! Copies a finished result to a folder of object storage (`s3://`, `gs://`).
//!
//! The objects follow the protocol of an output directory on disk (see [`unfinished`](super::unfinished)): the marker comes
//! first and names every object, the list of files comes last, and then the marker is deleted. So a folder with a marker has
//! the objects of a copy that was interrupted, and the next copy replaces exactly these. Objects that no copy has written
//! are never deleted.
//!
//! Object storage has no locks. Two runs that copy to the same folder at the same time mix their objects.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::dir::{Existing, OutputDir};
use super::error::SinkError;
use super::run_files::{MarkerEntries, REPLACED_PREFIX};
use crate::markers::{FILE_LIST, UNFINISHED};
use crate::remote::Objects;

/// A folder of object storage for a result.
pub struct ObjectFolder {
    /// The URL without a slash at the end.
    url: String,
    objects: Box<dyn Objects>,
}

/// A copy of all files of a result, which still has its marker.
#[derive(Debug)]
#[must_use = "a copy with a marker counts as interrupted"]
pub struct ObjectCopy<'f> {
    folder: &'f ObjectFolder,
}

impl ObjectFolder {
    /// Connects to the storage of a URL, such as `s3://corpora/results/crawl`. Credentials come from the environment.
    ///
    /// # Errors
    /// [`SinkError::NoFolder`] unless the URL names a folder of a bucket; [`SinkError::Remote`]; in a build without object
    /// storage, [`SinkError::Source`].
    pub fn open(url: &str, cancel: &Arc<AtomicBool>) -> Result<Self, SinkError> {
        let url = url.trim_end_matches('/');
        let bucket = ["s3://", "gs://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme));
        if bucket
            .and_then(|rest| rest.split_once('/'))
            .is_none_or(|(bucket, _)| bucket.is_empty())
        {
            return Err(SinkError::NoFolder { url: url.to_owned() });
        }
        Ok(Self {
            url: url.to_owned(),
            objects: connect(url, cancel)?,
        })
    }

    /// The URL without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A name for a directory on disk, which differs for most URLs: `s3-corpora-results-crawl`.
    pub fn local_name(&self) -> String {
        let parts = self
            .url
            .split(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
        parts
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("-")
    }

    /// Checks that a result may be copied to the folder, and that no input is in it.
    ///
    /// # Errors
    /// [`SinkError::NotEmpty`], [`SinkError::NotAResult`], [`SinkError::Foreign`], [`SinkError::InputInside`],
    /// [`SinkError::Remote`].
    pub fn check(&self, inputs: &[String], existing: Existing) -> Result<(), SinkError> {
        let is_inside = |input: &&String| {
            let below = input.strip_prefix(&self.url);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(input) = inputs.iter().find(is_inside) {
            return Err(SinkError::InputInside {
                path: self.path(),
                input: PathBuf::from(input),
            });
        }
        self.earlier(existing).map(drop)
    }

    /// Copies the files of a run that has written all of them. Calls `advance` with the bytes of each copied part. The folder has
    /// a marker until [`ObjectCopy::finish`].
    ///
    /// # Errors
    /// The errors of [`check`](Self::check). After an error the folder has a marker, and the same call begins again.
    pub fn copy(
        &self,
        dir: &OutputDir,
        existing: Existing,
        advance: &(dyn Fn(u64) + Sync),
    ) -> Result<ObjectCopy<'_>, SinkError> {
        let earlier = self.earlier(existing)?;
        let files = dir.run_files()?;
        let named = files.iter().map(|file| Ok((self.object_name(file)?, file)));
        let named: BTreeMap<String, &PathBuf> = named.collect::<Result<_, SinkError>>()?;
        let old = || earlier.iter().filter(|name| !named.contains_key(*name));
        let new = named.keys().map(|name| name.as_bytes().to_owned());
        let replaced = old().map(|name| [REPLACED_PREFIX, name.as_bytes()].concat());
        self.put(UNFINISHED, &MarkerEntries::format(new.chain(replaced)))?;
        named.par_iter().try_for_each(|(name, file)| {
            let copied = self.objects.copy(name, &dir.files_dir().join(file), advance);
            copied.map_err(|error| self.failed(name, error))
        })?;
        for name in old() {
            self.delete(name)?;
        }
        self.put(FILE_LIST, &MarkerEntries::format(named.keys()))?;
        Ok(ObjectCopy { folder: self })
    }

    /// The objects of an earlier copy, which this one may replace.
    fn earlier(&self, existing: Existing) -> Result<BTreeSet<String>, SinkError> {
        let mut found = self.objects.names().map_err(|error| self.failed("", error))?;
        if found.is_empty() {
            return Ok(found);
        }
        let list = match existing {
            _ if found.contains(UNFINISHED) => UNFINISHED,
            Existing::Replace if found.contains(FILE_LIST) => FILE_LIST,
            Existing::Replace => return Err(SinkError::NotAResult { path: self.path() }),
            Existing::Refuse => return Err(SinkError::NotEmpty { path: self.path() }),
        };
        let read = self
            .objects
            .read(list)
            .map_err(|error| self.failed(list, error))?;
        let entries = MarkerEntries::parse(&read);
        found.retain(|name| name != UNFINISHED && name != FILE_LIST);
        match found.iter().find(|name| !entries.has(name.as_bytes())) {
            None => Ok(found),
            Some(foreign) => Err(SinkError::Foreign {
                path: self.path(),
                entry: self.path().join(foreign),
            }),
        }
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), SinkError> {
        let put = self.objects.write(name, content);
        put.map_err(|error| self.failed(name, error))
    }

    fn delete(&self, name: &str) -> Result<(), SinkError> {
        let deleted = self.objects.delete(name);
        deleted.map_err(|error| self.failed(name, error))
    }

    /// The name of the object for a file: its path with slashes.
    fn object_name(&self, file: &Path) -> Result<String, SinkError> {
        let parts: Option<Vec<&str>> = file.iter().map(|part| part.to_str()).collect();
        parts.map(|parts| parts.join("/")).ok_or_else(|| {
            let problem = io::Error::new(io::ErrorKind::InvalidInput, "the name of the file is not UTF-8");
            self.failed(&file.to_string_lossy(), problem)
        })
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(&self.url)
    }

    fn failed(&self, name: &str, source: io::Error) -> SinkError {
        if source.kind() == io::ErrorKind::Interrupted {
            return SinkError::Cancelled;
        }
        let url = format!("{}/{name}", self.url).trim_end_matches('/').to_owned();
        SinkError::Remote { url, source }
    }
}

impl ObjectCopy<'_> {
    /// Deletes the marker. From then on the result in the folder is whole.
    ///
    /// # Errors
    /// [`SinkError::Remote`].
    pub fn finish(self) -> Result<(), SinkError> {
        self.folder.delete(UNFINISHED)
    }
}

impl std::fmt::Debug for ObjectFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectFolder")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "object-storage")]
fn connect(url: &str, cancel: &Arc<AtomicBool>) -> Result<Box<dyn Objects>, SinkError> {
    let opened = crate::remote::BucketFolder::open(url, Arc::clone(cancel));
    let folder = opened.map_err(|source| SinkError::Remote {
        url: url.to_owned(),
        source,
    })?;
    Ok(Box::new(folder))
}

#[cfg(not(feature = "object-storage"))]
fn connect(url: &str, _: &Arc<AtomicBool>) -> Result<Box<dyn Objects>, SinkError> {
    let input = url.to_owned();
    Err(crate::source::SourceError::NoObjectStorage { input }.into())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::sync::Mutex;

    use super::*;

    /// A folder in memory, which fails for good after a number of changes.
    #[derive(Clone, Default)]
    struct Memory {
        objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
        left: Arc<Mutex<Option<usize>>>,
    }

    impl Memory {
        fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> io::Result<()> {
            let mut left = self.left.lock().unwrap();
            match left.as_mut() {
                Some(0) => return Err(io::Error::other("no connection")),
                Some(left) => *left -= 1,
                None => {}
            }
            change(&mut self.objects.lock().unwrap());
            Ok(())
        }
    }

    impl Objects for Memory {
        fn names(&self) -> io::Result<BTreeSet<String>> {
            Ok(self.objects.lock().unwrap().keys().cloned().collect())
        }

        fn read(&self, name: &str) -> io::Result<Vec<u8>> {
            Ok(self.objects.lock().unwrap()[name].clone())
        }

        fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
            self.change(|objects| drop(objects.insert(name.to_owned(), content.to_owned())))
        }

        fn copy(&self, name: &str, from: &Path, advance: &(dyn Fn(u64) + Sync)) -> io::Result<()> {
            let content = fs::read(from)?;
            advance(content.len() as u64);
            self.write(name, &content)
        }

        fn delete(&self, name: &str) -> io::Result<()> {
            self.change(|objects| drop(objects.remove(name)))
        }
    }

    fn folder(memory: &Memory) -> ObjectFolder {
        ObjectFolder {
            url: "s3://bucket/out".to_owned(),
            objects: Box::new(memory.clone()),
        }
    }

    fn copy(memory: &Memory, dir: &OutputDir, existing: Existing) -> Result<(), SinkError> {
        folder(memory).copy(dir, existing, &|_| ())?.finish()
    }

    fn written(root: &Path, files: &[(&str, &str)]) -> OutputDir {
        let dir = OutputDir::begin(root, Existing::Refuse).unwrap();
        for (name, content) in files {
            let mut file = dir.file(name).unwrap();
            file.append(content.as_bytes()).unwrap();
            file.finish().unwrap();
        }
        dir
    }

    const FIRST: [(&str, &str); 3] = [
        ("kept/a b.jsonl", "1"),
        ("kept/日.jsonl", "2"),
        ("report.json", "3"),
    ];
    const SECOND: [(&str, &str); 2] = [("kept/c.jsonl", "4"), ("report.json", "55")];

    fn content(memory: &Memory) -> Vec<(String, String)> {
        let objects = memory.objects.lock().unwrap();
        let shown = |(name, content): (&String, &Vec<u8>)| {
            (name.clone(), String::from_utf8(content.clone()).unwrap())
        };
        objects.iter().map(shown).collect()
    }

    #[test]
    fn a_copy_has_all_files_and_their_list() {
        let (memory, work) = (Memory::default(), tempfile::tempdir().unwrap());
        let dir = written(&work.path().join("out"), &FIRST);
        let bytes = Mutex::new(0);
        let folder = folder(&memory);
        let copy = folder.copy(&dir, Existing::Refuse, &|part| *bytes.lock().unwrap() += part);
        copy.unwrap().finish().unwrap();
        assert_eq!(bytes.into_inner().unwrap(), 3);
        let list = (
            FILE_LIST.to_owned(),
            "kept/a b.jsonl\0kept/日.jsonl\0report.json\0".to_owned(),
        );
        let files = FIRST.map(|(name, content)| (name.to_owned(), content.to_owned()));
        assert_eq!(content(&memory), [vec![list], files.to_vec()].concat());
    }

    #[test]
    fn a_copy_that_fails_anywhere_is_made_again_and_leaves_nothing_else() {
        let work = tempfile::tempdir().unwrap();
        let (first, second) = (
            written(&work.path().join("first"), &FIRST),
            written(&work.path().join("second"), &SECOND),
        );
        let whole = Memory::default();
        copy(&whole, &second, Existing::Refuse).unwrap();
        let failures = Cell::new(0);
        for left in 0.. {
            let memory = Memory::default();
            copy(&memory, &first, Existing::Refuse).unwrap();
            *memory.left.lock().unwrap() = Some(left);
            let result = copy(&memory, &second, Existing::Replace);
            *memory.left.lock().unwrap() = None;
            if result.is_ok() {
                assert_eq!(content(&memory), content(&whole));
                break;
            }
            failures.set(failures.get() + 1);
            // Before the first change the earlier result is whole, and only Replace replaces it.
            let again = if left == 0 {
                Existing::Replace
            } else {
                Existing::Refuse
            };
            copy(&memory, &second, again).unwrap();
            assert_eq!(content(&memory), content(&whole), "after {left} changes");
        }
        assert_eq!(failures.get(), 7);
    }

    #[test]
    fn other_objects_are_never_replaced() {
        let (memory, work) = (Memory::default(), tempfile::tempdir().unwrap());
        let dir = written(&work.path().join("out"), &FIRST);
        let objects = |existing| copy(&memory, &dir, existing);
        memory.write("notes", b"mine").unwrap();
        assert!(matches!(
            objects(Existing::Refuse),
            Err(SinkError::NotEmpty { .. })
        ));
        assert!(matches!(
            objects(Existing::Replace),
            Err(SinkError::NotAResult { .. })
        ));
        memory.delete("notes").unwrap();
        objects(Existing::Refuse).unwrap();
        assert!(matches!(
            objects(Existing::Refuse),
            Err(SinkError::NotEmpty { .. })
        ));
        memory.write("kept/notes", b"mine").unwrap();
        let error = objects(Existing::Replace).unwrap_err();
        assert!(
            error.to_string().contains("s3://bucket/out/kept/notes"),
            "{error}"
        );
        assert_eq!(memory.read("kept/notes").unwrap(), b"mine");
    }

    #[test]
    fn inputs_below_the_folder_are_refused() {
        let folder = folder(&Memory::default());
        for (input, is_inside) in [
            ("s3://bucket/out", true),
            ("s3://bucket/out/kept", true),
            ("s3://bucket/outer", false),
            ("out", false),
        ] {
            let checked = folder.check(&[input.to_owned()], Existing::Refuse);
            assert_eq!(checked.is_err(), is_inside, "{input}");
        }
        assert_eq!(folder.local_name(), "s3-bucket-out");
    }

    #[test]
    fn only_folders_of_buckets_are_urls_of_results() {
        for url in [
            "s3://bucket",
            "s3://bucket/",
            "s3:///out",
            "hf://datasets/a/b",
            "https://example.org/out",
        ] {
            let opened = ObjectFolder::open(url, &Arc::default());
            assert!(matches!(opened, Err(SinkError::NoFolder { .. })), "{url}");
        }
    }
}
