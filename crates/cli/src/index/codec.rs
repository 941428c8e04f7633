//! How fingerprints are stored, on the command line.

use twinprint::segment::{Codec, Form};

/// How fingerprints are stored.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum CodecArg {
    /// The quickest to search, and the largest
    Packed,
    /// 5 to 16 % smaller than packed up to some ten million fingerprints, no smaller at a hundred million; queries take two to three times as long
    EliasFano,
    /// Huffman-coded differences in pages of 128, found by the last of each: 4 to 14 % smaller than packed; a query takes ten times as long and more, one among many
    /// four to eight times
    Huffman,
}

impl From<CodecArg> for Codec {
    fn from(arg: CodecArg) -> Self {
        match arg {
            CodecArg::Packed => Self::Packed(Form::Plain),
            CodecArg::EliasFano => Self::Packed(Form::EliasFano),
            CodecArg::Huffman => Self::HUFFMAN,
        }
    }
}
