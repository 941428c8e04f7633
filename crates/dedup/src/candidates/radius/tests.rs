use super::*;

fn criteria(bits: Auto, k: Auto, threshold: f64) -> RadiusCriteria {
    RadiusCriteria { bits, k, threshold }
}

fn random(n: usize, seed: u64) -> Vec<u128> {
    let mut x = u128::from(seed) | 1;
    (0..n)
        .map(|_| {
            x = x
                .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645)
                .wrapping_add(1);
            x ^ (x >> 64)
        })
        .collect()
}

/// Chooses among `rows`, whose texts all have this Jaccard.
fn choose_among(rows: &[u128], criteria: RadiusCriteria, jaccard: f64) -> Radius {
    choose(rows, criteria, 42, &|_, _| Ok(jaccard)).unwrap()
}

#[test]
fn unrelated_fingerprints_allow_the_widest_radius() {
    let radius = choose_among(&random(3000, 7), criteria(Auto::Auto, Auto::Auto, 0.8), 0.0);
    assert_eq!((radius.bits, radius.k), (128, 30));
    assert!(radius.expected_candidates.unwrap() < 0.1);
}

/// Fingerprints that differ in `bits` bits only, so that they are close to one another.
fn close(n: usize, bits: u32) -> Vec<u128> {
    let mask = u128::MAX >> (128 - bits);
    random(n, 7).into_iter().map(|row| row & mask).collect()
}

/// The smallest radius at 128 bits that is expected to find enough pairs at a Jaccard of 0.8 among `all` fingerprints.
fn sufficient(all: usize) -> u32 {
    (0..40)
        .find(|&k| recall(128, k, 0.8) >= sufficient_recall(all))
        .unwrap()
}

#[test]
fn close_fingerprints_reduce_the_radius_to_a_sufficient_one() {
    for jaccard in [0.0, 0.3] {
        let radius = choose_among(
            &close(3000, 64),
            criteria(Auto::Fixed(128), Auto::Auto, 0.8),
            jaccard,
        );
        assert!(radius.k < 30 && radius.k >= sufficient(3000), "{radius:?}");
        assert!(
            radius.choice == RadiusChoice::Sufficient || radius.typical_candidates <= Some(CANDIDATE_BUDGET)
        );
    }
}

#[test]
fn only_unrelated_texts_reduce_the_radius_further() {
    let rows = close(3000, 48);
    let at = |jaccard| choose_among(&rows, criteria(Auto::Fixed(128), Auto::Auto, 0.8), jaccard);
    let (unrelated, similar) = (at(0.0), at(0.3));
    assert!(
        unrelated.k < sufficient(3000) && unrelated.choice == RadiusChoice::Limited,
        "{unrelated:?}"
    );
    assert!(
        similar.k == sufficient(3000) && similar.choice == RadiusChoice::Sufficient,
        "{similar:?}"
    );
    assert!(
        similar.typical_candidates.unwrap() > CANDIDATE_LIMIT,
        "{similar:?}"
    );
}

#[test]
fn a_crowd_does_not_reduce_the_radius_of_other_texts() {
    // A crowd around one centre, up to 100 times as many rows as the others.
    for crowd in [0, 250, 3000, 30_000] {
        let mut rows = random(300, 3);
        rows.extend(
            random(crowd, 5)
                .into_iter()
                .map(|row| row & (row >> 3) & (row >> 7)),
        );
        rows.sort_unstable();
        let centre = |row: usize| rows[row].count_ones() < 40;
        let jaccard = |a: usize, b: usize| Ok(if centre(a) && centre(b) { 0.3 } else { 0.0 });
        let radius = choose(
            rows.as_slice(),
            criteria(Auto::Fixed(128), Auto::Auto, 0.8),
            42,
            &jaccard,
        )
        .unwrap();
        if crowd < 300 {
            assert_eq!(
                (radius.k, radius.choice),
                (30, RadiusChoice::Widest),
                "{radius:?}"
            );
        } else {
            // Most documents are in the crowd.
            assert_eq!(
                (radius.k, radius.choice),
                (sufficient(rows.len()), RadiusChoice::Sufficient),
                "{radius:?}"
            );
        }
    }
}

/// Fingerprints that are read in blocks.
struct Blocks<'r>(&'r [u128], usize);

impl Fingerprints for Blocks<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn at(&self, position: usize) -> Result<u128, DedupError> {
        Ok(self.0[position])
    }

    fn blocks(&self, each: &mut dyn FnMut(usize, &[u128])) -> Result<(), DedupError> {
        for (i, block) in self.0.chunks(self.1).enumerate() {
            each(i * self.1, block);
        }
        Ok(())
    }
}

/// The kernel is given tiles of 4096 rows.
#[test]
fn rows_of_all_tiles_are_counted() {
    let mut rows = close(9000, 48);
    rows.sort_unstable();
    let jaccard = |_, _| Ok(0.0);
    let sample: Vec<usize> = (0..9000).step_by(90).collect();
    for bits in [64, 128] {
        let whole = density::measure(rows.as_slice(), &sample, bits, 12, &jaccard).unwrap();
        let low = |row: u128| row & (u128::MAX >> (128 - bits));
        let near = |a: usize, b: usize| a != b && (low(rows[a]) ^ low(rows[b])).count_ones() <= 12;
        let neighbors = |&at: &usize| (0..rows.len()).filter(|&other| near(at, other)).count().min(1000);
        let counted: usize = sample.iter().map(neighbors).sum();
        assert!(counted > 0);
        let twice = whole.candidates[12] * 2.0 * sample.len() as f64;
        assert_eq!(twice.round() as usize, counted);
        for block in [4096, 5000, 9000] {
            let blocks = density::measure(&Blocks(&rows, block), &sample, bits, 12, &jaccard);
            assert_eq!(blocks.unwrap(), whole);
        }
    }
}

#[test]
fn blocks_do_not_change_the_density() {
    let mut rows = close(3000, 48);
    rows.sort_unstable();
    let jaccard = |a: usize, b: usize| Ok(((a * 31 + b * 7) % 10) as f64 / 20.0);
    let sample = density::sample(rows.len(), 42);
    for bits in [64, 128] {
        let whole = density::measure(rows.as_slice(), &sample, bits, 30, &jaccard).unwrap();
        assert!(whole.unrelated.is_some());
        let low = |row: u128| row & (u128::MAX >> (128 - bits));
        for k in [0, 7, 18, 30] {
            let neighbors = |&at: &usize| {
                let near = |other: &usize| (low(rows[at]) ^ low(rows[*other])).count_ones() <= k;
                (0..rows.len()).filter(|&other| other != at).filter(near).count()
            };
            // Each pair is counted from both sides.
            let counted: usize = sample.iter().map(|at| neighbors(at).min(1000)).sum();
            let twice = whole.candidates[k as usize] * 2.0 * sample.len() as f64;
            assert_eq!(twice.round() as usize, counted);
        }
        for block in [1, 700, 3000, 4000] {
            let blocks = density::measure(&Blocks(&rows, block), &sample, bits, 30, &jaccard);
            assert_eq!(blocks.unwrap(), whole);
        }
    }
}

#[test]
fn a_crowd_of_the_corpus_is_foreseen_from_a_part_of_it() {
    // One row in twenty is in a crowd around the row of zeros, and one in ten has a neighbour that is in its part.
    let (others, crowd) = (random(2000, 3), random(100, 7));
    let corpus = |parts: usize| {
        let mut rows = Vec::new();
        for part in 0..parts {
            rows.extend(&others[part * 1000..][..1000]);
            rows.extend(others[part * 1000..][..100].iter().map(|row| row ^ 0b111));
            let of_crowd = &crowd[part * 50..][..50];
            rows.extend(
                of_crowd
                    .iter()
                    .map(|row| row & (row >> 3) & (row >> 7) & (row >> 13)),
            );
        }
        rows.sort_unstable();
        rows
    };
    let [half, whole] = [corpus(1), corpus(2)];
    let sample: Vec<usize> = (0..half.len()).collect();
    let at = |steps| density::extrapolated_pairs([&half, &whole], &sample, 128, 24, steps);
    let (part, all) = (at(0.0), at(60.0));
    // In the part, the rows of the crowd have fewer neighbours than a hot row.
    assert!(
        (part.joined - part.edges).abs() < 1e-9 && part.edges > 1.0,
        "{part:?}"
    );
    assert!((0.05..0.2).contains(&all.edges), "{all:?}");
    assert!((30.0..60.0).contains(&all.joined), "{all:?}");
}

#[test]
fn a_small_corpus_needs_no_radius() {
    let radius = exact(Auto::Auto);
    assert_eq!(
        (radius.bits, radius.k, radius.choice),
        (128, 128, RadiusChoice::Exact)
    );
    assert_eq!(exact(Auto::Fixed(64)).k, 64);
}

/// The radius chosen at 128 bits if `within[k]` unrelated candidates per document are within radius k. The last number is
/// repeated up to `widest`.
fn chosen(within: &[f64], widest: u32, threshold: f64) -> Radius {
    let last = within[within.len() - 1];
    let within: Vec<f64> = (0..=widest as usize)
        .map(|k| within.get(k).copied().unwrap_or(last))
        .collect();
    let density = Density {
        bits: 128,
        candidates: within.clone(),
        typical: within.clone(),
        unrelated: Some(within),
    };
    let sample = SampleSize {
        sampled: 100,
        all: 1_000_000,
    };
    from_density(&density, threshold, sample)
}

#[test]
fn the_reason_names_what_limited_the_radius() {
    let sufficient = sufficient(1_000_000);
    let steps = |steps: &[(u32, f64)]| -> Vec<f64> {
        let of = |k: u32| {
            steps
                .iter()
                .rev()
                .find(|step| step.0 <= k)
                .map_or(0.0, |step| step.1)
        };
        (0..=40).map(of).collect()
    };
    let (budget, limit) = (CANDIDATE_BUDGET + 1.0, CANDIDATE_LIMIT + 1.0);
    for (within, widest, k, choice, said) in [
        // The next radius exceeds the budget, and this one is sufficient.
        (
            steps(&[(sufficient + 2, budget)]),
            24,
            sufficient + 1,
            RadiusChoice::Affordable,
            "with about 5 candidates a document or fewer: 0.0",
        ),
        // The budget ends below a sufficient radius, and the next radius exceeds the limit.
        (
            steps(&[(4, limit)]),
            24,
            3,
            RadiusChoice::Affordable,
            "about 5 candidates a document or fewer, expected to find 0 % of",
        ),
        (
            steps(&[(4, budget)]),
            24,
            sufficient,
            RadiusChoice::Sufficient,
            "is expected to find 90 % of the pairs at the threshold: 6.0",
        ),
        (
            steps(&[(4, budget), (9, limit)]),
            24,
            8,
            RadiusChoice::Limited,
            "with about 100 unrelated candidates a document or fewer, expected to find",
        ),
        (
            steps(&[(4, budget)]),
            10,
            10,
            RadiusChoice::Widest,
            "the widest radius that is considered at 128 bits, expected to find",
        ),
        (
            steps(&[]),
            24,
            24,
            RadiusChoice::Widest,
            "the widest radius that is considered at 128 bits: 0.0 candidates",
        ),
    ] {
        let radius = chosen(&within, widest, 0.8);
        assert_eq!((radius.k, radius.choice), (k, choice), "{radius:?}");
        assert!(radius.reason.contains(said), "{}", radius.reason);
        let is_sufficient = radius.choice == RadiusChoice::Sufficient;
        assert!(
            !is_sufficient || radius.expected_recall >= SUFFICIENT_RECALL,
            "{radius:?}"
        );
    }
}

#[test]
fn a_given_width_and_radius_are_not_changed() {
    let rows = random(10, 3);
    let radius = choose_among(&rows, criteria(Auto::Fixed(64), Auto::Fixed(3), 0.8), 0.0);
    assert_eq!((radius.bits, radius.k, radius.expected_candidates), (64, 3, None));
    let radius = choose_among(&rows, criteria(Auto::Auto, Auto::Fixed(20), 0.8), 0.0);
    assert_eq!(radius.bits, 128);
    assert_eq!(
        choose_among(&[], criteria(Auto::Auto, Auto::Auto, 0.8), 0.0).bits,
        128
    );
}

#[test]
fn recall_grows_with_the_radius_and_falls_with_the_threshold() {
    for k in 0..12 {
        assert!(recall(64, k, 0.8) < recall(64, k + 1, 0.8));
        assert!(recall(64, k, 0.5) < recall(64, k, 0.8));
    }
    assert!((recall(64, 64, 0.5) - 1.0).abs() < 1e-9);
    assert!((recall(64, 3, 1.0) - 1.0).abs() < 1e-9);
}

#[test]
fn low_thresholds_allow_wider_radii_if_the_corpus_is_small() {
    let rows = random(3000, 7);
    let at = |threshold| choose_among(&rows, criteria(Auto::Auto, Auto::Auto, threshold), 0.0);
    assert_eq!((at(0.8).bits, at(0.8).k), (128, 30));
    assert!(at(0.8).expected_recall >= 0.9999);
    assert_eq!((at(0.95).bits, at(0.95).k), (64, 12));
    assert!(
        at(0.7).k > DEFAULT_MAX_RADIUS && at(0.5).k > at(0.7).k,
        "{:?}",
        at(0.5)
    );
    assert!(at(0.5).expected_recall > 0.98);
    let [(few, _), (many, _)] = WIDER_RADII;
    assert_eq!(widest_for(128, 40, 0.8, few + 1), DEFAULT_MAX_RADIUS);
    assert!(widest_for(128, 40, 0.5, few + 1) > DEFAULT_MAX_RADIUS);
    assert_eq!(widest_for(128, 40, 0.5, many + 1), DEFAULT_MAX_RADIUS);
    assert_eq!(widest_for(64, 12, 0.5, 10), 12);
}
