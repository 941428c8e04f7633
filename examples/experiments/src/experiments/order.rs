//! Compression of files whose similar texts are neighbours.

use std::sync::Arc;

use anyhow::Result;
use twinprint_dedup::{DedupJob, DedupOptions, Order, dedup};
use twinprint_io::progress::Silent;
use twinprint_io::source::SourceOptions;

use crate::corpus::{Corpus, Document};
use crate::figure::{bytes, percent};
use crate::random::Random;
use crate::{Report, Setup, Verdict};

/// The level and the window of the compression: 2²⁰ bytes, much less than the files.
const LEVEL: i32 = 9;
const WINDOW_LOG: u32 = 20;

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut corpus = Corpus::labelled(setup, "revisions-zh", "page", 5000)?;
    shuffle(&mut corpus.documents, &mut Random::new(setup.seed));
    let directory = tempfile::tempdir()?;
    let [docs, _] = corpus.write(directory.path())?;
    let mut sizes = [0.0; 2];
    for (order, size) in [Order::Input, Order::Similar].into_iter().zip(&mut sizes) {
        let out = directory.path().join(format!("{order:?}"));
        let mut options = DedupOptions::new()?;
        options.order = order;
        let job = DedupJob {
            inputs: &[docs.display().to_string()],
            source: &SourceOptions::default(),
            options: &options,
            out: &out,
        };
        dedup(&job, &Silent, &Arc::default())?;
        let kept = std::fs::read(out.join("kept/docs.jsonl"))?;
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        encoder.window_log(WINDOW_LOG)?;
        std::io::Write::write_all(&mut encoder, &kept)?;
        *size = encoder.finish()?.len() as f64;
    }
    let saved = 1.0 - sizes[1] / sizes[0];
    report.number("saved", saved);
    report.claim(
        "compression",
        &[4],
        "SimHash serves the compression of files too",
        ["compression".to_owned(), format!("{} in random order, {} in order of similarity: {} less", bytes(sizes[0]), bytes(sizes[1]), percent(saved))],
        Verdict::Depends,
        format!("the kept documents of {} in random order, zstd with a window of 1 MiB; the gain depends on how far similar texts are apart (docs/order.md).", corpus.name),
    );
    Ok(report)
}

/// Shuffles documents (Fisher and Yates). Their pairs are not valid afterwards.
fn shuffle(documents: &mut [Document], random: &mut Random) {
    for last in (1..documents.len()).rev() {
        documents.swap(last, random.below(last + 1));
    }
}
