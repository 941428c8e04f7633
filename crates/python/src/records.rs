//! Records of Python objects: Arrow tables, lists, and files.
//!
//! Arrow data is shared and not copied. The strings of a list are copied in small batches while the engine reads them,
//! so the whole list is never in memory twice.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::ffi_stream::ArrowArrayStreamReader;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchReader, StringArray};
use arrow_pyarrow::FromPyArrow;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};
use twinprint::source::{ArrowColumns, RejectReason, SourceError, SourceOptions, Sources};
use twinprint::{FindInput, Progress};

use crate::errors::{argument, exception};

/// The size of the texts of a batch of a list, in bytes.
const BATCH_BYTES: usize = 512 << 10;
/// The largest number of rows in a batch of a list.
const BATCH_ROWS: usize = 1 << 14;

/// Records for the engine.
pub(crate) enum Records {
    /// Files, folders and globs.
    Paths(Vec<String>, Box<SourceOptions>),
    /// Records in memory.
    Held(FindInput),
}

/// The exception that ended the reading of a list, on the thread that reads.
#[derive(Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn put(&self, error: PyErr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Takes the exception, if there is one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The names of the columns of the records.
pub(crate) struct Fields {
    pub(crate) text: String,
    pub(crate) id: Option<String>,
    pub(crate) sort: Option<String>,
}

impl Fields {
    /// The options of files with these fields.
    pub(crate) fn options(&self) -> SourceOptions {
        SourceOptions {
            text_key: self.text.clone(),
            id_key: self.id.clone(),
            sort_key: self.sort.clone(),
            ..SourceOptions::default()
        }
    }
}

/// The data of a call, as the package passes it.
#[derive(FromPyObject)]
pub(crate) enum Data<'py> {
    /// Files, folders and globs.
    #[pyo3(transparent)]
    Paths(Paths),
    /// Lists of equal length.
    #[pyo3(transparent)]
    Lists(Lists<'py>),
    /// An object with an Arrow stream.
    #[pyo3(transparent)]
    Arrow(Bound<'py, PyAny>),
}

/// Names of files, folders and globs.
#[derive(FromPyObject)]
pub(crate) struct Paths {
    paths: Vec<String>,
}

/// The lists of records: texts, and perhaps ids and sort values.
#[derive(FromPyObject)]
pub(crate) struct Lists<'py> {
    texts: Bound<'py, PyList>,
    ids: Option<Bound<'py, PyList>>,
    sort: Option<Bound<'py, PyList>>,
}

impl Records {
    /// The records of `data`, under the name `name` if they are in memory.
    ///
    /// # Errors
    /// `KeyError` for a missing column; `TypeError` and `ValueError` for values that cannot be read.
    pub(crate) fn new(
        data: Data<'_>,
        name: &str,
        fields: &Fields,
        cancel: &Arc<AtomicBool>,
        failure: &Failure,
    ) -> PyResult<Self> {
        match data {
            Data::Paths(Paths { paths }) => Ok(Self::Paths(paths, Box::new(fields.options()))),
            Data::Arrow(table) => {
                let reader = ArrowArrayStreamReader::from_pyarrow_bound(&table)?;
                Self::of_batches(&reader.schema(), reader, name, fields, cancel)
            }
            Data::Lists(lists) => {
                let rows = ListRows::new(&lists, failure.clone())?;
                let fields = Fields {
                    text: "text".to_owned(),
                    id: lists.ids.as_ref().map(|_| "id".to_owned()),
                    sort: lists.sort.as_ref().map(|_| "sort".to_owned()),
                };
                Self::of_batches(&Arc::clone(&rows.schema), rows, name, &fields, cancel)
            }
        }
    }

    fn of_batches(
        schema: &SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
        name: &str,
        fields: &Fields,
        cancel: &Arc<AtomicBool>,
    ) -> PyResult<Self> {
        let options = fields.options();
        let columns = ArrowColumns::find(schema, &options).map_err(|reason| match reason {
            RejectReason::ColumnMissing { .. } => PyKeyError::new_err(format!("text: {reason}")),
            reason => argument("text", reason),
        })?;
        let optional = [
            ("id", &fields.id, columns.has_id()),
            ("sort", &fields.sort, columns.has_sort()),
        ];
        for (argument, column, found) in optional {
            if let (Some(column), false) = (column, found) {
                let names: Vec<&str> = schema
                    .fields()
                    .iter()
                    .map(|field| field.name().as_str())
                    .collect();
                let names = names.join(", ");
                let missing = format!("{argument}: no column {column:?}; the columns are {names}");
                return Err(PyKeyError::new_err(missing));
            }
        }
        Ok(Self::Held(FindInput {
            sources: Sources::of_memory(name, columns.batches(batches), &options, Arc::clone(cancel)),
            inputs: vec![name.to_owned()],
        }))
    }

    /// Finds the files of the inputs.
    ///
    /// # Errors
    /// An input is missing or cannot be read, or no file has the fields.
    pub(crate) fn open(
        self,
        progress: &dyn Progress,
        cancel: &Arc<AtomicBool>,
    ) -> Result<FindInput, SourceError> {
        match self {
            Self::Held(input) => Ok(input),
            Self::Paths(inputs, options) => {
                // Only a copy of stdin would be written there, and the package refuses stdin.
                let work = std::env::temp_dir();
                let cancel = Arc::clone(cancel);
                let sources = Sources::discover_cancellable(&inputs, &options, &work, cancel)?;
                sources.check_fields(|hint| progress.warn(hint))?;
                Ok(FindInput { sources, inputs })
            }
        }
    }
}

/// The type of the values of a list.
#[derive(Clone, Copy, PartialEq)]
enum ValueType {
    Integer,
    Real,
    Text,
}

impl ValueType {
    /// The narrowest type of all values. `None` counts as any type.
    fn of(list: &Bound<'_, PyList>) -> Self {
        let mut found = Self::Integer;
        for value in list {
            if value.is_none() || value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
                continue;
            }
            if !value.is_instance_of::<PyFloat>() {
                return Self::Text;
            }
            found = Self::Real;
        }
        found
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Integer => DataType::Int64,
            Self::Real => DataType::Float64,
            Self::Text => DataType::Utf8,
        }
    }

    fn array(self, values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
        Ok(match self {
            Self::Integer => {
                let integers = values.iter().map(PyAnyMethods::extract::<Option<i64>>);
                Arc::new(integers.collect::<PyResult<Int64Array>>()?)
            }
            Self::Real => {
                let reals = values.iter().map(PyAnyMethods::extract::<Option<f64>>);
                Arc::new(reals.collect::<PyResult<Float64Array>>()?)
            }
            Self::Text => {
                let texts = values.iter().map(|value| {
                    let text = (!value.is_none()).then(|| value.str()?.extract::<String>());
                    text.transpose()
                });
                Arc::new(texts.collect::<PyResult<StringArray>>()?)
            }
        })
    }
}

/// The rows of lists as batches of columns.
struct ListRows {
    texts: Py<PyList>,
    /// The lists of ids and of sort values, with the types of their values.
    others: Vec<(Py<PyList>, ValueType)>,
    schema: SchemaRef,
    next: usize,
    failure: Failure,
}

impl ListRows {
    fn new(lists: &Lists<'_>, failure: Failure) -> PyResult<Self> {
        let mut fields = vec![Field::new("text", DataType::LargeBinary, true)];
        let mut others = Vec::new();
        for (name, list) in [("id", &lists.ids), ("sort", &lists.sort)] {
            let Some(list) = list else { continue };
            if list.len() != lists.texts.len() {
                let problem = format!("{} values for {} texts", list.len(), lists.texts.len());
                return Err(argument(name, problem));
            }
            let kind = ValueType::of(list);
            fields.push(Field::new(name, kind.data_type(), true));
            others.push((list.clone().unbind(), kind));
        }
        Ok(Self {
            texts: lists.texts.clone().unbind(),
            others,
            schema: Arc::new(Schema::new(fields)),
            next: 0,
            failure,
        })
    }

    /// The next batch; `None` at the end.
    fn batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let texts = self.texts.bind(py);
        let start = self.next;
        let (mut builder, mut bytes) = (LargeBinaryBuilder::new(), 0);
        // A list can shrink while it is read, so its length is asked for each time.
        while self.next < texts.len() && self.next - start < BATCH_ROWS && bytes < BATCH_BYTES {
            bytes += append(&mut builder, &texts.get_item(self.next)?, self.next)?;
            self.next += 1;
        }
        if start == self.next {
            return Ok(None);
        }
        let mut columns: Vec<ArrayRef> = vec![Arc::new(builder.finish())];
        for (list, kind) in &self.others {
            let list = list.bind(py);
            let values: PyResult<Vec<_>> = (start..self.next).map(|row| list.get_item(row)).collect();
            columns.push(kind.array(&values?)?);
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        batch.map(Some).map_err(|error| exception(&error))
    }
}

/// Appends a text as UTF-8, and returns its length. The halves of surrogate pairs stay what they are, so the engine
/// rejects their text.
fn append(builder: &mut LargeBinaryBuilder, value: &Bound<'_, PyAny>, row: usize) -> PyResult<usize> {
    let is_nan = || {
        value
            .cast::<PyFloat>()
            .is_ok_and(|number| number.value().is_nan())
    };
    if value.is_none() || is_nan() {
        builder.append_null();
        return Ok(0);
    }
    let Ok(text) = value.cast::<PyString>() else {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("data[{row}] is {kind}, not str")));
    };
    let bytes = match text.encode_utf8() {
        Ok(bytes) => bytes,
        Err(_) => text
            .call_method1("encode", ("utf-8", "surrogatepass"))?
            .cast_into::<PyBytes>()?,
    };
    builder.append_value(bytes.as_bytes());
    Ok(bytes.as_bytes().len())
}

impl Iterator for ListRows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Python::attach(|py| match self.batch(py) {
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                let message = error.to_string();
                self.failure.put(error);
                Some(Err(ArrowError::ExternalError(message.into())))
            }
        })
    }
}
