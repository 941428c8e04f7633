//! Writes a [spool](super::Spool).
//!
//! Texts arrive in pieces: the texts of a part of the input, one after another. A piece is written or kept where it is, so texts
//! are not copied to another buffer, unless one that is kept follows one that is left out. A block never reaches from one piece into
//! the next.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use twinprint_index::PositionedFile;

use super::WorkError;
use super::spool::{BlockFiles, Spool, Store, TextRef};
use super::spool_file::{Block, Piece, SpoolFile};

/// The largest size of a block, in bytes. A longer text has a block of its own.
const BLOCK_BYTES: usize = 4 << 10;
/// The number of bytes that are written at a time. Linux took up to eight times as long for 16 MiB at a time.
const WRITE_BYTES: usize = 1 << 20;

/// The place that a spool is written to.
enum Target {
    /// Memory, up to a number of bytes. Beyond it the spool becomes a file without a name.
    Memory { most: u64 },
    /// A file without a name, which nobody else can change.
    Unnamed(File),
    /// A file with a name, whose blocks have checksums.
    Named(File),
}

/// Writes texts to a spool, in order.
///
/// ```
/// use twinprint_io::work::{BlockBuffer, SpoolWriter, WorkDir};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let work = WorkDir::temporary()?;
/// let mut writer = SpoolWriter::create(work.path(), 0);
/// let mut texts = writer.add("onetwothree".to_owned());
/// let one = texts.keep(3)?;
/// texts.skip(3);
/// let three = texts.keep(5)?;
/// drop(texts);
/// let spool = writer.finish()?;
/// let mut buffer = BlockBuffer::default();
/// assert_eq!(spool.text(three, &mut buffer)?, "three");
/// assert_eq!(spool.text(one, &mut buffer)?, "one");
/// assert_eq!(spool.bytes(), 8);
/// # Ok(())
/// # }
/// ```
pub struct SpoolWriter {
    dir: PathBuf,
    target: Target,
    /// The pieces that are not written yet.
    pieces: Vec<Piece>,
    blocks: Vec<Block>,
    /// The size of all blocks, in bytes.
    bytes: u64,
    /// The number of bytes in the file.
    written: u64,
    /// True once a write has failed. What is in the file then is not known.
    failed: bool,
}

impl SpoolWriter {
    /// Creates a spool. Beyond `in_memory` bytes it becomes a file in `dir`. The file has no name, so nothing is left of
    /// it after any end of the program.
    pub fn create(dir: &Path, in_memory: usize) -> Self {
        let most = in_memory as u64;
        Self::on(dir, Target::Memory { most })
    }

    /// Creates the file `path`, which other processes can [open](Spool::open) once it is finished.
    ///
    /// # Errors
    /// [`WorkError::Spool`] if the file cannot be created.
    pub fn create_file(path: &Path) -> Result<Self, WorkError> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|source| WorkError::spool(path, source))?;
        Ok(Self::on(path, Target::Named(file)))
    }

    fn on(dir: &Path, target: Target) -> Self {
        Self {
            dir: dir.to_owned(),
            target,
            pieces: Vec::new(),
            blocks: Vec::new(),
            bytes: 0,
            written: 0,
            failed: false,
        }
    }

    /// Adds texts, which follow one another in `texts`. The returned value selects those that are kept. The next
    /// [`flush`](Self::flush) or [`finish`](Self::finish) writes them to disk.
    #[must_use = "no text is kept"]
    pub fn add(&mut self, texts: String) -> AddedTexts<'_> {
        AddedTexts {
            writer: self,
            texts,
            next: 0,
            kept: String::new(),
            kept_bytes: 0,
            open: 0,
        }
    }

    /// Writes all texts, unless the spool stays in memory.
    ///
    /// # Errors
    /// [`WorkError::Spool`], usually because the disk is full.
    pub fn flush(&mut self) -> Result<(), WorkError> {
        let failed = |source| WorkError::spool(&self.dir, source);
        if self.failed {
            return Err(failed(io::Error::other("an earlier write failed")));
        }
        if let Target::Memory { most } = self.target
            && self.bytes <= most
        {
            return Ok(());
        }
        self.failed = true;
        if let Target::Memory { .. } = self.target {
            self.target = Target::Unnamed(tempfile::tempfile_in(&self.dir).map_err(failed)?);
        }
        if let Target::Named(_) = self.target {
            let (pieces, written) = (&self.pieces, self.written);
            let unwritten = self.blocks.partition_point(|block| block.offset < written);
            self.blocks[unwritten..].par_iter_mut().for_each(|block| {
                block.sum = crc32fast::hash(block.texts_in(pieces).unwrap_or_default().as_bytes());
            });
        }
        if let Target::Unnamed(file) | Target::Named(file) = &mut self.target {
            for piece in &self.pieces {
                if piece.offset != self.written {
                    return Err(failed(io::Error::other("texts that were added are missing")));
                }
                self.written += piece.texts.len() as u64;
                for part in piece.texts.as_bytes().chunks(WRITE_BYTES) {
                    file.write_all(part).map_err(failed)?;
                }
            }
        }
        self.pieces.clear();
        self.failed = false;
        Ok(())
    }

    /// Writes the remaining texts and opens the spool for reading.
    ///
    /// # Errors
    /// The same as for [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<Spool, WorkError> {
        self.flush()?;
        let store = match self.target {
            Target::Memory { .. } => Store::Memory(self.pieces),
            Target::Unnamed(file) => Store::Disk(BlockFiles::Written(PositionedFile::new(file))),
            Target::Named(mut file) => {
                let written = file.write_all(&SpoolFile::table_of(&self.blocks));
                written.map_err(|source| WorkError::spool(&self.dir, source))?;
                Store::Disk(BlockFiles::Written(PositionedFile::new(file)))
            }
        };
        Ok(Spool {
            dir: self.dir,
            store,
            blocks: self.blocks,
            bytes: self.bytes,
        })
    }
}

/// The texts of a new piece. Dropping this value adds the kept texts to the spool.
pub struct AddedTexts<'w> {
    writer: &'w mut SpoolWriter,
    texts: String,
    /// The start of the next text.
    next: usize,
    /// The texts that are kept, once one of them follows one that is left out. Empty until then: the kept texts begin `texts`.
    kept: String,
    /// The size of the texts that are kept, in bytes.
    kept_bytes: usize,
    /// The size of the last block, to which texts can be added.
    open: usize,
}

impl AddedTexts<'_> {
    /// Keeps the next text, which has `len` bytes, and returns its position.
    ///
    /// # Errors
    /// [`WorkError::Spool`] for a text of 4 GiB or more, and for one that is longer than what is left, or begins or ends within a
    /// character.
    pub fn keep(&mut self, len: usize) -> Result<TextRef, WorkError> {
        let end = self.next.saturating_add(len);
        let (Ok(size), Some(text)) = (u32::try_from(len), self.texts.get(self.next..end)) else {
            let problem = format!("a text of {len} bytes is too long, or there is none");
            return Err(WorkError::spool(&self.writer.dir, io::Error::other(problem)));
        };
        if self.kept_bytes < self.next {
            if self.kept.is_empty() {
                self.kept
                    .reserve_exact(self.kept_bytes + self.texts.len() - self.next);
                self.kept
                    .push_str(self.texts.get(..self.kept_bytes).unwrap_or_default());
            }
            self.kept.push_str(text);
        }
        if self.open > 0 && self.open + len > BLOCK_BYTES {
            self.end_block();
        }
        let text = TextRef::new(self.writer.blocks.len() as u32, self.open as u32, size);
        self.next = end;
        self.kept_bytes += len;
        self.open += len;
        Ok(text)
    }

    /// Leaves out the next text, which has `len` bytes.
    pub fn skip(&mut self, len: usize) {
        self.next = self.next.saturating_add(len);
    }

    fn end_block(&mut self) {
        let (writer, size) = (&mut *self.writer, std::mem::take(&mut self.open));
        writer.blocks.push(Block {
            offset: writer.bytes,
            // In range: a block longer than `BLOCK_BYTES` has one text, whose size was checked.
            size: size as u32,
            sum: 0,
        });
        writer.bytes += size as u64;
    }
}

impl Drop for AddedTexts<'_> {
    fn drop(&mut self) {
        if self.kept_bytes == 0 {
            return;
        }
        self.end_block();
        let (mut texts, kept) = (std::mem::take(&mut self.texts), std::mem::take(&mut self.kept));
        if kept.is_empty() {
            texts.truncate(self.kept_bytes);
        } else {
            texts = kept;
        }
        // A piece that stays in memory gives back room beyond an eighth.
        let stays = matches!(self.writer.target, Target::Memory { most } if self.writer.bytes <= most);
        if stays && texts.capacity() / 8 > texts.len() / 7 {
            texts.shrink_to_fit();
        }
        let offset = self.writer.bytes - self.kept_bytes as u64;
        self.writer.pieces.push(Piece { offset, texts });
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockBuffer;
    use super::*;

    /// Adds texts as one piece, except those that are left out by their numbers.
    fn add(
        writer: &mut SpoolWriter,
        texts: &[String],
        leaves_out: fn(usize) -> bool,
    ) -> Vec<Option<TextRef>> {
        let mut added = writer.add(texts.concat());
        let mut places = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            if leaves_out(i) {
                added.skip(text.len());
                places.push(None);
            } else {
                places.push(Some(added.keep(text.len()).unwrap()));
            }
        }
        assert!(added.keep(1).is_err(), "nothing is left");
        places
    }

    fn texts(seed: usize) -> Vec<String> {
        let lengths = [0, 5000, 0, 1, 900, 40, 30_000, 7, 0];
        (seed..seed + 40)
            .map(|i| format!("{i}-").repeat(lengths[i % 9] / 3))
            .collect()
    }

    #[test]
    fn texts_of_any_length_are_read_back_from_memory_and_from_disk() {
        for in_memory in [0, 4096, usize::MAX] {
            let dir = tempfile::tempdir().unwrap();
            let texts: Vec<String> = (0..300)
                .map(|i| "wört ".repeat([0, 1, 7, 900, 40_000][i % 5]) + &i.to_string())
                .collect();
            let mut writer = SpoolWriter::create(dir.path(), in_memory);
            let mut places = Vec::new();
            let rules: [fn(usize) -> bool; 5] = [|_| false, |i| i % 3 == 1, |i| i < 2, |i| i > 4, |_| true];
            for (i, texts) in texts.chunks(7).enumerate() {
                places.extend(add(&mut writer, texts, rules[i % rules.len()]));
                if i % 10 == 0 {
                    writer.flush().unwrap();
                }
            }
            let spool = writer.finish().unwrap();
            assert_eq!(matches!(spool.store, Store::Memory(_)), in_memory == usize::MAX);
            let mut buffer = BlockBuffer::default();
            for i in (0..300).rev().chain(0..300) {
                let Some(place) = places[i] else { continue };
                assert_eq!(spool.text(place, &mut buffer).unwrap(), texts[i]);
            }
            let kept = places.iter().flatten().map(|place| place.len() as u64);
            assert_eq!(spool.bytes(), kept.sum::<u64>());
            assert_eq!(dir.path().read_dir().unwrap().count(), 0, "the file has no name");
        }
    }

    #[test]
    fn a_part_of_a_character_is_no_text() {
        let mut writer = SpoolWriter::create(Path::new("/"), usize::MAX);
        let mut added = writer.add("aü".to_owned());
        assert!(added.keep(2).is_err());
        added.skip(2);
        assert!(added.keep(1).is_err());
    }

    #[test]
    fn pieces_of_several_files_are_read_back_and_checked() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| dir.path().join(name));
        let mut expected = Vec::new();
        for (file, path) in paths.iter().enumerate() {
            let mut writer = SpoolWriter::create_file(path).unwrap();
            for piece in 0..5 {
                // A piece of empty texts, and one at the end.
                let texts = match piece {
                    1 | 4 => vec![String::new(); 4],
                    _ => texts(file * 100 + piece * 7),
                };
                let places = add(&mut writer, &texts, |i| i % 3 == 1);
                expected.extend(
                    places
                        .into_iter()
                        .zip(texts)
                        .map(|(place, text)| (file, place, text)),
                );
                if piece % 2 == 0 {
                    writer.flush().unwrap();
                }
            }
            writer.finish().unwrap();
        }
        let spool = Spool::open(&paths).unwrap();
        let (firsts, mut buffer) = (spool.first_blocks(), BlockBuffer::default());
        for (file, place, text) in &expected {
            let Some(place) = place else { continue };
            let place = TextRef::new(place.block + firsts[*file], place.offset(), place.len() as u32);
            assert_eq!(spool.text(place, &mut buffer).unwrap(), text);
        }
        let kept = expected
            .iter()
            .filter_map(|(_, place, text)| place.map(|_| text.len() as u64));
        assert_eq!(spool.bytes(), kept.sum::<u64>());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_is_written_after_a_failed_write() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut writer = SpoolWriter::on(Path::new("/dev"), Target::Named(full));
        add(&mut writer, &texts(0), |i| i % 3 == 1);
        assert!(writer.flush().is_err());
        let refused = writer.flush().unwrap_err();
        assert!(
            format!("{refused:?}").contains("an earlier write failed"),
            "{refused:?}"
        );
        assert!(writer.finish().is_err());
        let mut writer = SpoolWriter::create(Path::new("/missing"), 100);
        add(&mut writer, &texts(0), |i| i % 3 == 1);
        assert!(writer.flush().is_err(), "the directory is missing");
        assert!(writer.finish().is_err());
    }

    #[test]
    fn a_lost_piece_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = SpoolWriter::create(dir.path(), 0);
        let mut lost = writer.add("x".repeat(BLOCK_BYTES + 1));
        lost.keep(BLOCK_BYTES).unwrap();
        lost.keep(1).unwrap();
        std::mem::forget(lost);
        add(&mut writer, &texts(0), |i| i % 3 == 1);
        assert!(writer.finish().is_err());
    }
}
