use jieba_rs::Jieba;
use proptest::prelude::*;

use crate::canonical::canonical;
use crate::script::Script;
use crate::test_text::{any_text, plain_text, tricky_text};

fn words(canonical: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    super::Segmenter::default().words(canonical, &mut spans);
    spans
        .iter()
        .map(|span| &canonical[span.start as usize..span.end as usize])
        .collect()
}

/// Space by space, run by run, jieba called for every run.
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
fn long_stretches_of_ideographs_are_cut_as_their_runs() {
    let text = "中文分词 程序设计语言 我们 在 一起 ".repeat(300);
    assert_eq!(words(text.trim()), by_definition(text.trim(), &Jieba::new()));
}

proptest! {
    #[test]
    fn equal_the_definition(text in prop_oneof![any_text(), tricky_text(), plain_text()]) {
        let canonical = canonical(&text);
        prop_assert_eq!(words(&canonical), by_definition(&canonical, &super::JIEBA));
    }
}
