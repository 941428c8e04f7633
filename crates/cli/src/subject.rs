//! The method of making fingerprints: a profile with its parts, or another library's recipe.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::ValueHint;
use twinprint::compat::{Dictionaries, Recipe};
use twinprint::{HashKey, Profile, Subject};

use crate::profile::{IdfArgs, profile_under_any_key};
use crate::usage::UsageError;

/// Parts of a profile that its id does not contain.
#[derive(clap::Args)]
pub(crate) struct PartArgs {
    /// File of words to leave out of the features, one per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    stop_words: Option<PathBuf>,

    #[command(flatten)]
    idf: IdfArgs,
}

/// Files that some profiles need to make fingerprints.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// Directory of cppjieba's dictionaries, for the profiles cppjieba and haoyuhu-gosimhash: jieba.dict.utf8, hmm_model.utf8, idf.utf8,
    /// stop_words.utf8
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dictionary: Option<PathBuf>,

    /// File of a secret key, 32 hexadecimal digits, for a profile that ends in +key.ID; only holders of the key can construct collisions
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: Option<PathBuf>,
}

impl PartArgs {
    /// The profile of an id.
    pub(crate) fn profile(&self, id: &str) -> anyhow::Result<Profile> {
        let stop_words = self.stop_words.as_deref();
        self.idf.profile(id, |id| profile_under_any_key(id, stop_words))
    }
}

/// The method for the profile of this name. It reads a vector of numbers if `vector` is true, else a text.
pub(crate) fn subject(name: &str, parts: &PartArgs, keys: &KeyArgs, vector: bool) -> anyhow::Result<Subject> {
    let refuse = |error: &str| UsageError(format!("--profile {name}: {error}"));
    if let Ok(recipe) = Recipe::parse(name) {
        if vector || parts.stop_words.is_some() || keys.key.is_some() || parts.idf.given().is_some() {
            Err(refuse(
                "takes none of --vector-key, --stop-words, --idf and --key, as the library does not",
            ))?;
        }
        let dictionaries = match &keys.dictionary {
            Some(directory) => Some(Arc::new(Dictionaries::open(directory).context("--dictionary")?)),
            None if recipe.needs_dictionaries() => Err(refuse("needs --dictionary DIR, cppjieba's files"))?,
            None => None,
        };
        return Ok(Subject::Recipe { recipe, dictionaries });
    }
    let profile = parts.profile(name)?;
    if keys.dictionary.is_some() {
        Err(refuse("takes no --dictionary: its own is built in"))?;
    }
    if vector {
        if profile.key_id() != Profile::PUBLIC_KEY {
            Err(refuse("has a key, which --vector-key does not use"))?;
        }
        return Ok(Subject::Vector { bits: profile.bits() });
    }
    let key = match (&keys.key, profile.key_id()) {
        (None, Profile::PUBLIC_KEY) => HashKey::PUBLIC,
        (Some(_), Profile::PUBLIC_KEY) => Err(refuse(
            "needs +key.ID behind it with --key, so that fingerprints of other keys have another id",
        ))?,
        (None, id) => Err(refuse(&format!("needs --key FILE, the secret of {id}")))?,
        (Some(path), _) => read_key(path)?,
    };
    Ok(Subject::Text {
        profile,
        key,
        counts_features: true,
    })
}

/// The key in a file: 32 hexadecimal digits, blanks around them ignored.
fn read_key(path: &Path) -> anyhow::Result<HashKey> {
    let written = std::fs::read_to_string(path).with_context(|| format!("--key {}", path.display()))?;
    let digits = written.trim();
    let key = u128::from_str_radix(digits, 16).ok();
    // `from_str_radix` accepts a leading sign, which is not a digit.
    let key = key.filter(|_| digits.len() == 32 && !digits.starts_with('+'));
    // Other contents may be most of a secret, so the error does not quote them.
    let key = key.with_context(|| format!("--key {}: expected 32 hexadecimal digits", path.display()))?;
    Ok(HashKey::new((key >> 64) as u64, key as u64))
}
