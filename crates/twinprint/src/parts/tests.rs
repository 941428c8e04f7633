use text::Measure;

use super::*;
use crate::spool::SpoolWriter;

/// Texts of made words; every third holds the middle of an earlier one.
fn texts() -> Vec<String> {
    let mut state = 7u64;
    let mut words = |n: usize| {
        let word = |_| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            format!("w{}", state >> 52)
        };
        (0..n).map(word).collect::<Vec<String>>()
    };
    let mut texts: Vec<Vec<String>> = Vec::new();
    for i in 0..60usize {
        let mut text = words(80 + i);
        if i % 3 == 2 {
            let from = &texts[i / 3];
            let end = (from.len() * (i + 20)) / 80;
            text.splice(10..10, from[..end.min(from.len())].to_vec());
        }
        texts.push(text);
    }
    texts.into_iter().map(|words| words.join(" ")).collect()
}

#[test]
fn candidates_hold_every_pair_that_brute_force_finds() {
    let texts = texts();
    let dir = tempfile::tempdir().unwrap();
    let mut writer = SpoolWriter::create(&dir.path().join("spool")).unwrap();
    let mut classes = Classes::default();
    for (i, text) in texts.iter().enumerate() {
        let place = writer.push(text);
        classes.add([i as u64, 0], i as u128, 99, 0, Measure::WordGrams, place);
    }
    let spool = writer.finish().unwrap();
    let key = sets::key_of(&classes);
    let free = Budget::new(None, 1).unwrap();
    let (going_on, ended) = (|| Ok(()), || Err(DedupError::Cancelled));
    let postings = Postings::of((&classes, &spool), key, (free, 0), &going_on).unwrap();
    let candidates = postings.candidates(0.5, &going_on).unwrap();
    let stopped = postings.candidates(0.5, &ended);
    assert!(matches!(stopped, Err(DedupError::Cancelled)));
    let stopped = Postings::of((&classes, &spool), key, (free, 0), &ended).map(drop);
    assert!(matches!(stopped, Err(DedupError::Cancelled)));
    let mut measuring = Measuring::new(key);
    let (mut found, mut expected) = (0, 0);
    for b in 0..classes.len() {
        let all: Vec<u32> = (0..b).collect();
        let true_parts = measuring.parts((&classes, &spool), b, &all, 0.5).unwrap();
        expected += true_parts.len();
        let parts = measuring
            .parts((&classes, &spool), b, &candidates[b as usize], 0.5)
            .unwrap();
        found += parts.len();
        let pairs = |parts: &[Part]| parts.iter().map(|part| part.a).collect::<Vec<_>>();
        assert_eq!(pairs(&parts), pairs(&true_parts), "text {b}");
        for part in &parts {
            assert!((part.shares[0].max(part.shares[1]) - part.containment).abs() < 1e-12);
            assert!(!part.passages.is_empty());
        }
    }
    assert!(found == expected && found > 10, "{found} of {expected}");
    let small = Budget::new(Some(160 << 20), 1).unwrap();
    assert!(Postings::of((&classes, &spool), key, (small, 1 << 30), &going_on).is_err());
}
