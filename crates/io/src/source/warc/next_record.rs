//! Finds the start of the next WARC record in bytes that arrive in pieces.
//!
//! At the start of a line, `WARC/` and a version number begin a record. A record may also begin within a line, if no
//! line end separates it from the previous record. Then the line must end after the version number, and the next line
//! must begin with `WARC-`. Otherwise a text that mentions WARC/1.0 would be split.

use memchr::memmem;

/// The first bytes of every record.
pub(super) const MAGIC: &[u8] = b"WARC/";
/// The first bytes of the field that follows the version line, such as `WARC-Type`.
const FIELD: &[u8] = b"WARC-";
/// The largest number of bytes that are needed to decide whether a record begins.
pub(crate) const MAX_BEGINNING_BYTES: usize = MAGIC.len() + "00.00\r\n".len() + FIELD.len();
/// The number of bytes of earlier pieces that are kept: enough for the longest incomplete beginning of a record and the
/// byte before it.
const KEPT_BYTES: usize = MAX_BEGINNING_BYTES;

/// Returns `Some(true)` if `bytes`, which are at the start of a line, begin a record. Returns `None` if there are too
/// few bytes to decide.
pub(crate) fn begins_record(bytes: &[u8]) -> Option<bool> {
    let seen = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if MAGIC.get(..seen.len()) != Some(seen) {
        return Some(false);
    }
    match bytes.get(MAGIC.len()..)? {
        [] | [b'0'..=b'9'] => None,
        [b'0'..=b'9', b'.', ..] => Some(true),
        _ => Some(false),
    }
}

/// The largest number of bytes for which [`begins_record`] can return `None`.
pub(crate) const UNDECIDED_BYTES: usize = MAGIC.len() + 1;

/// Like [`begins_record`], but for bytes that are within a line.
fn begins_record_in_line(bytes: &[u8]) -> Option<bool> {
    if !begins_record(bytes)? {
        return Some(false);
    }
    let minor = bytes.get(MAGIC.len() + 2..)?;
    let digits = minor.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits > 2 {
        return Some(false);
    }
    let field = match minor.get(digits..)? {
        [b'\r', b'\n', field @ ..] | [b'\n', field @ ..] if digits > 0 => field,
        [] | [b'\r'] => return None,
        _ => return Some(false),
    };
    let seen = field.get(..FIELD.len()).unwrap_or(field);
    match FIELD.get(..seen.len()) == Some(seen) {
        true if seen.len() < FIELD.len() => None,
        begins => Some(begins),
    }
}

/// Iterates over the offsets in `bytes` at which a record begins. `before` is the byte that precedes `bytes`.
fn starts(bytes: &[u8], before: u8) -> impl Iterator<Item = usize> {
    memmem::find_iter(bytes, MAGIC).filter(move |&at| {
        let record = bytes.get(at..).unwrap_or_default();
        let last = at.checked_sub(1).and_then(|last| bytes.get(last));
        let begins = match last.unwrap_or(&before) {
            b'\n' => begins_record(record),
            _ => begins_record_in_line(record),
        };
        begins == Some(true)
    })
}

/// Searches a stream of bytes for the start of a record.
pub(crate) struct NextRecord {
    /// The last bytes that were searched. Before the first search it is the byte that precedes the stream.
    held: Vec<u8>,
}

impl NextRecord {
    /// Creates a search in bytes that follow the byte `before`.
    pub(crate) fn behind(before: u8) -> Self {
        Self { held: vec![before] }
    }

    /// Returns the offset in `bytes` of the first record that begins there. The offset is negative if the record begins
    /// in earlier bytes but could not be recognised before.
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Option<isize> {
        let held = self.held.len();
        let joint = bytes.get(..KEPT_BYTES).unwrap_or(bytes);
        self.held.extend_from_slice(joint);
        // Offset 0 is excluded: the first kept byte only serves as the byte before the others.
        let mut across = starts(&self.held, b' ').filter(|&at| at > 0);
        let found = if let Some(at) = across.next().filter(|&at| at < held) {
            Some(at as isize - held as isize)
        } else {
            let before = held.checked_sub(1).and_then(|last| self.held.get(last));
            let mut within = starts(bytes, before.copied().unwrap_or_default());
            within.next().map(|at| at as isize)
        };
        drop(across);
        match bytes.len().checked_sub(KEPT_BYTES) {
            Some(over) => bytes.get(over..).unwrap_or_default().clone_into(&mut self.held),
            None => drop(self.held.drain(..self.held.len().saturating_sub(KEPT_BYTES))),
        }
        found
    }
}

/// Returns true if a record begins in `bytes`, the first bytes of a file.
pub(crate) fn has_record(bytes: &[u8]) -> bool {
    starts(bytes, b'\n').next().is_some()
}

/// Returns true if another record begins on a line of a header.
pub(super) fn runs_into_another(header: &[u8]) -> bool {
    memmem::find_iter(header, b"\nWARC/").any(|at| {
        let line = header.get(at + 1..).unwrap_or_default();
        begins_record(line) == Some(true)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_begin_on_a_new_line_or_have_a_field_after_the_version() {
        let find = |text: &str| NextRecord::behind(b'x').find(text.as_bytes());
        for version in ["0.17", "0.18", "1.0", "1.1"] {
            for end in ["\r\n", "\n"] {
                assert_eq!(find(&format!("a\nWARC/{version}{end}")), Some(2));
                assert_eq!(find(&format!("</p>WARC/{version}{end}WARC-Type: x")), Some(4));
                assert_eq!(find(&format!("see WARC/{version}{end}which says")), None);
                assert_eq!(find(&format!("see WARC/{version} and{end}WARC-Type")), None);
            }
        }
        for text in [
            "\nWARC/x",
            "\nWARC/10",
            "WARC/1.000\nWARC-",
            "WARC/1.\nWARC-",
            "WARC/1.0\r\rWARC-",
        ] {
            assert_eq!(find(text), None, "{text:?}");
        }
        assert_eq!(NextRecord::behind(b'\n').find(b"WARC/1.0"), Some(0));
        assert!(
            runs_into_another(b"WARC-Type: x\r\nWARC/1.0\r\n")
                && !runs_into_another(b"WARC-Type: WARC/1.0\r\n")
        );
    }

    proptest! {
        #[test]
        fn a_record_is_found_in_pieces_of_any_size(
            tokens in prop::collection::vec(
                prop::sample::select(vec!["WARC/", "WARC-", "1.", "0", "18", "\r", "\n", "x", "W", "WARC/1.0\r\nWARC-"]), 0..20),
            steps in prop::collection::vec(1usize..30, 1..5),
        ) {
            let bytes = tokens.concat().into_bytes();
            let expected = NextRecord::behind(b'\n').find(&bytes);
            let mut search = NextRecord::behind(b'\n');
            let (mut at, mut found) = (0, None);
            for step in steps.iter().cycle() {
                let end = (at + step).min(bytes.len());
                found = search.find(&bytes[at..end]).map(|from| at as isize + from);
                at = end;
                if found.is_some() || at == bytes.len() {
                    break;
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
