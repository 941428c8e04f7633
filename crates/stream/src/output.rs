//! The output of a run over files: places the documents, and writes the rows of groups, stories and assignments.
//!
//! Groups and stories merge until the end of a run. So the rows of `assignments.jsonl` are first written to a temporary
//! file without their groups and stories, which are added at the end.

use std::io::{BufRead, BufReader, BufWriter, Seek, Write};

use serde::{Deserialize, Serialize};
use twinprint_cluster::groups::DuplicateGroup;
use twinprint_cluster::stories::{Story, Topic};

use super::Stream;
use super::agreement::Labels;
use super::batch::{BATCH_BYTES, BatchPreparer, PreparedRecord};
use super::fields::FieldKeys;
use super::history::StreamDigest;
use super::job::ClusterRun;
use super::page::StoriesPage;
use super::rows::{AssignmentRow, GroupRow, StoryRow, VectorRow};
use super::summary::ClusterSummary;

use crate::StreamError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::rows::{Ratio, write, write_reject};
use twinprint_io::sink::{OutputDir, OutputFile};
use twinprint_io::source::{SourceError, Sources};
use twinprint_io::work::WorkError;

/// A run in progress: the stream, and the files that the run writes.
pub(super) struct ClusterOutput<'r> {
    sources: &'r Sources,
    stream: Stream,
    /// A temporary file of [`SpooledAssignment`] rows.
    spool: BufWriter<std::fs::File>,
    /// The group and story in which each document was placed. Either may have merged since.
    placed: Vec<Placement>,
    labels: Labels,
    assignments: OutputFile,
    groups: OutputFile,
    stories: OutputFile,
    rejects: OutputFile,
    vectors: Option<OutputFile>,
    page: StoriesPage,
    dir: OutputDir,
    /// The digest of the documents placed so far; `None` in a run without a state.
    pub(super) digest: Option<StreamDigest>,
    /// True if at least one document of the stream has a time.
    timed: bool,
    pub(super) summary: ClusterSummary,
    buffer: Vec<u8>,
}

impl<'r> ClusterOutput<'r> {
    /// Creates the files of the output.
    pub(super) fn new(
        dir: &OutputDir,
        stream: Stream,
        sources: &'r Sources,
        vectors: bool,
    ) -> Result<Self, StreamError> {
        let spool = tempfile::tempfile_in(dir.files_dir()).map_err(|source| WorkError::Dir {
            path: dir.files_dir().to_owned(),
            source,
        })?;
        Ok(Self {
            sources,
            spool: BufWriter::new(spool),
            placed: Vec::new(),
            labels: Labels::default(),
            assignments: dir.file("assignments.jsonl")?,
            groups: dir.file("groups.jsonl")?,
            stories: dir.file("stories.jsonl")?,
            rejects: dir.file("rejects.jsonl")?,
            vectors: vectors.then(|| dir.file("vectors.jsonl")).transpose()?,
            page: StoriesPage::default(),
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

    /// Reads the documents of all inputs, and places them in the stream.
    pub(super) fn read(
        &mut self,
        keys: &FieldKeys,
        options: ClusterRun,
        progress: &dyn Progress,
    ) -> Result<(), StreamError> {
        progress.stage("cluster", self.sources.total_bytes(), Unit::Bytes);
        let preparer = BatchPreparer::new(self.sources, keys, &self.stream, options.reject_empty);
        let mut waiting = Vec::new();
        let mut left_to_count = if self.stream.documents() == 0 {
            options.count_ahead
        } else {
            0
        };
        let mut batches = self.sources.read(BATCH_BYTES);
        loop {
            let batch = batches.next().transpose()?;
            if self.sources.cancelled() {
                return Err(SourceError::Cancelled.into());
            }
            if let Some(batch) = &batch {
                for row in preparer.prepare(batch) {
                    if let (PreparedRecord::Document { prepared, .. }, 1..) = (&row, left_to_count) {
                        self.stream.count_ahead(prepared);
                        left_to_count -= 1;
                    }
                    waiting.push(row);
                }
                progress.advance(batch.input_bytes());
            }
            if left_to_count == 0 || batch.is_none() {
                for row in waiting.drain(..) {
                    self.place(row)?;
                }
            }
            if batch.is_none() {
                return Ok(());
            }
        }
    }

    fn place(&mut self, row: PreparedRecord) -> Result<(), StreamError> {
        match row {
            PreparedRecord::Reject { source, line, reason } => {
                let label = &self.sources.file(source).label;
                write_reject(&mut self.rejects, label, line, &reason)?;
            }
            PreparedRecord::Document {
                source,
                line,
                label,
                is_future,
                prepared,
            } => {
                if let Some(digest) = &mut self.digest {
                    digest.push(&prepared);
                }
                self.labels.push(label);
                self.timed |= prepared.time.is_some();
                self.summary.untimed += u64::from(prepared.time.is_none());
                self.summary.future += u64::from(is_future);
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
                self.placed.push(Placement {
                    group: assigned.group,
                    story: assigned.story,
                });
                let row = SpooledAssignment {
                    id: prepared.name,
                    source,
                    line,
                    jaccard: assigned.similarity.jaccard,
                };
                self.spool(&row)?;
                self.write_retired()?;
            }
        }
        Ok(())
    }

    /// Writes a row to the temporary file. It is completed at the end, when no more groups and stories merge.
    fn spool(&mut self, row: &SpooledAssignment) -> Result<(), StreamError> {
        self.buffer.clear();
        // Serialising cannot fail: a row consists of strings and numbers.
        if serde_json::to_writer(&mut self.buffer, row).is_ok() {
            self.buffer.push(b'\n');
        }
        let written = self.spool.write_all(&self.buffer);
        Ok(written.map_err(|source| WorkError::spool(self.assignments.path(), source))?)
    }

    /// Writes the groups and stories that ended since the last call.
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

    fn write_group(&mut self, group: &DuplicateGroup) -> Result<(), StreamError> {
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
        self.page.add(story, topic);
        Ok(())
    }

    /// Writes the live groups and stories, the assignments and the page, and returns the stream.
    pub(super) fn finish(mut self) -> Result<(ClusterSummary, Stream), StreamError> {
        self.write_live()?;
        self.summary.thresholds = self.stream.reported_thresholds();
        self.write_assignments()?;
        if !self.labels.is_empty() {
            let (stream, placed) = (&self.stream, &self.placed);
            let groups = placed.iter().map(|placement| stream.group(placement.group));
            let stories = placed.iter().map(|placement| stream.story(placement.story));
            let groups = self.labels.agreement(groups);
            let stories = self.labels.agreement(stories);
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
            let estimate = self.stream.story_estimate();
            page.append(self.page.html(&self.summary, estimate, self.timed).as_bytes())?;
            page.finish()?;
        }
        Ok((self.summary, self.stream))
    }

    fn write_live(&mut self) -> Result<(), StreamError> {
        // The groups are cloned, because writing a row borrows all of `self`.
        let groups: Vec<DuplicateGroup> = self
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
        self.spool.flush().map_err(failed)?;
        let file = self.spool.get_mut();
        file.rewind().map_err(failed)?;
        let mut rows = BufReader::new(file);
        let mut line = Vec::new();
        for (document, placement) in (self.summary.before..).zip(&self.placed) {
            line.clear();
            rows.read_until(b'\n', &mut line).map_err(failed)?;
            let spooled: SpooledAssignment =
                serde_json::from_slice(&line).map_err(|error| failed(error.into()))?;
            let row = AssignmentRow {
                id: &spooled.id,
                source: &self.sources.file(spooled.source).label,
                line: spooled.line,
                document,
                group_id: self.stream.group(placement.group),
                story_id: self.stream.story(placement.story),
                jaccard: Ratio::new(spooled.jaccard),
            };
            write(&mut self.assignments, &row, &mut self.buffer)?;
        }
        Ok(())
    }
}

/// The group and story that a document was placed in. Either may have merged into another since.
#[derive(Clone, Copy)]
struct Placement {
    group: u64,
    story: u64,
}

/// A row of `assignments.jsonl` without its group and story, which may still merge.
#[derive(Serialize, Deserialize)]
struct SpooledAssignment {
    id: Box<str>,
    /// The index of the document's source file.
    source: u32,
    line: u64,
    jaccard: f64,
}
