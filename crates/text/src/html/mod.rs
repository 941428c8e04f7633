//! The text of an HTML page: its main content where it has one, else all that is shown.
//!
//! Markup goes through the tokenizer of the HTML standard (html5gum) straight into a flat list of blocks; no tree is
//! built, nothing is recursive, and every step is linear in the markup, whatever the page. A page beyond the limits
//! is an error that names the limit.
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
use trace::Tracer;

/// Most elements open within one another. Browsers fold deeper ones at 512; pages that forget end tags reach some thousands.
const MAX_DEPTH: usize = 10_000;
/// Most blocks of a page. The single page of the HTML standard, the largest known, has a third of a million elements.
const MAX_BLOCKS: usize = 1 << 20;
/// Most bytes of markup, so that positions fit 32 bits.
const MAX_BYTES: usize = u32::MAX as usize;

/// The main block must have so many words, or this share of the page's in per cent.
const LEAST_WORDS: u64 = 12;
const LEAST_SHARE: u64 = 25;

/// Why a page has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HtmlError {
    /// Elements within elements beyond [`HtmlError::TooDeep::limit`].
    #[error("more than {limit} elements are open within one another")]
    TooDeep {
        /// The most that are taken.
        limit: u64,
    },
    /// More blocks than `limit`.
    #[error("the page has more than {limit} blocks")]
    TooManyBlocks {
        /// The most that are taken.
        limit: u64,
    },
    /// More bytes than `limit`.
    #[error("the page has more than {limit} bytes")]
    TooLong {
        /// The most that are taken.
        limit: u64,
    },
}

/// Which text of a page was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The main content.
    Main,
    /// All that is shown, because no block has enough of it.
    Visible,
    /// The title, because nothing is shown.
    Title,
}

/// What was taken from a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted<'a> {
    /// The text; blocks on lines of their own, runs of white space as one space.
    pub text: Cow<'a, str>,
    /// Which text that is.
    pub part: Part,
}

/// Takes the text out of pages, one after the other, in buffers that are used again.
pub struct Extractor {
    page: Page,
    main: MainBlock,
    text: Vec<u8>,
    /// The stretches of the page's text that `text` is made of: bytes before each in `text` and in the page's text.
    cuts: Vec<(usize, usize)>,
}

impl Default for Extractor {
    fn default() -> Self {
        Self::new()
    }
}

impl Extractor {
    /// With empty buffers.
    pub fn new() -> Self {
        Self {
            page: Page::new(),
            main: MainBlock::default(),
            text: Vec::new(),
            cuts: Vec::new(),
        }
    }

    /// The text of one page. Linear in the markup; memory is about the shown text twice, and 60 bytes a block.
    ///
    /// # Errors
    /// A page beyond one of the limits.
    pub fn extract(&mut self, markup: &str) -> Result<Extracted<'_>, HtmlError> {
        self.begin(markup)?;
        // The only token handed out is an error, so that one call reads the page.
        if let Some(Ok(error)) = Tokenizer::new_with_emitter(markup, Reader::new(&mut self.page)).next() {
            return Err(error);
        }
        let part = self.finish();
        Ok(self.extracted(part))
    }

    /// The text of one page, as [`extract`](Self::extract) gives it, and where it stands in the markup. A little slower; the trace takes
    /// up to 20 bytes for each piece of text between tags and character references.
    ///
    /// # Errors
    /// As [`extract`](Self::extract).
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

    /// Makes room for a page.
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

    /// Chooses the text of a page that was read.
    fn finish(&mut self) -> Part {
        self.page.finish();
        let choice = self.main.choose(&self.page.blocks);
        let enough = choice.words >= LEAST_WORDS || choice.words * 100 >= choice.visible * LEAST_SHARE;
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

    /// Copies the text of a block without the blocks that are left out of it.
    fn cut(&mut self, block: usize) {
        self.text.clear();
        self.cuts.clear();
        let blocks = &self.page.blocks;
        let Some(main) = blocks.get(block) else { return };
        let mut at = main.start;
        let mut copy = |start: u32, end: u32| {
            let mut piece = slice(&self.page.text, start, end);
            let mut start = start as usize;
            if self.text.is_empty() {
                let length = piece.len();
                piece = piece.trim_ascii_start();
                start += length - piece.len();
            }
            self.cuts.push((self.text.len(), start));
            self.text.extend_from_slice(piece);
        };
        for (inner, &out) in blocks.iter().zip(&self.main.out).skip(block + 1) {
            if inner.start >= main.end {
                break;
            }
            if out && inner.start >= at {
                copy(at, inner.start);
                at = inner.end;
            }
        }
        copy(at, main.end);
    }
}

fn slice(text: &[u8], start: u32, end: u32) -> &[u8] {
    text.get(start as usize..end as usize).unwrap_or_default()
}
