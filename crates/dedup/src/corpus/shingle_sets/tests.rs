use std::path::Path;

use twinprint_io::work::SpoolWriter;

use super::*;
use crate::corpus::item_texts::TextTable;
use crate::ids::Id;

/// Writes texts, which are measured by words, to a spool.
pub(crate) fn spooled(dir: &Path, texts: &[String]) -> (Spool, TextTable) {
    spooled_as(dir, texts, &vec![Measure::WordGrams; texts.len()])
}

/// Writes texts to a spool, each with its measure.
pub(crate) fn spooled_as(dir: &Path, texts: &[String], measures: &[Measure]) -> (Spool, TextTable) {
    let mut writer = SpoolWriter::create(dir, 0);
    let mut table = TextTable::default();
    let mut added = writer.add(texts.concat());
    for (text, &measure) in texts.iter().zip(measures) {
        table.push(added.keep(text.len()).unwrap(), measure);
    }
    drop(added);
    (writer.finish().unwrap(), table)
}

#[test]
fn a_dropped_item_takes_no_memory_and_is_loaded_again() {
    let dir = tempfile::tempdir().unwrap();
    let text = |item| {
        let words: Vec<String> = (0..200).map(|i| format!("word{}", i * (item + 1))).collect();
        words.join(" ")
    };
    let (spool, table) = spooled(dir.path(), &[0, 1, 2].map(text));
    let cancel = AtomicBool::new(false);
    let items = ItemTexts::Table(&table);
    let mut sets = SetCache::with_key(HashKey::new(1, 2), &spool, items, 1 << 20, &cancel);
    let keys = |item: u32| {
        let key = |measure| SetKey {
            item: ItemId::new(item),
            measure,
        };
        [Measure::WordGrams, Measure::CharGrams].map(key)
    };
    sets.begin_block();
    sets.load((0..3).flat_map(keys)).unwrap();
    let before = sets.get(keys(1)[0]).unwrap().shingles().to_vec();
    let own = sets.get(keys(0)[0]).unwrap().bytes();
    sets.drop_item(ItemId::new(1));
    sets.drop_item(ItemId::new(1));
    assert!(keys(1).iter().all(|&key| sets.get(key).is_none()));
    assert!(
        !sets.are_apart([keys(0)[0], keys(1)[0]], 1.0),
        "the sketch is dropped"
    );
    assert!(sets.get(keys(0)[0]).is_some() && sets.bytes > own);
    sets.load(keys(1).into_iter()).unwrap();
    assert_eq!(sets.get(keys(1)[0]).unwrap().shingles(), before);
    for item in 0..3 {
        sets.drop_item(ItemId::new(item));
    }
    assert_eq!([sets.bytes, sets.sketch_bytes, sets.cached.len()], [0; 3]);
}

#[test]
fn only_wanted_texts_are_sorted() {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..300).map(|i| format!("a b c {i} ").repeat(3)).collect();
    let (spool, table) = spooled(dir.path(), &texts);
    let cancel = AtomicBool::new(false);
    let sets = SetCache::with_key(
        HashKey::new(1, 2),
        &spool,
        ItemTexts::Table(&table),
        1 << 20,
        &cancel,
    );
    let keys = || {
        (0..300)
            .map(|item| SetKey {
                item: ItemId::new(item),
                measure: Measure::WordGrams,
            })
            .collect::<Vec<_>>()
    };
    let mut all = sets
        .each(keys(), |key, set| Some((key.item, set.to_vec())))
        .unwrap();
    let is_wanted = |grams: &[u64]| grams[1].is_multiple_of(3);
    let mut wanted = sets
        .each_of(keys(), is_wanted, |key, set| Some((key.item, set.to_vec())))
        .unwrap();
    all.sort();
    wanted.sort();
    assert!(all.iter().all(|(_, set)| set.is_sorted_by(|a, b| a < b)));
    let mut shingler = Shingler::for_one_run(HashKey::new(1, 2));
    all.retain(|(item, _)| is_wanted(shingler.grams(&texts[item.index()], Measure::WordGrams)));
    assert!((1..300).contains(&wanted.len()));
    assert_eq!(wanted, all);
}
