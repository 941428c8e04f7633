//! The size of the part of a file that is lost with a reject.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::number::counted;

/// The size of a part of a file that was not taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Bytes that were read, and unpacked if the file is packed, but belong to no record that was taken.
    pub bytes: u64,
    /// Lines of these bytes, begun ones included. 0 in formats without lines.
    pub lines: u64,
    /// Bytes of the file as it is stored that were not read, or from which unpacking yielded nothing.
    pub unread_bytes: u64,
    /// Rows, where a table says how many there are.
    pub rows: u64,
}

impl Loss {
    /// A loss of `bytes` bytes of the file as it is stored.
    pub fn unread(bytes: u64) -> Self {
        Self {
            unread_bytes: bytes,
            ..Self::default()
        }
    }

    /// True if nothing was lost: the file ends where reading stopped.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Loss {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.unread_bytes += other.unread_bytes;
        self.rows += other.rows;
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.rows > 0 {
            parts.push(counted(self.rows, "row"));
        }
        match (self.bytes, self.lines) {
            (0, 0) => {}
            (bytes, 0) => parts.push(counted(bytes, "byte")),
            (bytes, lines) => parts.push(format!(
                "{} on {}",
                counted(bytes, "byte"),
                counted(lines, "line")
            )),
        }
        if self.unread_bytes > 0 {
            parts.push(format!(
                "{} of the stored file",
                counted(self.unread_bytes, "byte")
            ));
        }
        if parts.is_empty() {
            parts.push("0 bytes".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}
