//! Copies stdin to disk, because every input is read twice.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempPath;

use super::error::SourceError;
use super::format::Codec;

/// Copies `stdin` unchanged into `work_dir`, and detects its codec from its magic number. The copy is deleted when the
/// returned path is dropped.
pub(super) fn spool(
    stdin: &mut dyn Read,
    work_dir: &Path,
    cancel: &AtomicBool,
) -> Result<(TempPath, Codec), SourceError> {
    let failed = |source| SourceError::Spool {
        path: work_dir.to_owned(),
        source,
    };
    std::fs::create_dir_all(work_dir).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix("stdin-")
        .tempfile_in(work_dir)
        .map_err(failed)?;
    let mut buffer = vec![0; 1 << 20];
    let mut head = Vec::new();
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(SourceError::Cancelled);
        }
        let read = match stdin.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => &buffer[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => {
                return Err(SourceError::UnreadableFile {
                    path: "stdin".into(),
                    source,
                });
            }
        };
        if head.len() < Codec::MAGIC {
            head.extend_from_slice(&read[..read.len().min(Codec::MAGIC)]);
        }
        file.write_all(read).map_err(failed)?;
    }
    Ok((file.into_temp_path(), Codec::of_magic(&head)))
}
