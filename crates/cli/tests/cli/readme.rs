//! The README's examples are run.
//!
//! The convention, in the words behind the opening backticks of a block:
//! * `file=NAME` declares a file: it is written, with the block as its content, before every example after it;
//! * `sh test` is an example: it is run by `bash -euo pipefail` with `twinprint` on the path, in a fresh directory
//!   that holds the files declared so far, and must succeed;
//! * `text output` right after an example is what it writes to stdout. `…` stands for any text within a line, a
//!   line of `…` alone for any number of lines.

use std::fs;

use crate::fences::{Fence, fences, matches};
use crate::sandbox::{Sandbox, repository};

#[test]
fn examples_of_the_readme_do_what_it_says() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let fences = fences(&readme);
    let mut files: Vec<&Fence> = Vec::new();
    let mut examples = 0;
    for (i, fence) in fences.iter().enumerate() {
        if fence.value("file").is_some() {
            files.push(fence);
        }
        if !fence.has("test") {
            continue;
        }
        let sandbox = Sandbox::new();
        for file in &files {
            sandbox.put(file.value("file").unwrap(), &file.body);
        }
        let run = sandbox.bash(&fence.body);
        assert_eq!(
            run.code,
            Some(0),
            "README.md line {}: {}{run:#?}",
            fence.line,
            fence.body
        );
        if let Some(expected) = fences.get(i + 1).filter(|next| next.has("output")) {
            let [wanted, written] =
                [&expected.body, &run.stdout].map(|text| text.lines().collect::<Vec<_>>());
            assert!(
                matches(&wanted, &written),
                "README.md line {}: expected\n{}but it wrote\n{}",
                expected.line,
                expected.body,
                run.stdout
            );
        }
        examples += 1;
    }
    assert!(examples >= 3, "the README has {examples} examples to run");
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    for document in ["README.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(repository().join(document)).unwrap();
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") {
                let path = repository().join(target);
                assert!(path.exists(), "{document} links to {target}, which is not there");
            }
        }
    }
}
