//! The list of experiments.

use crate::Experiment;

macro_rules! experiments {
    ($($name:ident: $about:literal;)*) => {
        $(mod $name;)*

        /// All experiments, in the order of the page.
        pub const ALL: &[Experiment] = &[
            $(Experiment { name: stringify!($name), about: $about, run: $name::run },)*
        ];
    };
}

experiments! {
    votes: "weighted votes, signs and Hamming distances of the worked examples";
    hyperplanes: "five features and three bits, by SimHash and by random hyperplanes";
    phrases: "the cat sat on the mat: ordinary hashes, published codes, the six steps";
    digests: "MD5 and SimHash under a small change";
    java: "the Java listing, and the notes on Java";
    jieba: "the jiebaR listings and the sentence about Area 51";
    libraries: "published fingerprints of the named libraries; Chinese without a segmenter";
    angles: "share of differing bits and the angle of vectors";
    measures: "the distances and similarities that the documents list";
    radius: "precision and recall over the radius at 16 to 128 bits";
    causes: "five causes of near-duplicate pages";
    keywords: "keywords or all words as features; weights";
    sketches: "SimHash, MinHash and shingles with equal bytes";
    rabin: "Rabin fingerprints of shingles";
    distribution: "leading bits, intervals and distances of fingerprints";
    candidates: "fingerprints with equal leading bits; binary and interpolation search";
    naive: "scan, all variations of the query, stored variations, cosines";
    designs: "the designs of tables: space, time, probes, candidates";
    permutations: "random permutations and exact designs";
    compression: "compressed tables: first differing bit, Huffman code, half";
    batch: "online lookups and the batch job";
    clustering: "one-pass clustering, and equal fingerprints of 16 bits";
    centres: "centres that move, k-means and hierarchical clustering";
    order: "compression of files in order of similarity";
}
