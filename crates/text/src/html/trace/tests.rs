use proptest::prelude::*;

use crate::html::{Extractor, Part};

/// The visible text of a piece of markup.
fn shown(markup: &str) -> String {
    let mut extractor = Extractor::new();
    // A page without words would show its title.
    let page = extractor.extract(&format!("word {markup}")).unwrap();
    page.text.strip_prefix("word ").unwrap_or_default().to_owned()
}

/// Checks that every character of the text is at its traced position, and returns the extracted part.
fn check(markup: &str) -> Part {
    let mut extractor = Extractor::new();
    let plain = extractor.extract(markup).unwrap();
    let (text, part) = (plain.text.into_owned(), plain.part);
    let (traced, trace) = extractor.extract_traced(markup).unwrap();
    assert_eq!((traced.text.as_ref(), traced.part), (text.as_str(), part));
    let mut end_before = 0;
    for (at, c) in text.char_indices() {
        if c.is_ascii_whitespace() {
            continue;
        }
        let (Some(start), Some(end)) = (trace.start(at), trace.end(at + c.len_utf8())) else {
            // The character is one of two that a single reference gives.
            assert!(
                ["&NotEqualTilde;", "&fjlig;"]
                    .iter()
                    .any(|reference| markup.contains(reference))
            );
            assert!("≂\u{338}fj".contains(c), "{markup:?} {at} {c:?}");
            continue;
        };
        let piece = &markup[start..end];
        assert!(
            start >= end_before || piece.starts_with('&'),
            "{markup:?} {at} {c:?}"
        );
        if !piece.chars().eq([c]) {
            assert!(
                piece.starts_with('&') || piece == "\0",
                "{markup:?} {at} {c:?}: {piece:?}"
            );
            assert!(
                piece == "\0" || shown(piece).contains(c),
                "{markup:?} {at} {c:?}: {piece:?}"
            );
            assert!(!piece[1..].contains(['&', '<', '>']), "{markup:?}: {piece:?}");
        }
        end_before = end;
    }
    part
}

#[test]
fn ranges_of_the_text_are_mapped_to_ranges_of_the_markup() {
    let markup = "<title>Tea</title><nav>Home</nav><main>\r\n<p>Caf&eacute; au <b>lait</b>, &#x4e2d;&#25991; &amp; more\r\nof it</p>\
        <aside>no</aside><p>And &nosuch; or &lt;i&gt; &amp c</main>";
    let mut extractor = Extractor::new();
    let (page, trace) = extractor.extract_traced(markup).unwrap();
    assert_eq!(
        page.text,
        "Café au lait, 中文 & more of it\nAnd &nosuch; or <i> & c"
    );
    for (words, expected) in [
        ("Café", "Caf&eacute;"),
        ("é au lait,", "&eacute; au <b>lait</b>,"),
        ("lait", "lait"),
        ("中", "&#x4e2d;"),
        ("中文 & m", "&#x4e2d;&#25991; &amp; m"),
        ("of it\nAnd", "of it</p><aside>no</aside><p>And"),
        ("such; or <", "such; or &lt;"),
        ("i> & c", "i&gt; &amp c"),
    ] {
        let at = page.text.find(words).unwrap();
        let (start, end) = (trace.start(at).unwrap(), trace.end(at + words.len()).unwrap());
        assert_eq!(&markup[start..end], expected);
    }
    assert_eq!(trace.start(page.text.len()), None);
    assert_eq!(trace.end(0), None);
}

#[test]
fn a_reference_of_two_letters_is_not_split() {
    let markup = "<p>a &fjlig;ord here</p>";
    let mut extractor = Extractor::new();
    let (page, trace) = extractor.extract_traced(markup).unwrap();
    assert_eq!(page.text, "a fjord here");
    let at = page.text.find("fj").unwrap();
    assert_eq!((trace.start(at + 1), trace.end(at + 1)), (None, None));
    let (start, end) = (trace.start(at).unwrap(), trace.end(at + 2).unwrap());
    assert_eq!(&markup[start..end], "&fjlig;");
}

#[test]
fn every_kind_of_extracted_part_is_traced() {
    assert_eq!(
        check("<title>&lt;No&gt; <b>text</title><script>x</script>"),
        Part::Title
    );
    assert_eq!(
        check(&format!("<main>{}</main>", "word &amp; ".repeat(30))),
        Part::Main
    );
    let links = "<a href=x>a &copy; link</a> ".repeat(40);
    assert_eq!(check(&format!("<nav>{links}</nav><p>some words")), Part::Visible);
    check(
        "a</>&amp;b\r\n\r\n&lt;<!-- c --><!doctype x>d\r&gt;<![CDATA[ e ]]> f <? g >h<textarea>&amp;</textarea>\0i<plaintext>j & k",
    );
}

proptest! {
    #[test]
    fn every_character_is_at_its_traced_position(tokens in prop::collection::vec(prop::sample::select(vec![
        "<div>", "</div>", "<p>", "</p>", "<td>", "<table>", "</table>", "<b>", "</b>", "<i a='&amp;'>", "<span hidden>", "</span>",
        "<main>", "</main>", "<nav>", "</nav>", "<title>", "</title>", "<script>", "</script>", "<br>", "<pre>", "<xmp>", "</xmp>",
        "text ", " words of more ", "中文", "é", "😀", "\r\n", "\r", "\n", " ", "\t", "\0", "<", "</", "</>", "<!", "<!-- x -->", "-->",
        "<!doctype html>", "<?pi>", "&", "&amp;", "&amp", "&lt", "&gt;", "&eacute;", "&eacute", "&#233;", "&#x4e2d;", "&#x4e2d", "&#0;",
        "&nosuch;", "&NotEqualTilde;", "&fjlig;", "&nbsp;", "&#48", "&#x30", "&semi;", "&#xD800;", "&#128;", ";", "#", "x", "=", "1",
    ]), 0..40)) {
        check(&tokens.concat());
    }
}
