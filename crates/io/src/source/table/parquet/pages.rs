//! The pages of one column chunk: their claimed counts are checked against their bytes, and the dictionary is unpacked only if it is asked for.
//!
//! The value decoders reserve memory by a page's own count of values before they look at them.
//!
//! Writers begin a chunk with a dictionary and abandon it when it grows too large, as it soon does for texts; all pages
//! after that are plain. For a part of a row group with plain pages only, unpacking the dictionary would be wasted
//! work. So the dictionary is skipped at first, and yielded before the first page that needs it.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// The maximum number of values of one page: far more than any writer uses, and few enough to hold their levels in
/// memory.
const MAX_VALUES: u32 = 1 << 26;

/// Opens the pages of a chunk from the first one on.
type Open<R> = Box<dyn Fn() -> Result<R> + Send>;

pub(super) struct Checked<R> {
    pages: R,
    open: Open<R>,
    dictionary: Dictionary,
    /// The page that needs the dictionary, which is yielded after it.
    held: Option<Page>,
}

/// The state of the dictionary page that a chunk may begin with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dictionary {
    /// No page has been read yet.
    Unseen,
    /// The dictionary page was skipped.
    Passed,
    /// There is no dictionary page, or it was yielded.
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
    // A dictionary page contains every value, each in at least one byte.
    if values > MAX_VALUES || page.is_dictionary_page() && values as usize > page.buffer().len() {
        return Err(ParquetError::General(format!(
            "a page of {} bytes claims {values} values",
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
