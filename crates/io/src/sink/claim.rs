//! Claims: entries in the marker of an unfinished run. A claim names the run and the store that the run changes. A
//! store is a collection or the state of a stream.
//!
//! A run with a claim has ended once its store has committed the changes. If the run is killed near that moment, its
//! output directory is complete, but only the store records whether the run ended. Therefore the marker names the run
//! and the store from the start, and records when the output is complete. The next run in the directory then asks the
//! store.

use std::path::Path;

use super::error::SinkError;

/// The claim of a run that changes a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClaim {
    /// The random identifier of the run.
    pub run: u128,
    /// The identifier of the store.
    pub store: u128,
    /// A hash of the run's options and of the names of its inputs. The same command has the same hash.
    pub command: u128,
    /// The path of the store, as the user gave it.
    pub store_path: String,
}

/// The claim of a run that was killed after its output was complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClaim {
    /// The claim that the marker of the run contains.
    pub claim: RunClaim,
    /// The digest of the run's input.
    pub digest: u128,
}

impl OpenClaim {
    /// Returns the error for the output directory `dir` if the store cannot be asked whether the run ended.
    pub fn undecided(&self, dir: &Path) -> SinkError {
        SinkError::Undecided {
            path: dir.to_owned(),
            store: self.claim.store_path.clone().into(),
        }
    }
}

/// The prefix of the marker entry that contains a claim. Other entries are relative paths, which never begin with a
/// slash.
const CLAIM_PREFIX: &str = "/claim ";
/// The prefix of the marker entry which records that the output is complete.
const WHOLE_PREFIX: &str = "/whole ";

/// Returns true if a marker entry is part of a claim. Otherwise it is the path of an output file.
pub(super) fn is_claim(entry: &[u8]) -> bool {
    entry.starts_with(b"/")
}

/// Returns the marker entry that contains `claim`.
pub(super) fn entry(claim: &RunClaim) -> String {
    let RunClaim {
        run,
        store,
        command,
        store_path,
    } = claim;
    format!("{CLAIM_PREFIX}{run:032x} {store:032x} {command:032x} {store_path}")
}

/// Returns the marker entry which records that the output is complete, with the digest of the input.
pub(super) fn whole(digest: u128) -> String {
    format!("{WHOLE_PREFIX}{digest:032x}")
}

/// Finds the claim among the entries of a marker. Returns `None` unless the marker also records that the output is
/// complete.
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
