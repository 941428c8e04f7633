//! Extraction of the text of an HTML page: its main content if it has one, otherwise all visible text.
//!
//! The tokens of the HTML standard's tokenizer (html5gum) become a flat list of blocks. No tree is built, nothing is
//! recursive, and every step is linear in the markup, for any page. A page beyond one of the limits is an error that
//! names the limit.
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

/// Largest depth of open elements. Browsers flatten elements below a depth of 512; pages without end tags reach some thousands.
const MAX_DEPTH: usize = 10_000;
/// Largest number of blocks of a page. The single-page HTML standard, the largest page known, has 330,000 elements.
const MAX_BLOCKS: usize = 1 << 20;
/// Largest markup in bytes, so that positions fit 32 bits.
const MAX_BYTES: usize = u32::MAX as usize;

/// Number of words that is enough for a main block.
const MIN_MAIN_WORDS: u64 = 12;
/// Share of the page's words, in per cent, that is enough for a main block with fewer words.
const MIN_MAIN_PERCENT: u64 = 25;

/// The limit that a page exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HtmlError {
    /// Elements are nested too deeply.
    #[error("more than {limit} elements are open within one another")]
    TooDeep {
        /// The largest number allowed.
        limit: u64,
    },
    /// The page has too many blocks.
    #[error("the page has more than {limit} blocks")]
    TooManyBlocks {
        /// The largest number allowed.
        limit: u64,
    },
    /// The markup is too long.
    #[error("the page has more than {limit} bytes")]
    TooLong {
        /// The largest number allowed.
        limit: u64,
    },
}

/// The part of a page that was extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The main content.
    Main,
    /// All visible text, because no block has enough of it.
    Visible,
    /// The title, because no text is visible.
    Title,
}

/// The text extracted from a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted<'a> {
    /// The text, with blocks on lines of their own and runs of white space as one space.
    pub text: Cow<'a, str>,
    /// The part of the page that it is.
    pub part: Part,
}

/// Extracts the text of one page after another. Keeps its buffers; use one for each thread.
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
    /// The pieces of the page's text that `text` consists of.
    cuts: Vec<VisibleCut>,
}

impl Default for Extractor {
    fn default() -> Self {
        Self::new()
    }
}

impl Extractor {
    /// An extractor with empty buffers.
    pub fn new() -> Self {
        Self {
            page: Page::new(),
            main: MainBlock::default(),
            text: Vec::new(),
            cuts: Vec::new(),
        }
    }

    /// The text of one page. Linear in the markup. Memory is about twice the visible text, and 60 bytes per block.
    ///
    /// # Errors
    /// [`HtmlError`] with the limit that the page exceeds.
    pub fn extract(&mut self, markup: &str) -> Result<Extracted<'_>, HtmlError> {
        self.begin(markup)?;
        // The only token that the reader returns is an error, so one call reads the whole page.
        if let Some(Ok(error)) = Tokenizer::new_with_emitter(markup, Reader::new(&mut self.page)).next() {
            return Err(error);
        }
        let part = self.finish();
        Ok(self.extracted(part))
    }

    /// The text of one page, as [`extract`](Self::extract) gives it, and its positions in the markup. A little slower than `extract`; the
    /// trace takes up to 20 bytes for each piece of text between tags and character references.
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

    /// Clears the buffers for a page and checks its length.
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

    /// Chooses the part of a page that was read.
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

    /// Copies the text of a block, without the blocks in it that are left out.
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
