//! Reads the header fields of WARC records and HTTP messages. A field is a line `Name: value`. A line that begins with
//! white space continues the value of the previous line. Lines that are not fields are skipped, as browsers do.

use std::borrow::Cow;

/// One field of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field<'a> {
    name: &'a [u8],
    /// The value, including the lines that continue it.
    lines: &'a [u8],
}

impl<'a> Field<'a> {
    /// Returns true if the field has this name, ignoring case.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// Returns the value joined to one line, or `None` if it is not UTF-8.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        let text = std::str::from_utf8(self.lines).ok()?.trim();
        Some(if text.contains('\n') {
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            Cow::Owned(lines.join(" "))
        } else {
            Cow::Borrowed(text)
        })
    }

    /// Like [`text`](Self::text), but replaces bytes that are not UTF-8 by U+FFFD.
    pub(super) fn text_lossy(&self) -> String {
        let text = String::from_utf8_lossy(self.lines);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.join(" ").trim().to_owned()
    }
}

/// Iterates over the fields of a header. `header` does not include its first line.
pub(super) fn fields(header: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut rest = header;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let (lines, after) = rest.split_at(value_end(rest));
            rest = after;
            if let Some(colon) = memchr::memchr2(b':', b'\n', lines)
                && let Some((name, value)) = lines.split_at_checked(colon)
                && let Some(value) = value.strip_prefix(b":")
            {
                return Some(Field {
                    name: name.trim_ascii(),
                    lines: value,
                });
            }
        }
    })
}

/// Returns the offset at which a field ends: after its first line and the lines that continue it.
fn value_end(bytes: &[u8]) -> usize {
    let mut feeds = memchr::memchr_iter(b'\n', bytes);
    let last = feeds.find(|feed| !matches!(bytes.get(feed + 1), Some(b' ' | b'\t')));
    last.map_or(bytes.len(), |feed| feed + 1)
}

/// Returns the offset after the first blank line of `bytes`, where a header ends. Returns `None` if there is no blank
/// line.
pub(super) fn end_of_header(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(feed) = memchr::memchr(b'\n', bytes.get(at..)?) {
        at += feed + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str) -> Vec<(String, String)> {
        let found = fields(header.as_bytes());
        found
            .map(|field| {
                let text = field.text().expect("UTF-8").into_owned();
                assert_eq!(text, field.text_lossy());
                (String::from_utf8_lossy(field.name).into_owned(), text)
            })
            .collect()
    }

    #[test]
    fn fields_are_parsed() {
        let found = read("A: one\r\nb :two \n C:\r\nno field\r\n\r\nD: x:y\r\n  folded\r\n\tagain\nE:last");
        let expected = [
            ("A", "one"),
            ("b", "two C:"),
            ("D", "x:y folded again"),
            ("E", "last"),
        ];
        let expected: Vec<_> = expected.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        assert_eq!(found, expected);
        assert_eq!(read(" : value\n"), [(String::new(), "value".to_owned())]);
        assert_eq!(read(""), []);
        let odd = fields(b"A: caf\xe9\n").next().expect("a field");
        assert!(odd.is("a") && odd.text().is_none());
        assert_eq!(odd.text_lossy(), "caf\u{fffd}");
    }

    #[test]
    fn headers_end_with_a_blank_line() {
        assert_eq!(end_of_header(b"a\r\n\r\nb"), Some(5));
        assert_eq!(end_of_header(b"a\n\nb"), Some(3));
        assert_eq!(end_of_header(b"a\r\nb\n"), None);
        assert_eq!(end_of_header(b""), None);
    }
}
