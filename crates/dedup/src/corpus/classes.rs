//! The table of classes.

use rustc_hash::FxHashMap;
use twinprint_text::Measure;

use super::class_keys::{ClassKey, ClassKeys};
use crate::ids::{ClassId, IdVec, ids};
use crate::packed::PackedRows;
use twinprint_io::work::TextRef;

/// The number of features of a class whose analysis is in an earlier slice.
const UNANALYSED: u32 = u32::MAX;

/// The columns of [`Classes::rows`].
const BLOCK: usize = 0;
const OFFSET: usize = 1;
const BYTES: usize = 2;
const FEATURES: usize = 3;
const SHINGLES: usize = 4;
const MEASURE: usize = 5;
const COLUMNS: usize = 6;

/// The table of classes. A class takes about 25 bytes, and as many more until the table is [sealed](Self::seal).
#[derive(Default)]
pub(crate) struct Classes {
    /// For each class, its fingerprint at full width. The low bits are the narrower fingerprints.
    pub(crate) fingerprint: IdVec<ClassId, u128>,
    rows: PackedRows<ClassId, COLUMNS>,
    sizes: Sizes,
    keys: ClassKeys,
}

/// The values of the text of a class, without its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextValues {
    /// The position of the canonical text in the spool.
    pub(crate) text: TextRef,
    /// The number of distinct features of the text; 0 for the class of the texts without features.
    pub(crate) features: u32,
    /// An upper bound of the number of shingles of the text, by its own measure; 0 for a text with many features, which
    /// needs no bound.
    pub(crate) shingles: u32,
    /// The measure of the text: words or characters.
    pub(crate) measure: Measure,
}

/// The Hamming distance of two fingerprints in their low `bits` bits, 64 or 128.
pub(crate) fn distance(a: u128, b: u128, bits: u32) -> u32 {
    let differing = a ^ b;
    match bits {
        64 => (differing as u64).count_ones(),
        _ => differing.count_ones(),
    }
}

impl Classes {
    /// The number of classes.
    pub(crate) fn len(&self) -> usize {
        self.fingerprint.len()
    }

    /// The ids of all classes.
    pub(crate) fn class_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = ClassId> + ExactSizeIterator + Clone + use<> {
        ids(self.len())
    }

    /// The values of the text of a class.
    pub(crate) fn values(&self, class: ClassId) -> TextValues {
        let columns = [FEATURES, SHINGLES, MEASURE];
        let [features, shingles, measure] = self.rows.columns(class, columns);
        TextValues {
            text: self.text(class),
            features: features as u32,
            shingles: shingles as u32,
            measure: measure_of(measure),
        }
    }

    /// The position of the canonical text of a class in the spool.
    pub(crate) fn text(&self, class: ClassId) -> TextRef {
        let place = self.rows.columns(class, [BLOCK, OFFSET, BYTES]);
        let [block, offset, bytes] = place.map(|number| number as u32);
        TextRef::new(block, offset, bytes)
    }

    /// The block of the spool that has the canonical text of a class.
    pub(crate) fn block(&self, class: ClassId) -> u32 {
        self.rows.get(class, BLOCK) as u32
    }

    /// The length of the canonical text of a class in bytes.
    pub(crate) fn bytes(&self, class: ClassId) -> u32 {
        self.rows.get(class, BYTES) as u32
    }

    /// The measure of the text of a class: words or characters.
    pub(crate) fn measure(&self, class: ClassId) -> Measure {
        measure_of(self.rows.get(class, MEASURE))
    }

    /// The number of documents of a class.
    pub(crate) fn size(&self, class: ClassId) -> u32 {
        self.sizes.get(class)
    }

    /// The Hamming distance of the fingerprints of two classes, in their low `bits` bits, 64 or 128.
    pub(crate) fn distance(&self, a: ClassId, b: ClassId, bits: u32) -> u32 {
        distance(self.fingerprint[a], self.fingerprint[b], bits)
    }

    /// True for the class of the texts without features. Its documents are not duplicates of one another, so each is
    /// alone in its group.
    pub(crate) fn is_empty_text(&self, class: ClassId) -> bool {
        self.rows.get(class, FEATURES) == 0
    }

    /// The number of documents of a class that are duplicates of one another: all, or 1 in the class of the texts
    /// without features.
    pub(crate) fn copies(&self, class: ClassId) -> u32 {
        match self.size(class) {
            size if size > 1 && self.is_empty_text(class) => 1,
            size => size,
        }
    }

    /// Counts one more document in the class with this key. Returns `None` if the class does not exist; the caller then
    /// [adds](Self::add) it.
    pub(crate) fn join(&mut self, key: ClassKey) -> Option<ClassId> {
        let class = self.keys.find(key)?;
        self.sizes.add_one(class);
        Some(class)
    }

    /// Adds a class with its first document. The other classes must have been added with their keys too.
    pub(crate) fn add(&mut self, key: ClassKey, fingerprint: u128, text: TextValues) -> ClassId {
        self.keys.push(key);
        self.push(fingerprint, text)
    }

    /// Adds a class with its first document that is not found by its key.
    pub(crate) fn push(&mut self, fingerprint: u128, text: TextValues) -> ClassId {
        let TextValues {
            text,
            features,
            shingles,
            measure,
        } = text;
        self.fingerprint.push(fingerprint);
        let mut row = [0; COLUMNS];
        row[BLOCK] = text.block.into();
        row[OFFSET] = text.offset().into();
        row[BYTES] = text.len() as u64;
        row[FEATURES] = features.into();
        row[SHINGLES] = shingles.into();
        row[MEASURE] = (measure == Measure::CharGrams).into();
        self.sizes.push_one();
        self.rows.push(row)
    }

    /// Adds a class with its first document, whose analysis is in an earlier slice of the same part.
    pub(crate) fn add_unanalysed(&mut self, key: ClassKey) -> ClassId {
        let text = TextValues {
            text: TextRef::NOWHERE,
            features: UNANALYSED,
            shingles: 0,
            measure: Measure::WordGrams,
        };
        self.add(key, 0, text)
    }

    /// False if the analysis of the text of a class is in an earlier slice.
    pub(crate) fn is_analysed(&self, class: ClassId) -> bool {
        self.rows.get(class, FEATURES) != u64::from(UNANALYSED)
    }

    /// The classes with their keys. Empty after [`seal`](Self::seal).
    pub(crate) fn keys(&self) -> impl Iterator<Item = (ClassKey, ClassId)> {
        self.keys.iter()
    }

    /// Frees the table that finds a class by its key. Called at the end of reading.
    pub(crate) fn seal(&mut self) {
        self.keys = ClassKeys::default();
    }
}

fn measure_of(column: u64) -> Measure {
    match column {
        0 => Measure::WordGrams,
        _ => Measure::CharGrams,
    }
}

/// The numbers of documents of all classes: a byte for each class, and more for the few large ones.
#[derive(Default)]
struct Sizes {
    small: IdVec<ClassId, u8>,
    /// The sizes from `u8::MAX` on.
    large: FxHashMap<ClassId, u32>,
}

impl Sizes {
    /// Adds a class of one document.
    fn push_one(&mut self) {
        self.small.push(1);
    }

    fn get(&self, class: ClassId) -> u32 {
        match self.small[class] {
            u8::MAX => self.large.get(&class).copied().unwrap_or_default(),
            size => size.into(),
        }
    }

    fn add_one(&mut self, class: ClassId) {
        let size = self.get(class) + 1;
        match u8::try_from(size) {
            Ok(small) if small < u8::MAX => self.small[class] = small,
            _ => {
                self.small[class] = u8::MAX;
                self.large.insert(class, size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn classes_keep_their_values_and_sizes() {
        let mut classes = Classes::default();
        let new = |i: u32| TextValues {
            text: TextRef::new(i / 9, i % 9 * 400, i % 500),
            features: i % 50,
            shingles: i % 31,
            measure: if i & 4 == 0 {
                Measure::CharGrams
            } else {
                Measure::WordGrams
            },
        };
        let key = |i: u32| [u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15), 1];
        for i in 0..1000 {
            assert_eq!(classes.join(key(i)), None);
            classes.add(key(i), u128::from(i) << 90, new(i));
        }
        let sizes = [(7, 700), (50, 2), (52, 255), (53, 1)];
        for (i, size) in sizes {
            for _ in 1..size {
                assert_eq!(classes.join(key(i)), Some(ClassId::new(i)));
            }
        }
        for i in 0..1000 {
            let (class, new) = (ClassId::new(i), new(i));
            assert_eq!(classes.fingerprint[class], u128::from(i) << 90);
            assert_eq!(classes.values(class), new);
            assert_eq!(classes.measure(class), new.measure);
            assert_eq!(
                (classes.block(class), classes.bytes(class)),
                (new.text.block, new.text.len() as u32)
            );
        }
        let found = sizes.map(|(i, _)| (i, classes.size(ClassId::new(i))));
        assert_eq!(found, sizes);
        // Documents without features are no copies of one another.
        assert_eq!(classes.copies(ClassId::new(50)), 1);
        assert_eq!(classes.copies(ClassId::new(7)), 700);
    }
}
