//! Claims: entries in the marker of an unfinished run that name the run and the store that it changes, a collection or the state of a
//! stream.
//!
//! Such a run has ended once its store has committed it. A run that is killed near that moment leaves a complete output
//! directory, and only the store records whether the run ended. So the marker names the run and the store from the
//! start, and records when the output is complete. The next run in the directory asks the store.

use std::path::Path;

use super::error::SinkError;

/// A run that changes a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClaim {
    /// The name of the run, drawn at random.
    pub run: u128,
    /// The identity of the store.
    pub store: u128,
    /// A hash of the options and the names of the inputs.
    pub command: u128,
    /// The path of the store, as it was given.
    pub store_path: String,
}

/// The claim of a run that was killed after its output was complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClaim {
    /// The claim of the run.
    pub claim: RunClaim,
    /// The digest of the run's input.
    pub digest: u128,
}

impl OpenClaim {
    /// The error for the output directory `dir` if the store cannot be asked.
    pub fn undecided(&self, dir: &Path) -> SinkError {
        SinkError::Undecided {
            path: dir.to_owned(),
            store: self.claim.store_path.clone().into(),
        }
    }
}

/// The prefix of the entry of a claim. Other entries of a marker are relative paths, which do not begin like this.
const CLAIM_PREFIX: &str = "/claim ";
/// The prefix of the entry that says that the output is complete.
const WHOLE_PREFIX: &str = "/whole ";

/// True if an entry of a marker belongs to a claim.
pub(super) fn is_claim(entry: &[u8]) -> bool {
    entry.starts_with(b"/")
}

/// The entry of a claim.
pub(super) fn entry(claim: &RunClaim) -> String {
    let RunClaim {
        run,
        store,
        command,
        store_path,
    } = claim;
    format!("{CLAIM_PREFIX}{run:032x} {store:032x} {command:032x} {store_path}")
}

/// The entry that says that the output is complete.
pub(super) fn whole(digest: u128) -> String {
    format!("{WHOLE_PREFIX}{digest:032x}")
}

/// Finds the claim of a run whose output is complete among the entries of its marker.
pub(super) fn open<'e>(entries: impl Iterator<Item = &'e [u8]>) -> Option<OpenClaim> {
    let (mut claim, mut digest) = (None, None);
    for entry in entries.filter_map(|entry| str::from_utf8(entry).ok()) {
        if let Some(rest) = entry.strip_prefix(CLAIM_PREFIX) {
            claim = parse(rest);
        } else if let Some(rest) = entry.strip_prefix(WHOLE_PREFIX) {
            digest = u128::from_str_radix(rest, 16).ok();
        }
    }
    Some(OpenClaim {
        claim: claim?,
        digest: digest?,
    })
}

fn parse(text: &str) -> Option<RunClaim> {
    let mut fields = text.splitn(4, ' ');
    let mut number = || u128::from_str_radix(fields.next()?, 16).ok();
    Some(RunClaim {
        run: number()?,
        store: number()?,
        command: number()?,
        store_path: fields.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_open_when_the_output_is_complete() {
        let claim = RunClaim {
            run: 1,
            store: u128::MAX,
            command: 7,
            store_path: "a dir/日".to_owned(),
        };
        let entries = ["kept/a".to_owned(), entry(&claim), "b".to_owned()];
        let bytes = || entries.iter().map(String::as_bytes);
        assert_eq!(open(bytes()), None);
        let whole = whole(9);
        let all = bytes().chain([whole.as_bytes()]);
        assert_eq!(open(all), Some(OpenClaim { claim, digest: 9 }));
        assert_eq!(bytes().map(is_claim).collect::<Vec<_>>(), [false, true, false]);
    }
}
