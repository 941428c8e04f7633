//! Indexes of fingerprints: the class `Index` of the extension module.
//!
//! A handle reads the last commit of an index. A change opens the index as its only writer, commits, and closes it, so
//! that other processes can read and change it in the meantime, and no thread runs between calls.
#![expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 converts the arguments of Python to owned values"
)]

mod build;
mod error;
mod row;
mod search;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use twinprint::index_join::{JoinOptions, JoinRow, JoinSide, join};
use twinprint::segment::{Codec, DirectoryForm};
use twinprint::store::{self, Committed, Names, Settings};
use twinprint::{ProfileLabel, Progress, Width};

use self::build::{Build, Ids, writer};
use self::error::IndexError;
pub(crate) use self::row::Row;
use self::row::{read_ids, write_ids};
use self::search::Columns;
use crate::errors::argument;
use crate::pool;
use crate::profile::profile;

/// The last commit of an index, at the width of its fingerprints.
#[derive(Clone)]
enum Loaded {
    Bits32(Arc<Committed<u32>>),
    Bits64(Arc<Committed<u64>>),
    Bits128(Arc<Committed<u128>>),
}

/// Evaluates an expression with the committed index of any width.
macro_rules! at_width {
    ($loaded:expr, $committed:ident => $result:expr) => {
        match $loaded {
            Loaded::Bits32($committed) => $result,
            Loaded::Bits64($committed) => $result,
            Loaded::Bits128($committed) => $result,
        }
    };
}

impl Loaded {
    fn read(path: &Path) -> Result<Self, IndexError> {
        Ok(match store::width_of(path)? {
            32 => Self::Bits32(Arc::new(store::read(path)?)),
            128 => Self::Bits128(Arc::new(store::read(path)?)),
            _ => Self::Bits64(Arc::new(store::read(path)?)),
        })
    }

    fn bits(&self) -> u32 {
        fn bits<W: Width>(_: &Committed<W>) -> u32 {
            W::BITS
        }
        at_width!(self, committed => bits(committed))
    }

    fn settings(&self) -> &Settings {
        at_width!(self, committed => &committed.settings)
    }

    fn names(&self) -> Option<&Arc<Names>> {
        at_width!(self, committed => committed.names.as_ref())
    }
}

/// The codec of a name.
fn codec(name: &str) -> PyResult<Codec> {
    match name {
        "packed" => Ok(Codec::Packed(DirectoryForm::Compact)),
        "elias-fano" => Ok(Codec::Packed(DirectoryForm::EliasFano)),
        "huffman" => Ok(Codec::HUFFMAN),
        _ => Err(argument("codec", format!("{name:?} is not a codec"))),
    }
}

fn codec_name(codec: Codec) -> &'static str {
    match codec {
        Codec::Packed(DirectoryForm::Compact | DirectoryForm::Plain) => "packed",
        Codec::Packed(_) => "elias-fano",
        Codec::Huffman { .. } => "huffman",
        _ => "unknown",
    }
}

/// Refuses a radius above the width.
fn check_radius(k: u32, bits: u32) -> Result<(), IndexError> {
    if k <= bits {
        return Ok(());
    }
    let problem = format!("{k} is not allowed: fingerprints of {bits} bits differ in at most {bits} bits");
    Err(IndexError::Argument("k", problem))
}

/// Ids from Python: bytes of numbers, or names, or neither.
fn ids(numbers: Option<&[u8]>, names: Option<Vec<String>>) -> Ids {
    match (numbers, names) {
        (_, Some(names)) => Ids::Names(names),
        (Some(numbers), None) => Ids::Numbers(read_ids(numbers)),
        (None, None) => Ids::Positions,
    }
}

/// Columns of results as `bytes`.
type PyColumns<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn py_columns<'py>(py: Python<'py>, columns: &Columns) -> PyColumns<'py> {
    (
        PyBytes::new(py, &columns.first),
        PyBytes::new(py, &columns.second),
        PyBytes::new(py, &columns.hamming),
    )
}

/// An index, open for reading.
#[pyclass(module = "twinprint._twinprint", name = "Index", frozen)]
pub(crate) struct IndexHandle {
    path: PathBuf,
    /// `None` after `close`.
    loaded: RwLock<Option<Loaded>>,
}

impl IndexHandle {
    /// The last commit that this handle has read.
    fn loaded(&self) -> Result<Loaded, IndexError> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.clone().ok_or(IndexError::Closed)
    }

    /// Reads the last commit again.
    fn reload(&self) -> Result<(), IndexError> {
        self.loaded()?;
        let read = Loaded::read(&self.path)?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Some(read);
        Ok(())
    }
}

#[pymethods]
impl IndexHandle {
    /// Creates an index of fingerprints, which are bytes of little-endian numbers.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the arguments of the Python method")]
    fn build(
        py: Python<'_>,
        path: PathBuf,
        fingerprints: &[u8],
        bits: u32,
        id_numbers: Option<&[u8]>,
        id_names: Option<Vec<String>>,
        k: u32,
        codec_name: &str,
        profile_id: Option<&str>,
        memory: u64,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        check_radius(k, bits)?;
        let label = profile_id.map(|id| profile(id, Some(bits))).transpose()?;
        let settings = Settings {
            radius: k,
            codec: codec(codec_name)?,
            label: label.map_or_else(String::new, |profile| {
                ProfileLabel::of_profile(&profile).written()
            }),
        };
        let ids = ids(id_numbers, id_names);
        let built = pool::run(py, progress.as_ref(), |progress, cancel| {
            let build = Build {
                memory,
                progress,
                cancel,
            };
            match bits {
                32 => build.create(&path, &settings, &u32::read(fingerprints), &ids),
                128 => build.create(&path, &settings, &u128::read(fingerprints), &ids),
                _ => build.create(&path, &settings, &u64::read(fingerprints), &ids),
            }
        })?;
        Ok(built?)
    }

    /// Opens an index for reading.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let loaded = pool::detached(py, || Loaded::read(&path))??;
        Ok(Self {
            path,
            loaded: RwLock::new(Some(loaded)),
        })
    }

    /// Closes the index. Running calls continue.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            self.loaded.write().unwrap_or_else(PoisonError::into_inner).take();
        });
    }

    /// Reads the last commit, which another process may have made.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        Ok(pool::detached(py, || self.reload())??)
    }

    /// The width of the fingerprints in bits.
    fn bits(&self) -> PyResult<u32> {
        Ok(self.loaded()?.bits())
    }

    /// The radius that the index was built for.
    fn radius(&self) -> PyResult<u32> {
        Ok(self.loaded()?.settings().radius)
    }

    /// The id of the profile that made the fingerprints.
    fn profile(&self) -> PyResult<Option<String>> {
        let loaded = self.loaded()?;
        Ok(ProfileLabel::read(&loaded.settings().label).map(|label| label.id().to_owned()))
    }

    /// True if the ids are names.
    fn has_names(&self) -> PyResult<bool> {
        Ok(self.loaded()?.names().is_some())
    }

    /// The number of ids that queries find.
    fn len(&self, py: Python<'_>) -> PyResult<u64> {
        let loaded = self.loaded()?;
        Ok(pool::detached(py, || {
            at_width!(&loaded, committed => {
                if committed.tombstones == 0 {
                    return Ok::<_, IndexError>(committed.snapshot.rows());
                }
                // Some tombstones may be of ids that were never stored.
                committed.snapshot.iter().try_fold(0, |count, row| row.map(|_| count + 1).map_err(IndexError::from))
            })
        })??)
    }

    /// Figures of the index as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let loaded = self.loaded()?;
        let label = ProfileLabel::read(&loaded.settings().label);
        let ids = self.len(py)?;
        let figures = at_width!(&loaded, committed => json!({
            "ids": ids,
            "bits": loaded.bits(),
            "radius": committed.settings.radius,
            "codec": codec_name(committed.settings.codec),
            "profile": label.as_ref().map(ProfileLabel::id),
            "names": committed.names.is_some(),
            "next_id": committed.checkpoint,
            "deleted": committed.tombstones,
            "segments": committed.snapshot.segments().count(),
            "generation": committed.generation,
            "bytes": committed.bytes,
            "exact": committed.snapshot.is_exact(),
        }));
        Ok(figures.to_string())
    }

    /// Reads and verifies every byte of the last commit, and returns its numbers of segments and of living ids.
    fn check(&self, py: Python<'_>) -> PyResult<(usize, u64)> {
        fn check<W: Width>(_: &Committed<W>, path: &Path) -> Result<(usize, u64), IndexError> {
            let report = store::check::<W>(path)?;
            Ok((report.segments, report.living))
        }
        let loaded = self.loaded()?;
        let checked = pool::run(
            py,
            None,
            |_, _| at_width!(&loaded, committed => check(committed, &self.path)),
        )?;
        Ok(checked?)
    }

    /// Finds the fingerprints within `k` of each query. Returns the columns of queries, ids and distances.
    fn query<'py>(
        &self,
        py: Python<'py>,
        queries: &[u8],
        k: u32,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PyColumns<'py>> {
        fn query<W: Row>(
            committed: &Committed<W>,
            queries: &[u8],
            k: u32,
            progress: &dyn Progress,
            cancel: &AtomicBool,
        ) -> Result<Columns, IndexError> {
            search::query(committed, &W::read(queries), k, progress, cancel)
        }
        let loaded = self.loaded()?;
        check_radius(k, loaded.bits())?;
        let found = pool::run(
            py,
            progress.as_ref(),
            |progress, cancel| at_width!(&loaded, committed => query(committed, queries, k, progress, cancel)),
        )?;
        Ok(py_columns(py, &found?))
    }

    /// Finds the pairs within `k`, in this index or between two. Returns the columns of both ids and of distances.
    #[expect(clippy::too_many_arguments, reason = "the arguments of the Python method")]
    fn join<'py>(
        &self,
        py: Python<'py>,
        other: Option<&Self>,
        k: u32,
        max_rows: u64,
        memory: u64,
        work_dir: Option<PathBuf>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PyColumns<'py>> {
        let (a, b) = (self.loaded()?, other.map(Self::loaded).transpose()?);
        check_radius(k, a.bits())?;
        if let Some(b) = b.as_ref().filter(|b| b.bits() != a.bits()) {
            let problem = format!(
                "it has fingerprints of {} bits, this index of {}",
                b.bits(),
                a.bits()
            );
            return Err(PyValueError::new_err(format!("other: {problem}")));
        }
        let options = JoinOptions {
            k,
            all_pairs: true,
            max_rows,
            memory,
            held: 0,
            work_dir,
        };
        let joined = pool::run(py, progress.as_ref(), |progress, cancel| {
            let mut columns = Columns::default();
            let row = |row: JoinRow<'_>| {
                if let ([a], [b]) = (row.a, row.b) {
                    columns.push(*a, *b, row.hamming);
                }
                Ok::<_, IndexError>(())
            };
            match (&a, &b) {
                (Loaded::Bits32(a), Some(Loaded::Bits32(b))) => {
                    join(&side(a), Some(&side(b)), &options, progress, cancel, row)
                }
                (Loaded::Bits64(a), Some(Loaded::Bits64(b))) => {
                    join(&side(a), Some(&side(b)), &options, progress, cancel, row)
                }
                (Loaded::Bits128(a), Some(Loaded::Bits128(b))) => {
                    join(&side(a), Some(&side(b)), &options, progress, cancel, row)
                }
                (a, _) => {
                    at_width!(a, a => join(&side(a), None, &options, progress, cancel, row))
                }
            }?;
            Ok::<_, IndexError>(columns)
        })?;
        Ok(py_columns(py, &joined?))
    }

    /// Adds fingerprints, and returns the ids that they got.
    fn add<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &[u8],
        id_numbers: Option<&[u8]>,
        id_names: Option<Vec<String>>,
        memory: u64,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        fn add<W: Row>(
            _: &Committed<W>,
            build: &Build<'_>,
            path: &Path,
            fingerprints: &[u8],
            ids: Ids,
        ) -> Result<Vec<u64>, IndexError> {
            build.add(path, &W::read(fingerprints), ids)
        }
        let loaded = self.loaded()?;
        let ids = ids(id_numbers, id_names);
        let added = pool::run(py, progress.as_ref(), |progress, cancel| {
            let build = Build {
                memory,
                progress,
                cancel,
            };
            let added =
                at_width!(&loaded, committed => add(committed, &build, &self.path, fingerprints, ids));
            self.reload()?;
            added
        })?;
        Ok(PyBytes::new(py, &write_ids(added?)))
    }

    /// Deletes those of the ids that are stored, and returns their number.
    fn delete(
        &self,
        py: Python<'_>,
        id_numbers: Option<&[u8]>,
        id_names: Option<Vec<String>>,
    ) -> PyResult<u64> {
        fn delete<W: Row>(_: &Committed<W>, path: &Path, ids: Ids) -> Result<u64, IndexError> {
            let index = writer::<W>(path)?;
            let ids: Vec<u64> = match (ids, index.names()) {
                (Ids::Names(names), Some(known)) => {
                    let wanted: HashSet<String> = names.into_iter().collect();
                    let numbered = known.iter().zip(0u64..);
                    numbered
                        .filter(|(name, _)| wanted.contains(*name))
                        .map(|(_, id)| id)
                        .collect()
                }
                (Ids::Numbers(numbers), None) => numbers,
                (Ids::Positions, _) => Vec::new(),
                (_, names) => {
                    let kind = if names.is_some() { "str" } else { "int" };
                    let problem = format!("the ids of this index are {kind}");
                    return Err(IndexError::Argument("ids", problem));
                }
            };
            let deleted = index.delete_known(ids)?;
            index.commit()?;
            Ok(deleted)
        }
        let (loaded, ids) = (self.loaded()?, ids(id_numbers, id_names));
        let deleted = pool::run(py, None, |_, _| {
            let deleted = at_width!(&loaded, committed => delete(committed, &self.path, ids));
            self.reload()?;
            deleted
        })?;
        Ok(deleted?)
    }

    /// Merges all segments into one.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        fn compact<W: Row>(_: &Committed<W>, path: &Path) -> Result<(), IndexError> {
            Ok(writer::<W>(path)?.compact()?)
        }
        let loaded = self.loaded()?;
        let compacted = pool::run(py, None, |_, _| {
            at_width!(&loaded, committed => compact(committed, &self.path))?;
            self.reload()
        })?;
        Ok(compacted?)
    }

    /// All ids and fingerprints, ascending by id, as bytes.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let loaded = self.loaded()?;
        let rows = pool::run(
            py,
            None,
            |_, _| at_width!(&loaded, committed => search::rows(committed)),
        )?;
        let (ids, fingerprints) = rows?;
        Ok((PyBytes::new(py, &ids), PyBytes::new(py, &fingerprints)))
    }

    /// The names of ids.
    fn names(&self, py: Python<'_>, ids: &[u8]) -> PyResult<Vec<String>> {
        let loaded = self.loaded()?;
        Ok(py.detach(|| {
            let names = loaded.names();
            let name = |id: &u64| {
                names
                    .and_then(|names| names.get(*id))
                    .unwrap_or_default()
                    .to_owned()
            };
            read_ids(ids).iter().map(name).collect()
        }))
    }
}

/// A side of a join.
fn side<W: Width>(committed: &Arc<Committed<W>>) -> JoinSide<W> {
    JoinSide::Index(committed.snapshot.clone())
}
