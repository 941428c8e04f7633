//! Reads the pages of one column chunk. The counts that a page states are checked against its bytes, and the dictionary
//! is decompressed only if a page needs it.
//!
//! The count of values is checked because the value decoders allocate memory for it before they read the values.
//!
//! Writers start a chunk with a dictionary and stop using it when it grows too large, which is soon for texts. All
//! later pages are plain. If only plain pages are read, decompressing the dictionary would be wasted work. Therefore
//! the dictionary is skipped first, and read again before the first page that needs it.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// The largest accepted number of values in a page. It is far more than any writer uses, and the levels of that many
/// values still fit into memory.
const MAX_VALUES: u32 = 1 << 26;

/// Opens the pages of a column chunk at the first page.
type Open<R> = Box<dyn Fn() -> Result<R> + Send>;

pub(super) struct Checked<R> {
    pages: R,
    open: Open<R>,
    dictionary: Dictionary,
    /// A page that was read and needs the dictionary. It is yielded after the dictionary.
    held: Option<Page>,
}

/// The state of the dictionary page with which a column chunk may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dictionary {
    /// No page has been read yet.
    Unseen,
    /// The dictionary page was skipped and has not been needed yet.
    Passed,
    /// There is no dictionary page, or it has been yielded.
    Done,
}

impl<R: PageReader> Checked<R> {
    pub(super) fn new(open: Open<R>) -> Result<Self> {
        Ok(Self {
            pages: open()?,
            open,
            dictionary: Dictionary::Unseen,
            held: None,
        })
    }

    fn pass_dictionary(&mut self) -> Result<()> {
        if self.dictionary == Dictionary::Unseen {
            self.dictionary = Dictionary::Done;
            if self.pages.peek_next_page()?.is_some_and(|page| page.is_dict) {
                self.pages.skip_next_page()?;
                self.dictionary = Dictionary::Passed;
            }
        }
        Ok(())
    }
}

impl<R: PageReader> PageReader for Checked<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        if let Some(page) = self.held.take() {
            return Ok(Some(page));
        }
        self.pass_dictionary()?;
        let page = self.pages.get_next_page()?.map(checked).transpose()?;
        if self.dictionary == Dictionary::Passed && page.as_ref().is_some_and(needs_dictionary) {
            self.dictionary = Dictionary::Done;
            self.held = page;
            return (self.open)()?.get_next_page()?.map(checked).transpose();
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        if let Some(page) = &self.held {
            return Ok(Some(PageMetadata {
                num_rows: match page {
                    Page::DataPageV2 { num_rows, .. } => Some(*num_rows as usize),
                    Page::DataPage { .. } | Page::DictionaryPage { .. } => None,
                },
                num_levels: Some(page.num_values() as usize),
                is_dict: false,
            }));
        }
        self.pass_dictionary()?;
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        if self.held.take().is_some() {
            return Ok(());
        }
        self.pass_dictionary()?;
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

fn needs_dictionary(page: &Page) -> bool {
    let by_number = matches!(
        page.encoding(),
        Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
    );
    page.is_data_page() && by_number
}

fn checked(page: Page) -> Result<Page> {
    let values = page.num_values();
    // A dictionary page stores every value in at least one byte.
    if values > MAX_VALUES || page.is_dictionary_page() && values as usize > page.buffer().len() {
        return Err(ParquetError::General(format!(
            "a page of {} bytes states {values} values, which is too many",
            page.buffer().len()
        )));
    }
    Ok(page)
}

impl<R: PageReader> Iterator for Checked<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
