//! The charset of a page, and the page as text.

use std::borrow::Cow;
use std::str::from_utf8;

use html5gum::{Token, Tokenizer};

use crate::charset::{Charset, Hints, detect, of_content_type};

/// Bytes in which a page may name its charset; browsers look at as many.
const HEAD: usize = 1024;

/// Decodes a page. In order of trust: a byte order mark, UTF-8 that holds more than ASCII, what the sender `declared` (in
/// HTTP's Content-Type), what the page says in a `meta` element, and a guess. What a page says is often out of date; that
/// another charset looks like UTF-8 by chance is much rarer. As in browsers, bytes that are no character become U+FFFD:
/// pages with a few of them are common. Linear.
pub fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> (Cow<'a, str>, Charset) {
    if Charset::of_mark(bytes).is_none()
        && !bytes.is_ascii()
        && let Ok(text) = from_utf8(bytes)
    {
        return (Cow::Borrowed(text), Charset::UTF_8);
    }
    let known = declared.filter(|label| Charset::named(label).is_some());
    let named = if known.is_none() { named_in(bytes) } else { None };
    let hints = Hints {
        declared: known.or(named.as_deref()),
        ..Hints::default()
    };
    let charset = detect(bytes, hints);
    let mark = Charset::of_mark(bytes).map_or(0, |(_, length)| length);
    (
        charset.decode_lossy(bytes.get(mark..).unwrap_or_default()),
        charset,
    )
}

/// The charset that a page names in its head.
fn named_in(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
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
            // A page that reads as ASCII up to here cannot be UTF-16, whatever it says.
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
    fn the_charset_is_taken_from_the_most_trusted_place() {
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
