//! Arrow IPC: files (`.arrow`, Feather version 2) and streams, distinguished by their first bytes.
//!
//! Both hold the same messages: a schema, dictionaries, record batches. A file lists their positions at its end; a
//! stream is read from message to message. After that there is no difference. The unit is a record batch: it is read
//! and unpacked as a whole, whatever its size, but only the columns that are needed are decoded.

mod claims;
mod field;
mod frame;
mod rows;

use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, CompressionType, MetadataVersion};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use self::field::Column;
use self::frame::Frame;
use self::rows::ArrowRows;
use super::{Format, RowRange, Table, TablePart, check_rows, damaged, open, unreadable};
use crate::source::file::SourceFile;
use crate::source::options::SourceOptions;
use crate::source::record::IntegerType;
use crate::source::reject::RejectReason;

/// Bytes of one row range on disk, if batches are not larger.
const RANGE_BYTES: u64 = 1 << 20;

/// An Arrow file or stream.
#[derive(Debug)]
pub struct ArrowTable {
    /// As the file has it.
    schema: SchemaRef,
    /// The same schema with strings as bytes, so that an invalid string rejects only its row, not the batch. Both have
    /// the same layout.
    bytes_schema: SchemaRef,
    version: MetadataVersion,
    /// Record batches and dictionaries in the order in which they apply.
    messages: Vec<Message>,
    /// The reason why no message can be read after these.
    lost: Option<RejectReason>,
    /// The rows of these messages.
    row_count: u64,
    /// The metadata in the footer of a file; `None` for a stream.
    file_metadata: Option<Vec<(String, String)>>,
    compression: Option<CompressionType>,
}

/// A dictionary or a record batch.
#[derive(Debug, Clone, Copy)]
struct Message {
    block: Block,
    kind: MessageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Dictionary,
    /// The number of rows in the file before the batch, and of rows in the batch.
    Batch {
        first: u64,
        rows: u64,
    },
}

impl ArrowTable {
    pub(super) fn open(file: &SourceFile) -> Result<Self, RejectReason> {
        let mut input = open(file)?;
        let bytes = input.metadata().map_err(broken)?.len();
        let frame = Frame::read(&mut input, bytes)?;
        check_rows(Format::Arrow, frame.rows, bytes)?;
        Ok(Self {
            bytes_schema: Arc::new(strings_as_bytes(&frame.schema)),
            schema: Arc::new(frame.schema),
            version: frame.version,
            messages: frame.messages,
            lost: frame.lost,
            row_count: frame.rows,
            file_metadata: frame.file_metadata,
            compression: frame.compression,
        })
    }

    /// The type of the column that `key` names, if that is a column of integers.
    pub fn integer_type(&self, key: &str) -> Option<IntegerType> {
        field::integer_type(&self.schema, key)
    }

    /// The rows that its messages claim.
    pub(super) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Why the column that `key` names cannot hold a text.
    pub(super) fn missing(&self, key: &str) -> Option<RejectReason> {
        Column::text(&self.schema, key, true).err()
    }

    /// The schema as the file has it.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The metadata in the footer of a file; `None` for a stream.
    pub fn file_metadata(&self) -> Option<&[(String, String)]> {
        self.file_metadata.as_deref()
    }

    /// The codec of its buffers.
    pub fn compression(&self) -> Option<CompressionType> {
        self.compression
    }

    pub(super) fn plan(
        &self,
        table: &Arc<Table>,
        options: &SourceOptions,
        limit: u64,
    ) -> Result<Vec<TablePart>, RejectReason> {
        Column::text(&self.schema, &options.text_key, options.raw)?;
        let mut planned = Vec::new();
        let mut open: Option<RowRange> = None;
        let mut end = 0;
        for (group, message) in self.messages.iter().enumerate() {
            let MessageKind::Batch { first, rows } = message.kind else {
                continue;
            };
            if first >= limit {
                break;
            }
            end = (first + rows).min(limit);
            let bytes = message.block.bodyLength() as usize;
            let row_range = open.get_or_insert_with(|| RowRange {
                table: Arc::clone(table),
                group,
                skip: 0,
                rows: first..first,
                bytes: 0,
            });
            row_range.rows.end = end;
            row_range.bytes += bytes;
            if row_range.bytes as u64 >= RANGE_BYTES {
                planned.extend(open.take().map(TablePart::Rows));
            }
        }
        planned.extend(open.map(TablePart::Rows));
        if let Some(reason) = self.lost.as_ref().filter(|_| end < limit) {
            planned.push(TablePart::Lost(end, reason.clone()));
        }
        if planned.is_empty() {
            planned.push(TablePart::Rows(RowRange::empty(table)));
        }
        Ok(planned)
    }

    pub(super) fn rows(
        &self,
        file: &SourceFile,
        group: usize,
        options: &SourceOptions,
    ) -> Result<ArrowRows, RejectReason> {
        ArrowRows::new(self, file, group, options)
    }

    /// The record batches from the message `first` on, with the columns of `projection`, or all of them.
    ///
    /// # Errors
    /// The file cannot be opened, or a dictionary before the message `first` is damaged.
    pub fn batches(
        &self,
        file: &SourceFile,
        first: usize,
        projection: Option<Vec<usize>>,
    ) -> Result<Batches, RejectReason> {
        let schema = &self.bytes_schema;
        let has_dictionary =
            |field: &Field| !field.data_type().is_null() && contains_dictionary(field.data_type());
        let dictionaries = match &projection {
            Some(columns) => columns
                .iter()
                .filter_map(|&column| schema.fields().get(column))
                .any(|field| has_dictionary(field)),
            None => schema.fields().iter().any(|field| has_dictionary(field)),
        };
        let decoder = FileDecoder::new(Arc::clone(schema), self.version);
        let mut batches = Batches {
            input: open(file)?,
            decoder: match projection {
                Some(columns) => decoder.with_projection(columns),
                None => decoder,
            },
            messages: self.messages.clone(),
            next: 0,
            dictionaries,
        };
        while batches.next < first {
            batches.dictionary(batches.next)?;
            batches.next += 1;
        }
        Ok(batches)
    }
}

/// Record batches being read in order.
pub struct Batches {
    input: File,
    decoder: FileDecoder,
    messages: Vec<Message>,
    next: usize,
    /// True if any column that is read has a dictionary.
    dictionaries: bool,
}

impl Batches {
    /// The next record batch and its rows in the file.
    pub fn next(&mut self) -> Result<Option<(Range<u64>, RecordBatch)>, RejectReason> {
        while let Some(&message) = self.messages.get(self.next) {
            self.dictionary(self.next)?;
            self.next += 1;
            let MessageKind::Batch { first, rows } = message.kind else {
                continue;
            };
            let block = message.block;
            let buffer = self.read(block)?;
            let batch = self.decoder.read_record_batch(&block, &buffer).map_err(broken)?;
            let batch = batch.filter(|batch| batch.num_rows() as u64 == rows);
            let batch = batch.ok_or_else(|| broken("a record batch is not as long as it claims"))?;
            return Ok(Some((first..first + rows, batch)));
        }
        Ok(None)
    }

    /// Passes over the record batch that comes next.
    pub fn skip(&mut self) -> Result<(), RejectReason> {
        while let Some(&message) = self.messages.get(self.next) {
            self.dictionary(self.next)?;
            self.next += 1;
            if message.kind != MessageKind::Dictionary {
                break;
            }
        }
        Ok(())
    }

    /// The rows of the record batch that comes next.
    pub fn upcoming(&self) -> Option<Range<u64>> {
        self.messages
            .get(self.next..)?
            .iter()
            .find_map(|message| match message.kind {
                MessageKind::Dictionary => None,
                MessageKind::Batch { first, rows } => Some(first..first + rows),
            })
    }

    /// Reads a message if it is a dictionary that may be needed.
    fn dictionary(&mut self, message: usize) -> Result<(), RejectReason> {
        match self.messages.get(message) {
            Some(&Message { block, kind }) if self.dictionaries && kind == MessageKind::Dictionary => {
                let buffer = self.read(block)?;
                self.decoder.read_dictionary(&block, &buffer).map_err(broken)
            }
            _ => Ok(()),
        }
    }

    /// A message with its body, after its claims were checked.
    fn read(&mut self, block: Block) -> Result<Buffer, RejectReason> {
        // The frame was checked: both lengths lie within the file.
        let length = block.metaDataLength() as usize + block.bodyLength() as usize;
        let mut bytes = vec![0; length];
        self.input
            .seek(SeekFrom::Start(block.offset() as u64))
            .and_then(|_| self.input.read_exact(&mut bytes))
            .map_err(broken)?;
        let (header, body) = bytes
            .split_at_checked(block.metaDataLength() as usize)
            .ok_or_else(|| broken("a message is cut off"))?;
        claims::check(frame::message(header)?, body)?;
        Ok(Buffer::from_vec(bytes))
    }
}

fn contains_dictionary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| contains_dictionary(field.data_type())),
        DataType::Union(fields, _) => fields
            .iter()
            .any(|(_, field)| contains_dictionary(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => contains_dictionary(field.data_type()),
        _ => false,
    }
}

fn strings_as_bytes(schema: &Schema) -> Schema {
    let fields: Fields = schema.fields().iter().map(bytes_field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn bytes_field(field: &Arc<Field>) -> Arc<Field> {
    Arc::new(
        field
            .as_ref()
            .clone()
            .with_data_type(bytes_type(field.data_type())),
    )
}

/// The type with strings, also those of lists, structs and dictionaries, taken as bytes.
fn bytes_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        DataType::Dictionary(key, value) => DataType::Dictionary(key.clone(), Box::new(bytes_type(value))),
        DataType::List(field) => DataType::List(bytes_field(field)),
        DataType::LargeList(field) => DataType::LargeList(bytes_field(field)),
        DataType::ListView(field) => DataType::ListView(bytes_field(field)),
        DataType::LargeListView(field) => DataType::LargeListView(bytes_field(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(bytes_field(field), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(bytes_field).collect()),
        other => other.clone(),
    }
}

fn not_arrow(message: impl Display) -> RejectReason {
    unreadable(Format::Arrow, message)
}

fn broken(message: impl Display) -> RejectReason {
    damaged(Format::Arrow, message)
}
