//! The pages of one column chunk, with the counts they claim held against their bytes.
//!
//! The value decoders reserve memory by a page's own count of values before they look at them.

use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// Values of one page: far beyond what any writer puts there, and little enough to hold the levels of one row.
const MAX_VALUES: u32 = 1 << 26;

pub(super) struct Checked<R>(pub(super) R);

impl<R: PageReader> PageReader for Checked<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        if let Some(page) = &page {
            let values = page.num_values();
            // A dictionary writes every value out, in a byte at the least.
            if values > MAX_VALUES || page.is_dictionary_page() && values as usize > page.buffer().len() {
                return Err(ParquetError::General(format!(
                    "a page of {} bytes claims {values} values",
                    page.buffer().len()
                )));
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.0.at_record_boundary()
    }
}

impl<R: PageReader> Iterator for Checked<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
