//! Finds the column of an Arrow table that a key names, and reads its cells.

use std::borrow::Cow;
use std::ops::Range;
use std::str::from_utf8;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

use super::super::row::{Cell, moment, numbers, real};
use crate::source::record::{IntegerType, SortValue};
use crate::source::reject::RejectReason;

const DAY: i64 = 86_400_000_000_000;

/// The path to a column: the index of a top-level column, followed by the index of a field in each nested struct. Lists
/// and dictionaries on the path are not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) root: usize,
    below: Vec<usize>,
}

impl Column {
    /// Finds the column with the text. If `raw` is true, it may also contain numbers.
    pub(super) fn text(schema: &Schema, key: &str, raw: bool) -> Result<Self, RejectReason> {
        let Some((column, data_type)) = find(schema, key) else {
            return Err(RejectReason::ColumnMissing {
                key: key.to_owned(),
                present: super::super::shortened(schema.fields().iter().map(|field| field.name().as_str())),
            });
        };
        let numbers = matches!(data_type, DataType::Float32 | DataType::Float64);
        if is_string(data_type) || raw && numbers {
            Ok(column)
        } else {
            Err(RejectReason::ColumnNotText {
                key: key.to_owned(),
                found: data_type.to_string(),
            })
        }
    }

    /// Finds the column with the id or the sort value, if `key` names one.
    pub(super) fn scalar(schema: &Schema, key: Option<&str>) -> Option<Self> {
        Some(find(schema, key?)?.0)
    }

    /// Returns the text cell of a row. `array` is the top-level column on the path to this column.
    pub(super) fn cell<'a>(&self, array: &'a ArrayRef, row: usize) -> Cell<'a> {
        let mut found = Vec::new();
        let kind = gather(array.as_ref(), &self.below, row, &mut found);
        let mut texts = found.iter().map(|&(leaf, row)| bytes(leaf, row));
        match kind {
            ValueShape::Nothing => Cell::Null,
            ValueShape::One => texts.next().flatten().map_or_else(|| floats(&found), Cell::One),
            ValueShape::List => {
                let all: Option<Vec<&[u8]>> = texts.collect();
                all.map_or_else(|| floats(&found), Cell::List)
            }
        }
    }

    /// Returns the id in a row: a string, or an integer in decimal.
    pub(super) fn id<'a>(&self, array: &'a ArrayRef, row: usize) -> Option<Cow<'a, str>> {
        let (leaf, row) = self.one(array, row)?;
        match bytes(leaf, row) {
            Some(bytes) => from_utf8(bytes).ok().map(Cow::Borrowed),
            None => integer(leaf, row).map(|number| Cow::Owned(number.to_string())),
        }
    }

    pub(super) fn sort_value(&self, array: &ArrayRef, row: usize) -> Option<SortValue> {
        let (leaf, row) = self.one(array, row)?;
        if let Some(bytes) = bytes(leaf, row) {
            return from_utf8(bytes).ok().map(|text| SortValue::Text(text.into()));
        }
        if let Some(number) = integer(leaf, row) {
            return SortValue::number(&number.to_string());
        }
        match leaf.data_type() {
            DataType::Float32 => real(f64::from(value::<Float32Type>(leaf, row)?)),
            DataType::Float64 => real(value::<Float64Type>(leaf, row)?),
            DataType::Date32 => Some(moment(i64::from(value::<Date32Type>(leaf, row)?), DAY)),
            DataType::Date64 => Some(moment(value::<Date64Type>(leaf, row)?, 1_000_000)),
            DataType::Timestamp(unit, _) => {
                let (value, nanoseconds) = match unit {
                    TimeUnit::Second => (value::<TimestampSecondType>(leaf, row)?, 1_000_000_000),
                    TimeUnit::Millisecond => (value::<TimestampMillisecondType>(leaf, row)?, 1_000_000),
                    TimeUnit::Microsecond => (value::<TimestampMicrosecondType>(leaf, row)?, 1_000),
                    TimeUnit::Nanosecond => (value::<TimestampNanosecondType>(leaf, row)?, 1),
                };
                Some(moment(value, nanoseconds))
            }
            _ => None,
        }
    }

    /// Returns the value of a row, unless it is null or a list.
    fn one<'a>(&self, array: &'a ArrayRef, row: usize) -> Option<(&'a dyn Array, usize)> {
        let mut found = Vec::new();
        match gather(array.as_ref(), &self.below, row, &mut found) {
            ValueShape::One => found.pop(),
            _ => None,
        }
    }
}

/// Finds the column that `key` names: a column of exactly that name or, if `key` contains dots, a path into structs.
fn find<'s>(schema: &'s Schema, key: &str) -> Option<(Column, &'s DataType)> {
    let mut path = Vec::new();
    let found = descend(schema.fields(), key, &mut path)?;
    let (&root, below) = path.split_first()?;
    let below = below.to_vec();
    Some((Column { root, below }, found))
}

fn descend<'s>(fields: &'s Fields, key: &str, path: &mut Vec<usize>) -> Option<&'s DataType> {
    for (i, field) in fields.iter().enumerate() {
        let Some(rest) = key.strip_prefix(field.name().as_str()) else {
            continue;
        };
        path.push(i);
        let below = through(field);
        let found = match (rest.strip_prefix('.'), below) {
            (None, _) if rest.is_empty() => Some(below),
            (Some(rest), DataType::Struct(fields)) => descend(fields, rest, path),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    None
}

/// Returns the type of the column that `key` names, if it contains integers.
pub(super) fn integer_type(schema: &Schema, key: &str) -> Option<IntegerType> {
    let (bits, signed) = match find(schema, key)?.1 {
        DataType::Int8 => (8, true),
        DataType::Int16 => (16, true),
        DataType::Int32 => (32, true),
        DataType::Int64 => (64, true),
        DataType::UInt8 => (8, false),
        DataType::UInt16 => (16, false),
        DataType::UInt32 => (32, false),
        DataType::UInt64 => (64, false),
        _ => return None,
    };
    Some(IntegerType { bits, signed })
}

/// Returns the type of the values inside lists and dictionaries.
fn through(field: &Field) -> &DataType {
    let mut at = field.data_type();
    loop {
        at = match at {
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                field.data_type()
            }
            DataType::Dictionary(_, value) => value,
            other => return other,
        };
    }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

/// The form of a row's value: single or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueShape {
    Nothing,
    One,
    List,
}

/// Collects the values of a row that are not null. Each is given by its array and its index in the array.
fn gather<'a>(
    array: &'a dyn Array,
    below: &[usize],
    row: usize,
    found: &mut Vec<(&'a dyn Array, usize)>,
) -> ValueShape {
    if array.is_null(row) {
        return ValueShape::Nothing;
    }
    let elements = |values: &'a ArrayRef, range: Range<usize>, found: &mut _| {
        for element in range {
            gather(values.as_ref(), below, element, found);
        }
        ValueShape::List
    };
    match array.data_type() {
        DataType::Struct(_) => {
            let child = below
                .split_first()
                .and_then(|(&child, rest)| Some((array.as_struct().columns().get(child)?, rest)));
            child.map_or(ValueShape::Nothing, |(child, rest)| {
                gather(child.as_ref(), rest, row, found)
            })
        }
        DataType::List(_) => {
            let (values, range) = elements_of(array.as_list::<i32>(), row);
            elements(values, range, found)
        }
        DataType::LargeList(_) => {
            let (values, range) = elements_of(array.as_list::<i64>(), row);
            elements(values, range, found)
        }
        DataType::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            let start = list.value_offset(row) as usize;
            elements(list.values(), start..start + list.value_length() as usize, found)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let Some(key) = integer(dictionary.keys(), row).and_then(|key| usize::try_from(key).ok()) else {
                return ValueShape::Nothing;
            };
            gather(dictionary.values().as_ref(), below, key, found)
        }
        _ => {
            found.push((array, row));
            ValueShape::One
        }
    }
}

/// Returns the array that contains the elements of a list, and the range of the elements of a row.
fn elements_of<O: OffsetSizeTrait>(list: &GenericListArray<O>, row: usize) -> (&ArrayRef, Range<usize>) {
    let offsets = list.value_offsets();
    (
        list.values(),
        offsets[row].as_usize()..offsets[row + 1].as_usize(),
    )
}

fn bytes(leaf: &dyn Array, row: usize) -> Option<&[u8]> {
    Some(match leaf.data_type() {
        DataType::Utf8 => leaf.as_string::<i32>().value(row).as_bytes(),
        DataType::LargeUtf8 => leaf.as_string::<i64>().value(row).as_bytes(),
        DataType::Utf8View => leaf.as_string_view().value(row).as_bytes(),
        DataType::Binary => leaf.as_binary::<i32>().value(row),
        DataType::LargeBinary => leaf.as_binary::<i64>().value(row),
        DataType::BinaryView => leaf.as_binary_view().value(row),
        _ => return None,
    })
}

fn value<T: ArrowPrimitiveType>(leaf: &dyn Array, row: usize) -> Option<T::Native> {
    leaf.as_primitive_opt::<T>()?.values().get(row).copied()
}

fn integer(leaf: &dyn Array, row: usize) -> Option<i128> {
    Some(match leaf.data_type() {
        DataType::Int8 => i128::from(value::<Int8Type>(leaf, row)?),
        DataType::Int16 => i128::from(value::<Int16Type>(leaf, row)?),
        DataType::Int32 => i128::from(value::<Int32Type>(leaf, row)?),
        DataType::Int64 => i128::from(value::<Int64Type>(leaf, row)?),
        DataType::UInt8 => i128::from(value::<UInt8Type>(leaf, row)?),
        DataType::UInt16 => i128::from(value::<UInt16Type>(leaf, row)?),
        DataType::UInt32 => i128::from(value::<UInt32Type>(leaf, row)?),
        DataType::UInt64 => i128::from(value::<UInt64Type>(leaf, row)?),
        _ => return None,
    })
}

fn floats(found: &[(&dyn Array, usize)]) -> Cell<'static> {
    let number = |&(leaf, row): &(&dyn Array, usize)| match leaf.data_type() {
        DataType::Float32 => value::<Float32Type>(leaf, row).map(|number| number.to_string()),
        _ => value::<Float64Type>(leaf, row).map(|number| number.to_string()),
    };
    numbers(found.iter().filter_map(number))
}
