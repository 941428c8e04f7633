//! A column of texts in a row group. The texts are in one buffer, which Parquet's values share, so no text is allocated by
//! itself.

use parquet::data_type::ByteArray;

/// The texts of a column, in the order of their rows.
#[derive(Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// The values of the column.
    pub(super) fn into_values(self) -> Vec<ByteArray> {
        let all = ByteArray::from(self.bytes);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let places = starts.zip(&self.ends);
        places
            .map(|(start, &end)| all.slice(start, end - start))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_texts_in_order() {
        let mut texts = Texts::default();
        let wanted = ["", "ferry", "渡轮", "", "a"];
        for text in wanted {
            texts.push(text.as_bytes());
        }
        let values = texts.into_values();
        let found: Vec<&[u8]> = values.iter().map(ByteArray::data).collect();
        assert_eq!(found, wanted.map(str::as_bytes));
        assert!(Texts::default().into_values().is_empty());
    }
}
