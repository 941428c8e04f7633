//! Patterns that choose among the files of an input, written as in a `.gitignore` file.
//!
//! A pattern without a slash, except at its end, matches a name at any depth; one with a slash matches the whole path
//! below the input. With a slash at its end it matches only folders. A matching folder includes everything in it. `*`
//! stays within a folder, `**` crosses them. There is no negation: some patterns include and others exclude, and an
//! excluded file is never included.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::error::SourceError;
use super::format::Codec;

/// Patterns to include and to exclude.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// Everything is included if there are none.
    include: Vec<PathPattern>,
    exclude: Vec<PathPattern>,
}

#[derive(Debug)]
struct PathPattern {
    matcher: GlobMatcher,
    folders_alone: bool,
}

impl Filter {
    /// # Errors
    /// A pattern that does not parse.
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, SourceError> {
        let parse = |patterns: &[String]| -> Result<Vec<PathPattern>, SourceError> {
            patterns.iter().map(|p| PathPattern::new(p)).collect()
        };
        Ok(Self {
            include: parse(include)?,
            exclude: parse(exclude)?,
        })
    }

    /// True if everything is included that is not excluded.
    pub(super) fn includes_all(&self) -> bool {
        self.include.is_empty()
    }

    /// True if a pattern includes a path, relative to its input, itself.
    pub(super) fn includes(&self, relative: &Path, is_folder: bool) -> bool {
        self.include.iter().any(|p| p.matches(relative, is_folder))
    }

    /// True if a pattern excludes a path, relative to its input, itself.
    pub(super) fn excludes(&self, relative: &Path, is_folder: bool) -> bool {
        self.exclude.iter().any(|p| p.matches(relative, is_folder))
    }

    /// True if a pattern that includes a file spells its extension.
    pub(super) fn spells_extension(&self, relative: &Path, codec: Codec) -> bool {
        self.include
            .iter()
            .any(|p| spells_extension(relative, codec, |path| p.matches(path, false)))
    }
}

impl PathPattern {
    fn new(pattern: &str) -> Result<Self, SourceError> {
        if pattern.starts_with('!') {
            return Err(SourceError::NegatedPattern {
                pattern: pattern.to_owned(),
            });
        }
        let path = pattern.trim_end_matches('/');
        let folders_alone = path.len() < pattern.len();
        let glob = match path.strip_prefix('/') {
            Some(below) => below.to_owned(),
            None if path.contains('/') => path.to_owned(),
            None => format!("**/{path}"),
        };
        let parsed = GlobBuilder::new(&glob)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let glob = parsed.map_err(|source| SourceError::BadPattern {
            pattern: pattern.to_owned(),
            source,
        })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            folders_alone,
        })
    }

    fn matches(&self, relative: &Path, is_folder: bool) -> bool {
        (is_folder || !self.folders_alone) && self.matcher.is_match(relative)
    }
}

/// True if a pattern that matches a file of an unknown extension spells that extension: with any letter of it changed, the path would
/// not match.
pub(super) fn spells_extension(path: &Path, codec: Codec, matches: impl Fn(&Path) -> bool) -> bool {
    /// A character that no pattern is likely to spell.
    const UNSPELLED_CHAR: char = '\u{1}';
    let name = path.to_string_lossy();
    let packed = match codec {
        Codec::Plain => "",
        _ => name.rfind('.').map_or("", |dot| &name[dot..]),
    };
    let Some((stem, extension)) = name[..name.len() - packed.len()].rsplit_once('.') else {
        return false;
    };
    let letters: Vec<char> = extension.chars().collect();
    matches(path)
        && (0..letters.len()).all(|at| {
            let mut other = letters.clone();
            other[at] = UNSPELLED_CHAR;
            let other: String = other.into_iter().collect();
            !matches(Path::new(&format!("{stem}.{other}{packed}")))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(include: &[&str], exclude: &[&str]) -> Filter {
        let owned = |patterns: &[&str]| patterns.iter().map(|&p| p.to_owned()).collect::<Vec<_>>();
        Filter::new(&owned(include), &owned(exclude)).expect("patterns")
    }

    #[test]
    fn patterns_match_as_in_a_gitignore_file() {
        for (pattern, matching, other) in [
            (
                "*.py",
                &["a.py", "b/a.py", "b/c/a.py"][..],
                &["a.pyc", "py", "a.py/b"][..],
            ),
            ("test", &["test", "a/test"], &["tests", "test/a"]),
            ("/test", &["test"], &["a/test"]),
            ("a/test", &["a/test"], &["b/a/test", "test"]),
            ("a/*.txt", &["a/b.txt"], &["a/b/c.txt", "b/a/b.txt"]),
            ("**/a/b", &["a/b", "c/a/b"], &["b", "a/c/b"]),
            ("a/**", &["a/b", "a/b/c"], &["a", "b/a"]),
            ("a/**/b", &["a/b", "a/c/d/b"], &["a", "b"]),
            ("*.{c,h}", &["a.c", "b/a.h"], &["a.d"]),
            ("[ab].txt", &["a.txt"], &["c.txt"]),
            (r"\*.txt", &["*.txt"], &["a.txt"]),
        ] {
            let filter = filter(&[], &[pattern]);
            for path in matching {
                assert!(filter.excludes(Path::new(path), false), "{pattern} {path}");
            }
            for path in other {
                assert!(!filter.excludes(Path::new(path), false), "{pattern} {path}");
            }
        }
        let folders = filter(&["build/"], &["/a/b/"]);
        assert!(
            folders.includes(Path::new("c/build"), true) && !folders.includes(Path::new("c/build"), false)
        );
        assert!(folders.excludes(Path::new("a/b"), true) && !folders.excludes(Path::new("c/a/b"), true));
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for pattern in ["!a", "[a", "{a"] {
            let error = Filter::new(&[], &[pattern.to_owned()]).expect_err(pattern);
            assert!(error.to_string().contains(pattern), "{error}");
        }
    }

    #[test]
    fn a_pattern_names_an_extension_only_by_literal_characters() {
        for (pattern, path, spelled) in [
            ("*.py", "b/a.py", true),
            ("*.{py,rs}", "a.rs", true),
            ("*.[ch]", "a.c", true),
            ("a.b.py", "a.b.py", true),
            ("*", "a.py", false),
            ("*.*", "a.py", false),
            ("*.p*", "a.py", false),
            ("*.py*", "a.pyc", false),
            ("*.??", "a.py", false),
            ("src/**", "src/a.py", false),
            ("*.rs", "a.py", false),
        ] {
            let filter = filter(&[pattern], &[]);
            assert_eq!(
                filter.spells_extension(Path::new(path), Codec::Plain),
                spelled,
                "{pattern}"
            );
        }
        let packed = |pattern| filter(&[pattern], &[]).spells_extension(Path::new("a.py.gz"), Codec::Gzip);
        assert!(packed("*.py.gz") && packed("*.py.*") && !packed("*.gz"));
    }
}
