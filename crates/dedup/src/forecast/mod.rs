//! What a run will take, told from a sample of its input: rows, bytes, memory, disk, time.
//!
//! The sample goes through the first stage as the whole would; what it comes to is scaled by bytes. Candidates, which may grow faster
//! than the input, are extrapolated from half of the sample and all of it (see [`radius::foresee`]). Rows, bytes, memory and disk are
//! meant to be right within a factor of two, which the tests hold them to on made-up corpora and docs/forecast.md shows on real ones.

mod sample;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::candidates::most_edges;
use crate::candidates::radius::{self, Radius};
use crate::error::DedupError;
use crate::known::{Against, DocumentStores};
use crate::memory::{self, Budget};
use crate::options::{Auto, ClusterFiles, DedupOptions, Mode, Order};
use sample::Sample;
use twinprint_io::progress::{Progress, Unit, peak_memory};
use twinprint_io::source::{SourceOptions, Sources};
use twinprint_io::threads;
use twinprint_io::work::WorkDir;
use twinprint_io::work::{DiskSpace, disk_space};

/// Bytes of a row of `clusters.jsonl` beside its id, source and fingerprint.
const CLUSTER_ROW: f64 = 180.0;
/// Bytes of an annotation beside its id.
const ANNOTATION: f64 = 140.0;
/// Seconds of one core that a fingerprint costs in the join.
const JOIN: f64 = 15e-6;
/// Bytes of shingle sets that one core makes in a second.
const SETS_A_SECOND: f64 = 250e6;
/// Seconds of one core that comparing two sets takes.
const COMPARISON: f64 = 1.5e-6;
/// Bytes copied in a second.
const COPIED_A_SECOND: f64 = 500e6;

/// What a run is expected to take.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Forecast {
    /// Files of the input.
    pub files: u64,
    /// Bytes of them, packed where they are packed.
    pub input_bytes: u64,
    /// Of these, how many were read for the forecast.
    pub sampled_bytes: u64,
    /// Records, rejects included.
    pub records: u64,
    /// Of these, records that will be rejected.
    pub rejected: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Different texts.
    pub texts: u64,
    /// Width of the fingerprints.
    pub bits: u32,
    /// Radius of the candidates.
    pub k: u32,
    /// Candidate pairs of different texts.
    pub candidates: u64,
    /// Asking what is known from before, for a run that does.
    pub against: Option<AgainstForecast>,
    /// Peak memory in bytes.
    pub memory_bytes: u64,
    /// Bytes of the result.
    pub output_bytes: u64,
    /// Bytes of temporary files.
    pub work_bytes: u64,
    /// Worker threads.
    pub threads: usize,
    /// Wall time, if nothing else uses the machine.
    pub seconds: f64,
}

/// The cost of asking for texts known from before, and the number of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AgainstForecast {
    /// Texts about which was asked for the forecast.
    pub asked: u64,
    /// Texts of the run that are known.
    pub known: u64,
    /// Wall time of asking, included in that of the run.
    pub seconds: f64,
    /// Memory of what is asked, included in that of the run.
    pub memory_bytes: u64,
}

/// What there is for a run to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Bytes of memory: the limit given, or what the system has available.
    pub memory: Option<u64>,
    /// Bytes free on the disk of the output.
    pub output: Option<u64>,
    /// Bytes free on the disk of temporary files.
    pub work: Option<u64>,
    /// Whether these are one disk.
    pub one_disk: bool,
}

impl Room {
    /// What there is now for a run with these options and this output directory.
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
    /// Adds the cost of asking, where what is asked takes `memory_bytes`.
    fn add_against(&mut self, sample: &Sample, memory_bytes: u64) {
        let share = self.texts as f64 / sample.asked.max(1) as f64;
        let against = AgainstForecast {
            asked: sample.asked,
            known: (sample.known as f64 * share) as u64,
            seconds: sample.asking_seconds * share,
            memory_bytes,
        };
        self.memory_bytes += against.memory_bytes;
        self.seconds += against.seconds;
        self.against = Some(against);
    }

    /// Refuses a run that does not fit.
    ///
    /// # Errors
    /// [`DedupError::WillNotFit`], naming what is short and the way out.
    pub fn check(&self, room: &Room) -> Result<(), DedupError> {
        let refuse = |message: String| Err(DedupError::WillNotFit(message));
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let short = |needed: u64, there: Option<u64>| there.is_some_and(|there| needed > there);
        if short(self.memory_bytes, room.memory) {
            return refuse(format!(
                "the run will take about {} MiB of memory, and there are {} MiB; allow more with --memory, take fewer --threads, or split \
                 the input",
                mib(self.memory_bytes),
                mib(room.memory.unwrap_or_default())
            ));
        }
        let on_output = self.output_bytes + if room.one_disk { self.work_bytes } else { 0 };
        if short(on_output, room.output) {
            return refuse(format!(
                "the run will write about {} MiB to the disk of --output, which has {} MiB free; free space there, choose another place{}, \
                 or leave the records where they are (--mode report)",
                mib(on_output),
                mib(room.output.unwrap_or_default()),
                if room.one_disk {
                    ", put temporary files elsewhere (--work-dir)"
                } else {
                    ""
                }
            ));
        }
        if !room.one_disk && short(self.work_bytes, room.work) {
            return refuse(format!(
                "the run will put about {} MiB of temporary files on the disk of --work-dir, which has {} MiB free; free space there or \
                 choose another place",
                mib(self.work_bytes),
                mib(room.work.unwrap_or_default())
            ));
        }
        Ok(())
    }
}

/// Tells what [`dedup`](crate::job()) would take on these inputs, from a sample of about 32 MiB. Writes temporary files alone.
///
/// # Errors
/// What stops the run before it begins, or stops reading the sample.
pub fn forecast(
    inputs: &[String],
    source_options: &SourceOptions,
    options: &DedupOptions,
    stores: &dyn DocumentStores,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Forecast, DedupError> {
    options.check()?;
    let pool = threads::pool(options.threads)?;
    pool.install(|| {
        let parent = options.work_dir.clone().unwrap_or_else(std::env::temp_dir);
        let work = WorkDir::create(&parent)?;
        let sources = Sources::discover_cancellable(inputs, source_options, work.path(), Arc::clone(cancel))?;
        sources.check_fields(|hint| progress.warn(hint))?;
        let held = peak_memory();
        let against = options.against.as_deref();
        let against = against
            .map(|path| Ok::<_, DedupError>((path, Against::open(path, options, stores)?)))
            .transpose()?;
        let held = peak_memory()
            .zip(held)
            .map_or(0, |(after, before)| after - before);
        progress.stage("sample", sample::bytes(&sources), Unit::Bytes);
        let against = against.as_ref().map(|(path, against)| (*path, against));
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
    let radius = radius(sample, growth, options);
    let candidates = radius.expected_candidates.unwrap_or(0.0) * all(sample.rows[1].len() as u64);

    let edges = (candidates as u64).min(most_edges(all(sample.rows[1].len() as u64) as u64, options));

    let threads = rayon::current_num_threads();
    let budget = Budget::new(options.memory, threads)?;
    let tables = memory::tables(
        all(sample.documents) as u64,
        all(sample.texts) as u64,
        all(sample.id_bytes) as u64,
    ) + edges * memory::AN_EDGE;
    // Texts without candidates are never loaded.
    let connected = (2.0 * candidates / all(sample.texts).max(1.0)).min(1.0);
    let set_bytes = all(sample.set_bytes) * if options.verify { connected } else { 0.0 };
    let dictionary = if sample.chinese { memory::DICTIONARY } else { 0 };
    let memory_bytes = memory::PROGRAM
        + dictionary
        + memory::BATCHES.min(2 * all(counts.record_bytes) as u64)
        + threads as u64 * memory::A_THREAD
        + tables
        + memory::A_RECORD_BYTE * counts.longest
        + (set_bytes as u64).min(budget.sets(tables) as u64);

    let documents = sample.documents.max(1) as f64;
    let label = sample.label_bytes as f64 / documents;
    let id = match sample.id_bytes {
        0 => label + 8.0,
        bytes => bytes as f64 / documents,
    };
    let rows = all(sample.documents) * (CLUSTER_ROW + label + 1.5 * id + f64::from(radius.bits) / 4.0);
    let rows = match options.clusters {
        ClusterFiles::Jsonl | ClusterFiles::Both => rows,
        ClusterFiles::Parquet => rows / 4.0,
        ClusterFiles::None => 0.0,
    };
    let copied = match (options.mode, options.added_columns()) {
        (Mode::Report, _) => 0.0,
        (Mode::Remove | Mode::Annotate, None) => all(counts.input_bytes),
        (Mode::Remove | Mode::Annotate, Some(_)) => {
            all(counts.input_bytes) + all(sample.documents) * (ANNOTATION + id)
        }
    };
    let stdin: u64 = sources
        .list()
        .iter()
        .filter(|file| file.label == "stdin")
        .map(|file| file.bytes)
        .sum();
    let on_cores =
        all(sample.rows[1].len() as u64) * JOIN + set_bytes / SETS_A_SECOND + candidates * COMPARISON;
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
        output_bytes: (copied + rows) as u64,
        work_bytes: all(sample.spool_bytes) as u64
            + stdin
            + put_in_order(sources, all(counts.record_bytes), options),
        against: None,
        threads,
        seconds: sample.seconds * growth + on_cores / threads as f64 + copied / COPIED_A_SECOND,
    })
}

/// Bytes of the largest file's records, which are put aside to be put in order, of `records` in all files.
fn put_in_order(sources: &Sources, records: f64, options: &DedupOptions) -> u64 {
    let largest = sources.list().iter().map(|file| file.bytes).max().unwrap_or(0);
    match options.order {
        Order::Input => 0,
        Order::Similar => (records * largest as f64 / sources.total_bytes().max(1) as f64) as u64,
    }
}

/// The radius that the run will choose.
fn radius(sample: &Sample, growth: f64, options: &DedupOptions) -> Radius {
    let [half, whole] = &sample.rows;
    let (bits, k) = if options.verify {
        (options.bits, options.hamming)
    } else {
        let k = match options.hamming {
            Auto::Fixed(k) => k,
            Auto::Auto => crate::job::UNVERIFIED_RADIUS,
        };
        (Auto::Fixed(options.width_without_verification()), Auto::Fixed(k))
    };
    let rows = whole.len() as f64 * growth;
    radius::foresee([half, whole], rows, (bits, k), options.threshold, options.seed)
}
