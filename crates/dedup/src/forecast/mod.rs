//! The forecast of a run: rows, bytes, memory, disk and time, estimated from a sample of its input.
//!
//! The sample is read like a whole input, and its counts are scaled by bytes. Candidates, which may grow faster than
//! the input, are extrapolated from half of the sample and all of it (see [`radius::foresee`]). The estimates of rows,
//! bytes, memory and disk are right within a factor of two: tests check this on generated corpora, and docs/forecast.md
//! shows it on real ones.

mod amounts;
mod sample;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::candidates::radius::{self, Foreseen, Radius, RadiusChoice, RadiusCriteria};
use crate::candidates::{SetJoinCost, is_exact, max_edges};
use crate::error::{DedupError, Shortage};
use crate::job::DedupJob;
use crate::known::{Against, DocumentStores, NoStores};
use crate::memory::{self, Budget};
use crate::options::{Auto, ClusterFiles, DedupOptions, Mode, OnDisk, Order, PairRows};
use crate::stages::{largest_part_bytes, refused_option};
use amounts::Amounts;
use sample::{KnownSource, Sample};
use twinprint_io::progress::{Progress, Unit, peak_memory};
use twinprint_io::source::Sources;
use twinprint_io::threads;
use twinprint_io::work::WorkDir;
use twinprint_io::work::{DiskSpace, disk_space};

/// The bytes of a row of `clusters.jsonl` without its id, source and fingerprint.
const CLUSTER_ROW_BYTES: f64 = 180.0;
/// The bytes that an annotation adds to a record, without the id in it.
const ANNOTATION_BYTES: f64 = 140.0;
/// The bytes of a row of `pairs.jsonl` without the ids and sources.
const PAIR_ROW_BYTES: f64 = 110.0;
/// The bytes of text for each fingerprint of the search for partial copies.
const BYTES_OF_A_PART: f64 = 46.0;
/// The bytes of the rows of partial copies in the results, for each fingerprint. It varies from corpus to corpus.
const PART_ROW_BYTES: f64 = 20.0;

/// The expected size, memory, disk and time of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Forecast {
    /// The number of files of the input.
    pub files: u64,
    /// The size of the input files on disk, in bytes.
    pub input_bytes: u64,
    /// The bytes of the input files that were read as the sample.
    pub sampled_bytes: u64,
    /// The number of records, rejects included.
    pub records: u64,
    /// The number of records that will be rejected.
    pub rejected: u64,
    /// The bytes of all texts.
    pub text_bytes: u64,
    /// The number of distinct texts.
    pub texts: u64,
    /// The width of the fingerprints that the run will choose.
    pub bits: u32,
    /// The radius that the run will choose.
    pub k: u32,
    /// The number of candidate pairs of distinct texts.
    pub candidates: u64,
    /// The comparison with an index or a store; `None` if the run is compared with neither.
    pub against: Option<AgainstForecast>,
    /// The peak memory in bytes.
    pub memory_bytes: u64,
    /// True if the run keeps its tables on disk.
    pub on_disk: bool,
    /// The bytes of the files in the output directory.
    pub output_bytes: u64,
    /// The bytes of temporary files, and of the tables of a run on disk.
    pub work_bytes: u64,
    /// The number of worker threads.
    pub threads: usize,
    /// The wall time in seconds, if nothing else uses the machine.
    pub seconds: f64,
}

/// The expected cost of the comparison with an index or a store, and the number of known texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AgainstForecast {
    /// The number of sampled texts that were looked up.
    pub asked: u64,
    /// The number of texts of the whole run that are expected to be known.
    pub known: u64,
    /// The wall time of the lookups in seconds. [`Forecast::seconds`] includes it.
    pub seconds: f64,
    /// The memory of the index or store in bytes. [`Forecast::memory_bytes`] includes it.
    pub memory_bytes: u64,
}

/// The memory and disk space that are free for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Room {
    /// The available memory in bytes: the memory limit if one is given, or else what the system reports.
    pub memory: Option<u64>,
    /// The free bytes on the disk of the output directory.
    pub output: Option<u64>,
    /// The free bytes on the disk of the temporary files.
    pub work: Option<u64>,
    /// True if the output directory and the temporary files are on one disk.
    pub one_disk: bool,
}

impl Room {
    /// The memory and disk space that are free now for a run with these options and this output directory.
    pub fn of(options: &DedupOptions, out: &Path) -> Self {
        let output = disk_space(out);
        let work = options.work_dir.as_deref().map_or(output, disk_space);
        let free = |space: Option<DiskSpace>| space.map(|space| space.free);
        Self {
            memory: options.memory.or_else(memory::available),
            output: free(output),
            work: free(work),
            one_disk: output.map(|space| space.disk) == work.map(|space| space.disk),
        }
    }
}

impl Forecast {
    /// Adds the cost of the comparison with an index or a store that takes `memory_bytes` of memory.
    fn add_against(&mut self, sample: &Sample, memory_bytes: u64) {
        let share = self.texts as f64 / sample.looked_up.max(1) as f64;
        let against = AgainstForecast {
            asked: sample.looked_up,
            known: (sample.known as f64 * share) as u64,
            seconds: sample.lookup_seconds * share,
            memory_bytes,
        };
        self.memory_bytes += against.memory_bytes;
        self.seconds += against.seconds;
        self.against = Some(against);
    }

    /// Fails if the forecast exceeds the memory or disk space in `room`.
    ///
    /// # Errors
    /// [`DedupError::WillNotFit`], which names the resource that is too small.
    pub fn check(&self, room: &Room) -> Result<(), DedupError> {
        let short = |needed: u64, free: Option<u64>| free.filter(|&free| needed > free);
        if let Some(free) = short(self.memory_bytes, room.memory) {
            let needed = self.memory_bytes;
            return Err(Shortage::Memory { needed, free }.into());
        }
        let needed = self.output_bytes + if room.one_disk { self.work_bytes } else { 0 };
        if let Some(free) = short(needed, room.output) {
            return Err(Shortage::Output {
                needed,
                free,
                includes_work: room.one_disk,
            }
            .into());
        }
        if let Some(free) = short(self.work_bytes, room.work).filter(|_| !room.one_disk) {
            let needed = self.work_bytes;
            return Err(Shortage::Work { needed, free }.into());
        }
        Ok(())
    }
}

/// Estimates the memory, disk and time of a [`DedupJob`] from a sample of about [`DedupOptions::sample_bytes`]. Writes temporary files only.
///
/// # Errors
/// An option or input that [`dedup`](crate::dedup()) would refuse too, or an error of reading the sample.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use twinprint_dedup::{DedupJob, DedupOptions, Room, forecast};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let input = dir.path().join("notes.txt");
/// std::fs::write(&input, "The ferry to the northern islands runs every other hour.")?;
/// let job = DedupJob {
///     inputs: &[input.display().to_string()],
///     source: &SourceOptions::default(),
///     options: &DedupOptions::new()?,
///     out: &dir.path().join("out"),
/// };
///
/// let forecast = forecast(&job, &Silent, &Arc::default())?;
/// assert_eq!(forecast.records, 1);
/// // Fails if memory or disk are too small for the run.
/// forecast.check(&Room::of(job.options, job.out))?;
/// # Ok(())
/// # }
/// ```
pub fn forecast(
    job: &DedupJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Forecast, DedupError> {
    forecast_with_stores(job, &NoStores, progress, cancel)
}

/// Like [`forecast()`], but [`DedupOptions::against`] may also name a document store, which `stores` opens.
///
/// # Errors
/// The errors of [`forecast()`], and an error if the store cannot be used.
pub fn forecast_with_stores(
    job: &DedupJob<'_>,
    stores: &dyn DocumentStores,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Forecast, DedupError> {
    let options = job.options;
    options.check()?;
    let pool = threads::pool(options.threads)?;
    pool.install(|| {
        let parent = options.work_dir.clone().unwrap_or_else(std::env::temp_dir);
        let work = WorkDir::create(&parent)?;
        let sources = Sources::discover_cancellable(job.inputs, job.source, work.path(), Arc::clone(cancel))?;
        sources.check_fields(|hint| progress.warn(hint))?;
        let held = peak_memory();
        let against = options.against.as_deref();
        let against = against
            .map(|path| Ok::<_, DedupError>((path, Against::open(path, options, stores)?)))
            .transpose()?;
        let held = peak_memory()
            .zip(held)
            .map_or(0, |(after, before)| after - before);
        progress.stage("sample", sample::bytes(&sources, options), Unit::Bytes);
        let against = against.as_ref().map(|(path, store)| KnownSource { path, store });
        let sample = Sample::read(&sources, options, against, work.path(), progress)?;
        let mut forecast = extrapolate(&sources, &sample, options)?;
        if against.is_some() {
            forecast.add_against(&sample, held);
        }
        Ok(forecast)
    })
}

fn extrapolate(sources: &Sources, sample: &Sample, options: &DedupOptions) -> Result<Forecast, DedupError> {
    let counts = &sample.counts;
    let sampled_records = sample.documents + sample.rejected;
    let mut growth = if sample.whole {
        1.0
    } else {
        sources.total_bytes() as f64 / counts.input_bytes.max(1) as f64
    };
    if let Some(limit) = sources.options().limit {
        growth = growth.min(limit as f64 / sampled_records.max(1) as f64).max(1.0);
    }
    let all = |n: u64| n as f64 * growth;
    let Foreseen { radius, pairs } = radius(sample, growth, options)?;
    let is_exact = radius.choice == RadiusChoice::Exact;
    let rows = all(sample.rows[1].fingerprints.len() as u64);
    // The set join finds few pairs but duplicates. A text of it is assumed to have one at most.
    let others = all(sample.texts) - all(sample.joined);
    let candidates = pairs.edges * all(sample.joined) + pairs.edges.min(1.0) * others;
    let edges = candidates.min(max_edges(rows as u64, options) as f64);
    let threads = rayon::current_num_threads();
    let budget = Budget::new(options.memory, threads)?;
    let table_bytes = memory::tables(
        all(sample.documents) as u64,
        all(sample.texts) as u64,
        all(sample.id_bytes) as u64,
    ) + edges as u64 * memory::EDGE_BYTES;
    // Only texts with candidates are loaded for verification.
    let connected = (2.0 * candidates / all(sample.texts).max(1.0)).min(1.0);
    let costs = sample.set_join * growth;
    let set_join = match radius.choice {
        RadiusChoice::Exact => costs.of_all,
        RadiusChoice::Verdict => SetJoinCost::default(),
        _ => costs.of_short,
    };
    let joined = |n: f64| if is_exact { 0.0 } else { n };
    let amounts = Amounts {
        documents: all(sample.documents),
        texts: all(sample.texts),
        text_bytes: all(sample.text_bytes),
        joined: joined(all(sample.joined)),
        rows: joined(rows),
        bits: radius.bits,
        k: radius.k,
        row_pairs: joined(pairs.joined * rows),
        candidates,
        edges,
        id_bytes: all(sample.id_bytes),
        record_bytes: all(counts.record_bytes),
        part_bytes: all(counts.record_bytes) * largest_part(sources),
        longest: counts.longest,
        set_join,
        set_bytes: all(sample.set_bytes) * if options.verify { connected } else { 0.0 },
        verify: options.verify,
        parts: options.parts.map(|_| all(sample.text_bytes) / BYTES_OF_A_PART),
        chinese: sample.chinese,
        threads,
    };
    let join = set_join.bytes();
    let chunk = memory::most_index(all(sample.documents) as u64) / memory::MOST_CHUNKS;
    let least_join = join.counters + join.indexes.min(chunk);
    let too_large = budget
        .check(table_bytes + memory::BYTES_PER_RECORD_BYTE * counts.longest)
        .is_err()
        || budget.check_join(table_bytes, least_join).is_err();
    let on_disk = options.on_disk != OnDisk::AsNeeded || too_large && refused_option(options).is_none();
    let memory_bytes = if on_disk {
        let most = budget.of_stages() + memory::BYTES_PER_RECORD_BYTE * counts.longest;
        amounts.memory_on_disk(budget).min(most)
    } else {
        amounts.memory(budget.sets(table_bytes) as u64)
    };

    let documents = sample.documents.max(1) as f64;
    let label = sample.label_bytes as f64 / documents;
    let id = match sample.id_bytes {
        0 => label + 8.0,
        bytes => bytes as f64 / documents,
    };
    let cluster_rows =
        all(sample.documents) * (CLUSTER_ROW_BYTES + label + 1.5 * id + f64::from(radius.bits) / 4.0);
    let cluster_rows = match options.clusters {
        ClusterFiles::Jsonl | ClusterFiles::Both => cluster_rows,
        ClusterFiles::Parquet => cluster_rows / 4.0,
        ClusterFiles::None => 0.0,
    };
    let row_ids = 2.0 * (label + id);
    let pair_rows = match options.pairs {
        PairRows::None => 0.0,
        PairRows::Distinct | PairRows::All => {
            // Most of many candidates are no duplicates.
            let duplicates = candidates.min(all(sample.texts)) + all(sample.documents - sample.texts);
            duplicates * (PAIR_ROW_BYTES + row_ids)
        }
    };
    let part_rows = amounts.parts.unwrap_or(0.0) * PART_ROW_BYTES;
    let copied = match (options.mode, options.added_columns()) {
        (Mode::Report, _) => 0.0,
        (Mode::Remove | Mode::Annotate, None) => all(counts.input_bytes),
        (Mode::Remove | Mode::Annotate, Some(_)) => {
            all(counts.input_bytes) + all(sample.documents) * (ANNOTATION_BYTES + id)
        }
    };
    let stdin: u64 = sources
        .list()
        .iter()
        .filter(|file| file.label == "stdin")
        .map(|file| file.bytes)
        .sum();
    let of_the_way = if on_disk {
        amounts.tables_on_disk(budget)
    } else {
        amounts.files_in_memory_run()
    };
    Ok(Forecast {
        files: sources.list().len() as u64,
        input_bytes: sources.total_bytes(),
        sampled_bytes: counts.input_bytes,
        records: all(sampled_records) as u64,
        rejected: all(sample.rejected) as u64,
        text_bytes: all(counts.text_bytes) as u64,
        texts: all(sample.texts) as u64,
        bits: radius.bits,
        k: radius.k,
        candidates: candidates as u64,
        memory_bytes,
        on_disk,
        output_bytes: (copied + cluster_rows + pair_rows + part_rows) as u64,
        work_bytes: all(sample.spool_bytes) as u64
            + stdin
            + of_the_way
            + put_in_order(sources, all(counts.record_bytes), options),
        against: None,
        threads,
        seconds: amounts.seconds(sample.seconds * growth, copied, on_disk.then_some(budget)),
    })
}

/// Estimates the bytes of the temporary files in which the records of the largest file are put in order. `records` is
/// the number of records in all files.
fn put_in_order(sources: &Sources, records: f64, options: &DedupOptions) -> u64 {
    let largest = sources.list().iter().map(|file| file.bytes).max().unwrap_or(0);
    match options.order {
        Order::Input => 0,
        Order::Similar => (records * largest as f64 / sources.total_bytes().max(1) as f64) as u64,
    }
}

/// Estimates the share of the input that the largest part of a run on disk has.
fn largest_part(sources: &Sources) -> f64 {
    let largest = sources.list().iter().map(|file| file.bytes).max().unwrap_or(0);
    largest_part_bytes(sources.total_bytes(), largest) as f64 / sources.total_bytes().max(1) as f64
}

/// Predicts the width and radius that the run will choose.
fn radius(sample: &Sample, growth: f64, options: &DedupOptions) -> Result<Foreseen, DedupError> {
    let [half, whole] = &sample.rows;
    let (bits, k) = if options.verify {
        (options.bits, options.hamming)
    } else {
        let Radius { bits, k, .. } = radius::verdict(options);
        (Auto::Fixed(bits), Auto::Fixed(k))
    };
    let rows = whole.fingerprints.len() as f64 * growth;
    let criteria = RadiusCriteria {
        bits,
        k,
        threshold: options.threshold,
    };
    let foreseen = radius::foresee(
        [&half.fingerprints, &whole.fingerprints],
        rows,
        criteria,
        options.seed,
        [&|a, b| sample.jaccard(0, a, b), &|a, b| sample.jaccard(1, a, b)],
    )?;
    if !is_exact(sample.set_join * growth, rows as usize, options) {
        return Ok(foreseen);
    }
    Ok(Foreseen {
        radius: radius::exact(options.bits),
        ..foreseen
    })
}
