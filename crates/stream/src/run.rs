//! Runs a stream over files in one pass: documents are prepared on all threads and placed in input order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_index::storage::folder;

use super::history::{self, StreamDigest};
use super::job::ClusterJob;
use super::output::ClusterOutput;
use super::state_file::StateFile;
use super::summary::ClusterSummary;

use crate::StreamError;
use twinprint_io::JobError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::sink::{OpenClaim, OutputDir, RunStart};
use twinprint_io::source::{Sources, input_root};
use twinprint_io::threads;
use twinprint_io::work::WorkDir;

/// Reads the documents of the inputs in order, places each of them in a group and a story, and writes the result to the
/// output directory.
///
/// With a state file, the stream continues from the state in that file, if it exists, and the next state replaces it at
/// the end. The output then has the documents of this run, and the groups and stories that ended in this run or are
/// live. If documents have labels, `agreement.json` has the agreement of groups and stories with the labels.
///
/// The result does not depend on the number of threads. Memory is bounded by the live groups and stories, 16 bytes per
/// document of the run, and the documents whose words are counted ahead.
///
/// # Errors
/// Any [`StreamError`], for example if another run uses the same state file. The state is then unchanged, and the
/// incomplete output is deleted.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
/// use twinprint_stream::{ClusterJob, ClusterRun, FieldKeys, StreamOptions, cluster};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let news = dir.path().join("news.jsonl");
/// std::fs::write(
///     &news,
///     concat!(
///         "{\"id\": \"a\", \"text\": \"Cocoa prices rose in London after rain delayed the harvest in Ghana.\"}\n",
///         "{\"id\": \"b\", \"text\": \"Cocoa prices rose in London after rain delayed the harvest in Ghana!\"}\n",
///         "{\"id\": \"c\", \"text\": \"The city council voted to build a bridge over the river.\"}\n",
///     ),
/// )?;
///
/// let summary = cluster(
///     &ClusterJob {
///         inputs: &[news.display().to_string()],
///         source: &SourceOptions::default(),
///         keys: &FieldKeys::default(),
///         stream: &StreamOptions::new()?,
///         run: ClusterRun::default(),
///         out: &dir.path().join("out"),
///         state: None,
///     },
///     &Silent,
///     &Arc::default(),
/// )?;
/// assert_eq!((summary.documents, summary.duplicates, summary.groups), (3, 1, 1));
/// assert!(dir.path().join("out/stories.html").exists());
/// # Ok(())
/// # }
/// ```
pub fn cluster(
    job: &ClusterJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<ClusterSummary, StreamError> {
    let ClusterJob { inputs, out, run, .. } = *job;
    job.stream.check()?;
    let pool = threads::pool(run.threads)?;
    let discover = |place: &Path| {
        let work = WorkDir::create(place)?;
        let sources = Sources::discover_cancellable(inputs, job.source, work.path(), Arc::clone(cancel))?;
        sources.check_fields(|hint| progress.warn(hint))?;
        Ok::<_, StreamError>((work, sources))
    };
    let result = pool.install(|| {
        let named: Vec<_> = inputs.iter().map(|input| input_root(input)).collect();
        OutputDir::check_inputs(out, named.iter().map(PathBuf::as_path))?;
        let has_ended = |open: &OpenClaim| history::has_ended(job, open);
        let (dir, found) = match OutputDir::begin_or_resume(out, run.existing, has_ended)? {
            RunStart::New(dir) => (dir, None),
            RunStart::Ended(dir, open) => {
                // The work directory is outside of the output directory, because the output directory may be emptied
                // before the inputs are read a second time.
                let (work, sources) = discover(folder(out))?;
                let ended = history::finish_ended(job, &dir, &open, &sources, progress)?;
                // The lock of the output directory is released before the directory is begun again.
                drop(dir);
                if let Some(summary) = ended {
                    return Ok(summary);
                }
                (OutputDir::begin(out, run.existing)?, Some((work, sources)))
            }
        };
        // The state is loaded only now, because its file may be inside the output directory, which had to be begun
        // first.
        let state = job.state.map(StateFile::hold).transpose()?;
        let stream = history::load(state.as_ref().map(StateFile::path), job.stream)?;
        let claim = state
            .as_ref()
            .map(|state| history::claim(job.command(), state.path(), stream.documents()));
        if let Some(claim) = &claim {
            dir.claim(claim)?;
        }
        let (work, sources) = found.map_or_else(|| discover(dir.files_dir()), Ok)?;
        let mut output = ClusterOutput::new(&dir, stream, &sources, run.vectors)?;
        output.digest = claim.as_ref().map(|_| StreamDigest::new());
        output.read(job.keys, run, progress)?;
        output.summary.intake = sources.intake()?;
        drop(work);
        progress.stage("write", 0, Unit::Steps);
        let digest = output.digest.as_ref().map_or(0, StreamDigest::finish);
        let (summary, mut stream) = output.finish()?;
        if let (Some(mut state), Some(claim)) = (state, claim) {
            stream.past.push(claim.run, digest, &summary);
            stream.write(&mut state)?;
            dir.declare_whole(digest)?;
            state.keep()?;
        }
        dir.finish()?;
        Ok(summary)
    });
    if cancel.load(Ordering::Relaxed) && result.is_err() {
        Err(JobError::Cancelled.into())
    } else {
        result
    }
}
