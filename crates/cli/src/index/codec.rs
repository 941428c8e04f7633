//! The values of the option for the storage format of fingerprints.

use twinprint::segment::{Codec, DirectoryForm};

use crate::choice::Choice;

/// The storage formats of fingerprints.
pub(crate) const CODECS: [Choice<Codec>; 3] = [
    Choice {
        name: "packed",
        help: "Packed rows: the fastest to search, and the largest",
        value: Codec::Packed(DirectoryForm::Compact),
    },
    Choice {
        name: "elias-fano",
        help: "Elias–Fano coding. In the same two tables it is smaller than packed by 2 % at a million uniform fingerprints and by 3 % \
               at ten million. With the tables that are chosen for it at radius 3, which are fewer, it is smaller by 1 to 6 % up \
               to 300,000 fingerprints, by 46 % at a million, by 30 % at ten million, and by 6 % at a hundred million; a \
               single query takes 1.2 to 2.4 times as long, one of many 1.5 to 8 times (docs/scale.md)",
        value: Codec::Packed(DirectoryForm::EliasFano),
    },
    Choice {
        name: "huffman",
        help: "Huffman-coded differences in pages of 128. In the same two tables it is at most 1 % smaller than packed at up to \
               ten million uniform fingerprints. With the tables that are chosen for it at radius 3, it is smaller by 46 % at \
               a million, by 28 % at ten million, and by 3 % at a hundred million; a single query takes 6 to 12 times as \
               long, one of many 7 to 16 times",
        value: Codec::HUFFMAN,
    },
];
