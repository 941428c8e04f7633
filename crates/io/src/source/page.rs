//! Extracts the texts of HTML pages. Without the feature `html` all pages are rejected.

use std::borrow::Cow;

use twinprint_text::charset::Charset;

use super::reject::RejectReason;

/// Extracts texts from HTML pages, and reuses its buffers.
#[derive(Default)]
pub struct PageExtractor {
    #[cfg(feature = "html")]
    extractor: twinprint_text::html::Extractor,
    /// True if pages are returned as markup instead of extracted text.
    as_markup: bool,
    /// True if a page was read since the last call of [`take_read`](Self::take_read).
    read: bool,
}

/// The text of an HTML page, with the position of each character in the markup.
pub struct TracedPage {
    /// The extracted text.
    pub text: String,
    #[cfg(feature = "html")]
    trace: twinprint_text::html::Trace,
}

impl PageExtractor {
    /// Creates an extractor that returns pages as decoded markup instead of extracted text.
    pub(super) fn as_markup() -> Self {
        Self {
            as_markup: true,
            ..Self::default()
        }
    }

    /// Returns true if a page was read since the last call of this method.
    pub(super) fn take_read(&mut self) -> bool {
        std::mem::take(&mut self.read)
    }

    /// Extracts the text of a page whose markup is already decoded.
    pub(super) fn of_markup(&mut self, markup: Cow<'_, str>) -> Result<Cow<'static, str>, RejectReason> {
        self.read = true;
        if self.as_markup {
            return Ok(Cow::Owned(markup.into_owned()));
        }
        self.text_of(&markup)
    }
}

#[cfg(feature = "html")]
impl PageExtractor {
    fn text_of(&mut self, markup: &str) -> Result<Cow<'static, str>, RejectReason> {
        match self.extractor.extract(markup) {
            Ok(page) => Ok(Cow::Owned(page.text.into_owned())),
            Err(error) => Err(RejectReason::Page(error)),
        }
    }

    /// Extracts the text of a page from its bytes. `declared` is the charset that the HTTP header named, if any.
    pub(super) fn of_bytes(
        &mut self,
        bytes: &[u8],
        declared: Option<&str>,
    ) -> Result<(Cow<'static, str>, Charset), RejectReason> {
        let (markup, charset) = twinprint_text::html::decode(bytes, declared);
        Ok((self.of_markup(markup)?, charset))
    }

    /// Extracts the text of a page, with the positions of its characters in the markup. Returns `None` if the page has
    /// no text.
    pub fn traced(&mut self, markup: &str) -> Option<TracedPage> {
        let (page, trace) = self.extractor.extract_traced(markup).ok()?;
        Some(TracedPage {
            text: page.text.into_owned(),
            trace,
        })
    }
}

#[cfg(feature = "html")]
impl TracedPage {
    /// Maps the start offset `at` in the text to the start offset of the same character in the markup, both in bytes.
    pub fn start(&self, at: usize) -> Option<usize> {
        self.trace.start(at)
    }

    /// Maps the end offset `end` in the text to the end offset of the same character in the markup, both in bytes.
    pub fn end(&self, end: usize) -> Option<usize> {
        self.trace.end(end)
    }
}

#[cfg(not(feature = "html"))]
#[expect(clippy::unused_self, reason = "as with the feature")]
impl PageExtractor {
    fn text_of(&mut self, _: &str) -> Result<Cow<'static, str>, RejectReason> {
        Err(RejectReason::NoMarkup)
    }

    pub(super) fn of_bytes(
        &mut self,
        _: &[u8],
        _: Option<&str>,
    ) -> Result<(Cow<'static, str>, Charset), RejectReason> {
        Err(RejectReason::NoMarkup)
    }

    /// Always `None`, because pages cannot be extracted without the feature `html`.
    pub fn traced(&mut self, _: &str) -> Option<TracedPage> {
        None
    }
}

#[cfg(not(feature = "html"))]
impl TracedPage {
    /// Always `None`, because pages cannot be extracted without the feature `html`.
    pub fn start(&self, _: usize) -> Option<usize> {
        None
    }

    /// Always `None`, because pages cannot be extracted without the feature `html`.
    pub fn end(&self, _: usize) -> Option<usize> {
        None
    }
}
