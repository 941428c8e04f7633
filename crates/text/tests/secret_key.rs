//! The purpose of a secret key. Under the published key, added meaningless words give any page any fingerprint; under
//! another key the same page has a random fingerprint.

#![expect(clippy::unwrap_used, reason = "a test: it may panic")]

use twinprint_fingerprint::HashKey;
use twinprint_text::{Analyzer, Profile};

const VICTIM: &str =
    "The river rose in the night and took the lower bridge; nobody was hurt, and the school stays open.";
const PAGE: &str =
    "Buy cheap watches today: gold, silver and steel, sent everywhere, paid by card or by letter.";

/// The page with added random words, chosen so that their votes give the fingerprint `towards`.
fn steered(page: &str, towards: u64, key: HashKey) -> String {
    let profile = Profile::parse("tp1-words-lntf-64").unwrap();
    let mut analyzer = Analyzer::new(&profile, key);
    let filler: Vec<String> = (0..20_000).map(|i| format!("filler{i}")).collect();
    let mut by_use: Vec<(u32, String)> = analyzer
        .explain(&filler.join(" "))
        .into_iter()
        .map(|feature| ((feature.hash as u64 ^ towards).count_ones(), feature.text))
        .collect();
    by_use.sort();
    assert_eq!(by_use.len(), filler.len());
    let words: Vec<&str> = by_use.iter().take(300).map(|(_, word)| word.as_str()).collect();
    format!("{page} {}", words.join(" "))
}

fn fingerprint(text: &str, key: HashKey) -> u64 {
    let profile = Profile::parse("tp1-words-lntf-64").unwrap();
    Analyzer::new(&profile, key).analyze(text).fingerprint as u64
}

#[test]
fn a_collision_forged_under_one_key_misses_under_another() {
    let public = HashKey::PUBLIC;
    let victim = fingerprint(VICTIM, public);
    assert!((fingerprint(PAGE, public) ^ victim).count_ones() > 10);
    let forged = steered(PAGE, victim, public);
    let distance = (fingerprint(&forged, public) ^ victim).count_ones();
    assert!(distance <= 3, "under the key of the forger: {distance} bits");
    for secret in 1..=8 {
        let key = HashKey::new(secret, 0x9E37_79B9_7F4A_7C15);
        let distance = (fingerprint(&forged, key) ^ fingerprint(VICTIM, key)).count_ones();
        assert!(distance > 10, "secret {secret}: {distance} bits");
    }
}
