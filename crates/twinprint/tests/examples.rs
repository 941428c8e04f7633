//! The examples run on their own data and print the expected lines.
#![expect(clippy::unwrap_used, reason = "tests may panic")]
#![allow(dead_code, reason = "main of each example is run by cargo alone")]

#[cfg(feature = "collections")]
#[path = "../examples/check_and_insert.rs"]
mod check_and_insert;
#[cfg(feature = "stream")]
#[path = "../examples/cluster_stream.rs"]
mod cluster_stream;
#[path = "../examples/dedup_folder.rs"]
mod dedup_folder;
#[path = "../examples/index_build_query.rs"]
mod index_build_query;

fn lines(output: &[u8]) -> Vec<&str> {
    std::str::from_utf8(output).unwrap().lines().collect()
}

#[test]
fn a_folder_is_deduplicated() {
    let directory = tempfile::tempdir().unwrap();
    let notes = dedup_folder::write_notes(directory.path()).unwrap();
    let mut output = Vec::new();
    dedup_folder::run(&notes, &directory.path().join("out"), &mut output).unwrap();
    let lines = lines(&output);
    assert_eq!(lines[0], "3 read, 2 kept, 1 removed");
    let removal = format!(
        "{0}/draft.txt duplicates {0}/final.txt, Jaccard 0.",
        notes.display()
    );
    assert!(lines[1].starts_with(&removal), "{lines:?}");
    assert!(directory.path().join("out/kept/ferry.txt").exists());
}

#[test]
#[cfg(feature = "collections")]
fn a_collection_finds_the_near_duplicate() {
    let directory = tempfile::tempdir().unwrap();
    let mut output = Vec::new();
    for _ in 0..2 {
        check_and_insert::run(directory.path(), check_and_insert::sample_pages(), &mut output).unwrap();
    }
    let lines = lines(&output);
    assert_eq!(lines[0], "https://a.example/tram: new");
    assert!(
        lines[1].starts_with("https://b.example/tram: near https://a.example/tram, "),
        "{lines:?}"
    );
    assert_eq!(lines[2], "https://a.example/rain: new");
    assert!(
        lines[3..].iter().all(|line| line.ends_with(": updated")),
        "{lines:?}"
    );
}

#[test]
fn an_index_finds_the_fingerprints_within_the_radius() {
    let directory = tempfile::tempdir().unwrap();
    let mut output = Vec::new();
    let query = index_build_query::HEADLINES[0];
    index_build_query::run(directory.path(), query, &mut output).unwrap();
    let lines = lines(&output);
    assert_eq!(
        [lines[0], lines[2], lines[3]],
        ["0 bits: 0", "after the deletion of 1:", "0 bits: 0"]
    );
    assert!(lines[1].ends_with(" bits: 1") && lines.len() == 4, "{lines:?}");
}

#[test]
#[cfg(feature = "stream")]
fn a_stream_has_groups_and_stories() {
    let mut output = Vec::new();
    cluster_stream::run(&cluster_stream::sample_reports(), &mut output).unwrap();
    let lines = lines(&output);
    assert_eq!(lines[0], "0: new, group 0, story 0");
    assert_eq!(lines[1], "1: duplicate, group 0, story 0");
    assert!(lines[2].starts_with("2: new") && lines.len() > 5, "{lines:?}");
}
