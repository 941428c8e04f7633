//! The log of the service: one line per event, on stderr.
//!
//! A request is logged with its route, not with its path. Paths contain document ids, which must not leave the
//! collection.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of readable text per event.
    #[default]
    Text,
    /// One JSON object per event, with `time` (Unix seconds), `level`, `event`, and the fields of the event.
    Json,
    /// One line of readable text per error. Other events are not logged.
    Quiet,
}

/// The log of the service. It can be copied; all copies write to stderr.
#[derive(Clone, Copy)]
pub(crate) struct Log {
    format: LogFormat,
}

impl Log {
    pub(crate) fn new(format: LogFormat) -> Self {
        Self { format }
    }

    /// True if events other than errors are logged.
    pub(crate) fn logs_info(self) -> bool {
        self.format != LogFormat::Quiet
    }

    /// Logs an event of normal operation. `fields` is a JSON object.
    pub(crate) fn info(self, event: &str, fields: Value) {
        if self.logs_info() {
            self.write("info", event, fields);
        }
    }

    /// Logs an error. `fields` is a JSON object.
    pub(crate) fn error(self, event: &str, fields: Value) {
        self.write("error", event, fields);
    }

    fn write(self, level: &str, event: &str, fields: Value) {
        let line = format_line(self.format, level, event, fields);
        // The error is ignored, because a closed stderr must not stop the service.
        let _closed = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn format_line(format: LogFormat, level: &str, event: &str, fields: Value) -> String {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64());
    let Value::Object(fields) = fields else {
        return String::new();
    };
    if format == LogFormat::Json {
        let mut object = serde_json::Map::new();
        object.insert("time".to_owned(), time.into());
        object.insert("level".to_owned(), level.into());
        object.insert("event".to_owned(), event.into());
        object.extend(fields);
        return format!("{}\n", Value::Object(object));
    }
    let mut line = format!("{time:.3} {level} {event}");
    for (name, value) in fields {
        // Writing to a String cannot fail.
        let _ = write!(line, " {name}={value}");
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_with_line_breaks_is_written_as_one_line() {
        let fields = serde_json::json!({"error": "two\nlines"});
        for format in [LogFormat::Text, LogFormat::Json] {
            let line = format_line(format, "error", "export", fields.clone());
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert!(line.contains("export") && line.contains("two\\nlines"), "{line}");
        }
    }
}
