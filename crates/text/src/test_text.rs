//! Texts for property tests.

use proptest::prelude::*;

/// Any characters.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
    ]
}

/// Long runs of ASCII with some other characters.
pub(crate) fn mostly_ascii() -> impl Strategy<Value = String> {
    let piece = prop_oneof!["[a-d]( ?[a-d]){0,120}", "[é中か]{1,3}", "[ab中 ]{1,12}"];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// A small set of characters that act on each other, so that every neighbourhood occurs.
pub(crate) fn tricky_text() -> impl Strategy<Value = String> {
    const ALPHABET: &[char] = &[
        'a',
        'J',
        'e',
        ' ',
        '.',
        '_',
        '7',
        '=',
        '中',
        '文',
        '国',
        '\u{F900}',
        '\u{20000}',
        '，',
        'Ａ',
        'ｶ',
        'ﾞ',
        'か',
        '\u{3099}',
        'ก',
        '\u{E48}',
        '\u{E33}',
        '\u{301}',
        '\u{30C}',
        '\u{323}',
        '\u{338}',
        '\u{307}',
        'İ',
        'ǅ',
        'Σ',
        '\u{1100}',
        '\u{1161}',
        '\u{11A8}',
        '가',
        '각',
        '\u{1160}',
        '\u{AD}',
        '\u{200B}',
        '\u{200D}',
        '\u{FE0F}',
        '’',
        '…',
        'ﬁ',
        '\u{94D}',
        '\u{93C}',
        'क',
        '½',
        '①',
        '😀',
        '\u{1D15F}',
        '\u{A0}',
        '\u{3000}',
        '々',
        '\u{345}',
        '\u{3A9}',
        '\u{1FBE}',
    ];
    prop::collection::vec(prop::sample::select(ALPHABET), 0..24).prop_map(String::from_iter)
}

/// Sentences as people write them, in several scripts, with repeats.
pub(crate) fn plain_text() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "the",
        "cat",
        "sat",
        "on",
        "mat",
        "Python",
        "语言",
        "中文分词",
        "程序设计",
        "2024",
        "é",
        "naïve",
        "ひらがな",
        "カタカナ",
        "ภาษาไทย",
        "word_one",
        "한국어",
        "“quoted”",
        "，",
        "。",
        "x",
        "我们在一起",
        "don't",
    ];
    prop::collection::vec(
        (
            prop::sample::select(WORDS),
            prop::sample::select(&["", " ", "\n", ", "][..]),
        ),
        0..60,
    )
    .prop_map(|pieces| pieces.into_iter().flat_map(|(word, gap)| [word, gap]).collect())
}
