//! Writes the outputs of one input file of records: one with the kept records, and one with the removed records.

use std::ops::Range;

use twinprint_text::charset::Charset;

use super::action::{CopyCounts, RecordAction, output_path};
use super::arrange::{OrderedOutput, RecordOrder, ZstdSizes};
use super::dir::OutputDir;
use super::encode::Packed;
use super::error::SinkError;
use super::packed_input::PackedInput;
use crate::source::{Codec, Format, RecordBlock, SourceFile, SpanKind, to_utf16};

/// The two outputs of one input file. The output in `kept/` is created at once, the output in `removed/` with its first
/// record.
pub(super) struct RecordFile<'a> {
    input: &'a SourceFile,
    charset: Charset,
    out: &'a OutputDir,
    kept: SideOutput,
    removed: Option<SideOutput>,
    /// The bytes with which each output begins, such as a header line.
    opening: Vec<u8>,
    /// The separator that was read but not written. It is written if the next record goes to an output that already has
    /// a record.
    separator: Vec<u8>,
    /// The compressed input, if its records can be copied without decompressing them.
    packed: Option<PackedInput<'a>>,
}

/// The action on a record, and its rank if the output is reordered.
#[derive(Clone, Copy)]
pub(super) struct RankedAction {
    pub(super) action: RecordAction,
    pub(super) rank: u32,
}

/// The output of the kept or of the removed records.
struct SideOutput {
    packed: Packed,
    /// The charset of the file if it is UTF-16, and the buffer in which bytes are converted back to it.
    recoded: Option<(Charset, Vec<u8>)>,
    /// The records that wait to be written in another order than that of the input.
    arrange: Option<OrderedOutput>,
    /// True if the output already contains a record.
    begun: bool,
}

/// The ranges of a block that wait to be written to each output, in order. Adjacent bytes are one range.
#[derive(Default)]
struct PendingBytes {
    kept: Vec<Range<usize>>,
    removed: Vec<Range<usize>>,
}

impl PendingBytes {
    /// Adds a range to the bytes for the removed or for the kept records.
    fn add(&mut self, removed: bool, range: Range<usize>) {
        let ranges = if removed {
            &mut self.removed
        } else {
            &mut self.kept
        };
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }

    /// The output that gets the last byte of the block, if one does: true for that of the removed records.
    fn last_output(&self, block_bytes: usize) -> Option<bool> {
        let ends = |ranges: &[Range<usize>]| ranges.last().is_some_and(|range| range.end == block_bytes);
        match (ends(&self.kept), ends(&self.removed)) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }
}

impl SideOutput {
    fn new(
        input: &SourceFile,
        charset: Charset,
        out: &OutputDir,
        action: RecordAction,
    ) -> Result<Self, SinkError> {
        Ok(Self {
            packed: match input.format {
                Format::Warc => Packed::by_record(out.file(output_path(input, action))?, input.codec)?,
                _ => Packed::new(out.file(output_path(input, action))?, input.codec)?,
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

    fn append_all(&mut self, data: &[u8], ranges: Vec<Range<usize>>) -> Result<(), SinkError> {
        ranges.into_iter().try_for_each(|range| self.append(&data[range]))
    }

    fn finish(mut self, cancelled: &dyn Fn() -> bool) -> Result<ZstdSizes, SinkError> {
        let zstd = match self.arrange {
            Some(arrange) => arrange.finish(|bytes| self.packed.append(bytes), cancelled)?,
            None => ZstdSizes::default(),
        };
        self.packed.finish()?;
        Ok(zstd)
    }
}

impl<'a> RecordFile<'a> {
    /// Creates the outputs. `main` is the action of the records that are not removed. They are written in `order` if
    /// each record is a line.
    pub(super) fn new(
        input: &'a SourceFile,
        charset: Charset,
        out: &'a OutputDir,
        main: RecordAction,
        order: Option<RecordOrder<'_>>,
    ) -> Result<Self, SinkError> {
        let mut kept = SideOutput::new(input, charset, out, main)?;
        if let Some(order) = order.filter(|_| input.format.is_by_line()) {
            kept.arrange = Some(OrderedOutput::new(order.work)?);
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

    /// Writes the records of a block. `next` returns the action and the rank of each record, in order.
    pub(super) fn split(
        &mut self,
        block: &RecordBlock,
        mut next: impl FnMut() -> RankedAction,
        written: &mut CopyCounts,
    ) -> Result<(), SinkError> {
        let data = block.data.as_slice();
        if let Some(packed) = &mut self.packed {
            packed.add(&block.members);
        }
        let mut run = PendingBytes::default();
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
                    let RankedAction { action, rank } = next();
                    written.add(action, bytes.len() as u64, 1);
                    if action != RecordAction::Reject {
                        let removed = action == RecordAction::Remove;
                        if !removed && self.kept.arrange.is_some() {
                            self.flush(data, &mut run)?;
                        }
                        if let Some(arrange) = self.kept.arrange.as_mut().filter(|_| !removed) {
                            arrange.begin(rank);
                        }
                        if self.begin(removed)? {
                            match separator {
                                Some(before) => run.add(removed, before),
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
                SpanKind::Blank | SpanKind::Other(None) => run.add(false, whole),
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
            let last = run.last_output(data.len());
            self.flush(data, &mut run)?;
            if let Some(removed) = last {
                written.add(
                    if removed {
                        RecordAction::Remove
                    } else {
                        RecordAction::Keep
                    },
                    1,
                    0,
                );
                self.append(removed, b"\n")?;
            }
        }
        self.flush(data, &mut run)
    }

    /// Writes what is buffered and gives the outputs their final names.
    pub(super) fn finish(self, cancelled: &dyn Fn() -> bool) -> Result<ZstdSizes, SinkError> {
        let zstd = self.kept.finish(cancelled)?;
        self.removed.map_or(Ok(()), |removed| removed.packed.finish())?;
        Ok(zstd)
    }

    /// Prepares an output for the next record. Returns true if the output already contains a record.
    fn begin(&mut self, removed: bool) -> Result<bool, SinkError> {
        if removed && self.removed.is_none() {
            let mut side = SideOutput::new(self.input, self.charset, self.out, RecordAction::Remove)?;
            side.append(&self.opening)?;
            self.removed = Some(side);
        }
        Ok(std::mem::replace(&mut self.side(removed).begun, true))
    }

    fn side(&mut self, removed: bool) -> &mut SideOutput {
        self.removed
            .as_mut()
            .filter(|_| removed)
            .unwrap_or(&mut self.kept)
    }

    /// Writes a record. If it fills exactly one compressed member, the compressed bytes are copied.
    fn send_record(
        &mut self,
        block: &RecordBlock,
        run: &mut PendingBytes,
        removed: bool,
        range: Range<usize>,
    ) -> Result<(), SinkError> {
        let unpacked = block.start + range.start as u64..block.start + range.end as u64;
        let member = match &mut self.packed {
            Some(packed) => packed.member(&unpacked)?,
            None => None,
        };
        if let Some(member) = member {
            self.flush(&block.data, run)?;
            return self.side(removed).packed.append_member(&member);
        }
        run.add(removed, range);
        Ok(())
    }

    /// Writes the pending bytes, those of the two outputs in parallel.
    fn flush(&mut self, data: &[u8], run: &mut PendingBytes) -> Result<(), SinkError> {
        let PendingBytes { kept, removed } = std::mem::take(run);
        match &mut self.removed {
            Some(side) if !kept.is_empty() && !removed.is_empty() => {
                let (of_kept, of_removed) = rayon::join(
                    || self.kept.append_all(data, kept),
                    || side.append_all(data, removed),
                );
                of_kept.and(of_removed)
            }
            // At most one output has pending bytes.
            _ => {
                self.kept.append_all(data, kept)?;
                self.side(true).append_all(data, removed)
            }
        }
    }

    fn append(&mut self, removed: bool, bytes: &[u8]) -> Result<(), SinkError> {
        match bytes {
            [] => Ok(()),
            bytes => self.side(removed).append(bytes),
        }
    }
}
