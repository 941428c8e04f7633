//! The storage formats of rows, and their numbers in files.

use super::directory::DirectoryForm;

/// The form of the directory in a footer for rows in pages: the ends of pages.
const PAGES_FORM: u32 = 3;
/// The largest number of rows of a page.
const MAX_PAGE_ROWS: u32 = 1 << 16;

/// The storage format of the rows of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// The bits below the address, and a directory: the fastest to search. With [`DirectoryForm::EliasFano`] this is the Elias–Fano coding of a table.
    Packed(DirectoryForm),
    /// Pages of 1 to 65,536 rows as Huffman-coded differences: a tenth of the speed or less, since half a page is decoded at every
    /// probe. [`Codec::HUFFMAN`] has the usual size; a number out of bounds is clamped.
    Huffman {
        /// Rows of a page: more take less space and more time.
        page_rows: u32,
    },
}

impl Default for Codec {
    fn default() -> Self {
        Self::Packed(DirectoryForm::default())
    }
}

impl Codec {
    /// Pages of 128 rows: their first and last rows and starts cost little more than one bit for each row.
    pub const HUFFMAN: Self = Self::Huffman { page_rows: 128 };

    /// The codec with its page size clamped to the allowed range.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Huffman { page_rows } => Self::Huffman {
                page_rows: page_rows.clamp(1, MAX_PAGE_ROWS),
            },
            packed @ Self::Packed(_) => packed,
        }
    }

    /// The numbers in files: form of the directory, code of the rows, rows of a page.
    pub(crate) fn numbers(self) -> [u32; 3] {
        match self {
            Self::Packed(form) => [form as u32, 1, 0],
            Self::Huffman { page_rows } => [PAGES_FORM, 2, page_rows],
        }
    }

    /// The codec that three numbers in a file stand for; `None` for numbers that no codec has.
    pub(crate) fn from_numbers(numbers: [u32; 3]) -> Option<Self> {
        match numbers {
            [form, 1, 0] => DirectoryForm::from(form).map(Self::Packed),
            [PAGES_FORM, 2, page_rows @ 1..=MAX_PAGE_ROWS] => Some(Self::Huffman { page_rows }),
            _ => None,
        }
    }
}
