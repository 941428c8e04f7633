use std::path::Path;
use std::sync::Arc;

use super::*;
use twinprint_dedup::{DedupError, DedupOptions};
use twinprint_io::JobError;
use twinprint_io::progress::Silent;
use twinprint_io::source::SourceOptions;
use twinprint_text::Profile;

use crate::stop_at::StopAt;

/// Texts of generated words. Every fourth text is the text before it with one to a third of its words changed.
fn texts(n: usize) -> Vec<String> {
    let mut state = 5u64;
    let mut word = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        format!("w{}", (state >> 40) % 2000)
    };
    let mut texts: Vec<Vec<String>> = Vec::new();
    for i in 0..n {
        let mut text: Vec<String> = match texts.last() {
            Some(before) if i % 4 == 3 => before.clone(),
            _ => (0..150).map(|_| word()).collect(),
        };
        if i % 4 == 3 {
            let changed = 1 + i % 12;
            let at = i % 100;
            for old in &mut text[at..at + changed] {
                *old = word();
            }
        }
        texts.push(text);
    }
    texts.into_iter().map(|words| words.join(" ")).collect()
}

fn put(dir: &Path, texts: &[String]) -> Vec<String> {
    let row = |(i, text): (usize, &String)| format!("{{\"id\":\"d{i}\",\"text\":\"{text}\"}}\n");
    let path = dir.join("docs.jsonl");
    std::fs::write(&path, texts.iter().enumerate().map(row).collect::<String>()).unwrap();
    vec![path.to_str().unwrap().to_owned()]
}

fn options(thresholds: &[f64]) -> EvalOptions {
    EvalOptions {
        thresholds: thresholds.to_vec(),
        ..EvalOptions::new(DedupOptions::new().unwrap())
    }
}

fn run(inputs: &[String], options: &EvalOptions) -> Result<Evaluation, EvalError> {
    let source = SourceOptions::default();
    let job = EvalJob {
        inputs,
        source: &source,
        options,
    };
    evaluate(&job, &Silent, &Arc::default())
}

/// The Jaccard of word 3-grams, in a straightforward implementation.
fn jaccard(a: &str, b: &str) -> f64 {
    let set = |text: &str| {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        words
            .windows(3)
            .map(|gram| gram.join(" "))
            .collect::<std::collections::BTreeSet<_>>()
    };
    let (a, b) = (set(a), set(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

#[test]
fn the_measured_truth_equals_brute_force_and_methods_are_evaluated_against_it() {
    let dir = tempfile::tempdir().unwrap();
    let texts = texts(120);
    let thresholds = [0.5, 0.8, 0.9];
    let evaluation = run(&put(dir.path(), &texts), &options(&thresholds)).unwrap();
    for (i, &threshold) in thresholds.iter().enumerate() {
        let pairs = (0..texts.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let expected = pairs
            .filter(|&(a, b)| jaccard(&texts[a], &texts[b]) >= threshold)
            .count();
        assert_eq!(evaluation.true_pairs[i], expected as u64, "at {threshold}");
        assert!(expected > 2);
    }
    let method = |part: &str| evaluation.methods.iter().find(|m| m.name.contains(part)).unwrap();
    for result in &method("twinprint").results {
        assert!((result.quality.f1 - 1.0).abs() < 1e-12, "{result:?}");
    }
    for result in &method("LSH + verification").results {
        assert!(
            (result.quality.precision - 1.0).abs() < 1e-12 && result.quality.recall > 0.2,
            "{result:?}"
        );
    }
    for name in [
        "k = 3 alone",
        "MinHash-128 alone",
        "cosine",
        "best k (tp1-words-lntf-64)",
    ] {
        for result in &method(name).results {
            assert!(result.quality.f1 > 0.0, "{name} {result:?}");
        }
    }
    assert_eq!(method("LSH").results[0].bytes.fingerprint as u64, 1024);
    let curve = &evaluation.curves[1];
    assert_eq!((curve.bits, curve.points.len()), (128, 65));
    let grows = |pair: &[RadiusPoint]| {
        pair[0].recall[0] <= pair[1].recall[0] && pair[0].candidates <= pair[1].candidates
    };
    assert!(curve.points.windows(2).all(grows));
    let page = page(&evaluation);
    assert!(page.contains("<polyline") && page.contains("MinHash-128 LSH") && !page.contains("src=\"http"));
}

#[test]
fn an_invalid_width_of_a_further_profile_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = put(dir.path(), &texts(4));
    for bits in [0, 1, 63, 200, u32::MAX] {
        let further = FurtherProfile {
            profile: Profile::parse("tp1-words-tf-128").unwrap(),
            widths: vec![64, bits],
        };
        let options = EvalOptions {
            profiles: vec![further],
            ..options(&[0.8])
        };
        let error = run(&inputs, &options).unwrap_err();
        assert!(
            matches!(error, EvalError::Width(wrong) if wrong == bits),
            "{error}"
        );
    }
}

#[test]
fn a_further_profile_is_evaluated_at_the_given_widths() {
    let dir = tempfile::tempdir().unwrap();
    let texts = texts(60);
    let further = |id: &str, widths: &[u32]| FurtherProfile {
        profile: Profile::parse(id).unwrap(),
        widths: widths.to_vec(),
    };
    let options = EvalOptions {
        profiles: vec![
            further("tp1-words-lntf-16", &[16]),
            further("tp1-words-tf-128", &[32, 64]),
        ],
        ..options(&[0.8])
    };
    let evaluation = run(&put(dir.path(), &texts), &options).unwrap();
    let curves: Vec<(&str, u32, usize)> = evaluation
        .curves
        .iter()
        .map(|curve| (curve.profile.as_str(), curve.bits, curve.points.len()))
        .collect();
    let expected = [
        ("tp1-words-lntf-64", 64, 33),
        ("tp1-words-lntf-128", 128, 65),
        ("tp1-words-lntf-16", 16, 9),
        ("tp1-words-tf-32", 32, 17),
        ("tp1-words-tf-64", 64, 33),
    ];
    assert_eq!(curves, expected);
    let method = |name: &str| evaluation.methods.iter().find(|m| m.name == name).unwrap();
    let result = &method("SimHash alone, best k (tp1-words-lntf-16)").results[0];
    assert!(
        matches!(result.setting, MethodSetting::Radius { bits: 16, .. }),
        "{result:?}"
    );
    assert_eq!(result.bytes.fingerprint as u64, 2);
    // The pairs within radius 1 at 16 bits, by brute force.
    let mut analyzer = twinprint_text::Analyzer::new(
        &options.profiles[0].profile,
        twinprint_fingerprint::HashKey::PUBLIC,
    );
    let fingerprints: Vec<u16> = texts
        .iter()
        .map(|text| analyzer.analyze(text).fingerprint as u16)
        .collect();
    let near = (0..fingerprints.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let near = near
        .filter(|&(a, b)| (fingerprints[a] ^ fingerprints[b]).count_ones() <= 1)
        .count();
    let counted = evaluation.curves[2].points[1].candidates * fingerprints.len() as f64;
    assert!((counted - near as f64).abs() < 1e-6, "{counted} and {near}");
    assert!(page(&evaluation).contains("tp1-words-lntf-16"));
}

#[test]
fn a_complete_list_of_pairs_is_the_truth_and_an_incomplete_list_is_extended() {
    let dir = tempfile::tempdir().unwrap();
    let texts = texts(40);
    let inputs = put(dir.path(), &texts);
    let list = dir.path().join("pairs.jsonl");
    let row = |a: usize, b: usize| {
        let jaccard = jaccard(&texts[a], &texts[b]);
        format!("{{\"a\":\"d{b}\",\"b\":\"d{a}\",\"jaccard\":{jaccard:.4}}}\n")
    };
    std::fs::write(&list, row(2, 3) + &row(6, 7)).unwrap();
    let listed = EvalOptions {
        pairs: Some(list.clone()),
        complete: Some(0.3),
        ..options(&[0.5])
    };
    let evaluation = run(&inputs, &listed).unwrap();
    assert_eq!(evaluation.true_pairs, [2]);
    let engine = evaluation.methods[0].results[0].quality;
    assert!(
        (engine.recall - 1.0).abs() < 1e-12 && engine.precision < 0.5,
        "{engine:?}"
    );
    let filled = EvalOptions {
        complete: None,
        ..listed.clone()
    };
    let evaluation = run(&inputs, &filled).unwrap();
    assert_eq!(evaluation.true_pairs, [10]);
    let agreement = evaluation.agreement.unwrap();
    assert_eq!((agreement.listed, agreement.off), (2, 0));
    assert!(matches!(
        run(
            &inputs,
            &EvalOptions {
                complete: Some(0.9),
                ..listed.clone()
            }
        ),
        Err(EvalError::Incomplete { .. })
    ));
    let pair =
        |a: &str, b: &str, jaccard: f64| format!("{{\"a\":\"{a}\",\"b\":\"{b}\",\"jaccard\":{jaccard}}}\n");
    for (rows, place, problem) in [
        (pair("d1", "nobody", 1.0), "pairs.jsonl:1", "nobody"),
        (pair("d1", "d1", 1.0), "pairs.jsonl:1", "the same document"),
        (pair("d1", "d2", 7.0), "pairs.jsonl:1", "below 0 or above 1"),
        (
            pair("d1", "d2", 0.9) + &pair("d2", "d1", 0.5),
            "pairs.jsonl:2",
            "0.9 in an earlier line",
        ),
    ] {
        std::fs::write(&list, rows).unwrap();
        let error = run(&inputs, &listed).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(problem), "{error}");
    }
}

#[test]
fn the_bands_equal_those_of_datasketch() {
    // From datasketch 1.6, MinHashLSH(threshold, num_perm=128).
    for (threshold, [bands, rows]) in [(0.5, [25, 5]), (0.8, [9, 13]), (0.9, [5, 25])] {
        assert_eq!(
            minhash::banding(threshold),
            minhash::Banding { bands, rows },
            "{threshold}"
        );
    }
    assert_eq!([0.5, 0.8, 1.0].map(minhash::least_slots), [64, 103, 128]);
}

#[test]
fn a_cancelled_evaluation_stops_at_every_stage() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = put(dir.path(), &texts(20));
    for stage in ["read", "truth", "judge", "compare"] {
        let (progress, cancel) = StopAt::new(stage);
        let job = EvalJob {
            inputs: &inputs,
            source: &SourceOptions::default(),
            options: &options(&[0.8]),
        };
        let result = evaluate(&job, &progress, &cancel);
        assert!(
            matches!(
                result,
                Err(EvalError::Dedup(DedupError::Job(JobError::Cancelled)))
            ),
            "{stage}"
        );
    }
}
