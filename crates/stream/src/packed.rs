//! Texts of leaders, packed: of most nothing is ever asked again.

use std::fmt;

/// zstd, for speed.
const LEVEL: i32 = 1;

/// A text.
#[derive(Clone, Debug)]
pub(super) enum Packed {
    /// Its length in bytes, and what zstd made of it.
    Zstd(u32, Box<[u8]>),
    /// What zstd would not pack.
    Plain(Box<str>),
}

/// Packs and unpacks.
pub(super) struct Packer {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

impl Packer {
    pub(super) fn new() -> Self {
        Self {
            compressor: zstd::bulk::Compressor::new(LEVEL).ok(),
            decompressor: zstd::bulk::Decompressor::new().ok(),
        }
    }

    pub(super) fn pack(&mut self, text: &str) -> Packed {
        let packed = self
            .compressor
            .as_mut()
            .and_then(|compressor| compressor.compress(text.as_bytes()).ok());
        match (packed, u32::try_from(text.len())) {
            (Some(packed), Ok(length)) if packed.len() < text.len() => {
                Packed::Zstd(length, packed.into_boxed_slice())
            }
            _ => Packed::Plain(text.into()),
        }
    }

    /// The text; nothing where memory is out.
    pub(super) fn unpack(&mut self, text: &Packed) -> Option<String> {
        match text {
            Packed::Plain(text) => Some(text.to_string()),
            Packed::Zstd(length, packed) => {
                let bytes = self.decompressor.as_mut()?.decompress(packed, *length as usize);
                String::from_utf8(bytes.ok()?).ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        let mut packer = Packer::new();
        for text in ["", "short", &"again and again ".repeat(100), &"中文".repeat(50)] {
            let packed = packer.pack(text);
            assert_eq!(packer.unpack(&packed).as_deref(), Some(text));
        }
        assert!(matches!(packer.pack(&"a".repeat(1000)), Packed::Zstd(1000, _)));
        assert!(matches!(packer.pack("a"), Packed::Plain(_)));
    }
}
