//! Reads Arrow IPC files (`.arrow`, Feather version 2) and streams. Their first bytes distinguish them.
//!
//! Both consist of the same messages: a schema, dictionaries and record batches. A file lists the positions of its
//! messages at its end. A stream must be read message by message. After the positions are known, there is no
//! difference. A record batch is always read and decompressed as a whole, whatever its size, but only the necessary
//! columns are decoded.

mod claims;
mod field;
mod frame;
mod held;
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
pub use self::held::ArrowColumns;
use self::rows::ArrowRows;
use super::{Format, RowRange, Table, TablePart, check_rows, damaged, open, unreadable};
use crate::source::file::SourceFile;
use crate::source::options::SourceOptions;
use crate::source::record::IntegerType;
use crate::source::reject::RejectReason;

/// The size of a range of rows on disk, in bytes. A range is larger if a single record batch is.
const RANGE_BYTES: u64 = 1 << 20;

/// An Arrow file or stream.
#[derive(Debug)]
pub struct ArrowTable {
    /// The schema that the file contains.
    schema: SchemaRef,
    /// The schema of the file with strings declared as bytes, which have the same layout. Strings are read as bytes so
    /// that an invalid string rejects only its row and not the record batch.
    bytes_schema: SchemaRef,
    version: MetadataVersion,
    /// The record batches and dictionaries, in the order in which they apply.
    messages: Vec<Message>,
    /// The reason why no message after `messages` can be read.
    lost: Option<RejectReason>,
    /// The number of rows in all record batches.
    row_count: u64,
    /// The metadata in the footer of an Arrow file. `None` for a stream.
    file_metadata: Option<Vec<(String, String)>>,
    compression: Option<CompressionType>,
}

/// A message that is a dictionary or a record batch.
#[derive(Debug, Clone, Copy)]
struct Message {
    block: Block,
    kind: MessageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Dictionary,
    /// A record batch of `rows` rows. `first` is the number of rows of the file that come before it.
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

    /// Returns the type of the column that `key` names, if it contains integers.
    pub fn integer_type(&self, key: &str) -> Option<IntegerType> {
        field::integer_type(&self.schema, key)
    }

    /// The number of rows that the record batches state.
    pub(super) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Returns the reason why the column that `key` names cannot contain texts, or `None` if it can.
    pub(super) fn missing(&self, key: &str) -> Option<RejectReason> {
        Column::text(&self.schema, key, true).err()
    }

    /// The schema that the file contains.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The metadata in the footer of an Arrow file. `None` for a stream.
    pub fn file_metadata(&self) -> Option<&[(String, String)]> {
        self.file_metadata.as_deref()
    }

    /// The codec with which the buffers of the file are compressed.
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

    /// Reads the record batches of `file`, starting with the message of index `first`. `projection` lists the columns
    /// to decode; `None` means all.
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

/// Reads record batches in order.
pub struct Batches {
    input: File,
    decoder: FileDecoder,
    messages: Vec<Message>,
    next: usize,
    /// True if a column that is read uses a dictionary.
    dictionaries: bool,
}

impl Batches {
    /// Returns the next record batch, and the positions of its rows in the file.
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
            let batch = batch
                .ok_or_else(|| broken("a record batch does not have the number of rows that it states"))?;
            return Ok(Some((first..first + rows, batch)));
        }
        Ok(None)
    }

    /// Skips the next record batch without decoding it.
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

    /// The positions in the file of the rows of the next record batch. `None` if there is no further batch.
    pub fn upcoming(&self) -> Option<Range<u64>> {
        self.messages
            .get(self.next..)?
            .iter()
            .find_map(|message| match message.kind {
                MessageKind::Dictionary => None,
                MessageKind::Batch { first, rows } => Some(first..first + rows),
            })
    }

    /// Reads the message of index `message` if it is a dictionary and a column that is read uses a dictionary.
    fn dictionary(&mut self, message: usize) -> Result<(), RejectReason> {
        match self.messages.get(message) {
            Some(&Message { block, kind }) if self.dictionaries && kind == MessageKind::Dictionary => {
                let buffer = self.read(block)?;
                self.decoder.read_dictionary(&block, &buffer).map_err(broken)
            }
            _ => Ok(()),
        }
    }

    /// Reads a message with its body, and checks the offsets and lengths that it states.
    fn read(&mut self, block: Block) -> Result<Buffer, RejectReason> {
        // `Frame` has checked that the header and the body are within the file.
        let length = block.metaDataLength() as usize + block.bodyLength() as usize;
        let mut bytes = vec![0; length];
        self.input
            .seek(SeekFrom::Start(block.offset() as u64))
            .and_then(|_| self.input.read_exact(&mut bytes))
            .map_err(broken)?;
        let (header, body) = bytes
            .split_at_checked(block.metaDataLength() as usize)
            .ok_or_else(|| broken("a message is truncated"))?;
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

/// Returns the type with all strings replaced by bytes, including those inside lists, structs and dictionaries.
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
