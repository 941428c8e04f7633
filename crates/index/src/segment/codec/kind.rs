//! The storage formats of rows, and their numbers in files.

use crate::segment::directory::Form;

/// The form of the directory in a footer for rows in pages: the ends of pages.
const PAGES_FORM: u32 = 3;
/// The largest number of rows of a page.
pub(in crate::segment) const MAX_PAGE_ROWS: u32 = 1 << 16;

/// The storage format of the rows of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// The bits below the address, and a directory: the fastest to search. With [`Form::EliasFano`] this is the Elias–Fano coding of a table.
    Packed(Form),
    /// Pages of 1 to 65,536 rows as Huffman-coded differences: a tenth of the speed or less, since half a page is decoded at every
    /// probe. [`Codec::HUFFMAN`] has the size that is usual here; a number beyond the bounds is taken as the nearest.
    Huffman {
        /// Rows of a page: more take less space and more time.
        page_rows: u32,
    },
}

impl Default for Codec {
    fn default() -> Self {
        Self::Packed(Form::default())
    }
}

impl Codec {
    /// Pages of a size whose first and last rows and starts cost little more than a bit a row.
    pub const HUFFMAN: Self = Self::Huffman { page_rows: 128 };

    /// With a size of pages that a reader takes.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Huffman { page_rows } => Self::Huffman {
                page_rows: page_rows.clamp(1, MAX_PAGE_ROWS),
            },
            packed @ Self::Packed(_) => packed,
        }
    }

    /// As they stand in files: form of the directory, code of the rows, rows of a page.
    pub(crate) fn numbers(self) -> [u32; 3] {
        match self {
            Self::Packed(form) => [form as u32, 1, 0],
            Self::Huffman { page_rows } => [PAGES_FORM, 2, page_rows],
        }
    }

    /// The codec of such numbers.
    pub(crate) fn from_numbers(numbers: [u32; 3]) -> Option<Self> {
        match numbers {
            [form, 1, 0] => Form::from(form).map(Self::Packed),
            [PAGES_FORM, 2, page_rows @ 1..=MAX_PAGE_ROWS] => Some(Self::Huffman { page_rows }),
            _ => None,
        }
    }
}
