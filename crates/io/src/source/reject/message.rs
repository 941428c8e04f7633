//! The messages of rejects, without the reasons themselves.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{RejectReason, Setting};

/// The message of a [`RejectReason`], and the setting that the fix in it is about. It is serialised as its text.
///
/// # Examples
/// ```
/// use twinprint_io::source::{RejectMessage, RejectReason, Setting};
///
/// let reason = RejectReason::TooLong { bytes: Some(900), limit: 500 };
/// let message = RejectMessage::from(&reason);
/// assert_eq!(message.setting(), Some(Setting::MaxDocument));
/// assert_eq!(
///     message.naming(|_| Some("max_document")),
///     "the record has 900 bytes, more than the limit of 500 bytes; raise the limit to take such records (max_document)"
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct RejectMessage {
    text: String,
    setting: Option<Setting>,
    /// The end of the fix in `text`. The size of the part that is lost may follow.
    fix_end: usize,
}

impl RejectMessage {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The setting that the fix is about.
    pub fn setting(&self) -> Option<Setting> {
        self.setting
    }

    /// The text with the name of the setting in parentheses after the fix, for a program that has names for settings.
    #[must_use]
    pub fn naming<'n>(&self, name: impl FnOnce(Setting) -> Option<&'n str>) -> String {
        let name = self.setting.and_then(name);
        match (name, self.text.split_at_checked(self.fix_end)) {
            (Some(name), Some((fix, rest))) => format!("{fix} ({name}){rest}"),
            _ => self.text.clone(),
        }
    }
}

impl fmt::Display for RejectMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&RejectReason> for RejectMessage {
    fn from(reason: &RejectReason) -> Self {
        let text = reason.to_string();
        Self {
            setting: reason.setting(),
            // The message of a cause begins the message of a loss.
            fix_end: match reason {
                RejectReason::Lost { cause, .. } => cause.to_string().len(),
                _ => text.len(),
            },
            text,
        }
    }
}

/// A message without a setting.
impl From<String> for RejectMessage {
    fn from(text: String) -> Self {
        Self {
            setting: None,
            fix_end: text.len(),
            text,
        }
    }
}

impl From<RejectMessage> for String {
    fn from(message: RejectMessage) -> Self {
        message.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Loss;

    #[test]
    fn the_name_of_the_setting_follows_the_fix() {
        let reason = RejectReason::InvalidUtf8 {
            offset: 5,
            byte: 0xe9,
        };
        let name = |setting| (setting == Setting::Charset).then_some("charset");
        let message = RejectMessage::from(&reason);
        assert_eq!(
            message.as_str(),
            "byte 5 (0xe9) is not UTF-8; if the file is in another charset, name that charset"
        );
        assert_eq!(
            message.naming(name),
            "byte 5 (0xe9) is not UTF-8; if the file is in another charset, name that charset (charset)"
        );
        let lost = RejectMessage::from(&reason.losing(Loss::unread(3)));
        assert_eq!(
            lost.naming(name),
            "byte 5 (0xe9) is not UTF-8; if the file is in another charset, name that charset (charset); not read from here on: \
             3 bytes of the stored file"
        );
        let nameless = RejectMessage::from(&RejectReason::RowWidth {
            found: 3,
            expected: 2,
        });
        assert_eq!(nameless.setting(), Some(Setting::Delimiter));
        assert_eq!(nameless.naming(name), nameless.as_str());
        let without = RejectMessage::from(&RejectReason::EmptyText);
        assert_eq!(without.naming(name), without.as_str());
    }

    #[test]
    fn a_message_is_serialised_as_its_text() {
        let message = RejectMessage::from(&RejectReason::TooLong {
            bytes: None,
            limit: 5,
        });
        let json = serde_json::to_string(&message).unwrap();
        assert_eq!(
            json,
            "\"the record is longer than the limit of 5 bytes; raise the limit to take such records\""
        );
        let back: RejectMessage = serde_json::from_str(&json).unwrap();
        assert_eq!((back.as_str(), back.setting()), (message.as_str(), None));
    }
}
