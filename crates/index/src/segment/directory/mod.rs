//! Directories, which map an address to the rows that have it.
//!
//! There are three forms, for n rows and 2^u addresses. *Compact* ([`compact`]) takes little more than one byte for each
//! address, and one memory access. *Plain* ([`plain`]) takes two bytes, and stores more rows at an address. *Elias–Fano* ([`elias_fano`]) takes little more than n + 2^u bits, and a few instructions more. It
//! also stores what the others cannot: more than 65,535 rows within 256 addresses.

mod compact;
mod elias_fano;
mod plain;

pub(crate) use compact::Compact;
pub(crate) use elias_fano::EliasFano;
pub(crate) use plain::Plain;

use super::span::Span;

/// The form of a directory, which decides how the first row of each address is encoded. The values are the numbers in
/// files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DirectoryForm {
    /// Two bytes for each address. If a group of addresses has too many rows for that, the Elias–Fano form is used
    /// instead.
    Plain = 1,
    /// A bit string of n + 2^u bits for n rows and 2^u addresses, with a position for every 64 addresses.
    EliasFano = 2,
    /// One byte for each address. If a group of addresses has too many rows for that, the plain form is used instead.
    #[default]
    Compact = 4,
}

impl DirectoryForm {
    pub(crate) fn from(number: u32) -> Option<Self> {
        [Self::Plain, Self::EliasFano, Self::Compact]
            .into_iter()
            .find(|&form| form as u32 == number)
    }
}

/// Reads the bounds of buckets from a directory of one form.
pub(crate) trait Bounds {
    /// Prefetches the bytes that [`Bounds::bucket`] will read.
    fn prefetch(&self, address: u32);

    /// Returns the rows of an address, which must be below 2^u. If the checksums of the directory match, the rows are
    /// within the table.
    fn bucket(&self, address: u32) -> Span;

    /// The bytes that [`Bounds::bucket`] reads, as offsets into the coarse and the fine part.
    fn bucket_bytes(&self, address: u32) -> [std::ops::Range<usize>; 2];

    /// log₂ of the number of addresses of a group, which share an entry of the coarse part.
    fn group_bits(&self) -> u32;

    /// Returns the rows of the group of an address, from the coarse part alone. The end is `u32::MAX` for the last
    /// group.
    fn group_rows(&self, address: u32) -> Span;

    /// The bytes that [`Bounds::group_rows`] reads, as offsets into the coarse part.
    fn group_bytes(&self, address: u32) -> std::ops::Range<usize>;
}

/// An encoded directory of either form, for reading.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Directory<'a> {
    Compact(Compact<'a>),
    Plain(Plain<'a>),
    EliasFano(EliasFano<'a>),
}

impl<'a> Directory<'a> {
    pub(crate) fn new(form: DirectoryForm, coarse: &'a [u8], fine: &'a [u8]) -> Self {
        match form {
            DirectoryForm::Compact => Self::Compact(Compact::new(coarse, fine)),
            DirectoryForm::Plain => Self::Plain(Plain::new(coarse, fine)),
            DirectoryForm::EliasFano => Self::EliasFano(EliasFano::new(coarse, fine)),
        }
    }
}

/// The coarse and the fine part of an encoded directory, for writing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) form: DirectoryForm,
    pub(crate) coarse: Vec<u8>,
    pub(crate) fine: Vec<u8>,
}

/// Builds a directory from addresses in ascending order.
#[derive(Debug)]
pub(crate) struct Counter {
    /// The first row of each address so far.
    bounds: Vec<u32>,
    next: usize,
    rows: u32,
}

impl Counter {
    pub(crate) fn new(address_bits: u32) -> Self {
        Self {
            bounds: vec![0; (1 << address_bits) + 1],
            next: 0,
            rows: 0,
        }
    }

    /// Adds the address of the next row, which must not be below that of the row before.
    #[inline]
    pub(crate) fn push(&mut self, address: u32) {
        while self.next <= address as usize {
            self.bounds[self.next] = self.rows;
            self.next += 1;
        }
        self.rows += 1;
    }

    /// Encodes the directory in the given form, or in the first form after it that can store so many rows: compact,
    /// plain, Elias–Fano.
    pub(crate) fn finish(mut self, form: DirectoryForm) -> Encoded {
        let rows = self.rows;
        for bound in &mut self.bounds[self.next..] {
            *bound = rows;
        }
        match form {
            DirectoryForm::Compact => compact::encode(&self.bounds).or_else(|| plain::encode(&self.bounds)),
            DirectoryForm::Plain => plain::encode(&self.bounds),
            DirectoryForm::EliasFano => None,
        }
        .unwrap_or_else(|| elias_fano::encode(&self.bounds))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(addresses: &[u32], bits: u32) {
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        for form in [
            DirectoryForm::Compact,
            DirectoryForm::Plain,
            DirectoryForm::EliasFano,
        ] {
            let mut counter = Counter::new(bits);
            for &x in &sorted {
                counter.push(x);
            }
            let encoded = counter.finish(form);
            match Directory::new(encoded.form, &encoded.coarse, &encoded.fine) {
                Directory::Compact(bounds) => check_bounds(&bounds, &sorted, bits, &encoded),
                Directory::Plain(bounds) => check_bounds(&bounds, &sorted, bits, &encoded),
                Directory::EliasFano(bounds) => check_bounds(&bounds, &sorted, bits, &encoded),
            }
        }
    }

    fn check_bounds(bounds: &impl Bounds, sorted: &[u32], bits: u32, encoded: &Encoded) {
        for x in 0..1u32 << bits {
            bounds.prefetch(x);
            let expected = Span {
                start: sorted.partition_point(|&a| a < x) as u32,
                end: sorted.partition_point(|&a| a <= x) as u32,
            };
            assert_eq!(
                bounds.bucket(x),
                expected,
                "{x} of {bits} bits, {:?}",
                encoded.form
            );
            let [coarse, fine] = bounds.bucket_bytes(x);
            assert!(coarse.end <= encoded.coarse.len() && fine.end <= encoded.fine.len());
            assert!(bounds.group_bytes(x).end <= encoded.coarse.len());
            let group = bounds.group_rows(x);
            assert!(group.start <= expected.start && group.end >= expected.end);
        }
    }

    proptest! {
        #[test]
        fn buckets_equal_those_of_a_search(addresses in prop::collection::vec(0u32..1 << 10, 0..2000), bits in 10u32..13) {
            check(&addresses, bits);
            let few: Vec<u32> = addresses.iter().map(|x| x & 7).collect();
            check(&few, 3);
            check(&few.iter().map(|_| 0).collect::<Vec<_>>(), 0);
        }
    }

    #[test]
    fn directories_with_many_rows_at_one_address() {
        check(&[vec![300; 70_000], vec![0, 1, 299, 301, 511]].concat(), 9);
        check(&vec![0; 70_000], 8);
    }
}
