//! The Markdown files: examples of the README and of the guides run as printed, and relative links resolve.
//!
//! The words after the opening backticks of a block say how it is used:
//! * `file=NAME` declares a file. It is written, with the block as its content, before every later example of the page.
//!   The files of the README are written for the guides as well.
//! * `sh test` is an example. `bash -euo pipefail` runs it with `twinprint` on the path, in a fresh directory
//!   with the files declared so far. It must succeed.
//! * `text output` directly after an example is its standard output. `…` matches any text within a line, and a
//!   line of `…` alone any number of lines.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fences::{Fence, fences, matches};
use crate::sandbox::{Sandbox, repository};

/// Every Markdown file of the repository, in order of path.
fn markdown_files() -> Vec<PathBuf> {
    let mut folders = vec![repository()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap_or_default();
            // Build products and hidden folders hold files of other projects.
            if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn is_guide(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("docs/guide"))
}

/// Runs the example at `position` with `files` present. Returns the difference between the page and the run, if there
/// is one.
fn run_example(page: &[Fence], position: usize, files: &[&Fence]) -> Result<(), String> {
    let example = &page[position];
    let sandbox = Sandbox::new();
    for file in files {
        sandbox.put(file.value("file").unwrap(), &file.body);
    }
    let run = sandbox.bash(&example.body);
    if run.code != Some(0) {
        return Err(format!("{}{run:#?}", example.body));
    }
    let Some(expected) = page.get(position + 1).filter(|next| next.has("output")) else {
        return Ok(());
    };
    let [wanted, written] = [&expected.body, &run.stdout].map(|text| text.lines().collect::<Vec<_>>());
    if matches(&wanted, &written) {
        Ok(())
    } else {
        Err(format!("expected\n{}but it wrote\n{}", expected.body, run.stdout))
    }
}

#[test]
fn examples_of_the_readme_and_the_guides_write_what_the_pages_show() {
    let root = repository();
    let readme = fences(&fs::read_to_string(root.join("README.md")).unwrap());
    let shared: Vec<&Fence> = readme
        .iter()
        .filter(|fence| fence.value("file").is_some())
        .collect();
    let guides = markdown_files().into_iter().filter(|path| is_guide(path));
    let mut failures = String::new();
    for path in std::iter::once(root.join("README.md")).chain(guides) {
        let page = fences(&fs::read_to_string(&path).unwrap());
        let mut files = if is_guide(&path) {
            shared.clone()
        } else {
            Vec::new()
        };
        let mut examples = 0;
        for (position, fence) in page.iter().enumerate() {
            if fence.value("file").is_some() {
                files.push(fence);
            }
            // The tests of the Python package run the blocks of Python.
            if fence.has("python") {
                examples += 1;
            }
            if fence.has("test") {
                examples += 1;
                if let Err(difference) = run_example(&page, position, &files) {
                    writeln!(failures, "{} line {}: {difference}", path.display(), fence.line).unwrap();
                }
            }
        }
        let is_list_of_guides = is_guide(&path) && path.ends_with("README.md");
        assert!(
            examples > 0 || is_list_of_guides,
            "{} has no example",
            path.display()
        );
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The anchors of a page: its headings as GitHub writes them, in lower case, without punctuation, with `-` for blanks.
fn anchors(markdown: &str) -> Vec<String> {
    let headings = outside_fences(markdown).filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let text = text
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        text.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

fn outside_fences(markdown: &str) -> impl Iterator<Item = &str> {
    let mut is_open = false;
    markdown.lines().filter(move |line| {
        let is_border = line.starts_with("```");
        is_open ^= is_border;
        !is_open && !is_border
    })
}

/// The targets of the links and pictures of a page.
fn link_targets(markdown: &str) -> Vec<&str> {
    let after = outside_fences(markdown).flat_map(|line| line.split("](").skip(1));
    after.filter_map(|after| after.split(')').next()).collect()
}

#[test]
fn relative_links_of_markdown_files_resolve() {
    let mut broken = String::new();
    for page in markdown_files() {
        let text = fs::read_to_string(&page).unwrap();
        for link in link_targets(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = match target {
                "" => page.clone(),
                target => page.parent().unwrap().join(target),
            };
            let has_anchor = || {
                let text = fs::read_to_string(&path).unwrap_or_default();
                anchors(&text).iter().any(|heading| heading == anchor)
            };
            if !path.exists() || !(anchor.is_empty() || has_anchor()) {
                writeln!(broken, "{}: {link}", page.display()).unwrap();
            }
        }
    }
    assert!(broken.is_empty(), "links without a target:\n{broken}");
}

#[test]
fn anchors_are_those_of_github() {
    let page = "# One: `two` — three\n```sh\n# no heading\n```\n## Exit codes\n";
    assert_eq!(anchors(page), ["one-two--three", "exit-codes"]);
}
