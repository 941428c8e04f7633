//! The log: one line an event, on stderr.
//!
//! Requests are told by route, not by path: ids and urls of documents are nobody's business but the collection's.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// What the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogForm {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line: `time` (Unix seconds), `level`, `event`, and what belongs to the event.
    Json,
    /// Errors alone, in lines for people.
    Quiet,
}

/// Writes events.
#[derive(Clone, Copy)]
pub(crate) struct Log {
    form: LogForm,
}

impl Log {
    pub(crate) fn new(form: LogForm) -> Self {
        Self { form }
    }

    /// Whether what merely happens is written.
    pub(crate) fn tells_all(self) -> bool {
        self.form != LogForm::Quiet
    }

    /// Something that happens.
    pub(crate) fn info(self, event: &str, what: Value) {
        if self.tells_all() {
            self.write("info", event, what);
        }
    }

    /// Something that should not happen.
    pub(crate) fn error(self, event: &str, what: Value) {
        self.write("error", event, what);
    }

    fn write(self, level: &str, event: &str, what: Value) {
        let line = line(self.form, level, event, what);
        // Where nobody reads it any more, the work goes on.
        let _nobody_reads = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn line(form: LogForm, level: &str, event: &str, what: Value) -> String {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64());
    let Value::Object(what) = what else {
        return String::new();
    };
    if form == LogForm::Json {
        let mut whole = serde_json::Map::new();
        whole.insert("time".to_owned(), time.into());
        whole.insert("level".to_owned(), level.into());
        whole.insert("event".to_owned(), event.into());
        whole.extend(what);
        return format!("{}\n", Value::Object(whole));
    }
    let mut whole = format!("{time:.3} {level} {event}");
    for (name, value) in what {
        // Writing to a String cannot fail.
        let _ = write!(whole, " {name}={value}");
    }
    whole.push('\n');
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_it_says() {
        let what = serde_json::json!({"error": "two\nlines"});
        for form in [LogForm::Text, LogForm::Json] {
            let line = line(form, "error", "export", what.clone());
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert!(line.contains("export") && line.contains("two\\nlines"), "{line}");
        }
    }
}
