//! Parts of the messages of rejects.

/// The fix for a file without read permission.
pub(super) fn readable(message: &str) -> &'static str {
    if message.starts_with("Permission denied") {
        "; make it readable (chmod u+r) or leave it out"
    } else {
        ""
    }
}

pub(super) fn fields(found: usize, expected: usize) -> String {
    if found > expected {
        format!("more than {expected}")
    } else {
        found.to_string()
    }
}

pub(super) fn fields_there(present: &[String]) -> String {
    if present.is_empty() {
        "the record has no fields".to_owned()
    } else {
        format!(
            "there are {}; name the one that holds the text",
            present.join(", ")
        )
    }
}

pub(super) fn columns_there(present: &[String]) -> String {
    if present.is_empty() {
        "the table has no columns".to_owned()
    } else {
        format!(
            "there are {}; name the one that holds the text",
            present.join(", ")
        )
    }
}

pub(super) fn longer(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("the record has {bytes} bytes, more than"),
        None => "the record is longer than".to_owned(),
    }
}
