//! Rows: records of a fixed size, in files and in external sorts.
//!
//! A row is its fields one after another, numbers little-endian. Rows are ordered by their fields in turn, so the first
//! fields of a row are those that it is sorted by. Files have checksums.

mod blocks;
mod file;
mod reader;
mod sorted;

use std::fmt::Debug;

use twinprint_index::sort::SortItem;

pub(crate) use blocks::{BlockFile, BlockWriter};
pub(crate) use file::{RowFile, RowReader, RowWriter};
pub(crate) use reader::BlockReader;
pub(crate) use sorted::{Merge, RowSorter, next_if};

/// The value of a field, with a fixed number of bytes.
pub(crate) trait Field: Copy + Ord + Debug + Send + Sync + 'static {
    const BYTES: usize;

    /// Writes the value to `out`, which has [`BYTES`](Self::BYTES) bytes.
    fn write_to(self, out: &mut [u8]);

    /// Returns the value of [`BYTES`](Self::BYTES) bytes.
    fn read_from(bytes: &[u8]) -> Self;
}

macro_rules! number_fields {
    ($($number:ty),*) => {
        $(impl Field for $number {
            const BYTES: usize = size_of::<Self>();

            #[inline]
            fn write_to(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn read_from(bytes: &[u8]) -> Self {
                let mut number = [0; size_of::<Self>()];
                number.copy_from_slice(bytes);
                Self::from_le_bytes(number)
            }
        })*
    };
}

number_fields!(u8, u32, u64, u128);

impl Field for () {
    const BYTES: usize = 0;

    fn write_to(self, _: &mut [u8]) {}

    fn read_from(_: &[u8]) {}
}

impl<const N: usize> Field for [u8; N] {
    const BYTES: usize = N;

    fn write_to(self, out: &mut [u8]) {
        out.copy_from_slice(&self);
    }

    fn read_from(bytes: &[u8]) -> Self {
        let mut value = [0; N];
        value.copy_from_slice(bytes);
        value
    }
}

/// A row of fields.
pub(crate) trait Row: SortItem + Debug + Sync + 'static {
    const BYTES: usize;

    /// The row that is not below any other.
    fn largest() -> Self;
}

/// Defines a row: a struct whose fields are [`Field`]s.
macro_rules! row {
    (
        $(#[$doc:meta])*
        struct $name:ident $(<$key:ident>)? {
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name $(<$key>)? {
            $($(#[$field_doc])* pub(crate) $field: $type,)*
        }

        impl $(<$key: $crate::rows::Field>)? $crate::rows::Row for $name $(<$key>)? {
            const BYTES: usize = 0 $(+ <$type as $crate::rows::Field>::BYTES)*;

            fn largest() -> Self {
                let bytes = vec![u8::MAX; Self::BYTES];
                <Self as twinprint_index::sort::SortItem>::read_from(&bytes)
            }
        }

        impl $(<$key: $crate::rows::Field>)? twinprint_index::sort::SortItem for $name $(<$key>)? {
            fn stored_bytes(_top: Self) -> usize {
                <Self as $crate::rows::Row>::BYTES
            }

            #[inline]
            fn write_to(self, out: &mut [u8]) {
                let _rest = out;
                $(
                    let (field, _rest) = _rest.split_at_mut(<$type as $crate::rows::Field>::BYTES);
                    $crate::rows::Field::write_to(self.$field, field);
                )*
            }

            #[inline]
            fn read_from(bytes: &[u8]) -> Self {
                let _rest = bytes;
                $(
                    let (field, _rest) = _rest.split_at(<$type as $crate::rows::Field>::BYTES);
                    let $field = <$type as $crate::rows::Field>::read_from(field);
                )*
                Self { $($field),* }
            }
        }
    };
}
pub(crate) use row;

row! {
    /// A number alone.
    struct Number {
        value: u64,
    }
}

/// Checks that the specification has these rows with these sizes in bytes.
#[cfg(test)]
pub(crate) fn assert_specified(rows: &[(&str, usize)]) {
    let specification = include_str!("../../../../docs/stages.md");
    for (row, bytes) in rows {
        let line = format!("| `{row}` | {bytes} |");
        assert!(specification.contains(&line), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use super::*;

    row! {
        struct Sample<K> {
            key: K,
            small: u8,
            wide: u128,
        }
    }

    fn rows(count: u64) -> Vec<Sample<u32>> {
        let row = |i: u64| Sample {
            key: (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32,
            small: i as u8,
            wide: u128::from(i) << 70,
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn rows_are_read_back_sorted_and_merged() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Sample::<u32>::BYTES, 21);
        let open = Arc::default();
        let mut expected = rows(50_000);
        for memory in [0, 1 << 30] {
            let mut sorter = RowSorter::new(dir.path(), memory);
            for &row in &expected {
                sorter.push(row).unwrap();
            }
            let path = sorter.write(&dir.path().join(memory.to_string())).unwrap();
            let file = RowFile::<Sample<u32>>::open(&path, &open).unwrap();
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            assert!(file.all().map(Result::unwrap).eq(sorted.iter().copied()));
            assert_eq!(file.get(77).unwrap(), sorted[77]);
            let mut cursor = file.cursor();
            for at in [0, 1, 77, 49_000, 49_999, 3] {
                assert_eq!(cursor.get(at).unwrap(), sorted[at as usize]);
            }
            assert!(cursor.get(50_000).is_err());
            for (start, end) in [(40_000, 50_001), (7, 3), (u64::MAX - 1, u64::MAX)] {
                let range = start..end;
                assert!(file.range(range).next().unwrap().is_err());
            }
            let middle = sorted[20_000];
            assert_eq!(file.partition_point(|row| *row < middle).unwrap(), 20_000);
            let halves = [(&file, 0..30_000), (&file, 10_000..50_000)];
            let merged: Vec<_> = Merge::of_ranges(&halves, memory).map(Result::unwrap).collect();
            let mut both = sorted[..30_000].to_vec();
            both.extend(&sorted[10_000..]);
            both.sort_unstable();
            assert!(merged == both);
        }
        expected.clear();
    }

    #[test]
    fn a_file_that_was_cut_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let mut writer = RowWriter::create(&path).unwrap();
        for row in rows(10) {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(50).unwrap();
        let open = Arc::default();
        assert!(RowFile::<Sample<u32>>::open(&path, &open).is_err());
        let missing = RowFile::<Number>::open(&dir.path().join("missing"), &open).unwrap_err();
        assert!(missing.to_string().contains("missing"));
    }
}
