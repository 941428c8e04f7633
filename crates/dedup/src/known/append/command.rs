//! The command that identifies a run: all options, and the names of the inputs, that affect the output.

use crate::options::DedupOptions;
use twinprint_io::runs::identity;
use twinprint_io::sink::Existing;
use twinprint_io::source::{SourceIdentity, SourceOptions};

/// A hash of everything that determines the output, except the documents and the collection.
pub(super) fn hash(inputs: &[String], source: &SourceOptions, options: &DedupOptions) -> u128 {
    let deciding = DedupOptions {
        stop_words_file: None,
        idf_file: None,
        against: None,
        threads: 0,
        memory: None,
        work_dir: None,
        existing: Existing::Refuse,
        ..options.clone()
    };
    let source = SourceOptions {
        max_held: 0,
        ..source.clone()
    };
    let profile = options.profile.checksum();
    identity::hash(format_args!(
        "{inputs:?}\n{}\n{deciding:?}\n{profile:x}",
        SourceIdentity(&source)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_inputs_and_options_that_affect_the_output() {
        let inputs = ["a.jsonl".to_owned()];
        let source = SourceOptions::default();
        let options = DedupOptions::new().unwrap();
        let first = hash(&inputs, &source, &options);
        let with = |change: fn(&mut DedupOptions)| {
            let mut options = options.clone();
            change(&mut options);
            hash(&inputs, &source, &options)
        };
        assert_eq!(first, with(|options| options.threads = 3));
        assert_eq!(first, with(|options| options.against = Some("there".into())));
        assert_ne!(first, with(|options| options.threshold = 0.9));
        assert_ne!(
            first,
            with(|options| options.keep = crate::options::Keep::Longest)
        );
        assert_ne!(first, hash(&["b.jsonl".to_owned()], &source, &options));
    }
}
