//! Makes profiles from their ids. Defines the options of an idf table.

use std::path::Path;

use anyhow::Context;
use clap::ValueHint;
use twinprint::compat::Recipe;
use twinprint::{IdfError, IdfPower, IdfTable, Profile, StopWords};

use crate::usage::UsageError;

/// The profile of fingerprints that are made without a sample of the corpus. Its width is the one that `dedup` chooses for
/// nearly every corpus, so that its index, clusters and fingerprints fit one another.
pub(crate) const DEFAULT_PROFILE: &str = "tp1-words-lntf-128";

/// Returns the width at the end of a profile id; `None` if the id has no width.
pub(crate) fn width_named(id: &str) -> Option<u32> {
    let base = id.split('+').next().unwrap_or(id);
    base.rsplit('-').next()?.parse().ok()
}

/// Makes the profile that `--profile` names, for commands without an option for a key. Other commands use
/// [`profile_under_any_key`].
pub(crate) fn profile_named(id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    profile_of("--profile", id, stop_words)
}

/// Makes a profile like [`profile_named`]. `option` is the option that errors name.
pub(crate) fn profile_of(option: &str, id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    let refuse = |error: &str| UsageError(format!("{option} {id}: {error}"));
    if Recipe::parse(id).is_ok() {
        Err(refuse(
            "this command cannot use the fingerprints of another library; `twinprint fingerprint` makes them",
        ))?;
    }
    let profile = keyed_profile_of(option, id, stop_words)?;
    if profile.key_id() != Profile::PUBLIC_KEY {
        Err(refuse(
            "this command has no option for a key; `twinprint fingerprint --key` makes fingerprints under a key",
        ))?;
    }
    Ok(profile)
}

/// Makes the profile of an id, which may name any key. If the id has no width, the width is 128. If the id has the
/// checksum of a list of stop words, `stop_words` must be the file of that list.
pub(crate) fn profile_under_any_key(id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    keyed_profile_of("--profile", id, stop_words)
}

fn keyed_profile_of(option: &str, id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    let refuse = |error: String| UsageError(format!("{option} {id}: {error}"));
    let (base, checksum) = match (id.split_once("+stop."), stop_words) {
        (Some((base, checksum)), Some(_)) => (base, Some(checksum)),
        _ => (id, None),
    };
    let profile = Profile::parse_or_width(base, 128).map_err(|error| refuse(error.to_string()))?;
    let Some(path) = stop_words else {
        return Ok(profile);
    };
    let list = std::fs::read_to_string(path).with_context(|| format!("--stop-words {}", path.display()))?;
    let words = list.lines().map(str::trim).filter(|line| !line.is_empty());
    let profile = profile.with_stop_words(StopWords::new(words));
    match checksum {
        Some(checksum) if !profile.id().ends_with(checksum) => Err(refuse(format!(
            "{} has other stop words than the profile: with these words the profile is {}",
            path.display(),
            profile.id()
        ))
        .into()),
        _ => Ok(profile),
    }
}

/// Options of the idf table of a profile.
#[derive(clap::Args)]
pub(crate) struct IdfArgs {
    /// Multiply weights by the idf of a word, from a table: a file of idf build, or zhen1, which is included (Chinese
    /// and English)
    #[arg(long, value_name = "TABLE", help_heading = "Fingerprints", value_hint = ValueHint::FilePath)]
    idf: Option<String>,

    /// Multiply weights by the square root of the idf instead: rare words weigh more, but a few rare words do not
    /// decide the fingerprint
    #[arg(long, requires = "idf", help_heading = "Fingerprints")]
    idf_root: bool,
}

impl IdfArgs {
    /// Makes a profile from an id with `named`. If `--idf` is given, its table becomes part of the profile.
    pub(crate) fn profile(
        &self,
        id: &str,
        named: impl FnOnce(&str) -> anyhow::Result<Profile>,
    ) -> anyhow::Result<Profile> {
        let Some(given) = &self.idf else {
            return named(id);
        };
        let table = table(given)?;
        let refuse = |what: &str| UsageError(format!("--profile {id}: {what}"));
        // The id may name the table already: dedup writes such an id to config.toml. The name is removed before `named`
        // parses the id, and the table is added afterwards.
        let (base, key_and_stop_words) = id.split_at(id.find('+').unwrap_or(id.len()));
        let mut parts: Vec<&str> = base.split('-').collect();
        let with_table = parts.get(2).and_then(|weight| weight.split_once('.'));
        let root = match with_table {
            None => self.idf_root,
            Some((weight, of)) => {
                let root = of.strip_prefix("root.");
                if root.unwrap_or(of) != table.name() {
                    Err(refuse(&format!(
                        "the profile needs another idf table: the one in {given} is named {}",
                        table.name()
                    )))?;
                }
                if self.idf_root && root.is_none() {
                    Err(refuse(
                        "this profile uses the idf itself, not its square root; leave out --idf-root",
                    ))?;
                }
                parts[2] = weight;
                root.is_some()
            }
        };
        let power = if root { IdfPower::Root } else { IdfPower::Whole };
        Ok(named(&(parts.join("-") + key_and_stop_words))?.with_idf(table, power))
    }

    /// The values of `--idf` and `--idf-root`, for `config.toml`.
    pub(crate) fn given(&self) -> Option<(String, bool)> {
        self.idf.clone().map(|table| (table, self.idf_root))
    }
}

fn table(given: &str) -> anyhow::Result<IdfTable> {
    if !Path::new(given).exists()
        && let Some(table) = IdfTable::bundled(given)
    {
        return Ok(table);
    }
    let bytes = std::fs::read(given).with_context(|| format!("--idf {given}"))?;
    IdfTable::read(&bytes).map_err(|error| {
        let hint = match error {
            IdfError::Magic => " (`twinprint idf build` makes one)",
            _ => "",
        };
        UsageError(format!("--idf {given}: {error}{hint}")).into()
    })
}
