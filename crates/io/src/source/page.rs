//! Texts of HTML pages. Without the feature `html` all pages are rejected.

use std::borrow::Cow;

use twinprint_text::charset::Charset;

use super::reject::RejectReason;

/// An extractor of texts from HTML pages, which reuses its buffers.
#[derive(Default)]
pub struct PageExtractor {
    #[cfg(feature = "html")]
    extractor: twinprint_text::html::Extractor,
    /// True if pages are left as markup.
    as_markup: bool,
    /// True if a page was read since the last call of [`take_read`](Self::take_read).
    read: bool,
}

/// The text of a page, with its positions in the markup.
pub struct TracedPage {
    /// The text.
    pub text: String,
    #[cfg(feature = "html")]
    trace: twinprint_text::html::Trace,
}

impl PageExtractor {
    /// Creates an extractor that leaves pages as decoded markup.
    pub(super) fn as_markup() -> Self {
        Self {
            as_markup: true,
            ..Self::default()
        }
    }

    /// True if a page was read since the last call.
    pub(super) fn take_read(&mut self) -> bool {
        std::mem::take(&mut self.read)
    }

    /// The text of a page that is decoded already.
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

    /// The text of a page as it was saved or sent. `declared` is the charset that its sender named.
    pub(super) fn of_bytes(
        &mut self,
        bytes: &[u8],
        declared: Option<&str>,
    ) -> Result<(Cow<'static, str>, Charset), RejectReason> {
        let (markup, charset) = twinprint_text::html::decode(bytes, declared);
        Ok((self.of_markup(markup)?, charset))
    }

    /// The text of a page, with its positions in the markup. `None` if the page has no text.
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
    /// Bytes of the markup before the character that begins at byte `at` of the text.
    pub fn start(&self, at: usize) -> Option<usize> {
        self.trace.start(at)
    }

    /// Bytes of the markup up to the end of the character that ends at byte `end` of the text.
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

    /// `None`: without the feature `html` there is no extractor.
    pub fn traced(&mut self, _: &str) -> Option<TracedPage> {
        None
    }
}

#[cfg(not(feature = "html"))]
impl TracedPage {
    /// `None`: without the feature `html` no page is extracted.
    pub fn start(&self, _: usize) -> Option<usize> {
        None
    }

    /// `None`: without the feature `html` no page is extracted.
    pub fn end(&self, _: usize) -> Option<usize> {
        None
    }
}
