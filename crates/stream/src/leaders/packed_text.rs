//! Compressed texts of leaders. They are compressed because most of them are never read again.

use std::fmt;

/// The zstd level of the texts: the fastest.
const LEVEL: i32 = 1;

/// A text in memory, compressed if that makes it shorter.
#[derive(Clone, Debug)]
pub(super) enum PackedText {
    /// A text that zstd makes shorter, compressed.
    Zstd {
        /// The length of the decompressed text, in bytes.
        text_bytes: u32,
        /// The compressed text.
        packed: Box<[u8]>,
    },
    /// A text that zstd does not make shorter, as it is.
    Plain(Box<str>),
}

/// Compresses and decompresses texts, and reuses the contexts of zstd.
pub(super) struct TextPacker {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl fmt::Debug for TextPacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextPacker").finish_non_exhaustive()
    }
}

impl TextPacker {
    pub(super) fn new() -> Self {
        Self {
            compressor: zstd::bulk::Compressor::new(LEVEL).ok(),
            decompressor: zstd::bulk::Decompressor::new().ok(),
        }
    }

    pub(super) fn pack(&mut self, text: &str) -> PackedText {
        let packed = self
            .compressor
            .as_mut()
            .and_then(|compressor| compressor.compress(text.as_bytes()).ok());
        match (packed, u32::try_from(text.len())) {
            (Some(packed), Ok(text_bytes)) if packed.len() < text.len() => PackedText::Zstd {
                text_bytes,
                packed: packed.into_boxed_slice(),
            },
            _ => PackedText::Plain(text.into()),
        }
    }

    /// Decompresses a text; `None` if zstd fails for lack of memory.
    pub(super) fn unpack(&mut self, text: &PackedText) -> Option<String> {
        match text {
            PackedText::Plain(text) => Some(text.to_string()),
            PackedText::Zstd { text_bytes, packed } => {
                let decompressor = self.decompressor.as_mut()?;
                let bytes = decompressor.decompress(packed, *text_bytes as usize);
                String::from_utf8(bytes.ok()?).ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_texts_equal_the_originals() {
        let mut packer = TextPacker::new();
        for text in ["", "short", &"again and again ".repeat(100), &"中文".repeat(50)] {
            let packed = packer.pack(text);
            assert_eq!(packer.unpack(&packed).as_deref(), Some(text));
        }
        let long = packer.pack(&"a".repeat(1000));
        assert!(matches!(long, PackedText::Zstd { text_bytes: 1000, .. }));
        assert!(matches!(packer.pack("a"), PackedText::Plain(_)));
    }
}
