//! Fenced blocks of a Markdown file, and comparison of output with a pattern.

/// A block between two lines of three backticks.
#[derive(Debug)]
pub(crate) struct Fence {
    /// The words after the opening backticks.
    pub(crate) info: Vec<String>,
    /// The lines between the backticks.
    pub(crate) body: String,
    /// The line of the opening backticks, from 1.
    pub(crate) line: usize,
}

impl Fence {
    /// Whether `word` is one of the words.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.info.iter().any(|info| info == word)
    }

    /// The value of `key=value` among the words.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        let find = |word: &'_ String| word.strip_prefix(key)?.strip_prefix('=').map(str::len);
        let word = self.info.iter().find(|word| find(word).is_some())?;
        word.get(key.len() + 1..)
    }
}

/// The fenced blocks of `markdown`, in order.
pub(crate) fn fences(markdown: &str) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(markdown.lines()) {
        match (line.strip_prefix("```"), is_open) {
            (Some(_), true) => is_open = false,
            (Some(info), false) => {
                let info = info.split_whitespace().map(str::to_owned).collect();
                fences.push(Fence {
                    info,
                    body: String::new(),
                    line: number,
                });
                is_open = true;
            }
            (None, true) => {
                if let Some(fence) = fences.last_mut() {
                    fence.body.push_str(line);
                    fence.body.push('\n');
                }
            }
            (None, false) => {}
        }
    }
    fences
}

/// Whether the lines of `actual` match those of `expected`, where `…` matches any text within a line, and a line of `…`
/// alone any number of lines.
pub(crate) fn matches(expected: &[&str], actual: &[&str]) -> bool {
    match expected {
        [] => actual.is_empty(),
        ["…", rest @ ..] => (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..])),
        [first, rest @ ..] => match actual {
            [line, others @ ..] => line_matches(first, line) && matches(rest, others),
            [] => false,
        },
    }
}

fn line_matches(expected: &str, actual: &str) -> bool {
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(start) => rest = &rest[start + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn wildcards_match_within_a_line_and_over_lines() {
    let matches = |expected: &str, actual: &str| {
        let [expected, actual] = [expected, actual].map(|text| text.lines().collect::<Vec<_>>());
        matches(&expected, &actual)
    };
    assert!(matches("a\nb … d\n", "a\nb c d"));
    assert!(!matches("a\nb … d\n", "a\nb c"));
    assert!(matches("a\n…\nz", "a\nz") && matches("a\n…\nz", "a\nb\nc\nz") && matches("a\n…", "a\nb\nc"));
    assert!(!matches("a\n…\nz", "a\nb") && !matches("a", "a\nb") && !matches("a\nb", "a"));
    assert!(matches("x…y…z", "x1y2z") && !matches("x…y…z", "x1z") && !matches("ab…b", "ab"));
}

#[test]
fn fences_have_words_values_and_bodies() {
    let found = fences("text\n```sh test\na\nb\n```\n\n```json file=x/y.json\n{}\n```\n```\n```\n");
    assert_eq!(found.len(), 3);
    assert!(found[0].has("test") && found[0].body == "a\nb\n" && found[0].line == 2);
    assert_eq!(found[1].value("file"), Some("x/y.json"));
    assert!(found[2].info.is_empty() && found[2].body.is_empty());
}
