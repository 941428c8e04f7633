//! Measures the rates of the kernels at every SIMD level of this CPU: `cargo bench -p twinprint-fingerprint [-- NAME]`.
//!
//! The best of several repeats is printed, because other work on the machine only ever makes a kernel slower.

#![expect(clippy::print_stdout, reason = "the report is the purpose")]

use std::hint::black_box;
use std::time::Instant;

use twinprint_fingerprint::kernel::{self, Level};
use twinprint_fingerprint::{
    HashKey, Span, Votes, Width, hash_features, hash_features_64, hash_features_at, hash_windows_64_at,
};

/// Returns the seconds per call: the best of 60 runs of about a millisecond each.
fn best(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    call();
    let calls = (0.001 / start.elapsed().as_secs_f64()).ceil().max(1.0);
    let run = |_| {
        let start = Instant::now();
        (0..calls as u32).for_each(|_| call());
        start.elapsed().as_secs_f64() / calls
    };
    (0..60).map(run).fold(f64::INFINITY, f64::min)
}

fn print(level: Level, what: &str, rate: f64, unit: &str) {
    println!("{:8} {what:44} {rate:10.3} {unit}", level.name());
}

/// A random number generator that is good enough for fingerprints (SplitMix64).
fn random(n: usize, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    std::iter::repeat_with(next).take(n).collect()
}

fn votes(level: Level) {
    let hashes = random(4096, 1);
    let wide: Vec<u128> = hashes
        .iter()
        .map(|&h| u128::from(h) << 64 | u128::from(h.rotate_left(9)))
        .collect();
    let light: Vec<u16> = hashes.iter().map(|&h| (h % 200) as u16).collect();
    let heavy: Vec<u16> = hashes.iter().map(|&h| h as u16).collect();
    let n = hashes.len() as f64 / 1e9;
    let mut ones = [0; 64];
    let mut both = [[0; 64]; 2];
    let t = best(|| kernel::vote_unit_64_at(level, black_box(&hashes), &mut ones));
    print(level, "vote, weight 1, 64 bits", n / t, "G features/s");
    let t = best(|| kernel::vote_64_at(level, black_box(&hashes), &light, &mut ones));
    print(level, "vote, weights < 200, 64 bits", n / t, "G features/s");
    let t = best(|| kernel::vote_64_at(level, black_box(&hashes), &heavy, &mut ones));
    print(level, "vote, weights < 65536, 64 bits", n / t, "G features/s");
    let t = best(|| kernel::vote_low_64_at(level, black_box(&wide), &light, &mut ones));
    print(
        level,
        "vote, weights < 200, low 64 of 128 bits",
        n / t,
        "G features/s",
    );
    let t = best(|| kernel::vote_128_at(level, black_box(&wide), &light, &mut both));
    print(level, "vote, weights < 200, 128 bits", n / t, "G features/s");
}

fn compare<W: Width>(level: Level, make: fn(u64) -> W) {
    let bits = W::BITS;
    for (a, b) in [(1, 4096), (4, 4), (16, 16), (1024, 1024), (4096, 2048)] {
        let x: Vec<W> = random(a, 2).into_iter().map(make).collect();
        let y: Vec<W> = random(b, 3).into_iter().map(make).collect();
        let mut hits = 0;
        let t = best(|| {
            kernel::hamming_many_to_many_at(level, black_box(&x), black_box(&y), 3, &mut |_, _, _| hits += 1);
        });
        let what = format!("many to many, {bits} bits, {a} x {b}");
        print(level, &what, (a * b) as f64 / t / 1e9, "G comparisons/s");
    }
    for n in [2, 4, 8, 16, 2048] {
        let x: Vec<W> = random(n, 2).into_iter().map(make).collect();
        let mut hits = 0;
        let t = best(|| kernel::hamming_within_at(level, black_box(&x), 3, &mut |_, _, _| hits += 1));
        print(level, &format!("within, {bits} bits, {n} rows"), t * 1e9, "ns");
    }
    let x: Vec<W> = random(2048, 2).into_iter().map(make).collect();
    let mut out = Vec::new();
    let t = best(|| {
        out.clear();
        kernel::hamming_one_to_many_at(level, black_box(x[7]), black_box(&x), 3, &mut out);
    });
    print(
        level,
        &format!("one to many, {bits} bits, 2048 rows"),
        2048.0 / t / 1e9,
        "G comparisons/s",
    );
}

fn hashes(level: Level) {
    let text: Vec<u8> = random(8192, 4).into_iter().map(|x| x as u8).collect();
    let key = HashKey::PUBLIC;
    let (mut low, mut full) = (Vec::<u64>::new(), Vec::<u128>::new());
    for (what, length) in [
        ("words of 1-7 bytes", 1..8),
        ("words of 1-15", 1..16),
        ("words of 8-39", 8..40),
    ] {
        let mut at = 0;
        let spans: Vec<Span> = random(1024, 5)
            .into_iter()
            .map(|x| {
                let n = length.start + x as u32 % (length.end - length.start);
                at = (at + n) % 8000;
                Span {
                    start: at,
                    end: at + n,
                }
            })
            .collect();
        let n = spans.len() as f64;
        let t = best(|| hash_features_at(level, &key, black_box(&text), &spans, &mut low));
        print(level, &format!("hash, 64 bits, {what}"), t / n * 1e9, "ns/hash");
        let t = best(|| hash_features_at(level, &key, black_box(&text), &spans, &mut full));
        print(level, &format!("hash, 128 bits, {what}"), t / n * 1e9, "ns/hash");
        let t = best(|| hash_features_at(level, &key, black_box(&text), &spans[..20], &mut full));
        print(
            level,
            &format!("hash, 128 bits, 20 {what}"),
            t / 20.0 * 1e9,
            "ns/hash",
        );
    }
    let t = best(|| hash_windows_64_at(level, &key, black_box(&text), 5, &mut low));
    print(
        level,
        "windows of 5 bytes, 64 bits",
        t / (text.len() - 4) as f64 * 1e9,
        "ns/window",
    );
}

fn unpack(level: Level) {
    let packed: Vec<u8> = random(32 << 10, 6).into_iter().map(|x| x as u8).collect();
    let mut out = vec![0; 2048];
    for width in [7, 33, 57, 64] {
        let t = best(|| kernel::unpack_bits_at(level, black_box(&packed), width, 3, &mut out));
        print(
            level,
            &format!("unpack, {width} bits"),
            out.len() as f64 / t / 1e9,
            "G values/s",
        );
    }
}

/// Fingerprints one document at the SIMD level in use: hashes its features, votes, and takes the signs.
fn document() {
    let text: Vec<u8> = random(6000, 4).into_iter().map(|x| x as u8).collect();
    let spans: Vec<Span> = (0..1000)
        .map(|i| Span {
            start: i * 6,
            end: i * 6 + 2 + i % 9,
        })
        .collect();
    let weights = vec![17; spans.len()];
    let (mut low, mut full) = (Vec::new(), Vec::new());
    let mut votes = Votes::<u64>::new();
    let t = best(|| {
        hash_features_64(&HashKey::PUBLIC, black_box(&text), &spans, &mut low);
        votes.clear();
        votes.add_64(&low, &weights);
        black_box(votes.finish());
    });
    print(
        kernel::level(),
        "document of 1000 features, 64 bits",
        t * 1e6,
        "us",
    );
    let mut votes = Votes::<u128>::new();
    let t = best(|| {
        hash_features(&HashKey::PUBLIC, black_box(&text), &spans, &mut full);
        votes.clear();
        votes.add(&full, &weights);
        black_box(votes.finish());
    });
    print(
        kernel::level(),
        "document of 1000 features, 128 bits",
        t * 1e6,
        "us",
    );
}

fn main() {
    let wanted = std::env::args()
        .nth(1)
        .filter(|name| !name.starts_with('-'))
        .unwrap_or_default();
    let run = |name: &str| wanted.is_empty() || name == wanted;
    for level in Level::available() {
        if run("votes") {
            votes(level);
        }
        if run("hashes") {
            hashes(level);
        }
        if run("compare") {
            compare::<u64>(level, |x| x);
            compare::<u128>(level, |x| u128::from(x) << 64 | u128::from(x.rotate_left(7)));
        }
        if run("unpack") {
            unpack(level);
        }
    }
    if run("document") {
        document();
    }
}
