//! The outputs of one file of records: which bytes go to which side.

use std::ops::Range;
use std::path::{Path, PathBuf};

use twinprint_text::charset::Charset;

use super::arrange::{Arrange, Order, Zstd};
use super::copy::{Fate, Written};
use super::dir::OutputDir;
use super::encode::Packed;
use super::error::SinkError;
use super::packed_input::PackedInput;
use crate::source::{Codec, Format, RecordBlock, SourceFile, SpanKind, to_utf16};

/// The two sides of one file. `kept/` is begun at once, `removed/` with its first record.
pub(super) struct RecordFile<'a> {
    input: &'a SourceFile,
    charset: Charset,
    out: &'a OutputDir,
    kept: Side,
    removed: Option<Side>,
    /// What a side begins with.
    opening: Vec<u8>,
    /// What stands before the next record.
    separator: Vec<u8>,
    /// Where records come from that may go out as they are packed.
    packed: Option<PackedInput<'a>>,
}

/// One output.
struct Side {
    packed: Packed,
    /// The charset it is recoded to, as the input was recoded from it.
    recoded: Option<(Charset, Vec<u8>)>,
    /// For records that are not to stand in the order of the input.
    arrange: Option<Arrange>,
    /// Whether it has a record.
    begun: bool,
}

/// Neighbouring bytes of a piece that go to one side in one write.
#[derive(Default)]
struct Run {
    removed: bool,
    range: Range<usize>,
}

impl Side {
    fn new(input: &SourceFile, charset: Charset, out: &OutputDir, fate: Fate) -> Result<Self, SinkError> {
        Ok(Self {
            packed: match input.format {
                Format::Warc => Packed::by_record(out.file(place(input, fate))?, input.codec)?,
                _ => Packed::new(out.file(place(input, fate))?, input.codec)?,
            },
            recoded: (!charset.keeps_ascii()).then_some((charset, Vec::new())),
            arrange: None,
            begun: false,
        })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        let bytes = match &mut self.recoded {
            None => bytes,
            Some((charset, recoded)) => {
                recoded.clear();
                to_utf16(bytes, *charset, recoded);
                recoded.as_slice()
            }
        };
        match &mut self.arrange {
            Some(arrange) => arrange.append(bytes),
            None => self.packed.append(bytes),
        }
    }

    fn finish(mut self, cancelled: &dyn Fn() -> bool) -> Result<Zstd, SinkError> {
        let zstd = match self.arrange {
            Some(arrange) => arrange.finish(|bytes| self.packed.append(bytes), cancelled)?,
            None => Zstd::default(),
        };
        self.packed.finish()?;
        Ok(zstd)
    }
}

impl<'a> RecordFile<'a> {
    /// Records that are not removed go where `main` says, in `order` if they are lines.
    pub(super) fn new(
        input: &'a SourceFile,
        charset: Charset,
        out: &'a OutputDir,
        main: Fate,
        order: Option<Order<'_>>,
    ) -> Result<Self, SinkError> {
        let mut kept = Side::new(input, charset, out, main)?;
        if let Some(order) = order.filter(|_| input.format.is_by_line()) {
            kept.arrange = Some(Arrange::new(order.work)?);
        }
        let by_member = input.format == Format::Warc && input.codec == Codec::Gzip;
        Ok(Self {
            input,
            charset,
            out,
            kept,
            removed: None,
            opening: Vec::new(),
            separator: Vec::new(),
            packed: by_member.then(|| PackedInput::open(input)).transpose()?,
        })
    }

    /// Sends the records of a piece where `fate` says, which is asked for each in order, and tells its rank as well.
    pub(super) fn split(
        &mut self,
        block: &RecordBlock,
        mut fate: impl FnMut() -> (Fate, u32),
        written: &mut Written,
    ) -> Result<(), SinkError> {
        let data = block.data.as_slice();
        if let Some(packed) = &mut self.packed {
            packed.found(&block.members);
        }
        let mut run = Run::default();
        let mut separator = None;
        let mut start = 0;
        for (span, bytes) in block.parts() {
            let whole = start..span.end;
            start = span.end;
            if self.input.format == Format::Warc
                && matches!(span.part, SpanKind::Record | SpanKind::Other(Some(_)))
            {
                self.flush(data, &mut run)?;
                self.kept.packed.end_record()?;
                self.removed
                    .as_mut()
                    .map_or(Ok(()), |removed| removed.packed.end_record())?;
            }
            match span.part {
                SpanKind::Record => {
                    let (fate, rank) = fate();
                    written.add(fate, bytes.len() as u64, 1);
                    if fate != Fate::Reject {
                        let removed = fate == Fate::Remove;
                        if !removed && self.kept.arrange.is_some() {
                            self.flush(data, &mut run)?;
                        }
                        if let Some(arrange) = self.kept.arrange.as_mut().filter(|_| !removed) {
                            arrange.begin(rank);
                        }
                        if self.begin(removed)? {
                            match separator {
                                Some(before) => self.send(data, &mut run, removed, before)?,
                                None if self.separator.is_empty() => {}
                                None => {
                                    self.flush(data, &mut run)?;
                                    let before = std::mem::take(&mut self.separator);
                                    self.append(removed, &before)?;
                                }
                            }
                        }
                        self.send_record(block, &mut run, removed, whole)?;
                    }
                    separator = None;
                    self.separator.clear();
                }
                SpanKind::Separator => separator = Some(whole),
                SpanKind::Other(Some(_)) => self.send_record(block, &mut run, false, whole)?,
                SpanKind::Blank | SpanKind::Other(None) => self.send(data, &mut run, false, whole)?,
                SpanKind::Opening => {
                    self.flush(data, &mut run)?;
                    self.opening.extend_from_slice(bytes);
                    self.kept.append(bytes)?;
                }
                SpanKind::Closing => {
                    self.flush(data, &mut run)?;
                    self.kept.append(bytes)?;
                    if let Some(removed) = &mut self.removed {
                        removed.append(bytes)?;
                    }
                }
            }
        }
        if let Some(range) = separator {
            data[range].clone_into(&mut self.separator);
        }
        if self.input.format.is_by_line() && data.last().is_some_and(|&last| last != b'\n') {
            let removed = run.removed;
            let ends = run.range.end == data.len();
            self.flush(data, &mut run)?;
            if ends {
                written.add(if removed { Fate::Remove } else { Fate::Keep }, 1, 0);
                self.append(removed, b"\n")?;
            }
        }
        self.flush(data, &mut run)
    }

    /// Gives the outputs their final names.
    pub(super) fn finish(self, cancelled: &dyn Fn() -> bool) -> Result<Zstd, SinkError> {
        let zstd = self.kept.finish(cancelled)?;
        self.removed.map_or(Ok(()), |removed| removed.packed.finish())?;
        Ok(zstd)
    }

    /// Makes ready for a record; whether the side has one already.
    fn begin(&mut self, removed: bool) -> Result<bool, SinkError> {
        if removed && self.removed.is_none() {
            let mut side = Side::new(self.input, self.charset, self.out, Fate::Remove)?;
            side.append(&self.opening)?;
            self.removed = Some(side);
        }
        Ok(std::mem::replace(&mut self.side(removed).begun, true))
    }

    fn side(&mut self, removed: bool) -> &mut Side {
        self.removed
            .as_mut()
            .filter(|_| removed)
            .unwrap_or(&mut self.kept)
    }

    /// Sends a record as it is packed where that can be, else its bytes.
    fn send_record(
        &mut self,
        block: &RecordBlock,
        run: &mut Run,
        removed: bool,
        range: Range<usize>,
    ) -> Result<(), SinkError> {
        let unpacked = block.start + range.start as u64..block.start + range.end as u64;
        let member = match &mut self.packed {
            Some(packed) => packed.member(&unpacked)?,
            None => None,
        };
        match member {
            Some(member) => {
                self.flush(&block.data, run)?;
                self.side(removed).packed.append_member(&member)
            }
            None => self.send(&block.data, run, removed, range),
        }
    }

    /// Adds bytes of the piece to the run, or begins another.
    fn send(
        &mut self,
        data: &[u8],
        run: &mut Run,
        removed: bool,
        range: Range<usize>,
    ) -> Result<(), SinkError> {
        if run.removed == removed && run.range.end == range.start && !run.range.is_empty() {
            run.range.end = range.end;
            return Ok(());
        }
        self.flush(data, run)?;
        *run = Run { removed, range };
        Ok(())
    }

    fn flush(&mut self, data: &[u8], run: &mut Run) -> Result<(), SinkError> {
        let Run { removed, range } = std::mem::take(run);
        self.append(removed, &data[range])
    }

    fn append(&mut self, removed: bool, bytes: &[u8]) -> Result<(), SinkError> {
        match bytes {
            [] => Ok(()),
            bytes => self.side(removed).append(bytes),
        }
    }
}

/// The place of an input's records below the output directory.
pub(super) fn place(input: &SourceFile, fate: Fate) -> PathBuf {
    let folder = match fate {
        Fate::Remove => "removed",
        Fate::Annotate => "annotated",
        Fate::Keep | Fate::Reject => "kept",
    };
    Path::new(folder).join(&input.relative)
}
