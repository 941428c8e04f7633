//! Patterns that choose among the files of an input. They are written as in a `.gitignore` file.
//!
//! A pattern without a slash, or with a slash only at its end, matches a name at any depth. Any other pattern matches
//! the whole path, relative to the input. A slash at the end makes a pattern match only folders. If a folder matches,
//! the pattern applies to everything in it. `*` does not match a slash, `**` does. Patterns cannot be negated. Some
//! patterns include files and others exclude files, and a file that matches both is excluded.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::error::SourceError;
use super::format::Codec;

/// The patterns that include files and the patterns that exclude files.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// The patterns that include files. If the list is empty, every file is included.
    include: Vec<PathPattern>,
    exclude: Vec<PathPattern>,
}

#[derive(Debug)]
struct PathPattern {
    matcher: GlobMatcher,
    folders_alone: bool,
}

impl Filter {
    /// Parses the patterns.
    ///
    /// # Errors
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, SourceError> {
        let parse = |patterns: &[String]| -> Result<Vec<PathPattern>, SourceError> {
            patterns.iter().map(|p| PathPattern::new(p)).collect()
        };
        Ok(Self {
            include: parse(include)?,
            exclude: parse(exclude)?,
        })
    }

    /// Returns true if no pattern includes files, so that every file is included unless it is excluded.
    pub(super) fn includes_all(&self) -> bool {
        self.include.is_empty()
    }

    /// Returns true if a pattern that includes files matches the path itself, not only a folder above it. `relative` is
    /// relative to the input.
    pub(super) fn includes(&self, relative: &Path, is_folder: bool) -> bool {
        self.include.iter().any(|p| p.matches(relative, is_folder))
    }

    /// Returns true if a pattern that excludes files matches the path itself, not only a folder above it. `relative` is
    /// relative to the input.
    pub(super) fn excludes(&self, relative: &Path, is_folder: bool) -> bool {
        self.exclude.iter().any(|p| p.matches(relative, is_folder))
    }

    /// Returns true if a pattern that includes the file spells out the file's extension.
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

/// Returns true if the pattern behind `matches` spells out the extension of `path` instead of matching it with a
/// wildcard. The test changes each letter of the extension in turn: the pattern must match the original path and none
/// of the changed ones.
pub(super) fn spells_extension(path: &Path, codec: Codec, matches: impl Fn(&Path) -> bool) -> bool {
    /// A character that replaces letters of the extension. No pattern is likely to contain it.
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
