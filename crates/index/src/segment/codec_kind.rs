//! The storage formats of rows, and the numbers that stand for them in files.

use super::directory::DirectoryForm;

/// The number that stands in a footer for the directory of rows in pages, which is the list of the ends of pages.
const PAGES_FORM: u32 = 3;
/// The largest number of rows of a page.
const MAX_PAGE_ROWS: u32 = 1 << 16;

/// The storage format of the rows of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Packed rows: the bits below the address, and a directory. This is the fastest format to search. With
    /// [`DirectoryForm::EliasFano`] it is the Elias–Fano coding of a table.
    Packed(DirectoryForm),
    /// Pages of 1 to 65,536 rows, stored as Huffman-coded differences. Lookups have a tenth of the speed or less,
    /// because every probe decodes half a page. [`Codec::HUFFMAN`] has the usual page size; a size out of bounds is
    /// clamped.
    Huffman {
        /// The number of rows of a page. Larger pages take less space and more time.
        page_rows: u32,
    },
}

impl Default for Codec {
    fn default() -> Self {
        Self::Packed(DirectoryForm::default())
    }
}

impl Codec {
    /// Pages of 128 rows: the first and the last row and the start of each page cost little more than one bit for each
    /// row.
    pub const HUFFMAN: Self = Self::Huffman { page_rows: 128 };

    /// Returns the codec with its page size clamped to the allowed range.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Huffman { page_rows } => Self::Huffman {
                page_rows: page_rows.clamp(1, MAX_PAGE_ROWS),
            },
            packed @ Self::Packed(_) => packed,
        }
    }

    /// Returns the numbers that stand for the codec in files: form of the directory, code of the rows, rows of a page.
    pub(crate) fn numbers(self) -> [u32; 3] {
        match self {
            Self::Packed(form) => [form as u32, 1, 0],
            Self::Huffman { page_rows } => [PAGES_FORM, 2, page_rows],
        }
    }

    /// Returns the codec that three numbers in a file stand for, or `None` if they stand for no codec.
    pub(crate) fn from_numbers(numbers: [u32; 3]) -> Option<Self> {
        match numbers {
            [form, 1, 0] => DirectoryForm::from(form).map(Self::Packed),
            [PAGES_FORM, 2, page_rows @ 1..=MAX_PAGE_ROWS] => Some(Self::Huffman { page_rows }),
            _ => None,
        }
    }
}
