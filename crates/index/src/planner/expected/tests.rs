//! The expected work compared with the counted work of lookups among uniform fingerprints.

use twinprint_fingerprint::Width;

use crate::plan::Design;
use crate::planner::{LookupCosts, LookupMode, Medium, Workload, plan_addresses};
use crate::random::Random;
use crate::segment::{Builder, Codec, DirectoryForm, Options, Scratch, Search, Stats};

const ROWS: u64 = 1 << 14;
/// Fewer queries than are sorted, so that no page is read for several of them.
const QUERIES: usize = 1500;

fn check<W: Width>(design: &str, k: u32, codec: Codec) {
    let plan = design.parse::<Design>().unwrap().plan(W::BITS, k).unwrap();
    let workload = Workload {
        n: ROWS,
        bits: W::BITS,
        k,
        memory: None,
        medium: Medium::Memory,
        mode: LookupMode::Batch,
        skew_bits: 0.0,
        codec,
    };
    let choice = plan_addresses(plan, &workload, &LookupCosts::default());
    let expected = choice.alternatives[0].lookup.unwrap();
    let address_bits = choice.plan.address_bits.clone();
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        plan: Some(choice.plan.plan),
        allow_inexact: true,
        address_bits,
        codec,
        ..Options::default()
    };
    let mut random = Random(u64::from(W::BITS));
    let mut number = || W::truncate(u128::from(random.next()) << 64 | u128::from(random.next()));
    let mut builder = Builder::new(&directory.path().join("a.seg"), &options).unwrap();
    for id in 0..ROWS {
        builder.push(number(), id).unwrap();
    }
    let segment = builder.finish().unwrap();
    let queries: Vec<W> = (0..QUERIES).map(|_| number()).collect();
    let counted: Stats = segment
        .lookup_batch(&queries, k, &mut Scratch::default(), |_, _, _, _| {})
        .unwrap();

    let case = format!(
        "{design}, {} bits, {codec:?}: {counted:?}, expected {expected:?} for each",
        W::BITS
    );
    let times = QUERIES as f64;
    assert!(
        (counted.probes as f64 - expected.probes * times).abs() < 0.5,
        "{case}"
    );
    // The number of rows of a bucket has a Poisson distribution, so the variance of the sum is its mean.
    let candidates = expected.candidates * times;
    let spread = 5.0 * candidates.sqrt() + 1.0;
    assert!((counted.candidates as f64 - candidates).abs() < spread, "{case}");
    let bytes = expected.bytes * times;
    let most = match codec {
        // A candidate takes as many bytes as a row below its address.
        Codec::Packed(_) => spread * f64::from(W::BITS) / 8.0,
        // The estimated size of a page is right to 3 %.
        Codec::Huffman { .. } => 0.03 * bytes,
    };
    assert!((counted.bytes as f64 - bytes).abs() < most, "{case}");
    let recall = segment.recalls(Search::Directory, k)[k as usize].share;
    assert!(
        (expected.missed - (1.0 - recall)).abs() < 1e-9,
        "{case}, recall {recall}"
    );
}

#[test]
fn lookups_among_uniform_fingerprints_take_the_expected_work() {
    let plain = Codec::default();
    let designs = [
        "parts:2",
        "parts:3",
        "parts:4",
        "blocks:4",
        "blocks:5",
        "blocks:6",
        "nested:4",
        "qr11",
        "half-spaces",
        "random:6,20",
    ];
    for design in designs {
        check::<u64>(design, 3, plain);
    }
    for codec in [Codec::Packed(DirectoryForm::EliasFano), Codec::HUFFMAN] {
        check::<u64>("parts:4", 3, codec);
        check::<u128>("blocks:5", 3, codec);
    }
    check::<u32>("parts:4", 3, plain);
    check::<u32>("random:4,9", 2, plain);
    check::<u128>("parts:4", 6, plain);
    check::<u128>("blocks:6", 3, plain);
}
