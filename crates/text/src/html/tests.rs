//! Handwritten pages, random pages with their expected text, and malicious pages.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn extract(markup: &str) -> (Part, String) {
    let mut extractor = Extractor::new();
    let extracted = extractor.extract(markup).unwrap();
    (extracted.part, extracted.text.into_owned())
}

/// A paragraph of `words` different words.
fn paragraph(name: &str, words: usize) -> String {
    let words: Vec<String> = (0..words).map(|i| format!("{name}{i}")).collect();
    format!("<p>{}</p>", words.join(" "))
}

#[test]
fn the_surroundings_of_an_article_are_omitted() {
    let article = paragraph("story", 120);
    for page in [
        format!(
            "<body><header><a href=/>Home</a> Daily News</header><main>{article}</main><footer>2024</footer>"
        ),
        format!(
            "<div id=nav>Home News Sport</div><div class=story>{article}</div><div id=footer>Imprint</div>"
        ),
        format!("<table><tr><td><a href=/1>One</a><a href=/2>Two</a></td><td>{article}</td></tr></table>"),
        format!(
            "<section><aside>Read also this</aside>{article}<div class='ad ad-2'>Buy now</div></section>"
        ),
        format!("<ul><li><a href=/1>One</a><li><a href=/2>Two</a></ul><article>{article}</article>"),
    ] {
        let (part, text) = extract(&page);
        assert_eq!(part, Part::Main);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(
            (words.len(), words[0], words[119]),
            (120, "story0", "story119"),
            "{page}"
        );
    }
}

#[test]
fn a_class_name_alone_does_not_remove_the_content() {
    let article = paragraph("w", 200);
    let (_, text) = extract(&format!(
        "<body class=has-sidebar><div class='page with-sidebar'>{article}</div>"
    ));
    assert_eq!(text.split_whitespace().count(), 200);
    let (_, text) = extract(&format!("<form id=aspnet>{article}</form>"));
    assert_eq!(text.split_whitespace().count(), 200);
}

#[test]
fn pages_without_a_main_block_give_all_visible_text() {
    // In a list of links no words count, so the text of the whole page is extracted.
    let mut list = String::from("<body><h1>Index</h1><ul>");
    for i in 0..50 {
        let _ = write!(list, "<li><a href=/{i}>entry{i}</a></li>");
    }
    let (_, text) = extract(&list);
    assert_eq!(text.split_whitespace().count(), 51);
    // A forum: many posts of equal weight.
    let mut posts = String::new();
    for i in 0..12 {
        let _ = write!(
            posts,
            "<div class=post>{}</div>",
            paragraph(&format!("p{i}x"), 30)
        );
    }
    let (_, text) = extract(&format!("<div class=nav>Board</div><div>{posts}</div>"));
    assert_eq!(text.split_whitespace().count(), 360);
    // An empty block that is marked as the content.
    let (_, text) = extract(&format!("<main>Loading</main><div>{}</div>", paragraph("w", 100)));
    assert!(text.contains("w99"));
    // Nearly all words are in links.
    let (part, text) = extract("<nav><a href=/>one two three four five</a></nav><p>six");
    assert_eq!(
        (part, text.as_str()),
        (Part::Visible, "one two three four five\nsix")
    );
    assert_eq!(
        extract("<title> Some App </title><div id=root></div>"),
        (Part::Title, " Some App ".to_owned())
    );
    assert_eq!(extract(""), (Part::Title, String::new()));
}

#[test]
fn only_visible_text_is_extracted() {
    let (_, text) = extract(
        "<p>seen<script>if (a<b) '<p>no'</script><style>p{}</style><!-- no --> \
         <span hidden>no <b>no</b> no</span><svg><text>no</text><path/></svg><select><option>no</select>\
         <textarea><p>no</textarea><button>no</button><template><p>no</template><noscript><p>no</noscript>also",
    );
    assert_eq!(text, "seen also");
    assert_eq!(extract("<ruby>漢<rp>(<rt>かん<rp>)</ruby>字").1, "漢");
    assert_eq!(
        extract("a&amp;b &eacute; &#x4e2d;&nbsp;&lt;i&gt;").1,
        "a&b é 中\u{a0}<i>"
    );
    assert_eq!(
        extract("<?xml version='1.0'?><html><head><title/><script src='x'/></head><p>text</p></html>").1,
        "text"
    );
}

#[test]
fn missing_end_tags_are_tolerated() {
    assert_eq!(extract("<ul><li>a<ul><li>b<li>c</ul><li>d</ul>").1, "a\nb\nc\nd");
    assert_eq!(
        extract("<table><tr><td>a<td>b<tr><td>c</div></p></table>d").1,
        "a\nb\nc\nd"
    );
    assert_eq!(
        extract("<div><table><tr><td>a</div>b</td><td>c</table></div>d").1,
        "ab\nc\nd"
    );
    assert_eq!(
        extract("<dl><dt>a<dd>b<dt>c</dl><p>d<p>e<div>f").1,
        "a\nb\nc\nd\ne\nf"
    );
    assert_eq!(extract("</div></p></table>a</body>b</html>c").1, "abc");
}

#[test]
fn pages_beyond_the_limits_are_refused() {
    let mut extractor = Extractor::new();
    let deep = "<div>".repeat(100_000);
    assert_eq!(
        extractor.extract(&deep),
        Err(HtmlError::TooDeep { limit: 10_000 })
    );
    let many = "<p>".repeat((1 << 20) + 1);
    assert_eq!(
        extractor.extract(&many),
        Err(HtmlError::TooManyBlocks { limit: 1 << 20 })
    );
    // The extractor works after an error.
    assert_eq!(extractor.extract("<p>text").unwrap().text, "text");
}

#[test]
fn malicious_pages_take_linear_time() {
    let mut attributes = String::from("<div");
    for i in 0..1_000_000 {
        let _ = write!(attributes, " a{i}=b");
    }
    attributes.push_str(">text</div>");
    assert_eq!(extract(&attributes).1, "text");
    let long = format!("<div class=\"{}\">text</div>", "ad ".repeat(1 << 20));
    assert_eq!(extract(&long).1, "text");
    assert_eq!(
        extract(&"&lol;&#99999999;&amp".repeat(100_000))
            .1
            .matches("lol")
            .count(),
        100_000
    );
    // Each of these takes quadratic time in parsers that search backwards.
    for token in [
        "<",
        "</",
        "<!--",
        "<![CDATA[",
        "<!doctype ",
        "&",
        "<a href=x>",
        "<li>",
        "</li>",
        "<b>",
        "<table><tr>",
        "</b></i></div>",
        "<td></div>",
        "<li></ul>",
        "<title>",
        "<script>",
        "<svg>",
        "<p></p>",
        "<span hidden>",
        "<a href=x><b></a>",
        "<form><table>",
        "\0",
        "<dt><a>",
        "<br>",
        "<p><table></p>",
    ] {
        let mut extractor = Extractor::new();
        let markup = token.repeat(300_000);
        // The extractor may return a text or an error.
        let _ = extractor.extract(&markup);
        let walls = format!("{}{}", "<div>".repeat(9_000), token.repeat(100_000));
        let _ = extractor.extract(&walls);
    }
}

/// A piece of a page with its visible text.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Inline(&'static str, Vec<Piece>),
    Block(&'static str, Vec<Piece>),
    Unseen(&'static str, Vec<Piece>),
}

impl Piece {
    fn write(&self, markup: &mut String, shown: &mut String) {
        match self {
            Self::Text(text) => {
                markup.push_str(text);
                shown.push_str(text);
            }
            Self::Inline(tag, inner) => Self::element(tag, inner, markup, shown),
            Self::Block(tag, inner) => {
                shown.push('\n');
                Self::element(tag, inner, markup, shown);
                shown.push('\n');
            }
            Self::Unseen(tag, inner) => Self::element(tag, inner, markup, &mut String::new()),
        }
    }

    fn element(tag: &str, inner: &[Self], markup: &mut String, shown: &mut String) {
        let _ = write!(markup, "<{tag}>");
        for piece in inner {
            piece.write(markup, shown);
        }
        let name = tag.split(' ').next().unwrap();
        let _ = write!(markup, "</{name}>");
    }
}

fn piece() -> impl Strategy<Value = Piece> {
    let text = "[a-z中文 ]{1,12}".prop_map(Piece::Text);
    text.prop_recursive(5, 60, 5, |inner| {
        let inner = prop::collection::vec(inner, 0..5);
        let inline = prop::sample::select(vec!["b", "span", "em class=x", "x-tag", "font"]);
        let block = prop::sample::select(vec![
            "div",
            "section",
            "article",
            "blockquote",
            "nav",
            "main",
            "div id=footer",
        ]);
        let unseen = prop::sample::select(vec![
            "div hidden",
            "svg",
            "button",
            "span style='display:none'",
            "template",
        ]);
        prop_oneof![
            (inline, inner.clone()).prop_map(|(tag, inner)| Piece::Inline(tag, inner)),
            (block, inner.clone()).prop_map(|(tag, inner)| Piece::Block(tag, inner)),
            (unseen, inner).prop_map(|(tag, inner)| Piece::Unseen(tag, inner)),
        ]
    })
}

/// Lines with single spaces, without empty ones.
fn tidy(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

proptest! {
    #[test]
    fn all_visible_text_is_read(pieces in prop::collection::vec(piece(), 0..6)) {
        let (mut markup, mut shown) = (String::new(), String::new());
        for piece in &pieces {
            piece.write(&mut markup, &mut shown);
        }
        let mut extractor = Extractor::new();
        let part = extractor.extract(&markup).unwrap().part;
        let page = String::from_utf8(extractor.page.text.clone()).unwrap();
        prop_assert_eq!(&page, &tidy(&shown));
        let text = extractor.extract(&markup).unwrap().text.into_owned();
        if part == Part::Main {
            // The extracted lines are a subsequence of the visible lines.
            let mut lines = page.lines();
            for line in text.lines().filter(|line| !line.is_empty()) {
                prop_assert!(lines.any(|shown| shown.contains(line)), "{:?} in {:?}", line, page);
            }
        }
    }

    #[test]
    fn no_markup_panics(tokens in prop::collection::vec(prop::sample::select(vec![
        "<div>", "</div>", "<p>", "</p>", "<td>", "<tr>", "<table>", "</table>", "<li>", "<ul>", "</ul>", "<a href=x>", "</a>",
        "<span hidden>", "</span>", "<svg>", "</svg>", "<main>", "<nav>", "</nav>", "<title>", "</title>", "text ", "中",
        "<script>", "</script>", "&lt", "<!--", "-->", "<b", ">", "</td>", "<dd>", "<br/>", "<p/>", "<?xml",
    ]), 0..60)) {
        let markup = tokens.concat();
        let mut extractor = Extractor::new();
        let extracted = extractor.extract(&markup).unwrap().clone();
        let text = extracted.text.into_owned();
        prop_assert!(text.len() <= 2 * markup.len());
        // Reused buffers do not change the result.
        prop_assert_eq!(extractor.extract(&markup).unwrap().text, text);
        for block in &extractor.page.blocks {
            prop_assert!(block.start <= block.end && block.end as usize <= extractor.page.text.len());
        }
    }
}
