//! Claims: what the marker of an unfinished run says about the store that the run changes as well, a collection or the state of a stream.
//!
//! The run has ended once its store has committed it. A run killed near that moment leaves a whole output directory, and only the store
//! records whether the run ended. So the marker names the run and the store from the start, and records when the output is whole. A run
//! that takes the directory over asks the store.

use std::path::Path;

use super::error::SinkError;

/// A run that changes a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name of the run.
    pub run: u128,
    /// The identity of the store.
    pub store: u128,
    /// A hash of the options and the names of the inputs.
    pub command: u128,
    /// The path of the store, as it was given.
    pub place: String,
}

/// A claim whose run had written all its output when it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClaim {
    pub claim: Claim,
    /// The digest of the run's input.
    pub digest: u128,
}

impl OpenClaim {
    /// The error of a run that cannot ask the store, for the directory of the claim.
    pub fn undecided(&self, dir: &Path) -> SinkError {
        SinkError::Undecided {
            path: dir.to_owned(),
            store: self.claim.place.clone().into(),
        }
    }
}

/// The beginning of an entry of a claim. The other entries of a marker are relative paths, which do not begin like this.
const CLAIM: &str = "/claim ";
/// The beginning of the entry that says that the output is whole.
const WHOLE: &str = "/whole ";

/// True if an entry of a marker belongs to a claim.
pub(super) fn is_claim(entry: &[u8]) -> bool {
    entry.starts_with(b"/")
}

/// The entry of a claim.
pub(super) fn entry(claim: &Claim) -> String {
    let Claim {
        run,
        store,
        command,
        place,
    } = claim;
    format!("{CLAIM}{run:032x} {store:032x} {command:032x} {place}")
}

/// The entry that says that the output is whole.
pub(super) fn whole(digest: u128) -> String {
    format!("{WHOLE}{digest:032x}")
}

/// The claim among the entries of a marker whose output is whole.
pub(super) fn open<'e>(entries: impl Iterator<Item = &'e [u8]>) -> Option<OpenClaim> {
    let (mut claim, mut digest) = (None, None);
    for entry in entries.filter_map(|entry| str::from_utf8(entry).ok()) {
        if let Some(rest) = entry.strip_prefix(CLAIM) {
            claim = parse(rest);
        } else if let Some(rest) = entry.strip_prefix(WHOLE) {
            digest = u128::from_str_radix(rest, 16).ok();
        }
    }
    Some(OpenClaim {
        claim: claim?,
        digest: digest?,
    })
}

fn parse(text: &str) -> Option<Claim> {
    let mut fields = text.splitn(4, ' ');
    let mut number = || u128::from_str_radix(fields.next()?, 16).ok();
    Some(Claim {
        run: number()?,
        store: number()?,
        command: number()?,
        place: fields.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_open_once_the_output_is_whole() {
        let claim = Claim {
            run: 1,
            store: u128::MAX,
            command: 7,
            place: "a dir/日".to_owned(),
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
