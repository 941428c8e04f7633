use std::sync::LazyLock;

use jieba_rs::Jieba;
use proptest::prelude::*;

use crate::canonical::canonical;
use crate::script::Script;
use crate::shared_data::{data, records};
use crate::test_text::{any_text, plain_text, tricky_text};

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

fn words(canonical: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    super::Segmenter::default().words(canonical, &mut spans);
    spans
        .iter()
        .map(|span| &canonical[span.start as usize..span.end as usize])
        .collect()
}

/// The words by the definition: jieba segments every run of ideographs between spaces.
fn by_definition(canonical: &str, jieba: &Jieba) -> Vec<String> {
    let mut out = Vec::new();
    for word in canonical.split(' ').filter(|word| !word.is_empty()) {
        let chars: Vec<char> = word.chars().collect();
        for run in chars.chunk_by(|&a, &b| Script::of(a) == Script::of(b)) {
            let text: String = run.iter().collect();
            match Script::of(run[0]) {
                Script::Spaced => out.push(text),
                Script::Ideograph => out.extend(jieba.cut(&text, false).iter().map(|t| t.word.to_owned())),
                Script::Unspaced if run.len() == 1 => out.push(text),
                Script::Unspaced => out.extend(run.windows(2).map(String::from_iter)),
            }
        }
    }
    out
}

#[test]
fn examples() {
    assert_eq!(words(""), [""; 0]);
    assert_eq!(words("the cat"), ["the", "cat"]);
    assert_eq!(words("我来到北京清华大学"), ["我", "来到", "北京", "清华大学"]);
    assert_eq!(words("python3语言 a 好"), ["python3", "语言", "a", "好"]);
    assert_eq!(words("ひらがな か"), ["ひら", "らが", "がな", "か"]);
    assert_eq!(words("汉字かな mix"), ["汉字", "かな", "mix"]);
    assert_eq!(words("été a"), ["été", "a"]);
}

#[test]
fn long_texts_of_ideographs_are_cut_run_by_run() {
    let text = "中文分词 程序设计语言 我们 在 一起 ".repeat(300);
    assert_eq!(words(text.trim()), by_definition(text.trim(), &JIEBA));
}

/// Words of the dictionary in random order, which is harder to segment than real text.
#[test]
fn any_words_in_a_row_are_cut_as_jieba_cuts_them() {
    let dictionary = include_str!("../../dictionary/jieba.dict.txt");
    let all: Vec<&str> = dictionary
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below
    };
    for _ in 0..5_000 {
        let text: String = (0..=next(8)).map(|_| all[next(all.len())]).collect();
        let canonical = canonical(&text);
        assert_eq!(words(&canonical), by_definition(&canonical, &JIEBA));
    }
}

#[test]
fn chinese_data_are_cut_as_jieba_cuts_them() {
    let Some(data) = data() else { return };
    let mut ideographs = 0;
    for name in [
        "causes-zh",
        "headlines-zh",
        "news-topics-zh",
        "revisions-zh",
        "webpages-zh",
    ] {
        let records = records(&data.join(format!("{name}.docs.jsonl.zst")));
        // Every eighth record, because all of them would take half a minute.
        for record in records.iter().step_by(8) {
            let canonical = canonical(record["text"].as_str().unwrap_or_default());
            assert_eq!(words(&canonical), by_definition(&canonical, &JIEBA));
            ideographs += canonical
                .chars()
                .filter(|&c| Script::of(c) == Script::Ideograph)
                .count();
        }
    }
    assert!(ideographs > 500_000, "{ideographs}");
}

proptest! {
    #[test]
    fn equal_the_definition(text in prop_oneof![any_text(), tricky_text(), plain_text()]) {
        let canonical = canonical(&text);
        prop_assert_eq!(words(&canonical), by_definition(&canonical, &JIEBA));
    }
}
