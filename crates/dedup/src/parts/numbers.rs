//! Numbers in a temporary file, read back in the order in which they were written. In files, the results of the search
//! take no memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use twinprint_io::work::WorkError;

use twinprint_index::segment::SegmentError;
use twinprint_index::sort::Sorter;

use crate::error::DedupError;

const BUFFER: usize = 1 << 18;
/// The bits of a number in each byte of its variable-length encoding. The highest bit of a byte is set if more bytes
/// follow.
const BITS: u32 = 7;

/// The writer of a file of numbers in a variable-length encoding, in which small numbers take fewer bytes.
pub(super) struct NumberWriter {
    work: PathBuf,
    file: BufWriter<File>,
}

/// The reader of a file that a [`NumberWriter`] has written.
pub(super) struct NumberReader {
    work: PathBuf,
    file: BufReader<File>,
}

fn failed(work: &Path) -> impl Fn(io::Error) -> DedupError + '_ {
    |source| WorkError::file(work, source).into()
}

impl NumberWriter {
    /// Creates an unnamed temporary file in the directory `work`.
    pub(super) fn create(work: &Path) -> Result<Self, DedupError> {
        let file = tempfile::tempfile_in(work).map_err(failed(work))?;
        Ok(Self {
            work: work.to_owned(),
            file: BufWriter::with_capacity(BUFFER, file),
        })
    }

    pub(super) fn push(&mut self, number: impl Into<u128>) -> Result<(), DedupError> {
        let mut rest: u128 = number.into();
        let mut bytes = [0; u128::BITS.div_ceil(BITS) as usize];
        let mut length = 0;
        for byte in &mut bytes {
            *byte = (rest as u8 & 0x7F) | if rest >> BITS == 0 { 0 } else { 0x80 };
            rest >>= BITS;
            length += 1;
            if rest == 0 {
                break;
            }
        }
        self.file.write_all(&bytes[..length]).map_err(failed(&self.work))
    }

    pub(super) fn push_real(&mut self, number: f64) -> Result<(), DedupError> {
        self.push(number.to_bits())
    }

    pub(super) fn finish(self) -> Result<NumberReader, DedupError> {
        let Self { work, file } = self;
        let file = file
            .into_inner()
            .map_err(|error| failed(&work)(error.into_error()))?;
        let mut reader = NumberReader {
            file: BufReader::with_capacity(BUFFER, file),
            work,
        };
        reader.rewind()?;
        Ok(reader)
    }
}

impl NumberReader {
    /// Returns to the beginning of the file.
    pub(super) fn rewind(&mut self) -> Result<(), DedupError> {
        self.file.rewind().map_err(failed(&self.work))
    }

    /// Reads the next number; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<u128>, DedupError> {
        let mut number = 0;
        let mut shift = 0;
        loop {
            let mut byte = [0];
            match self.file.read_exact(&mut byte) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof && shift == 0 => return Ok(None),
                read => read.map_err(failed(&self.work))?,
            }
            number |= u128::from(byte[0] & 0x7F).checked_shl(shift).unwrap_or(0);
            shift += BITS;
            if byte[0] & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
    }

    /// Reads the next number.
    ///
    /// # Errors
    /// The file cannot be read, or it has no further number.
    pub(super) fn number(&mut self) -> Result<u64, DedupError> {
        match self.next()? {
            Some(number) => Ok(number as u64),
            None => Err(WorkError::file(&self.work, ErrorKind::UnexpectedEof.into()).into()),
        }
    }

    pub(super) fn real(&mut self) -> Result<f64, DedupError> {
        Ok(f64::from_bits(self.number()?))
    }
}

/// A reader of packed values with a lookahead of one value.
pub(super) struct PeekReader<T> {
    file: NumberReader,
    unpack: fn(u128) -> T,
    pub(super) next: Option<T>,
}

impl<T: Copy> PeekReader<T> {
    pub(super) fn new(mut file: NumberReader, unpack: fn(u128) -> T) -> Result<Self, DedupError> {
        let next = file.next()?.map(unpack);
        Ok(Self { file, unpack, next })
    }

    /// Returns to the first value of the file.
    pub(super) fn rewind(&mut self) -> Result<(), DedupError> {
        self.file.rewind()?;
        self.next = self.file.next()?.map(self.unpack);
        Ok(())
    }

    pub(super) fn next_if(&mut self, condition: impl Fn(T) -> bool) -> Result<Option<T>, DedupError> {
        let Some(next) = self.next.filter(|&next| condition(next)) else {
            return Ok(None);
        };
        self.next = self.file.next()?.map(self.unpack);
        Ok(Some(next))
    }
}

/// The directory of temporary files, and the memory of a sort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortSpace<'w> {
    pub(crate) dir: &'w Path,
    /// The number of bytes that one sort uses in memory.
    sort_bytes: u64,
}

impl<'w> SortSpace<'w> {
    /// A sort uses at most about `sort_bytes` bytes, and never more than [`MAX_SORT_BYTES`].
    pub(crate) fn new(dir: &'w Path, sort_bytes: u64) -> Self {
        Self {
            dir,
            sort_bytes: sort_bytes.min(MAX_SORT_BYTES),
        }
    }
}

/// An external sort of numbers, within bounded memory.
pub(super) struct NumberSorter {
    work: PathBuf,
    sorter: Sorter,
}

/// The largest number of bytes that one sort uses in memory.
pub(crate) const MAX_SORT_BYTES: u64 = 32 << 20;

impl NumberSorter {
    pub(super) fn new(work: SortSpace<'_>) -> Self {
        Self {
            work: work.dir.to_owned(),
            sorter: Sorter::new(work.dir, u128::MAX, work.sort_bytes),
        }
    }

    pub(super) fn push(&mut self, number: u128) -> Result<(), DedupError> {
        let pushed = self.sorter.push(number);
        pushed.map_err(|error| SortFailure::from(error).into_error(&self.work))
    }

    /// Sorts the numbers and returns a reader that yields them in ascending order.
    pub(super) fn finish(self) -> Result<NumberReader, DedupError> {
        let Self { work, sorter } = self;
        let mut sorted = NumberWriter::create(&work)?;
        let written = sorter.finish(|numbers| {
            let mut push = |&number: &u128| sorted.push(number);
            numbers
                .iter()
                .try_for_each(&mut push)
                .map_err(SortFailure::Written)
        });
        written.map_err(|error| error.into_error(&work))?;
        sorted.finish()
    }
}

/// The reason why an external sort failed.
enum SortFailure {
    Sorted(SegmentError),
    Written(DedupError),
}

impl From<SegmentError> for SortFailure {
    fn from(error: SegmentError) -> Self {
        Self::Sorted(error)
    }
}

impl SortFailure {
    fn into_error(self, work: &Path) -> DedupError {
        match self {
            Self::Sorted(SegmentError::Io { source, .. }) => WorkError::file(work, source).into(),
            Self::Sorted(error) => WorkError::file(work, io::Error::other(error)).into(),
            Self::Written(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(mut reader: NumberReader) -> Vec<u128> {
        std::iter::from_fn(|| reader.next().unwrap()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn written_numbers_are_read_back(numbers: Vec<u128>, shift in 0u32..128) {
            let dir = tempfile::tempdir().unwrap();
            let numbers: Vec<u128> = numbers.iter().map(|number| number >> shift).collect();
            let mut writer = NumberWriter::create(dir.path()).unwrap();
            let mut sorting = NumberSorter::new(SortSpace::new(dir.path(), MAX_SORT_BYTES));
            for &number in &numbers {
                writer.push(number).unwrap();
                sorting.push(number).unwrap();
            }
            prop_assert_eq!(&all(writer.finish().unwrap()), &numbers);
            let mut sorted = numbers;
            sorted.sort_unstable();
            prop_assert_eq!(all(sorting.finish().unwrap()), sorted);
        }
    }

    #[test]
    fn a_missing_number_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = NumberWriter::create(dir.path()).unwrap();
        writer.push_real(-0.5).unwrap();
        let mut reader = writer.finish().unwrap();
        assert!(reader.real().unwrap() < -0.4);
        let error = reader.number().unwrap_err().to_string();
        assert!(error.contains("temporary file"), "{error}");
        reader.rewind().unwrap();
        assert_eq!(reader.number().unwrap(), (-0.5f64).to_bits());
    }
}
