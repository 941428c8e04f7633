//! Documents out of markup. Without the feature `html` there are none, and all pages are rejected.

use std::borrow::Cow;

use text::charset::Charset;

use super::reject::RejectReason;

/// Takes the text out of one page after the other, in buffers of its own.
#[derive(Default)]
pub(super) struct Pages {
    #[cfg(feature = "html")]
    extractor: text::html::Extractor,
}

#[cfg(feature = "html")]
impl Pages {
    /// The text of a page that is decoded already.
    pub(super) fn of_markup(&mut self, markup: &str) -> Result<Cow<'static, str>, RejectReason> {
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
        let (markup, charset) = text::html::decode(bytes, declared);
        Ok((self.of_markup(&markup)?, charset))
    }
}

#[cfg(not(feature = "html"))]
#[expect(clippy::unused_self, reason = "as with the feature")]
impl Pages {
    pub(super) fn of_markup(&mut self, _: &str) -> Result<Cow<'static, str>, RejectReason> {
        Err(RejectReason::NoMarkup)
    }

    pub(super) fn of_bytes(
        &mut self,
        _: &[u8],
        _: Option<&str>,
    ) -> Result<(Cow<'static, str>, Charset), RejectReason> {
        Err(RejectReason::NoMarkup)
    }
}
