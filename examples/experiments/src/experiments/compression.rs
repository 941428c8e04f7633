//! Compressed tables: the position of the first differing bit, its Huffman code, and the bytes that are left.

use anyhow::Result;
use twinprint_index::Plan;
use twinprint_index::segment::{Codec, DirectoryForm, Options};

use crate::built;
use crate::figure::{bytes, count, number, percent};
use crate::random::Random;
use crate::{Report, Setup, Table, Verdict};

/// The documents' number of fingerprints.
const STORED_PAGES: f64 = 8e9;

/// The bytes of one sorted table: the difference of a segment with two tables and one with a single table, which also
/// has the ids.
fn table_bytes(rows: &[u64], codec: Codec) -> Result<f64> {
    let build = |plan: Plan| -> Result<f64> {
        let options = Options { codec, ..Options::default() };
        Ok(built::segment(rows, &plan, options)?.bytes() as f64)
    };
    Ok(build(Plan::halves(64, 1)?)? - build(Plan::one_table(64, 1)?)?)
}

/// The entropy of n distinct uniform fingerprints of 64 bits, in bits a fingerprint.
fn floor(n: f64) -> f64 {
    64.0 - n.log2() + std::f64::consts::LOG2_E
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    example(&mut report);
    let sizes = setup.rows.map_or_else(|| setup.pick(vec![20_000], vec![1_000_000, 10_000_000]), |rows| vec![rows]);
    let codecs = [
        ("packed, directory", Codec::default()),
        ("Elias–Fano", Codec::Packed(DirectoryForm::EliasFano)),
        ("Huffman code of h, pages of 128", Codec::HUFFMAN),
        ("Huffman code of h, pages of 1,024", Codec::Huffman { page_rows: 1024 }),
    ];
    let mut table = Table::new(
        "Bytes of one sorted table, for each fingerprint; raw 8. Of clumped fingerprints, seven of eight are up to 3 bits from one of n / 8 centres",
        ["fingerprints", "codec", "uniform", "of raw", "entropy bound", "clumped"],
    );
    for &n in &sizes {
        let mut random = Random::new(setup.seed);
        let (rows, clumped) = (random.rows(n), clumped(n, &mut random));
        for (name, codec) in codecs {
            let [each, of_clumped] = [table_bytes(&rows, codec)?, table_bytes(&clumped, codec)?].map(|bytes| bytes / n as f64);
            report.number(name, each);
            report.number(format!("{name}, clumped"), of_clumped);
            table.push([
                count(n as u64),
                name.to_owned(),
                number(each),
                percent(each / 8.0),
                number(floor(n as f64) / 8.0),
                number(of_clumped),
            ]);
        }
    }
    report.tables.push(table);
    let n = sizes.last().copied().unwrap_or(1) as f64;
    let huffman = report.numbers["Huffman code of h, pages of 1,024"];
    let above = huffman * 8.0 - floor(n);
    let at_scale = (floor(STORED_PAGES) + above) / 8.0;
    report.number("bits above the bound", above);
    report.number("share at 8e9", at_scale / 8.0);
    report.claim(
        "half",
        &[4],
        "Huffman codes shrink 64 GB to about half",
        [
            "about half".to_owned(),
            format!("{} at 8·10⁹ (extrapolated, {}); {} at {}", percent(at_scale / 8.0), bytes(at_scale * STORED_PAGES), percent(huffman / 8.0), count(n as u64)),
        ],
        Verdict::Depends,
        format!(
            "uniform fingerprints take {} bits more than their entropy, which falls by one bit with each doubling; clumped ones take {} of raw at {}.",
            number(above),
            percent(report.numbers["Huffman code of h, pages of 1,024, clumped"] / 8.0),
            count(n as u64)
        ),
    );
    let clumped = ["Huffman code of h, pages of 1,024, clumped", "Elias–Fano, clumped"].map(|name| report.numbers[name]);
    let elias_fano = report.numbers["Elias–Fano"];
    report.claim(
        "huffman-needed",
        &[4],
        "the code of h needs a Huffman code made from the table's own distribution",
        [
            "Huffman".to_owned(),
            format!(
                "bytes: Huffman {}, Elias–Fano without any code {}; clumped {} and {}",
                number(huffman),
                number(elias_fano),
                number(clumped[0]),
                number(clumped[1])
            ),
        ],
        Verdict::Depends,
        "on uniform fingerprints Elias–Fano is as small and is searched without decoding; Huffman is smaller if similar pages are neighbours.",
    );
    report.claim(
        "ends-in-memory",
        &[4],
        "memory has one fingerprint of each block, the last, which says which block to decode",
        ["one a block".to_owned(), "8 bytes for a page of 1,024 rows: 0.008 bytes a fingerprint".to_owned()],
        Verdict::Holds,
        "the pages of the codec are searched by the ends of pages.",
    );
    Ok(report)
}

/// The example of two fingerprints of eight bits, and the distribution of h in a sorted table.
fn example(report: &mut Report) {
    let (before, row) = (0b1101_1011u8, 0b1101_1001u8);
    let h = (before ^ row).leading_zeros();
    let rest = row & ((1 << (7 - h)) - 1);
    report.exact(
        "example",
        &[4],
        "11011001 after 11011011",
        "(6)1",
        format!("({h}){rest:b}"),
    );
}

/// Fingerprints of which seven of eight are up to 3 bits from one of n / 8 centres.
fn clumped(n: usize, random: &mut Random) -> Vec<u64> {
    let mut centre = 0;
    let mut row = |i: usize| {
        if i.is_multiple_of(8) {
            centre = random.bits();
            return centre;
        }
        let flips = random.below(4) as u32;
        centre ^ random.flips(flips)
    };
    (0..n).map(&mut row).collect()
}
