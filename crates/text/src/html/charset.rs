//! Detects the charset of an HTML page and decodes the page.

use std::borrow::Cow;
use std::str::from_utf8;

use html5gum::{Token, Tokenizer};

use crate::charset::{ByteOrderMark, Charset, Hints, detect, of_content_type};

/// A page's `meta` element with its charset counts only within this number of bytes, as in browsers.
const MAX_META_BYTES: usize = 1024;

/// Decodes a page. `declared` is the charset that the server declared in HTTP's Content-Type. The charset is taken
/// from, in order of trust: a byte order mark, valid UTF-8 that is not only ASCII, `declared`, the page's own `meta`
/// element, and a guess. Valid UTF-8 overrides declarations, because these are often wrong, and text in another charset
/// is hardly ever valid UTF-8. As in browsers, invalid bytes become U+FFFD: pages with a few of them are common.
/// Linear.
///
/// ```
/// use twinprint_text::html::decode;
///
/// let (markup, charset) = decode(b"<meta charset=gbk><p>\xd6\xd0\xce\xc4", None);
/// assert_eq!(charset.name(), "GBK");
/// assert!(markup.ends_with("中文"));
/// ```
pub fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> (Cow<'a, str>, Charset) {
    if ByteOrderMark::at_start(bytes).is_none()
        && !bytes.is_ascii()
        && let Ok(text) = from_utf8(bytes)
    {
        return (Cow::Borrowed(text), Charset::UTF_8);
    }
    let known = declared.filter(|label| Charset::named(label).is_some());
    let in_page = if known.is_none() { declared_in(bytes) } else { None };
    let hints = Hints {
        declared: known.or(in_page.as_deref()),
        ..Hints::default()
    };
    let charset = detect(bytes, hints);
    let mark = ByteOrderMark::at_start(bytes).map_or(0, |mark| mark.length);
    (
        charset.decode_lossy(bytes.get(mark..).unwrap_or_default()),
        charset,
    )
}

/// The charset that a `meta` element of the page declares; `None` if no element does.
fn declared_in(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..MAX_META_BYTES).unwrap_or(bytes);
    Tokenizer::new(head).find_map(|token| {
        let Ok(Token::StartTag(tag)) = token else {
            return None;
        };
        if tag.name.as_slice() != b"meta" {
            return None;
        }
        let value = |name: &[u8]| {
            let mut attributes = tag.attributes.iter();
            let found = attributes.find(|(key, _)| key.as_slice() == name)?;
            Some(String::from_utf8_lossy(found.1.as_slice()).into_owned())
        };
        let charset = value(b"charset").or_else(|| of_content_type(&value(b"content")?).map(str::to_owned));
        charset.map(|label| {
            // A declared UTF-16 cannot be true, because the `meta` element was found by reading the page as ASCII.
            if label.trim().to_ascii_lowercase().starts_with("utf-16") {
                "utf-8".to_owned()
            } else {
                label
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8], declared: Option<&str>) -> &'static str {
        decode(bytes, declared).1.name()
    }

    #[test]
    fn the_most_reliable_declaration_of_the_charset_is_used() {
        let (gbk, utf8): (&[u8], &[u8]) = (
            b"<p>\xd6\xd0\xce\xc4\xd2\xb3\xc3\xe6\xb5\xc4\xc4\xda\xc8\xdd</p>",
            "<p>中文页面</p>".as_bytes(),
        );
        let with = |meta: &str, body: &[u8]| [meta.as_bytes(), body].concat();
        assert_eq!(decode(gbk, Some("gb2312")).0, "<p>中文页面的内容</p>");
        assert_eq!(
            name(
                &with(
                    "<META http-equiv=Content-Type content='text/html; charset=gb2312'>",
                    gbk
                ),
                None
            ),
            "GBK"
        );
        assert_eq!(name(&with("<meta charset=big5>", gbk), Some("gbk")), "GBK");
        assert_eq!(name(&with("<meta charset=gbk>", utf8), None), "UTF-8");
        assert_eq!(
            name(
                &with("<!-- <meta charset=big5> --><meta charset=utf-16>", b"caf\xc3"),
                None
            ),
            "UTF-8"
        );
        assert_eq!(name(b"\xff\xfe<\0p\0", Some("gbk")), "UTF-16LE");
        assert_eq!(name(b"plain", Some("no-such-charset")), "UTF-8");
        assert_eq!(decode(b"caf\xe9 \xff", Some("utf-8")).0, "caf\u{fffd} \u{fffd}");
    }
}
