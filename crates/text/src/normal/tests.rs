use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::normalise;
use crate::chars::is_invisible;
use crate::test_text::{any_text, tricky_text};

/// The definition, step by step over the whole text.
fn by_definition(text: &str) -> String {
    let visible: String = text.chars().filter(|&c| !is_invisible(c)).collect();
    let composed: String = visible.nfkc().collect();
    let lower: String = composed.chars().flat_map(char::to_lowercase).collect();
    lower.nfc().collect()
}

#[test]
fn examples() {
    for (text, normal) in [
        ("Twin PRINT", "twin print"),
        ("ＡＢＣ，１２３", "abc,123"),
        ("e\u{200B}\u{301}", "é"),
        ("co\u{AD}operate\u{FEFF}", "cooperate"),
        ("J\u{30C}", "ǰ"),
        ("İ", "i\u{307}"),
        ("ﬁne…", "fine..."),
        ("각", "각"),
        ("か\u{3099}", "が"),
        ("中文，English", "中文,english"),
    ] {
        assert_eq!(normalise(text), normal);
    }
}

#[test]
fn every_character_next_to_every_kind_of_neighbour() {
    for c in '\0'..=char::MAX {
        let text = format!("a{c}\u{301}{c}\u{1161}中{c}b");
        assert_eq!(normalise(&text), by_definition(&text), "U+{:04X}", c as u32);
    }
}

proptest! {
    #[test]
    fn equals_the_definition(text in any_text()) {
        prop_assert_eq!(normalise(&text), by_definition(&text));
    }

    #[test]
    fn equals_the_definition_for_characters_that_interact(text in tricky_text()) {
        prop_assert_eq!(normalise(&text), by_definition(&text));
    }

    #[test]
    fn is_idempotent(text in tricky_text()) {
        let once = normalise(&text);
        prop_assert_eq!(normalise(&once), once);
    }
}
