use super::*;
use proptest::prelude::*;

/// A text for each charset, long enough for a guess.
const TEXTS: [(&str, &str); 10] = [
    (
        "GBK",
        "图书馆今天下午四点关门,请读者提前归还借阅的图书,并带好随身物品。",
    ),
    (
        "gb18030",
        "图书馆今天下午四点关门,請讀者提前歸還㐂𠮷,并带好随身物品。",
    ),
    (
        "Big5",
        "圖書館今天下午四點關門,請讀者提前歸還借閱的圖書,並帶好隨身物品。",
    ),
    (
        "Shift_JIS",
        "図書館は今日の午後四時に閉まります。本は早めに返してください。",
    ),
    (
        "EUC-JP",
        "図書館は今日の午後四時に閉まります。本は早めに返してください。",
    ),
    (
        "EUC-KR",
        "도서관은 오늘 오후 네 시에 문을 닫습니다. 빌린 책을 미리 돌려주세요.",
    ),
    (
        "windows-1252",
        "La bibliothèque fermera à seize heures, l'été prochain déjà plus tôt.",
    ),
    (
        "windows-1251",
        "Библиотека сегодня закрывается в четыре часа, верните книги заранее.",
    ),
    (
        "windows-1253",
        "Η βιβλιοθήκη κλείνει σήμερα στις τέσσερις, επιστρέψτε τα βιβλία νωρίς.",
    ),
    (
        "windows-1256",
        "تغلق المكتبة اليوم في الساعة الرابعة، يرجى إعادة الكتب مبكرا.",
    ),
];

fn encoded(label: &str, text: &str) -> Vec<u8> {
    let encoding = Charset::named(label).expect("a charset").0;
    let (bytes, _, replaced) = encoding.encode(text);
    assert!(!replaced, "{label} has all of the text");
    bytes.into_owned()
}

#[test]
fn texts_are_decoded_in_the_guessed_charset() {
    for (label, text) in TEXTS {
        let bytes = encoded(label, text);
        let (decoded, charset) = decode(&bytes, Hints::default()).expect(label);
        assert_eq!(decoded, text, "{label} taken for {charset}");
    }
}

#[test]
fn a_cut_within_a_character_does_not_change_the_guess() {
    for (label, text) in TEXTS {
        let bytes = encoded(label, text);
        let whole = detect(&bytes, Hints::default());
        for cut in bytes.len() - 4..bytes.len() {
            assert_eq!(detect(&bytes[..cut], Hints::default()), whole, "{label}");
        }
    }
}

#[test]
fn a_mark_overrides_a_declaration_and_a_declaration_overrides_the_bytes() {
    let bytes = encoded("Big5", "圖書館");
    let hints = |declared| Hints {
        declared: Some(declared),
        ..Hints::default()
    };
    assert_eq!(decode(&bytes, hints("big5")).expect("decoded").0, "圖書館");
    assert_eq!(detect(b"plain", hints("gb2312")).name(), "GBK");
    assert_eq!(detect(b"plain", hints("no such charset")), Charset::UTF_8);
    let (text, charset) = decode(b"\xff\xfeA\0\x2dN", hints("gbk")).expect("decoded");
    assert_eq!((text.as_ref(), charset.name()), ("A中", "UTF-16LE"));
    let (text, charset) = decode(b"\xef\xbb\xbfx", hints("gbk")).expect("decoded");
    assert_eq!((text.as_ref(), charset), ("x", Charset::UTF_8));
}

#[test]
fn damaged_utf8_and_binary_bytes_are_not_read_in_another_charset() {
    let mut bytes = "Die Bücherei schließt früh, und zwar täglich."
        .repeat(3)
        .into_bytes();
    let at = bytes.iter().rposition(|&b| b == 0xc3).expect("an umlaut");
    bytes.remove(at);
    let error = decode(&bytes, Hints::default()).expect_err("damaged");
    assert_eq!((error.charset, error.offset), (Charset::UTF_8, at as u64 + 1));
    let error = decode(b"PNG\x00\x89\xfe\x00", Hints::default()).expect_err("binary");
    assert_eq!((error.charset, error.offset), (Charset::UTF_8, 5));
}

#[test]
fn an_error_has_the_position_of_the_invalid_character() {
    let gbk = Charset::named("gbk").expect("a charset");
    let mut bytes = encoded("gbk", "图书");
    bytes.extend(b"\xff!");
    let error = gbk.decode(&bytes).expect_err("0xff is not a character");
    assert_eq!((error.offset, error.byte), (5, 0xff));
    let cut = gbk.decode(&bytes[..3]).expect_err("cut");
    assert_eq!((cut.offset, cut.byte), (3, bytes[2]));
    assert_eq!(error.to_string(), "byte 5 (0xff) is not GBK");
}

proptest! {
    #[test]
    fn utf8_is_unchanged(text in any::<String>(), cut in any::<prop::sample::Index>()) {
        prop_assume!(!text.starts_with('\u{feff}'));
        let (decoded, charset) = decode(text.as_bytes(), Hints::default()).expect("UTF-8");
        prop_assert_eq!((decoded.as_ref(), charset), (text.as_str(), Charset::UTF_8));
        let cut = cut.index(text.len() + 1);
        prop_assert_eq!(detect(&text.as_bytes()[..cut], Hints::default()), Charset::UTF_8);
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200), declared in prop::option::of("[a-zA-Z0-9_-]{0,12}"),
        domain in prop::option::of(".{0,5}"),
    ) {
        let hints = Hints { declared: declared.as_deref(), domain: domain.as_deref() };
        if let Err(error) = decode(&bytes, hints) {
            prop_assert!(error.offset >= 1 && error.offset <= bytes.len() as u64);
        }
    }
}
