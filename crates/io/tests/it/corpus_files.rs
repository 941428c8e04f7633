//! Writes small inputs and reads them back as owned records.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the tests of another crate, which use a part"
)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use twinprint_io::source::{RecordKind, RejectReason, SortValue, SourceError, SourceOptions, Sources};

/// The default options.
pub fn plain() -> SourceOptions {
    SourceOptions::default()
}

/// The paths of the files, as a result names them.
pub fn output_paths(sources: &Sources) -> Vec<&str> {
    sources
        .list()
        .iter()
        .map(|f| f.relative.to_str().expect("UTF-8"))
        .collect()
}

/// A record with owned contents.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Document {
        id: Option<String>,
        text: String,
        sort: Option<SortValue>,
    },
    Rejected(RejectReason),
    Blank,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Owned {
    pub source: u32,
    pub line: u64,
    pub raw_len: u64,
    pub kind: Kind,
}

impl Owned {
    pub fn text(&self) -> &str {
        match &self.kind {
            Kind::Document { text, .. } => text,
            other => panic!("expected a document, got {other:?}"),
        }
    }

    pub fn reason(&self) -> &RejectReason {
        match &self.kind {
            Kind::Rejected(reason) => reason,
            other => panic!("expected a reject, got {other:?}"),
        }
    }
}

/// A folder of inputs, and a work directory next to it.
pub struct Inputs {
    dir: TempDir,
}

impl Inputs {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("in")).expect("made");
        Self { dir }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("in")
    }

    /// The path of `name` next to the folder of inputs.
    pub fn sibling(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn path(&self, name: &str) -> String {
        self.root().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Writes a file, compressed according to its extension. Returns its path.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        self.put_raw(name, packed(name, bytes.as_ref()))
    }

    pub fn put_raw(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, bytes).expect("written");
        self.path(name)
    }

    pub fn find(&self, inputs: &[&str], options: &SourceOptions) -> Result<Sources, SourceError> {
        let inputs: Vec<_> = inputs.iter().map(|&i| i.to_owned()).collect();
        Sources::discover(&inputs, options, &self.sibling("work"))
    }

    /// Reads all records, and checks their ordinals and counts.
    pub fn read(&self, inputs: &[&str], options: &SourceOptions) -> Vec<Owned> {
        read_all(&self.find(inputs, options).expect("found"), 1 << 20)
    }
}

pub fn read_all(sources: &Sources, batch_bytes: usize) -> Vec<Owned> {
    let mut all = Vec::new();
    let mut ordinal = 0;
    for batch in sources.read(batch_bytes) {
        for chunk in &batch.expect("a batch").chunks {
            assert_eq!(chunk.first_ordinal(), ordinal);
            let before = all.len();
            chunk.documents(sources.options(), &mut |record| {
                let kind = match record.kind {
                    RecordKind::Document { id, text, sort_value } => Kind::Document {
                        id: id.map(Into::into),
                        text: text.into(),
                        sort: sort_value,
                    },
                    RecordKind::Rejected { reason } => Kind::Rejected(reason),
                    RecordKind::Blank | RecordKind::Other { .. } => Kind::Blank,
                };
                all.push(Owned {
                    source: record.source,
                    line: record.line,
                    raw_len: record.raw_len,
                    kind,
                });
            });
            let records = all[before..].iter().filter(|r| r.kind != Kind::Blank).count();
            assert_eq!(records as u64, chunk.records());
            ordinal += chunk.records();
        }
    }
    all
}

pub fn packed(name: &str, bytes: &[u8]) -> Vec<u8> {
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("gz") => gzip(bytes),
        Some("zst") => {
            // With a checksum, as the zstd program writes by default.
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
            encoder.include_checksum(true).expect("set");
            encoder.write_all(bytes).expect("packed");
            encoder.finish().expect("packed")
        }
        Some("bz2") => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(bytes).expect("packed");
            encoder.finish().expect("packed")
        }
        Some("xz") => {
            let options = lzma_rust2::XzOptions::with_preset(0);
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).expect("an encoder");
            encoder.write_all(bytes).expect("packed");
            encoder.finish().expect("packed")
        }
        Some("lz4") => {
            // With a checksum, as the lz4 program writes by default.
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(bytes).expect("packed");
            encoder.finish().expect("packed")
        }
        _ => bytes.to_vec(),
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

/// The bytes of a file, decompressed according to its extension. `None` if the file does not exist.
pub fn unpacked(path: &Path) -> Option<Vec<u8>> {
    let raw = fs::read(path).ok()?;
    let mut bytes = Vec::new();
    match path.extension().and_then(|e| e.to_str()) {
        Some("gz") => {
            MultiGzDecoder::new(&raw[..])
                .read_to_end(&mut bytes)
                .expect("whole");
        }
        Some("zst") => bytes = zstd::decode_all(&raw[..]).expect("whole"),
        Some("bz2") => {
            bzip2::read::MultiBzDecoder::new(&raw[..])
                .read_to_end(&mut bytes)
                .expect("whole");
        }
        Some("xz") => {
            lzma_rust2::XzReader::new(&raw[..], true)
                .read_to_end(&mut bytes)
                .expect("whole");
        }
        Some("lz4") => {
            lz4_flex::frame::FrameDecoder::new(&raw[..])
                .read_to_end(&mut bytes)
                .expect("whole");
        }
        _ => bytes = raw,
    }
    Some(bytes)
}
