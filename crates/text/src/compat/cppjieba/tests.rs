use std::fs;
use std::path::Path;

use super::*;

/// A dictionary of a few words, whose model joins 小 and 明.
fn write_small(directory: &Path) {
    let never = "-3.14e+100";
    let files = [
        (
            "jieba.dict.utf8",
            "北京 30 ns\n大学 20 n\n北京大学 9 nt\n我 50 r\n来 10 v\n来到 10 v\nC++ 5 n\n".to_owned(),
        ),
        (
            "hmm_model.utf8",
            format!(
                "#prob_start\n-0.3 {never} {never} -1.4\n#prob_trans\n{never} -0.5 -0.9 {never}\n-0.6 {never} {never} -0.8\n\
                 {never} -0.3 -1.3 {never}\n-0.7 {never} {never} -0.7\n#prob_emit\n小:-1,红:-9\n明:-1,红:-9\n红:-9\n小:-5,明:-5,红:-1\n"
            ),
        ),
        ("idf.utf8", "北京大学 8.5\n来到 2\nnot a line\n\n".to_owned()),
        ("stop_words.utf8", "来到\n的\n".to_owned()),
    ];
    for (name, text) in files {
        fs::write(directory.join(name), text).unwrap();
    }
}

fn small() -> Dictionaries {
    let directory = tempfile::tempdir().unwrap();
    write_small(directory.path());
    Dictionaries::open(directory.path()).unwrap()
}

#[test]
fn words_by_dictionary_model_and_rules() {
    let dictionaries = small();
    let mut extractor = Extractor::default();
    let mut words = |text| extractor.words(&dictionaries, text).join("|");
    assert_eq!(words(""), "");
    assert_eq!(words("我来到北京大学"), "我|来到|北京大学");
    assert_eq!(words("小明来北京"), "小明|来|北京");
    assert_eq!(words("小红明红红"), "小红明|红|红");
    assert_eq!(
        words("用C++ 3.14版，a1b。。x-2y"),
        "用|C++| |3.14|版|，|a1b|。|。|x|-|2|y"
    );
    // Neither in the dictionary nor in the model.
    assert_eq!(words("𠀀é"), "𠀀|é");
}

#[test]
fn keywords_leave_out_single_characters_and_stop_words() {
    let dictionaries = small();
    let mut extractor = Extractor::default();
    let text = "我来到北京，北京大学在北京";
    let keywords = extractor.keywords(&dictionaries, text, 9);
    let found: Vec<(&str, f64)> = keywords.iter().map(|it| (it.word, it.weight)).collect();
    // The mean is over four lines.
    assert_eq!(found, [("北京大学", 8.5), ("北京", 2.0 * 10.5 / 4.0)]);
    assert_eq!(extractor.keywords(&dictionaries, text, 1), keywords[..1]);
    assert_eq!(extractor.keywords(&dictionaries, text, 0), []);
}

#[test]
fn a_file_that_is_missing_or_damaged_is_named() {
    for (name, text, expected_text) in [
        ("jieba.dict.utf8", "北京 30\n", "line 1: expected a word"),
        (
            "jieba.dict.utf8",
            "北京 30 ns\n大学 0 n\n",
            "line 2: expected a word",
        ),
        ("jieba.dict.utf8", "", "line 1: expected a word"),
        (
            "hmm_model.utf8",
            "1 2 3 4\n1 2 3\n",
            "line 2: expected four numbers",
        ),
        ("hmm_model.utf8", "1 2 3 4\n", "line 2: expected four numbers"),
        (
            "hmm_model.utf8",
            "1 2 3 4\n1 2 3 4\n1 2 3 4\n1 2 3 4\n1 2 3 4\n中文:1\n",
            "line 6: expected characters",
        ),
        ("idf.utf8", "北京 x\n", "line 1: expected a word and a number"),
        ("idf.utf8", "", "line 1: expected words"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        write_small(directory.path());
        fs::write(directory.path().join(name), text).unwrap();
        let error = Dictionaries::open(directory.path()).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains(expected_text), "{error}");
    }
    let directory = tempfile::tempdir().unwrap();
    let error = Dictionaries::open(directory.path()).err().unwrap().to_string();
    assert!(
        error.contains("idf.utf8") && error.contains("a dictionary is a directory with"),
        "{error}"
    );
}
