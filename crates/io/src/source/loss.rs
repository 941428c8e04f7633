//! The size of a part of a file that is lost together with a reject.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::number::counted;

/// The size of a part of a file in which no record could be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Number of bytes, after decompression, that were read but belong to no readable record.
    pub bytes: u64,
    /// Number of lines that these bytes span, including incomplete ones. 0 in formats without lines.
    pub lines: u64,
    /// Number of bytes of the file on disk that were not read, or that could not be decompressed.
    pub unread_bytes: u64,
    /// Number of lost rows, if the file is a table that states it.
    pub rows: u64,
}

impl Loss {
    /// Creates a loss of `bytes` bytes of the file on disk.
    pub fn unread(bytes: u64) -> Self {
        Self {
            unread_bytes: bytes,
            ..Self::default()
        }
    }

    /// Returns true if nothing was lost, because the file ends where reading stopped.
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
