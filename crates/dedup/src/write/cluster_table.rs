//! `clusters.parquet`: the rows of `clusters.jsonl` as a Parquet table.
//!
//! The table has the same columns in the same order. If the input's column of ids has whole numbers, the ids in the
//! table have the same type ([`ids`]), so that the table can be joined with the input. Otherwise ids are strings. A
//! fingerprint of 64 bits is an unsigned number. Parquet has no numbers of 128 bits, so a fingerprint of 128 bits is 16
//! bytes, most significant first. Fingerprints of both widths sort as numbers.
//!
//! Row groups are encoded on a thread of the table, while the caller makes the rows of the next one.

mod encoder;
mod ids;
mod texts;

use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use self::encoder::{Encoder, EncoderStep, EncoderThread};
use self::ids::Ids;
use self::texts::Texts;
use twinprint_io::results::ClusterRow;
use twinprint_io::sink::{ColumnValues, OutputDir, OutputFile, SinkError, parquet_failed, write_column};
use twinprint_io::source::IntegerType;

/// The number of rows in one Parquet row group.
const ROW_GROUP_ROWS: usize = 1 << 16;

/// The writer of `clusters.parquet`.
pub(crate) struct ClusterTable {
    encoder: EncoderThread,
    path: PathBuf,
    id_types: IdTypes,
    rows: RowGroupColumns,
}

/// The types of the columns of ids; `None` for strings.
#[derive(Clone, Copy)]
pub(crate) struct IdTypes {
    /// The type of the column `id`; `None` for strings.
    pub(crate) own: Option<IntegerType>,
    /// The type of the column `duplicate_of`, which may name documents outside the input.
    pub(crate) duplicate_of: Option<IntegerType>,
}

/// The values of one Parquet row group, by column.
struct RowGroupColumns {
    id: Ids,
    source: Sources,
    line: Vec<i64>,
    cluster_id: Vec<i32>,
    cluster_size: Vec<i32>,
    is_leader: Vec<bool>,
    duplicate_of: OptionalColumn<Ids>,
    hamming: Vec<i32>,
    jaccard: OptionalColumn<Vec<f64>>,
    fingerprint: Vec<u128>,
    dup_count: Vec<i32>,
    verified: OptionalColumn<Vec<bool>>,
}

/// The column of sources. Neighbouring rows mostly have the same one.
#[derive(Default)]
struct Sources(Vec<ByteArray>);

impl Sources {
    fn push(&mut self, source: &str) {
        let value = match self.0.last() {
            Some(last) if last.data() == source.as_bytes() => last.clone(),
            _ => source.into(),
        };
        self.0.push(value);
    }
}

/// An optional column: the values, and a definition level for every row.
struct OptionalColumn<V> {
    levels: Vec<i16>,
    values: V,
}

impl<T> OptionalColumn<Vec<T>> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

impl<V> From<V> for OptionalColumn<V> {
    fn from(values: V) -> Self {
        let levels = Vec::new();
        Self { levels, values }
    }
}

impl RowGroupColumns {
    fn new(types: IdTypes) -> Self {
        Self {
            id: Ids::new(types.own),
            source: Sources::default(),
            line: Vec::new(),
            cluster_id: Vec::new(),
            cluster_size: Vec::new(),
            is_leader: Vec::new(),
            duplicate_of: Ids::new(types.duplicate_of).into(),
            hamming: Vec::new(),
            jaccard: Vec::new().into(),
            fingerprint: Vec::new(),
            dup_count: Vec::new(),
            verified: Vec::new().into(),
        }
    }
}

impl ClusterTable {
    /// Creates the table. `verified` is true if all rows were verified; otherwise the table gets a column `verified`.
    pub(crate) fn create(
        dir: &OutputDir,
        bits: u32,
        verified: bool,
        id_types: IdTypes,
    ) -> Result<Self, SinkError> {
        let fingerprint = match bits {
            128 => "fixed_len_byte_array(16) fingerprint",
            _ => "int64 fingerprint (integer(64, false))",
        };
        let last = if verified {
            ""
        } else {
            "optional boolean verified;"
        };
        let [id, duplicate_of] = [
            ids::field(id_types.own, "id"),
            ids::field(id_types.duplicate_of, "duplicate_of"),
        ];
        let schema = format!(
            "message clusters {{
                required {id};
                required binary source (string);
                required int64 line (integer(64, false));
                required int32 cluster_id (integer(32, false));
                required int32 cluster_size (integer(32, false));
                required boolean is_leader;
                optional {duplicate_of};
                required int32 hamming (integer(32, false));
                optional double jaccard;
                required {fingerprint};
                required int32 dup_count (integer(32, false));
                {last}
            }}"
        );
        let file = dir.file("clusters.parquet")?;
        let path = file.path().to_owned();
        let properties = WriterProperties::builder()
            .set_created_by(concat!("twinprint version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer = parse_message_type(&schema)
            .and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)))
            .map_err(|error| parquet_failed(error, &path))?;
        let encoder = Encoder {
            writer,
            path: path.clone(),
            bits,
            verified,
        };
        let encoder = EncoderThread::start(encoder);
        Ok(Self {
            encoder: encoder.map_err(|error| SinkError::from_io(error, &path, "start a thread for it"))?,
            path,
            id_types,
            rows: RowGroupColumns::new(id_types),
        })
    }

    /// Adds a row. The low bits of `fingerprint` are the fingerprint of the document.
    pub(crate) fn push(&mut self, row: &ClusterRow<'_>, fingerprint: u128) -> Result<(), SinkError> {
        let rows = &mut self.rows;
        let failed = |error| parquet_failed(error, &self.path);
        rows.id.push(&row.id).map_err(failed)?;
        rows.source.push(&row.source);
        rows.line.push(row.line.cast_signed());
        rows.cluster_id.push(row.cluster_id.cast_signed());
        rows.cluster_size.push(row.cluster_size.cast_signed());
        rows.is_leader.push(row.is_leader);
        rows.duplicate_of
            .levels
            .push(i16::from(row.duplicate_of.is_some()));
        if let Some(id) = &row.duplicate_of {
            rows.duplicate_of.values.push(id).map_err(failed)?;
        }
        rows.hamming.push(row.hamming.cast_signed());
        rows.jaccard
            .push(row.jaccard.map(twinprint_io::rows::Ratio::value));
        rows.fingerprint.push(fingerprint);
        rows.dup_count.push(row.dup_count.cast_signed());
        rows.verified.push(row.verified);
        if rows.line.len() == ROW_GROUP_ROWS {
            self.end_group();
        }
        Ok(())
    }

    /// Writes the last row group and renames the file to its final name. Returns the first error of any row group.
    pub(crate) fn finish(mut self) -> Result<(), SinkError> {
        if !self.rows.line.is_empty() {
            self.end_group();
        }
        self.encoder.finish()
    }

    fn end_group(&mut self) {
        let rows = std::mem::replace(&mut self.rows, RowGroupColumns::new(self.id_types));
        self.encoder.send(EncoderStep::Group(Box::new(rows)));
    }
}

impl RowGroupColumns {
    fn write(
        self,
        mut group: SerializedRowGroupWriter<'_, OutputFile>,
        bits: u32,
        verified: bool,
    ) -> Result<(), ParquetError> {
        write_column(&mut group, self.id.into_values().column(), None)?;
        write_column(&mut group, ColumnValues::Bytes(&self.source.0), None)?;
        write_column(&mut group, ColumnValues::Int64(&self.line), None)?;
        write_column(&mut group, ColumnValues::Int32(&self.cluster_id), None)?;
        write_column(&mut group, ColumnValues::Int32(&self.cluster_size), None)?;
        write_column(&mut group, ColumnValues::Boolean(&self.is_leader), None)?;
        write_column(
            &mut group,
            self.duplicate_of.values.into_values().column(),
            Some(&self.duplicate_of.levels),
        )?;
        write_column(&mut group, ColumnValues::Int32(&self.hamming), None)?;
        write_column(
            &mut group,
            ColumnValues::Double(&self.jaccard.values),
            Some(&self.jaccard.levels),
        )?;
        if bits == 128 {
            let mut fingerprints = Texts::default();
            for value in &self.fingerprint {
                fingerprints.push(&value.to_be_bytes());
            }
            let values = fingerprints.into_values().into_iter();
            let values: Vec<_> = values.map(FixedLenByteArray::from).collect();
            write_column(&mut group, ColumnValues::FixedBytes(&values), None)?;
        } else {
            let values: Vec<_> = self.fingerprint.iter().map(|&value| value as i64).collect();
            write_column(&mut group, ColumnValues::Int64(&values), None)?;
        }
        write_column(&mut group, ColumnValues::Int32(&self.dup_count), None)?;
        if !verified {
            let verified = &self.verified;
            write_column(
                &mut group,
                ColumnValues::Boolean(&verified.values),
                Some(&verified.levels),
            )?;
        }
        group.close()?;
        Ok(())
    }
}
