//! Extracts the text of an HTML page: its main content if the page has one, otherwise all visible text.
//!
//! The tokenizer of the HTML standard (html5gum) reads the markup, and its tokens are turned into a flat list of
//! blocks. No tree is built and no function is recursive, so every step is linear in the markup for any page. A page
//! that exceeds a limit gives an error that names the limit.
//!
//! ```
//! let mut extractor = twinprint_text::html::Extractor::new();
//! let page = "<nav><a href=/>Home</a></nav><main><h1>Tea</h1><p>Let it draw.</main><footer>2009</footer>";
//! assert_eq!(extractor.extract(page)?.text, "Tea\nLet it draw.");
//! # Ok::<(), twinprint_text::html::HtmlError>(())
//! ```

use std::borrow::Cow;

use html5gum::Tokenizer;

mod charset;
mod element;
mod hint;
mod main_block;
mod page;
mod reader;
#[cfg(test)]
mod tests;
mod trace;

pub use charset::decode;
use main_block::MainBlock;
use page::Page;
use reader::Reader;
pub use trace::Trace;
use trace::{Tracer, VisibleCut};

/// The maximum depth of open elements. Browsers flatten elements below a depth of 512; pages without end tags reach
/// some thousands.
const MAX_DEPTH: usize = 10_000;
/// The maximum number of blocks of a page. The single-page HTML standard, the largest page known, has 330,000 elements.
const MAX_BLOCKS: usize = 1 << 20;
/// The maximum length of the markup in bytes. Positions are stored in 32 bits.
const MAX_BYTES: usize = u32::MAX as usize;

/// A block with at least this number of words can be the main content.
const MIN_MAIN_WORDS: u64 = 12;
/// A block with fewer words than [`MIN_MAIN_WORDS`] can be the main content if it has this share, in per cent, of the
/// page's words.
const MIN_MAIN_PERCENT: u64 = 25;

/// The limit that a page exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HtmlError {
    /// Elements are nested too deeply.
    #[error("the page has more than {limit} elements nested in one another")]
    TooDeep {
        /// The maximum number of elements that may be open within one another.
        limit: u64,
    },
    /// The page has too many blocks.
    #[error("the page has more than {limit} blocks")]
    TooManyBlocks {
        /// The maximum number of blocks of a page.
        limit: u64,
    },
    /// The markup is too long.
    #[error("the page has more than {limit} bytes")]
    TooLong {
        /// The maximum length of the markup in bytes.
        limit: u64,
    },
}

/// The part of a page that the extracted text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The main content.
    Main,
    /// All visible text, because no block has enough of it to be the main content.
    Visible,
    /// The title, because the page has no visible text.
    Title,
}

/// The text extracted from a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted<'a> {
    /// The extracted text. Each block begins on a new line, and runs of white space are single spaces.
    pub text: Cow<'a, str>,
    /// The part of the page that `text` comes from.
    pub part: Part,
}

/// Extracts the text of one page after another. Reuses its buffers; use one for each thread.
///
/// ```
/// use twinprint_text::html::{Extractor, Part};
///
/// let mut extractor = Extractor::new();
/// let extracted = extractor.extract("<title>Tea</title><p>Green tea is\n brewed at 80 °C.</p>")?;
/// assert_eq!((extracted.text.as_ref(), extracted.part), ("Green tea is brewed at 80 °C.", Part::Main));
/// # Ok::<(), twinprint_text::html::HtmlError>(())
/// ```
pub struct Extractor {
    page: Page,
    main: MainBlock,
    text: Vec<u8>,
    /// The ranges of the page's visible text that `text` consists of.
    cuts: Vec<VisibleCut>,
}

impl Default for Extractor {
    fn default() -> Self {
        Self::new()
    }
}

impl Extractor {
    /// Creates an extractor with empty buffers.
    pub fn new() -> Self {
        Self {
            page: Page::new(),
            main: MainBlock::default(),
            text: Vec::new(),
            cuts: Vec::new(),
        }
    }

    /// Extracts the text of one page. Linear in the markup. Needs memory of about twice the visible text, and 60 bytes
    /// per block.
    ///
    /// # Errors
    /// [`HtmlError`] names the limit that the page exceeds.
    pub fn extract(&mut self, markup: &str) -> Result<Extracted<'_>, HtmlError> {
        self.begin(markup)?;
        // `reader` returns a token only for an error, so one call reads the whole page.
        if let Some(Ok(error)) = Tokenizer::new_with_emitter(markup, Reader::new(&mut self.page)).next() {
            return Err(error);
        }
        let part = self.finish();
        Ok(self.extracted(part))
    }

    /// Extracts the same text as [`extract`](Self::extract), and the position of each character in the markup. A little
    /// slower than `extract`. The trace needs up to 20 bytes for each piece of text between tags and character
    /// references.
    ///
    /// # Errors
    /// The same as for [`extract`](Self::extract).
    pub fn extract_traced(&mut self, markup: &str) -> Result<(Extracted<'_>, Trace), HtmlError> {
        self.begin(markup)?;
        let mut trace = Trace::default();
        let tracer = Tracer::new(Reader::new(&mut self.page), markup, &mut trace);
        if let Some(Ok(error)) = Tokenizer::new_with_emitter(markup, tracer).next() {
            return Err(error);
        }
        let part = self.finish();
        trace.finish(part, std::mem::take(&mut self.cuts));
        Ok((self.extracted(part), trace))
    }

    /// Clears the buffers for a new page and checks the length of its markup.
    fn begin(&mut self, markup: &str) -> Result<(), HtmlError> {
        self.page.clear();
        if markup.len() > MAX_BYTES {
            return Err(HtmlError::TooLong {
                limit: MAX_BYTES as u64,
            });
        }
        self.page.xml = markup.trim_start().starts_with("<?xml");
        Ok(())
    }

    /// Chooses the part of the page to extract. The whole page has been read before.
    fn finish(&mut self) -> Part {
        self.page.finish();
        let choice = self.main.choose(&self.page.blocks);
        let enough =
            choice.words >= MIN_MAIN_WORDS || choice.words * 100 >= choice.visible * MIN_MAIN_PERCENT;
        let part = match (choice.visible, enough) {
            (0, _) => Part::Title,
            (_, true) => Part::Main,
            (_, false) => Part::Visible,
        };
        if part == Part::Main {
            self.cut(choice.block);
        }
        part
    }

    fn extracted(&self, part: Part) -> Extracted<'_> {
        let text = match part {
            Part::Title => &self.page.title,
            Part::Visible => &self.page.text,
            Part::Main => &self.text,
        };
        Extracted {
            text: String::from_utf8_lossy(text),
            part,
        }
    }

    /// Copies the text of a block, except the blocks in it that are left out.
    fn cut(&mut self, block: usize) {
        self.text.clear();
        self.cuts.clear();
        let blocks = &self.page.blocks;
        let Some(main) = blocks.get(block) else { return };
        let mut copied = main.start;
        let mut copy = |start: u32, end: u32| {
            let mut piece = slice(&self.page.text, start, end);
            let mut start = start as usize;
            if self.text.is_empty() {
                let length = piece.len();
                piece = piece.trim_ascii_start();
                start += length - piece.len();
            }
            self.cuts.push(VisibleCut {
                text: self.text.len(),
                visible: start,
            });
            self.text.extend_from_slice(piece);
        };
        for (inner, &out) in blocks.iter().zip(&self.main.out).skip(block + 1) {
            if inner.start >= main.end {
                break;
            }
            if out && inner.start >= copied {
                copy(copied, inner.start);
                copied = inner.end;
            }
        }
        copy(copied, main.end);
    }
}

fn slice(text: &[u8], start: u32, end: u32) -> &[u8] {
    text.get(start as usize..end as usize).unwrap_or_default()
}
