use proptest::prelude::*;

use super::*;
use crate::analysis::Feature;

fn table() -> IdfTable {
    let words = [("the", 0.01), ("cat", 3.2), ("cats", 5.0), ("猫", 7.5)];
    IdfTable::new("own", 1000, words.map(|(word, idf)| (word.to_owned(), idf))).unwrap()
}

#[test]
fn a_table_is_read_back() {
    let table = table();
    let read = IdfTable::read(&table.to_bytes()).unwrap();
    assert_eq!((&read, read.checksum()), (&table, table.checksum()));
    assert_eq!(
        ["the", "cat", "cats", "猫", "dog"].map(|word| read.value(word)),
        [1, 51, 80, 120, 120]
    );
    assert_eq!((read.name(), read.documents(), read.len()), ("own", 1000, 4));
}

proptest! {
    #[test]
    fn damage_is_an_error(at in 0usize..70, flip in 1u8..) {
        let bytes = table().to_bytes();
        let mut damaged = bytes.clone();
        let at = at % bytes.len();
        damaged[at] ^= flip;
        prop_assert!(IdfTable::read(&damaged).is_err());
        prop_assert!(IdfTable::read(&bytes[..at]).is_err());
    }
}

#[test]
fn the_bundled_table_has_both_languages() {
    let table = IdfTable::bundled("zhen1").unwrap();
    assert_eq!(table.name(), "zhen1");
    for (common, rare) in [("the", "python"), ("的", "编译器")] {
        assert!(table.value(common) < table.value(rare), "{common} {rare}");
    }
    assert!(IdfTable::bundled("zhen2").is_none());
}

#[test]
fn roots_are_rounded() {
    for value in 1..=255u8 {
        let exact = (f64::from(value) * 16.0).sqrt();
        assert!(
            (f64::from(IdfPower::Root.factor(value)) - exact).abs() <= 0.5,
            "{value}"
        );
    }
}

#[test]
fn words_of_one_document_are_omitted_and_too_few_documents_are_an_error() {
    let feature = |text: &str| Feature {
        text: text.to_owned(),
        hash: 0,
        tf: 1,
        weight: 1,
    };
    let mut builder = IdfBuilder::default();
    for i in 0..20 {
        let mut features = vec![feature("all"), feature(&format!("w{i}"))];
        features.extend((i % 2 == 0).then(|| feature("half")));
        builder.add(&features);
    }
    let table = builder.finish("t", 100).unwrap();
    assert_eq!(table.len(), 2);
    assert_eq!(["all", "half", "w3"].map(|word| table.value(word)), [1, 11, 11]);
    assert_eq!(IdfBuilder::default().finish("t", 9), Err(IdfError::TooFew(0)));
    assert!(matches!(IdfTable::new("no name", 1, []), Err(IdfError::Name(_))));
}
