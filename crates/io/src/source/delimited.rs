//! Picks the text, the id and the sort value out of a row of a CSV or TSV file.

use std::borrow::Cow;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use twinprint_text::charset::Charset;

use super::json::PickedFields;
use super::options::SourceOptions;
use super::record::SortValue;
use super::reject::RejectReason;

/// The largest number of columns of a CSV or TSV file. It limits the memory for the header, which is stored while the
/// file is read.
const MAX_COLUMNS: usize = 1 << 16;

/// The delimiter and the column names of a CSV or TSV file.
#[derive(Debug, PartialEq)]
pub struct Header {
    /// The byte that separates fields.
    pub delimiter: u8,
    /// The names of the columns. If the file has no header row, the columns are named by their numbers, from 1.
    names: Vec<String>,
}

/// The properties of a CSV or TSV file that decide how its header is read.
#[derive(Debug, Clone, Copy)]
pub struct DelimitedFormat {
    /// The default delimiter of the format. If the header contains another one, that is used instead.
    pub usual: u8,
    /// The delimiter that the user gave, if any.
    pub given: Option<u8>,
    /// The charset of the file.
    pub charset: Charset,
    /// True if the file has no header row, so that its first row is a record.
    pub headless: bool,
}

impl Header {
    /// The delimiters that are detected in a header row.
    pub const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

    /// Reads the header from the first row. If the row contains exactly one of [`DELIMITERS`](Self::DELIMITERS), that
    /// is the delimiter. `|` is used only if no other delimiter occurs.
    ///
    /// # Errors
    /// [`RejectReason::TooManyColumns`] if the row has more columns than the limit.
    pub fn new(row: &[u8], form: DelimitedFormat) -> Result<Self, RejectReason> {
        let delimiter = form.given.unwrap_or_else(|| sniffed(row, form.usual));
        // Undecodable bytes are replaced here. They change a column name, but not the number of columns. Every other
        // row is decoded on its own and rejected if it is invalid.
        let text = form.charset.decode_lossy(row);
        let mut fields = Fields::new(delimiter);
        fields.read(text.as_bytes(), MAX_COLUMNS);
        if fields.count > MAX_COLUMNS {
            return Err(RejectReason::TooManyColumns { limit: MAX_COLUMNS });
        }
        let names = (0..fields.count).map(|i| match fields.get(i) {
            _ if form.headless => (i + 1).to_string(),
            name => name.unwrap_or_default().to_owned(),
        });
        Ok(Self {
            delimiter,
            names: names.collect(),
        })
    }

    /// Returns the names of the first columns, shortened for a message.
    pub fn first_names(&self) -> Vec<String> {
        let names = self.names.iter().take(8);
        names.map(|name| name.chars().take(40).collect()).collect()
    }

    /// Returns true if there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    /// Returns the index of the column of this name. If several columns have the name, it is the last one.
    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().rposition(|n| n == name)
    }
}

/// Detects the delimiter in a header row. `usual` is the default delimiter of the format.
fn sniffed(row: &[u8], usual: u8) -> u8 {
    let mut quoted = false;
    let mut there = [false; Header::DELIMITERS.len()];
    for &byte in row {
        quoted ^= byte == b'"';
        if let Some(i) = Header::DELIMITERS.iter().position(|&d| d == byte && !quoted) {
            there[i] = true;
        }
    }
    let found: Vec<u8> = Header::DELIMITERS
        .into_iter()
        .zip(there)
        .filter_map(|(delimiter, there)| there.then_some(delimiter))
        .collect();
    match found[..] {
        [only] | [only, b'|'] => only,
        _ => usual,
    }
}

/// The fields of one row, without their quotes.
struct Fields {
    reader: Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

impl Fields {
    fn new(delimiter: u8) -> Self {
        Self {
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
            bytes: Vec::new(),
            ends: Vec::new(),
            count: 0,
        }
    }

    /// Reads the fields of a row, with or without its line end. Stops after `most` + 1 fields, which is enough to see
    /// that the row has too many.
    fn read(&mut self, row: &[u8], most: usize) {
        self.reader.reset();
        // Removing quotes never makes a field longer, so the output fits into a buffer of the input's length.
        self.bytes.resize(row.len(), 0);
        self.ends.resize(most + 1, 0);
        let (mut input, mut written) = (row, 0);
        self.count = 0;
        loop {
            let (result, read, wrote, ended) =
                self.reader
                    .read_record(input, &mut self.bytes[written..], &mut self.ends[self.count..]);
            input = &input[read..];
            written += wrote;
            self.count += ended;
            match result {
                // The row has no line end. Calling the reader with empty input ends the row.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull
                | ReadRecordResult::OutputEndsFull
                | ReadRecordResult::Record
                | ReadRecordResult::End => return,
            }
        }
    }

    /// Returns field `i`, or `None` if the row has fewer fields.
    fn get(&self, i: usize) -> Option<&str> {
        let start = match i.checked_sub(1) {
            Some(before) => self.ends[..self.count].get(before).copied()?,
            None => 0,
        };
        let end = self.ends[..self.count].get(i).copied()?;
        // Quotes and delimiters are ASCII, so a valid text stays valid when they are removed.
        self.bytes
            .get(start..end)
            .and_then(|field| std::str::from_utf8(field).ok())
    }
}

/// Reads the rows of one CSV or TSV file.
pub(super) struct RowParser<'h> {
    header: &'h Header,
    text_key: &'h str,
    text: Option<usize>,
    id: Option<usize>,
    sort: Option<usize>,
    fields: Fields,
}

impl<'h> RowParser<'h> {
    pub(super) fn new(header: &'h Header, options: &'h SourceOptions) -> Self {
        let column = |key: &Option<String>| key.as_deref().and_then(|key| header.column(key));
        Self {
            header,
            text_key: &options.text_key,
            text: header.column(&options.text_key),
            id: column(&options.id_key),
            sort: column(&options.sort_key),
            fields: Fields::new(header.delimiter),
        }
    }

    /// Picks the text, the id and the sort value out of a row. An empty id or sort value counts as missing.
    pub(super) fn pick(&mut self, row: &str) -> Result<PickedFields<'_>, RejectReason> {
        let Some(text) = self.text else {
            return Err(RejectReason::FieldMissing {
                key: self.text_key.to_owned(),
                present: self.header.first_names(),
            });
        };
        let expected = self.header.names.len();
        self.fields.read(row.as_bytes(), expected);
        if self.fields.count != expected {
            return Err(RejectReason::RowWidth {
                found: self.fields.count,
                expected,
            });
        }
        let value = |column: Option<usize>| {
            let field = column.and_then(|i| self.fields.get(i));
            field.filter(|field| !field.is_empty())
        };
        Ok(PickedFields {
            text: Cow::Borrowed(self.fields.get(text).unwrap_or_default()),
            id: value(self.id).map(Cow::Borrowed),
            sort_value: value(self.sort)
                .map(|value| SortValue::number(value).unwrap_or_else(|| SortValue::Text(value.into()))),
        })
    }
}
