//! The method that makes fingerprints: a profile and its files, or the recipe of another library.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::ValueHint;
use twinprint::compat::{Dictionaries, Recipe};
use twinprint::{GivenFeatures, HashKey, Profile, Subject};

use crate::profile::{IdfArgs, profile_under_any_key};
use crate::usage::UsageError;

/// Options for the parts of a profile that its id does not contain: stop words and idf table.
#[derive(clap::Args)]
pub(crate) struct PartArgs {
    /// File of stop words, which are ignored as features, one per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    stop_words: Option<PathBuf>,

    #[command(flatten)]
    idf: IdfArgs,
}

/// Options for files that only some profiles need: cppjieba's dictionaries, and a secret key.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// Directory of cppjieba's dictionaries, for the profiles cppjieba and haoyuhu-gosimhash: jieba.dict.utf8,
    /// hmm_model.utf8, idf.utf8, stop_words.utf8
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dictionary: Option<PathBuf>,

    /// File of the secret key, 32 hexadecimal digits, for a profile that ends in +key.ID. Only those who know the key
    /// can construct texts whose fingerprints collide
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: Option<PathBuf>,
}

impl PartArgs {
    /// Makes the profile of an id, with these parts.
    pub(crate) fn profile(&self, id: &str) -> anyhow::Result<Profile> {
        let stop_words = self.stop_words.as_deref();
        self.idf.profile(id, |id| profile_under_any_key(id, stop_words))
    }
}

/// The content of the records of which fingerprints are made.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Content {
    Texts,
    /// Features with weights. If `hashed` is true, the features are hashes.
    Features {
        hashed: bool,
    },
    Vectors,
}

/// Chooses what fingerprints are made with, by the name after `--profile`.
pub(crate) fn subject(
    name: &str,
    parts: &PartArgs,
    keys: &KeyArgs,
    content: Content,
) -> anyhow::Result<Subject> {
    let refuse = |error: &str| UsageError(format!("--profile {name}: {error}"));
    if let Ok(recipe) = Recipe::parse(name) {
        if content == Content::Vectors
            || parts.stop_words.is_some()
            || keys.key.is_some()
            || parts.idf.given().is_some()
        {
            Err(refuse(
                "cannot be combined with --vector-key, --stop-words, --idf or --key, because the library has no such option",
            ))?;
        }
        if let Content::Features { hashed } = content {
            let rules = GivenFeatures::of_recipe(recipe).map_err(|error| refuse(&error.to_string()))?;
            return Ok(Subject::Features(rules.hashed(hashed)));
        }
        let dictionaries = match &keys.dictionary {
            Some(directory) => Some(Arc::new(Dictionaries::open(directory).context("--dictionary")?)),
            None if recipe.needs_dictionaries() => Err(refuse(
                "needs --dictionary DIR, the directory of cppjieba's dictionary files",
            ))?,
            None => None,
        };
        return Ok(Subject::Recipe { recipe, dictionaries });
    }
    let profile = parts.profile(name)?;
    if keys.dictionary.is_some() {
        Err(refuse(
            "takes no --dictionary: the dictionary of this profile is built in",
        ))?;
    }
    if content == Content::Vectors {
        if profile.key_id() != Profile::PUBLIC_KEY {
            Err(refuse(
                "has a key, but fingerprints of vectors (--vector-key) use none; leave out +key.ID",
            ))?;
        }
        return Ok(Subject::Vector { bits: profile.bits() });
    }
    let key = match (&keys.key, profile.key_id()) {
        (None, Profile::PUBLIC_KEY) => HashKey::PUBLIC,
        (Some(_), Profile::PUBLIC_KEY) => Err(refuse(
            "must end in +key.ID if --key is given; ID names the key, because fingerprints under different keys differ",
        ))?,
        (None, id) => Err(refuse(&format!(
            "needs --key FILE, the file of the secret key {id}"
        )))?,
        (Some(path), _) => read_key(path)?,
    };
    Ok(match content {
        Content::Features { hashed } => {
            Subject::Features(GivenFeatures::of_profile(&profile, key).hashed(hashed))
        }
        _ => Subject::Text {
            profile,
            key,
            counts_features: true,
        },
    })
}

/// Reads a key from a file: 32 hexadecimal digits. White space around them is ignored.
fn read_key(path: &Path) -> anyhow::Result<HashKey> {
    let written = std::fs::read_to_string(path).with_context(|| format!("--key {}", path.display()))?;
    let digits = written.trim();
    let key = u128::from_str_radix(digits, 16).ok();
    // `from_str_radix` accepts a leading sign, which is not a digit.
    let key = key.filter(|_| digits.len() == 32 && !digits.starts_with('+'));
    // The error does not quote the content of the file, because it may be most of a secret.
    let key = key.with_context(|| format!("--key {}: expected 32 hexadecimal digits", path.display()))?;
    Ok(HashKey::new((key >> 64) as u64, key as u64))
}
