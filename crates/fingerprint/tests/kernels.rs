//! Every kernel at every level of this CPU, compared with its definition.

#![expect(
    clippy::missing_panics_doc,
    reason = "clippy checks private items here, and tests panic on purpose"
)]

use proptest::prelude::*;
use twinprint_fingerprint::kernel::{self, ByteKinds, Level, PackedRows, RangeHit, RowDistance, RowRange};
use twinprint_fingerprint::{
    HashKey, ShortFeature, Span, Width, WindowFeature, hash_features, hash_features_at, hash_one,
    hash_short_features_at, hash_windows_64_at,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn columns(
        rows in prop::collection::vec(prop_oneof![any::<[u64; 4]>(), Just([0; 4]), any::<u64>().prop_map(|x| [x & 7, 0, x, 0])], 0..70),
        query in prop_oneof![any::<[u64; 4]>(), Just([0; 4])],
        k in prop_oneof![0u32..257, Just(u32::MAX)],
        longer in 0usize..9,
    ) {
        let mut words = [0, 1, 2, 3].map(|column| rows.iter().map(|row| row[column]).collect::<Vec<u64>>());
        words[2].extend((0..longer).map(|_| query[2]));
        let want: Vec<(u32, u32)> = (0..)
            .zip(&rows)
            .map(|(i, row)| (i, row.iter().zip(query).map(|(x, y)| (x ^ y).count_ones()).sum()))
            .filter(|&(_, distance)| distance <= k)
            .collect();
        for level in Level::available() {
            let mut got = Vec::new();
            kernel::hamming_columns_at(level, query, words.each_ref().map(Vec::as_slice), k, &mut |i, d| got.push((i, d)));
            prop_assert_eq!(&got, &want, "at {}", level);
        }
    }

    #[test]
    fn votes(
        features in prop::collection::vec((any::<u128>(), any::<u16>()), 0..600),
        shift in 0u32..16,
        from in 0usize..3,
    ) {
        let from = from.min(features.len());
        let hashes: Vec<u128> = features.iter().map(|f| f.0).collect();
        let weights: Vec<u16> = features.iter().map(|f| f.1 >> shift).collect();
        let (hashes, weights) = (&hashes[from..], &weights[from..]);
        let low: Vec<u64> = hashes.iter().map(|&h| h as u64).collect();
        let mut want = [[7u64; 64]; 2];
        let mut unit = [7u64; 64];
        for (hash, &weight) in hashes.iter().zip(weights) {
            for (bit, ones) in want.as_flattened_mut().iter_mut().enumerate() {
                *ones += u64::from(weight) * (hash >> bit & 1) as u64;
            }
            for (bit, ones) in unit.iter_mut().enumerate() {
                *ones += (hash >> bit & 1) as u64;
            }
        }
        for level in Level::available() {
            let mut both = [[7; 64]; 2];
            kernel::vote_128_at(level, hashes, weights, &mut both);
            prop_assert_eq!(both, want, "128 bits at {}", level);
            let mut ones = [7; 64];
            kernel::vote_low_64_at(level, hashes, weights, &mut ones);
            prop_assert_eq!(ones, want[0], "low 64 bits at {}", level);
            let mut ones = [7; 64];
            kernel::vote_64_at(level, &low, weights, &mut ones);
            prop_assert_eq!(ones, want[0], "64 bits at {}", level);
            let mut ones = [7; 64];
            kernel::vote_unit_64_at(level, &low, &mut ones);
            prop_assert_eq!(ones, unit, "weight 1 at {}", level);
        }
    }

    #[test]
    fn unpacking(
        packed in prop::collection::vec(any::<u8>(), 0..400),
        width in 0u32..70,
        first in 0usize..40,
        count in 0usize..60,
    ) {
        let used = width.min(64) as usize;
        let bit = |at: usize| packed.get(at / 8).map_or(0, |byte| u64::from(byte >> (at % 8) & 1));
        let want: Vec<u64> = (first..first + count)
            .map(|i| (0..used).fold(0, |value, b| value | bit(i * used + b) << b))
            .collect();
        for level in Level::available() {
            let mut got = vec![u64::MAX; count];
            kernel::unpack_bits_at(level, &packed, width, first, &mut got);
            prop_assert_eq!(&got, &want, "width {} at {}", width, level);
        }
    }

    #[test]
    fn packed_rows_near_their_queries(
        packed in prop::collection::vec(any::<u8>(), 0..400),
        width in 0u32..130,
        runs in prop::collection::vec((0u32..90, 0u32..30, 0u32..12), 0..30),
        queries in prop::collection::vec(any::<u128>(), 0..10),
        k in 0u32..70,
    ) {
        let runs: Vec<RowRange> = runs.iter().map(|&(start, len, slot)| RowRange { start, end: start + len, query: slot }).collect();
        packed_rows_at_every_level::<u64>((&packed, width), &runs, &queries, k);
        packed_rows_at_every_level::<u128>((&packed, width), &runs, &queries, k);
    }

    #[test]
    fn feature_hashes(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        ranges in prop::collection::vec((0u32..310, 0u32..80), 0..700),
        width in 0usize..10,
    ) {
        let key = HashKey::new(3, 4);
        let spans: Vec<Span> = ranges.iter().map(|&(start, n)| Span { start, end: start + n }).collect();
        let want: Vec<u128> = spans
            .iter()
            .map(|s| {
                let end = bytes.len().min(s.end as usize);
                hash_one(&key, &bytes[end.min(s.start as usize)..end])
            })
            .collect();
        for level in Level::available() {
            let (mut full, mut low) = (Vec::<u128>::new(), Vec::<u64>::new());
            hash_features_at(level, &key, &bytes, &spans, &mut full);
            hash_features_at(level, &key, &bytes, &spans, &mut low);
            prop_assert_eq!(&full, &want, "128 bits at {}", level);
            prop_assert!(low.iter().zip(&want).all(|(&l, &w)| l == w as u64), "64 bits at {}", level);
            hash_windows_64_at(level, &key, &bytes, width, &mut low);
            let windows: Vec<u64> = match width {
                0 => Vec::new(),
                _ => bytes.windows(width).map(|w| hash_one(&key, w) as u64).collect(),
            };
            prop_assert_eq!(&low, &windows, "windows at {}", level);
        }
    }

    #[test]
    fn short_feature_hashes(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        ranges in prop::collection::vec((0u32..110, 0u32..20), 0..100),
    ) {
        let key = HashKey::new(5, 6);
        let (mut features, mut want) = (Vec::new(), Vec::new());
        for &(start, n) in &ranges {
            let end = bytes.len().min((start + n) as usize);
            let text = &bytes[end.min(start as usize)..end];
            let feature = ShortFeature::cut(&bytes, Span { start, end: start + n });
            prop_assert_eq!(feature, ShortFeature::new(text));
            prop_assert_eq!(feature.is_some(), text.len() <= ShortFeature::MAX_BYTES);
            let reversed = Span { start: start + n + 1, end: start };
            prop_assert_eq!(ShortFeature::cut(&bytes, reversed), ShortFeature::new(b""));
            let block = WindowFeature::cut(&bytes, Span { start, end: start + n }).map(ShortFeature::from);
            prop_assert_eq!(block, feature.filter(|_| text.len() <= WindowFeature::MAX_BYTES));
            let block = WindowFeature::cut(&bytes, reversed).map(ShortFeature::from);
            prop_assert_eq!(block, ShortFeature::new(b""));
            features.extend(feature);
            want.extend(feature.map(|_| hash_one(&key, text)));
        }
        for level in Level::available() {
            let (mut full, mut low) = (Vec::<u128>::new(), Vec::<u64>::new());
            hash_short_features_at(level, &key, &features, &mut full);
            hash_short_features_at(level, &key, &features, &mut low);
            prop_assert_eq!(&full, &want, "128 bits at {}", level);
            prop_assert!(low.iter().zip(&want).all(|(&l, &w)| l == w as u64), "64 bits at {}", level);
        }
    }
}

#[test]
fn every_bit_counts_at_every_level() {
    let rows: Vec<u128> = (0..128).map(|b| 1 << b).collect();
    for level in Level::available() {
        for (bit, row) in rows.iter().enumerate() {
            let mut ones = [[0; 64]; 2];
            kernel::vote_128_at(level, &[*row], &[u16::MAX], &mut ones);
            for (b, &count) in ones.as_flattened().iter().enumerate() {
                assert_eq!(count, if b == bit { 65535 } else { 0 }, "bit {b} at {level}");
            }
        }
        let mut out = Vec::new();
        kernel::hamming_one_to_many_at(level, 0, &rows, 1, &mut out);
        assert_eq!(
            out,
            (0..128)
                .map(|row| RowDistance { row, distance: 1 })
                .collect::<Vec<_>>(),
            "{level}"
        );
    }
}

#[test]
fn full_weights_do_not_overflow_a_chunk() {
    for level in Level::available() {
        // Numbers of votes below, at and above the capacity of the bit planes.
        for n in [1, 255, 256, 257, 1000, 1024, 4080, 4096, 32_640, 32_769, 100_001] {
            let mut ones = [[0; 64]; 2];
            kernel::vote_128_at(level, &vec![u128::MAX; n], &vec![u16::MAX; n], &mut ones);
            assert_eq!(ones, [[65535 * n as u64; 64]; 2], "{n} at {level}");
            let mut ones = [0; 64];
            kernel::vote_unit_64_at(level, &vec![u64::MAX; n], &mut ones);
            assert_eq!(ones, [n as u64; 64], "{n} at {level}");
        }
    }
}

#[test]
fn many_votes_of_equal_weight() {
    let mut random = 1u128;
    let mut next = || {
        random = random.wrapping_mul(0xDA94_2042_E4DD_58B5).wrapping_add(1);
        random ^ random >> 67
    };
    let hashes: Vec<u128> = (0..20_000).map(|_| next()).collect();
    let low: Vec<u64> = hashes.iter().map(|&hash| hash as u64).collect();
    let runs = [1, 63, 64, 5, 65, 127, 700, 1, 1, 128, 15_000, 2000];
    for heaviest in [1, 5, 700, 60_000] {
        let weights = runs.iter().enumerate();
        let weights: Vec<u16> = weights
            .flat_map(|(i, &n)| vec![heaviest - (i % 5).min(usize::from(heaviest)) as u16; n])
            .collect();
        let mut want = [[9; 64]; 2];
        for (bit, ones) in want.as_flattened_mut().iter_mut().enumerate() {
            let votes = hashes.iter().zip(&weights);
            *ones += votes
                .map(|(hash, &weight)| u64::from(weight) * (hash >> bit & 1) as u64)
                .sum::<u64>();
        }
        for level in Level::available() {
            let mut both = [[9; 64]; 2];
            kernel::vote_128_at(level, &hashes, &weights, &mut both);
            assert_eq!(both, want, "128 bits, weights up to {heaviest} at {level}");
            let mut ones = [9; 64];
            kernel::vote_low_64_at(level, &hashes, &weights, &mut ones);
            assert_eq!(ones, want[0], "low 64 bits, weights up to {heaviest} at {level}");
            let mut ones = [9; 64];
            kernel::vote_64_at(level, &low, &weights, &mut ones);
            assert_eq!(ones, want[0], "64 bits, weights up to {heaviest} at {level}");
        }
    }
}

#[test]
fn many_votes_of_weight_1() {
    let mut random = 1u64;
    let mut next = || {
        random = random.wrapping_mul(0xD129_42F0_46B0_C9D5).wrapping_add(1);
        (random ^ random >> 29) & random.rotate_left(21)
    };
    let hashes: Vec<u64> = (0..40_000).map(|_| next()).collect();
    for n in [191, 192, 320, 383, 384, 640, 1024, 1150, 2045, 5000, 40_000] {
        let hashes = &hashes[..n];
        let mut want = [3; 64];
        for (bit, ones) in want.iter_mut().enumerate() {
            *ones += hashes.iter().map(|hash| hash >> bit & 1).sum::<u64>();
        }
        for level in Level::available() {
            let mut ones = [3; 64];
            kernel::vote_unit_64_at(level, hashes, &mut ones);
            assert_eq!(ones, want, "{n} at {level}");
        }
    }
}

fn packed_rows_at_every_level<W: Width>(
    (packed, width): (&[u8], u32),
    runs: &[RowRange],
    queries: &[u128],
    k: u32,
) {
    let width = width.min(W::BITS);
    let bit = |at: usize| {
        packed
            .get(at / 8)
            .map_or(0, |byte| u128::from(byte >> (at % 8) & 1))
    };
    let mask = 1u128.checked_shl(width).unwrap_or(0).wrapping_sub(1);
    let queries: Vec<W> = queries.iter().map(|&q| W::truncate(q & mask)).collect();
    let mut want = Vec::new();
    for (number, run) in (0..).zip(runs) {
        let query = queries.get(run.query as usize).map_or(0, |q| q.widen());
        for row in run.start..run.end {
            let start = row as usize * width as usize;
            let value = (0..width as usize).fold(0, |value, b| value | bit(start + b) << b);
            if (value ^ query).count_ones() <= k {
                want.push(RangeHit { range: number, row });
            }
        }
    }
    let rows = PackedRows::new(width);
    for level in Level::available() {
        let mut got = Vec::new();
        rows.within_at(level, packed, runs, &queries, k, &mut got);
        assert_eq!(got, want, "width {width} at {level}");
    }
}

#[test]
fn unpacking_far_past_the_end_gives_zeros() {
    for level in Level::available() {
        let mut out = [1; 9];
        kernel::unpack_bits_at(level, &[255; 100], 64, usize::MAX, &mut out);
        assert_eq!(out, [0; 9]);
    }
}

#[test]
fn prefetching_anywhere_is_harmless() {
    kernel::prefetch_read(&[1, 2, 3], 1);
    kernel::prefetch_read(&[1, 2, 3], usize::MAX);
    kernel::prefetch_read::<u64>(&[], 0);
}

#[test]
fn levels_ascend_and_are_found_by_name() {
    let levels = Level::available();
    assert_eq!(levels[0], Level::SCALAR);
    assert!(levels.is_sorted());
    for &level in &levels {
        assert_eq!(Level::at_most(level.name()), Some(level));
    }
    assert_eq!(Level::at_most("auto"), levels.last().copied());
    assert_eq!(Level::at_most("avx3"), None);
    // For a level that this CPU does not have, the best level below it is used.
    let neon = Level::at_most("neon").expect("a known name");
    assert!(neon.name() == "neon" || neon == Level::SCALAR);
    assert!(levels.contains(&kernel::level()));
}

#[test]
fn the_default_level_is_used_by_default() {
    let spans = [Span { start: 0, end: 3 }];
    let (mut a, mut b) = (Vec::new(), Vec::<u128>::new());
    hash_features(&HashKey::PUBLIC, b"abc", &spans, &mut a);
    hash_features_at(Level::SCALAR, &HashKey::PUBLIC, b"abc", &spans, &mut b);
    assert_eq!(a, b);
}

/// The kinds of the bytes of a text, by their definition.
fn kinds_by_definition(text: &str) -> Vec<ByteKinds> {
    let mut kinds = vec![ByteKinds::default(); text.len() / 64 + 1];
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c == ' ' {
            kinds[at / 64].spaces |= 1 << (at % 64);
        }
        if ('\u{4E00}'..='\u{9FFF}').contains(&c) {
            kinds[at / 64].ideographs |= 1 << (at % 64);
        }
        for byte in at..at + c.len_utf8() {
            if !c.is_ascii() {
                kinds[byte / 64].high |= 1 << (byte % 64);
            }
        }
    }
    kinds
}

proptest! {
    #[test]
    fn kinds_of_bytes_equal_the_definition(
        text in prop_oneof!["[ a-z]{0,200}", "[ a中文一鿿䷿㐀é𠀀\u{FFFF}]{0,120}", any::<String>()],
        repeats in prop_oneof![1usize..4, 100usize..200],
    ) {
        let text = text.repeat(repeats);
        for level in Level::available() {
            let mut got = Vec::new();
            let mut part = vec![ByteKinds { spaces: 9, high: 9, ideographs: 9 }; 2];
            loop {
                kernel::byte_kinds_at(level, &text, got.len() * 64, &mut part);
                if part.is_empty() {
                    break;
                }
                got.append(&mut part);
            }
            prop_assert_eq!(&got, &kinds_by_definition(&text), "{}", level);
        }
    }
}

proptest! {
    #[test]
    fn differing_bits_are_counted_up_to_the_limit(
        words in prop::collection::vec((any::<u64>(), any::<u64>()), 0..200),
        more in prop::collection::vec(any::<u64>(), 0..3),
        share in 0.0..1.5f64,
    ) {
        let (a, mut b): (Vec<u64>, Vec<u64>) = words.into_iter().unzip();
        let differing: usize = a.iter().zip(&b).map(|(a, b)| (a ^ b).count_ones() as usize).sum();
        b.extend(more);
        for level in Level::available() {
            for limit in [(differing as f64 * share) as usize, differing, differing.saturating_sub(1)] {
                let expected = differing <= limit;
                prop_assert_eq!(kernel::differ_in_at_most_at(level, &a, &b, limit), expected, "{}", level);
                prop_assert_eq!(kernel::differ_in_at_most_at(level, &b, &a, limit), expected, "{}", level);
            }
        }
    }
}

proptest! {
    #[test]
    fn code_points_are_those_of_the_characters(
        text in "[a-z0-9中文一鿿䷿㐀]{22,80}", chosen in any::<u64>(),
    ) {
        let bytes = [text.as_bytes(), &[0; 66]].concat();
        let block: &[u8; 66] = bytes.first_chunk().expect("66 bytes");
        let begun = text.char_indices().filter(|&(at, _)| at < 64 && chosen >> at & 1 == 1);
        let expected: Vec<u32> = begun.clone().map(|(_, c)| u32::from(c)).collect();
        let begins = begun.fold(0, |mask, (at, _)| mask | 1 << at);
        for level in Level::available() {
            let mut codes = [0; 64];
            let count = kernel::code_points_at(level, block, begins, &mut codes);
            prop_assert_eq!(&codes[..count], &expected[..], "{}", level);
        }
    }
}
