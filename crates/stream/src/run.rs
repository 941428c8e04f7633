//! Runs a stream over files: one pass, documents prepared on all threads and placed in input order.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use twinprint_cluster::stories::{Story, Topic};
use twinprint_index::storage::folder;

use super::agreement::{AgreementReport, Labels};
use super::feed::{Feed, Row};
use super::fields::FieldKeys;
use super::page::Shown;
use super::rows::{AssignmentRow, GroupRow, StoryRow, VectorRow};
use super::runs::{self, StreamDigest};
use super::state_file::StateFile;
use super::{Stream, StreamOptions};

use crate::StreamError;
use twinprint_io::JobError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::rows::{Ratio, write, write_reject};
use twinprint_io::sink::{Existing, OpenClaim, OutputDir, OutputFile, RunStart};
use twinprint_io::source::{Intake, SourceError, SourceOptions, Sources, root_of};
use twinprint_io::threads;
use twinprint_io::work::{WorkDir, WorkError};

/// Bytes of input prepared at a time.
pub(super) const BATCH: usize = 8 << 20;

/// The options of a run over files that decide nothing about the placing of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRun {
    /// Worker threads; 0 takes all cores.
    pub threads: usize,
    /// Documents of a new stream whose words are counted before the first one is placed.
    pub ahead: u64,
    /// True if `vectors.jsonl` is written.
    pub vectors: bool,
    /// True if texts without features are rejected. Otherwise each is a group of its own.
    pub reject_empty: bool,
    /// The treatment of an earlier result in the output directory.
    pub existing: Existing,
}

/// A run of [`cluster`] over files.
#[derive(Clone, Copy)]
pub struct ClusterJob<'j> {
    /// Files, folders and globs.
    pub inputs: &'j [String],
    /// How they are read.
    pub source: &'j SourceOptions,
    /// The fields of time, address, score, title and label.
    pub keys: &'j FieldKeys,
    /// How documents are placed.
    pub stream: &'j StreamOptions,
    /// Everything else.
    pub run: ClusterRun,
    /// The output directory: new or empty, unless [`ClusterRun::existing`] replaces a result.
    pub out: &'j Path,
    /// The file of the stream's state, which continues from there and is stored there at the end.
    pub state: Option<&'j Path>,
}

impl Default for ClusterRun {
    fn default() -> Self {
        Self {
            threads: 0,
            ahead: 2000,
            vectors: false,
            reject_empty: false,
            existing: Existing::Refuse,
        }
    }
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterSummary {
    /// Documents read, rejected records apart.
    pub documents: u64,
    /// The account of the input.
    pub intake: Intake,
    /// What was found in folders and not read, by kind.
    pub skipped: BTreeMap<String, u64>,
    /// Documents that are duplicates of one seen before.
    pub duplicates: u64,
    /// Groups of two documents or more.
    pub groups: u64,
    /// Stories, and those of two documents or more.
    pub stories: [u64; 2],
    /// Stories that have ended.
    pub ended: u64,
    /// Documents without a time that could be read; they are taken to be of the latest time before them.
    pub untimed: u64,
    /// Of these, such as have a time more than a day in the future.
    pub ahead: u64,
    /// Documents in the stream before this run; groups and stories that live on from there are counted as well.
    pub before: u64,
    /// How the groups and the stories agree with the labels of documents, where these were asked for and some have one.
    pub agreement: Option<[AgreementReport; 2]>,
}

/// Reads the documents of the inputs in order, places each in its group and story, and writes the result to the output directory.
///
/// With a state, a stream goes on from that file if it is there, and its state is stored there at the end; the output then holds what this run
/// read: its documents, and the groups and stories that ended in it or live on. Where documents have labels, `agreement.json` says how well groups
/// and stories agree with them.
///
/// Deterministic on any number of threads. Memory is bounded by the live groups and stories, 16 bytes a document of the run, and the
/// documents counted ahead.
///
/// # Errors
/// What stops the whole run, another run with the same state among it; the state is as before then, and what was written is deleted.
pub fn cluster(
    job: &ClusterJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<ClusterSummary, StreamError> {
    let ClusterJob {
        inputs,
        source: source_options,
        keys,
        stream: options,
        run: how,
        out,
        state,
    } = *job;
    options.check()?;
    let pool = threads::pool(how.threads)?;
    let discover = |place: &Path| {
        let work = WorkDir::create(place)?;
        let sources = Sources::discover_cancellable(inputs, source_options, work.path(), Arc::clone(cancel))?;
        sources.check_fields(|hint| progress.warn(hint))?;
        Ok::<_, StreamError>((work, sources))
    };
    let command = runs::command(inputs, source_options, keys, options, how);
    let result = pool.install(|| {
        let named: Vec<_> = inputs.iter().map(|input| root_of(input)).collect();
        OutputDir::check_inputs(out, named.iter().map(PathBuf::as_path))?;
        let has_ended = |open: &OpenClaim| runs::has_ended(out, open, command, state, options);
        let (dir, found) = match OutputDir::begin_or_resume(out, how.existing, has_ended)? {
            RunStart::New(dir) => (dir, None),
            RunStart::Ended(dir, open) => {
                // Not in the output directory, which may be emptied before the inputs are read a second time.
                let (work, sources) = discover(folder(out))?;
                let ended = runs::finish_ended(
                    (dir, &open, command),
                    &sources,
                    keys,
                    (options, how, state),
                    progress,
                )?;
                if let Some(summary) = ended {
                    return Ok(summary);
                }
                (OutputDir::begin(out, how.existing)?, Some((work, sources)))
            }
        };
        // After that, since it may lie in there.
        let state = state.map(StateFile::hold).transpose()?;
        let stream = runs::load(state.as_ref().map(StateFile::path), options)?;
        let claim = state
            .as_ref()
            .map(|state| runs::claim(command, state.path(), stream.documents()));
        if let Some(claim) = &claim {
            dir.claim(claim)?;
        }
        let (work, sources) = found.map_or_else(|| discover(dir.files_dir()), Ok)?;
        let mut run = Run::new(&dir, stream, &sources, how.vectors)?;
        run.digest = claim.as_ref().map(|_| StreamDigest::new());
        run.read(keys, how, progress)?;
        run.summary.intake = sources.intake()?;
        drop(work);
        progress.stage("write", 0, Unit::Steps);
        let digest = run.digest.as_ref().map_or(0, StreamDigest::finish);
        let (summary, mut stream) = run.finish()?;
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

struct Run<'r> {
    sources: &'r Sources,
    stream: Stream,
    /// Rows of documents without what may still change: their group and story.
    places: BufWriter<std::fs::File>,
    /// Group and story of each.
    placed: Vec<(u64, u64)>,
    labels: Labels,
    assignments: OutputFile,
    groups: OutputFile,
    stories: OutputFile,
    rejects: OutputFile,
    vectors: Option<OutputFile>,
    shown: Shown,
    dir: OutputDir,
    /// The digest of the documents placed, if a state has to distinguish this run from others.
    digest: Option<StreamDigest>,
    /// Whether documents have times.
    timed: bool,
    summary: ClusterSummary,
    buffer: Vec<u8>,
}

impl<'r> Run<'r> {
    fn new(
        dir: &OutputDir,
        stream: Stream,
        sources: &'r Sources,
        vectors: bool,
    ) -> Result<Self, StreamError> {
        let places = tempfile::tempfile_in(dir.files_dir()).map_err(|source| WorkError::Dir {
            path: dir.files_dir().to_owned(),
            source,
        })?;
        Ok(Self {
            sources,
            places: BufWriter::new(places),
            placed: Vec::new(),
            labels: Labels::default(),
            assignments: dir.file("assignments.jsonl")?,
            groups: dir.file("groups.jsonl")?,
            stories: dir.file("stories.jsonl")?,
            rejects: dir.file("rejects.jsonl")?,
            vectors: vectors.then(|| dir.file("vectors.jsonl")).transpose()?,
            shown: Shown::default(),
            dir: dir.clone(),
            digest: None,
            timed: stream.clock.is_some(),
            summary: ClusterSummary {
                before: stream.documents(),
                skipped: sources.skipped().clone(),
                ..ClusterSummary::default()
            },
            stream,
            buffer: Vec::new(),
        })
    }

    fn read(
        &mut self,
        keys: &FieldKeys,
        how: ClusterRun,
        progress: &dyn Progress,
    ) -> Result<(), StreamError> {
        progress.stage("cluster", self.sources.total_bytes(), Unit::Bytes);
        let feed = Feed::new(self.sources, keys, &self.stream, how.reject_empty);
        let mut waiting = Vec::new();
        let mut counted = if self.stream.documents() == 0 {
            how.ahead
        } else {
            0
        };
        let mut batches = self.sources.read(BATCH);
        loop {
            let batch = batches.next().transpose()?;
            if self.sources.cancelled() {
                return Err(SourceError::Cancelled.into());
            }
            if let Some(batch) = &batch {
                for row in feed.prepare(batch) {
                    if let (Row::Document { prepared, .. }, 1..) = (&row, counted) {
                        self.stream.count_ahead(prepared);
                        counted -= 1;
                    }
                    waiting.push(row);
                }
                progress.advance(batch.input_bytes());
            }
            if counted == 0 || batch.is_none() {
                for row in waiting.drain(..) {
                    self.place(row)?;
                }
            }
            if batch.is_none() {
                return Ok(());
            }
        }
    }

    fn place(&mut self, row: Row) -> Result<(), StreamError> {
        match row {
            Row::Reject { source, line, reason } => {
                let label = &self.sources.list()[source as usize].label;
                write_reject(&mut self.rejects, label, line, &reason)?;
            }
            Row::Document {
                source,
                line,
                label,
                ahead,
                prepared,
            } => {
                if let Some(digest) = &mut self.digest {
                    digest.push(&prepared);
                }
                self.labels.push(label);
                self.timed |= prepared.time.is_some();
                self.summary.untimed += u64::from(prepared.time.is_none());
                self.summary.ahead += u64::from(ahead);
                if let Some(vectors) = &mut self.vectors {
                    let row = VectorRow {
                        id: &prepared.name,
                        document: self.stream.documents(),
                        vector: self.stream.vector(&prepared).into_iter().collect(),
                    };
                    write(vectors, &row, &mut self.buffer)?;
                }
                let assigned = self.stream.place(&prepared);
                self.summary.documents += 1;
                self.summary.duplicates += u64::from(!assigned.is_new());
                self.placed.push((assigned.group, assigned.story));
                let place = Place {
                    id: prepared.name,
                    source,
                    line,
                    jaccard: assigned.similarity.jaccard,
                };
                self.note(&place)?;
                self.write_retired()?;
            }
        }
        Ok(())
    }

    /// Keeps a row until the end, when all merging is done.
    fn note(&mut self, place: &Place) -> Result<(), StreamError> {
        self.buffer.clear();
        // Strings and numbers always serialise.
        if serde_json::to_writer(&mut self.buffer, place).is_ok() {
            self.buffer.push(b'\n');
        }
        let written = self.places.write_all(&self.buffer);
        Ok(written.map_err(|source| WorkError::spool(self.assignments.path(), source))?)
    }

    /// Writes what nothing can join any more.
    fn write_retired(&mut self) -> Result<(), StreamError> {
        let (groups, stories) = self.stream.take_retired();
        for group in &groups {
            self.write_group(group)?;
        }
        for (story, topic) in &stories {
            self.write_story(story, topic, true)?;
        }
        Ok(())
    }

    fn write_group(&mut self, group: &twinprint_cluster::groups::DuplicateGroup) -> Result<(), StreamError> {
        if group.size > 1 {
            self.summary.groups += 1;
            let row = GroupRow::new(group, self.stream.story(group.label), self.timed);
            write(&mut self.groups, &row, &mut self.buffer)?;
        }
        Ok(())
    }

    fn write_story(&mut self, story: &Story, topic: &Topic, ended: bool) -> Result<(), StreamError> {
        self.summary.stories[0] += 1;
        self.summary.stories[1] += u64::from(story.size > 1);
        self.summary.ended += u64::from(ended);
        let row = StoryRow::new(story, topic, self.timed, ended);
        write(&mut self.stories, &row, &mut self.buffer)?;
        self.shown.add(story, topic);
        Ok(())
    }

    fn finish(mut self) -> Result<(ClusterSummary, Stream), StreamError> {
        self.write_live()?;
        self.write_assignments()?;
        if !self.labels.is_empty() {
            let [groups, stories] = [false, true].map(|story| {
                self.labels.agreement(self.placed.iter().map(|&(group, of)| {
                    if story {
                        self.stream.story(of)
                    } else {
                        self.stream.group(group)
                    }
                }))
            });
            let mut file = self.dir.file("agreement.json")?;
            write(
                &mut file,
                &serde_json::json!({"groups": &groups, "stories": &stories}),
                &mut self.buffer,
            )?;
            file.finish()?;
            self.summary.agreement = Some([groups, stories]);
        }
        self.assignments.finish()?;
        self.groups.finish()?;
        self.stories.finish()?;
        self.rejects.finish()?;
        self.vectors.map_or(Ok(0), OutputFile::finish)?;
        {
            let mut page = self.dir.file("stories.html")?;
            page.append(self.shown.html(&self.summary, self.timed).as_bytes())?;
            page.finish()?;
        }
        Ok((self.summary, self.stream))
    }

    fn write_live(&mut self) -> Result<(), StreamError> {
        // Each row is written as it is made, but the stream cannot be borrowed along.
        let groups: Vec<twinprint_cluster::groups::DuplicateGroup> = self
            .stream
            .groups()
            .filter(|group| group.size > 1)
            .cloned()
            .collect();
        for group in &groups {
            self.write_group(group)?;
        }
        let ids: Vec<u64> = self.stream.stories().map(|story| story.id).collect();
        for id in ids {
            let Some(story) = self.stream.stories.get(id).cloned() else {
                continue;
            };
            let topic = self.stream.topic(&story);
            self.write_story(&story, &topic, false)?;
        }
        Ok(())
    }

    fn write_assignments(&mut self) -> Result<(), StreamError> {
        let path = self.assignments.path().to_owned();
        let failed = |source| WorkError::spool(&path, source);
        self.places.flush().map_err(failed)?;
        let file = self.places.get_mut();
        file.rewind().map_err(failed)?;
        let mut rows = BufReader::new(file);
        let mut line = Vec::new();
        for (document, &(group, story)) in (self.summary.before..).zip(&self.placed) {
            line.clear();
            rows.read_until(b'\n', &mut line).map_err(failed)?;
            let place: Place = serde_json::from_slice(&line).map_err(|error| failed(error.into()))?;
            let row = AssignmentRow {
                id: &place.id,
                source: &self.sources.list()[place.source as usize].label,
                line: place.line,
                document,
                group_id: self.stream.group(group),
                story_id: self.stream.story(story),
                jaccard: Ratio::new(place.jaccard),
            };
            write(&mut self.assignments, &row, &mut self.buffer)?;
        }
        Ok(())
    }
}

/// What a row of `assignments.jsonl` will need beside group and story.
#[derive(Serialize, Deserialize)]
struct Place {
    id: Box<str>,
    source: u32,
    line: u64,
    jaccard: f64,
}
