use super::*;
use twinprint_io::JobError;
use twinprint_io::progress::Silent;

use crate::stop_at::StopAt;

/// Records of generated words, a third of them near copies of others.
fn corpus(records: usize) -> String {
    let mut state = 11u64;
    let mut word = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        format!("w{}", (state >> 40) % 3000)
    };
    let mut texts: Vec<Vec<String>> = Vec::new();
    for i in 0..records {
        let text = if i % 3 == 2 {
            let mut text = texts[i - 1].clone();
            let at = i % text.len();
            text[at] = word();
            text
        } else {
            (0..120).map(|_| word()).collect()
        };
        texts.push(text);
    }
    let row =
        |(i, text): (usize, &Vec<String>)| format!("{{\"id\":\"d{i}\",\"text\":\"{}\"}}\n", text.join(" "));
    texts.iter().enumerate().map(row).collect()
}

fn calibrated(n: Option<u64>) -> Calibration {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sample.jsonl");
    std::fs::write(&path, corpus(300)).unwrap();
    let inputs = [path.to_str().unwrap().to_owned()];
    let options = DedupOptions::new().unwrap();
    let job = CalibrationJob {
        inputs: &inputs,
        source: &SourceOptions::default(),
        options: &options,
        corpus_documents: n,
    };
    calibrate(&job, &Silent, &Arc::default()).unwrap()
}

#[test]
fn similar_and_unrelated_documents_are_counted_separately() {
    let calibration = calibrated(None);
    assert_eq!(
        (calibration.documents, calibration.n, calibration.true_pairs),
        (300, 300, 100)
    );
    let wide = calibration.widths.iter().find(|width| width.bits == 128).unwrap();
    assert_eq!(wide.histogram.iter().sum::<u64>(), 300 * 299);
    assert!(
        (wide.background.mean - 64.0).abs() < 3.0,
        "{}",
        wide.background.mean
    );
    let chosen = wide.radii[24];
    assert_eq!(chosen.recall, Some(1.0));
    assert!((chosen.similar - 1.0 / 3.0).abs() < 0.05, "{chosen:?}");
    assert!(chosen.unrelated < 0.01 && chosen.index_bytes > 16.0, "{chosen:?}");
    assert_eq!((calibration.bits, calibration.k), (128, 30));
    assert!(calibration.examples.iter().any(|example| example.jaccard > 0.9));
}

#[test]
fn unrelated_documents_grow_with_the_corpus_and_similar_ones_do_not() {
    let [small, large] = [300, 3_000_000_000].map(|n| calibrated(Some(n)));
    for (small, large) in small.widths.iter().zip(&large.widths) {
        let radius = |width: &WidthCalibration| width.radii[12];
        let (a, b) = (radius(small), radius(large));
        assert!((a.similar - b.similar).abs() < 1e-12);
        assert!((b.unrelated / a.unrelated / 1e7 - 1.0).abs() < 0.01);
    }
    assert!(large.widths[0].radii[12].candidates() > 5.0);
    assert_eq!(large.bits, 128, "64 bits do not distinguish that many documents");
    let config: toml::Table = large.config().parse().unwrap();
    assert_eq!(config["bits"].as_integer(), Some(128));
    assert_eq!(config["profile"].as_str(), Some("tp1-words-lntf-128"));
}

#[test]
fn the_page_shows_all_figures_and_needs_no_network() {
    let page = page(&calibrated(Some(1_000_000)));
    assert!(page.contains("<polyline") && page.contains("1,000,000"));
    assert!(!page.contains("src=\"http") && page.contains("zh-Hans"));
}

#[test]
fn a_cancelled_calibration_stops_at_every_stage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sample.jsonl");
    std::fs::write(&path, corpus(30)).unwrap();
    let inputs = [path.to_str().unwrap().to_owned()];
    let (source, options) = (SourceOptions::default(), DedupOptions::new().unwrap());
    for stage in ["read", "measure"] {
        let (progress, cancel) = StopAt::new(stage);
        let job = CalibrationJob {
            inputs: &inputs,
            source: &source,
            options: &options,
            corpus_documents: None,
        };
        let result = calibrate(&job, &progress, &cancel);
        assert!(
            matches!(
                result,
                Err(EvalError::Dedup(DedupError::Job(JobError::Cancelled)))
            ),
            "{stage}"
        );
    }
}
