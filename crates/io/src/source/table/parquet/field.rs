//! Finds the column of a Parquet table that a key names, and interprets its levels.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr};

use crate::source::record::IntegerType;
use crate::source::reject::RejectReason;

/// A leaf column of the schema.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// The index of the column among all leaf columns.
    pub(super) leaf: usize,
    pub(super) descriptor: ColumnDescPtr,
}

/// The use of a column's values as ids or sort values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    /// The values are UTF-8 strings.
    Text,
    /// The values are integers.
    Integer { signed: bool },
    /// The values are floating-point numbers.
    Real,
    /// The values are times. Contains their unit in nanoseconds.
    Moment(i64),
    /// The values cannot serve as ids or sort values.
    Unfit,
}

const DAY: i64 = 86_400_000_000_000;

impl Field {
    /// Finds the column that `key` names: a column of exactly that name or, if `key` contains dots, a path into
    /// structs. Lists on the path are not part of the key. Returns `None` if there is no such column, and its type as
    /// an error if it is not a leaf.
    pub(super) fn find(schema: &SchemaDescriptor, key: &str) -> Option<Result<Self, String>> {
        let mut path = Vec::new();
        let found = descend(schema.root_schema(), key, &mut path)?;
        if found.is_group() {
            return Some(Err(describe_group(found).to_owned()));
        }
        let leaf = schema
            .columns()
            .iter()
            .position(|column| column.path().parts() == path)?;
        let descriptor = schema.columns().get(leaf)?.clone();
        Some(Ok(Self { leaf, descriptor }))
    }

    /// Finds the column with the text. If `raw` is true, it may also contain numbers.
    pub(super) fn text(schema: &SchemaDescriptor, key: &str, raw: bool) -> Result<Self, RejectReason> {
        let not_text = |found| RejectReason::ColumnNotText {
            key: key.to_owned(),
            found,
        };
        match Self::find(schema, key) {
            None => Err(RejectReason::ColumnMissing {
                key: key.to_owned(),
                present: names(schema.root_schema()),
            }),
            Some(Err(found)) => Err(not_text(found)),
            Some(Ok(field)) => {
                let numbers = matches!(
                    field.descriptor.physical_type(),
                    Physical::FLOAT | Physical::DOUBLE
                );
                if field.is_string() || raw && numbers {
                    Ok(field)
                } else {
                    Err(not_text(field.describe()))
                }
            }
        }
    }

    /// Finds the column with the id or the sort value, if `key` names one that can serve as such.
    pub(super) fn scalar(schema: &SchemaDescriptor, key: Option<&str>) -> Option<Self> {
        let field = Self::find(schema, key?)?.ok()?;
        (field.descriptor.max_rep_level() == 0 && field.meaning() != Scalar::Unfit).then_some(field)
    }

    fn is_string(&self) -> bool {
        self.meaning() == Scalar::Text
    }

    /// Returns the type of the column, if it contains integers.
    pub(super) fn integer_type(&self) -> Option<IntegerType> {
        let Scalar::Integer { signed } = self.meaning() else {
            return None;
        };
        let bits = match (
            self.descriptor.logical_type_ref(),
            self.descriptor.converted_type(),
            self.descriptor.physical_type(),
        ) {
            (Some(LogicalType::Integer(integer)), ..) => u8::try_from(integer.bit_width).ok()?,
            (_, ConvertedType::INT_8 | ConvertedType::UINT_8, _) => 8,
            (_, ConvertedType::INT_16 | ConvertedType::UINT_16, _) => 16,
            (_, _, Physical::INT32) => 32,
            _ => 64,
        };
        Some(IntegerType { bits, signed })
    }

    pub(super) fn meaning(&self) -> Scalar {
        let converted = self.descriptor.converted_type();
        let unit = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => Scalar::Moment(1_000_000),
            TimeUnit::MICROS => Scalar::Moment(1_000),
            TimeUnit::NANOS => Scalar::Moment(1),
        };
        match (
            self.descriptor.physical_type(),
            self.descriptor.logical_type_ref(),
        ) {
            (
                Physical::BYTE_ARRAY,
                None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Json),
            ) if !matches!(converted, ConvertedType::DECIMAL | ConvertedType::BSON) => Scalar::Text,
            (Physical::INT32, Some(LogicalType::Date)) => Scalar::Moment(DAY),
            (Physical::INT64, Some(LogicalType::Timestamp(stamp))) => unit(&stamp.unit),
            (Physical::INT32 | Physical::INT64, Some(LogicalType::Integer(integer))) => Scalar::Integer {
                signed: integer.is_signed,
            },
            (Physical::INT32 | Physical::INT64, None) => integer(converted),
            (Physical::FLOAT | Physical::DOUBLE, None) => Scalar::Real,
            (Physical::INT96, _) => Scalar::Moment(1),
            _ => Scalar::Unfit,
        }
    }

    /// For a column inside a list, returns the smallest definition level at which the list has an element.
    pub(super) fn element_level(&self, schema: &SchemaDescriptor) -> i16 {
        let (mut at, mut level) = (schema.root_schema(), 0);
        for part in self.descriptor.path().parts() {
            let Some(next) = at
                .is_group()
                .then(|| at.get_fields().iter().find(|field| field.name() == part))
                .flatten()
            else {
                break;
            };
            at = next;
            match repetition(at) {
                Some(Repetition::REPEATED) => return level + 1,
                Some(Repetition::OPTIONAL) => level += 1,
                _ => {}
            }
        }
        level
    }

    pub(super) fn describe(&self) -> String {
        match self.descriptor.logical_type_ref() {
            Some(logical) => format!("{} ({logical:?})", self.descriptor.physical_type()),
            None => self.descriptor.physical_type().to_string(),
        }
    }
}

/// Interprets an integer column by its converted type, the annotation that files used before Parquet had logical types.
fn integer(converted: ConvertedType) -> Scalar {
    match converted {
        ConvertedType::TIMESTAMP_MILLIS => Scalar::Moment(1_000_000),
        ConvertedType::TIMESTAMP_MICROS => Scalar::Moment(1_000),
        ConvertedType::DATE => Scalar::Moment(DAY),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
            Scalar::Integer { signed: false }
        }
        ConvertedType::DECIMAL | ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS => Scalar::Unfit,
        _ => Scalar::Integer { signed: true },
    }
}

fn repetition(at: &Type) -> Option<Repetition> {
    let info = at.get_basic_info();
    info.has_repetition().then(|| info.repetition())
}

/// Follows `key` into the fields of a group, and appends the names on the way, as the schema spells them, to `path`.
fn descend<'t>(group: &'t Type, key: &str, path: &mut Vec<String>) -> Option<&'t Type> {
    if !group.is_group() {
        return None;
    }
    for field in group.get_fields() {
        let Some(rest) = key.strip_prefix(field.name()) else {
            continue;
        };
        let before = path.len();
        path.push(field.name().to_owned());
        let below = through_list(field, path);
        let found = match rest.strip_prefix('.') {
            None if rest.is_empty() => Some(below),
            None => None,
            Some(rest) => descend(below, rest, path),
        };
        if found.is_some() {
            return found;
        }
        path.truncate(before);
    }
    None
}

/// Returns the type of the elements inside a list or nested lists. Returns any other type unchanged.
fn through_list<'t>(field: &'t Type, path: &mut Vec<String>) -> &'t Type {
    let mut at = field;
    loop {
        let info = at.get_basic_info();
        let is_list = at.is_group()
            && (info.logical_type_ref() == Some(&LogicalType::List)
                || info.converted_type() == ConvertedType::LIST);
        let [repeated] = children(at) else {
            return at;
        };
        if !is_list || repetition(repeated) != Some(Repetition::REPEATED) {
            return at;
        }
        path.push(repeated.name().to_owned());
        // A list has three levels of groups in the standard. Older writers omit the inner one.
        let inner = children(repeated);
        let old = repeated.name() == "array" || repeated.name() == format!("{}_tuple", at.name());
        at = match inner {
            [element] if !old => {
                path.push(element.name().to_owned());
                element
            }
            _ => return repeated,
        };
    }
}

/// Returns the fields of a group. A leaf has none.
fn children(at: &Type) -> &[TypePtr] {
    if at.is_group() { at.get_fields() } else { &[] }
}

fn describe_group(group: &Type) -> &'static str {
    match group.get_basic_info().converted_type() {
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => "a map",
        _ => "a struct",
    }
}

/// Returns the names of the first columns, shortened for a message.
pub(super) fn names(root: &Type) -> Vec<String> {
    super::super::shortened(root.get_fields().iter().map(|field| field.name()))
}
