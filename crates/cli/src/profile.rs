//! Profiles by their ids, and the flags of an idf table.

use std::path::Path;

use anyhow::Context;
use clap::ValueHint;
use twinprint::compat::Recipe;
use twinprint::{IdfError, IdfPower, IdfTable, Profile, StopWords};

use crate::usage::UsageError;

/// The width at the end of a profile id. `None` if the id names no width.
pub(crate) fn width_named(id: &str) -> Option<u32> {
    let base = id.split('+').next().unwrap_or(id);
    base.rsplit('-').next()?.parse().ok()
}

/// The profile of the id after `--profile`, for commands without a key. See [`profile_under_any_key`] for the others.
pub(crate) fn profile_named(id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    profile_of("--profile", id, stop_words)
}

/// [`profile_named`] for the value of another option.
pub(crate) fn profile_of(option: &str, id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    let refuse = |error: &str| UsageError(format!("{option} {id}: {error}"));
    if Recipe::parse(id).is_ok() {
        Err(refuse(
            "for `twinprint fingerprint` alone, which makes fingerprints as other libraries do",
        ))?;
    }
    let profile = keyed_profile_of(option, id, stop_words)?;
    if profile.key_id() != Profile::PUBLIC_KEY {
        Err(refuse("takes no key here; `twinprint fingerprint --key` does"))?;
    }
    Ok(profile)
}

/// The profile of an id, with any key. The width is 128 if the id names none. An id that contains the checksum of a list of stop words
/// needs that list.
pub(crate) fn profile_under_any_key(id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    keyed_profile_of("--profile", id, stop_words)
}

fn keyed_profile_of(option: &str, id: &str, stop_words: Option<&Path>) -> anyhow::Result<Profile> {
    let refuse = |error: String| UsageError(format!("{option} {id}: {error}"));
    let (base, checksum) = match (id.split_once("+stop."), stop_words) {
        (Some((base, checksum)), Some(_)) => (base, Some(checksum)),
        _ => (id, None),
    };
    let (recipe, key) = base.split_at(base.find('+').unwrap_or(base.len()));
    let width = if recipe.split('-').count() == 3 {
        "-128"
    } else {
        ""
    };
    let whole = format!("{recipe}{width}{key}");
    let profile = Profile::parse(&whole).map_err(|error| refuse(error.to_string()))?;
    let Some(path) = stop_words else {
        return Ok(profile);
    };
    let list = std::fs::read_to_string(path).with_context(|| format!("--stop-words {}", path.display()))?;
    let words = list.lines().map(str::trim).filter(|line| !line.is_empty());
    let profile = profile.with_stop_words(StopWords::new(words));
    match checksum {
        Some(checksum) if !profile.id().ends_with(checksum) => Err(refuse(format!(
            "{} has other stop words: with them the profile is {}",
            path.display(),
            profile.id()
        ))
        .into()),
        _ => Ok(profile),
    }
}

/// The table by which a profile's weights are multiplied.
#[derive(clap::Args)]
pub(crate) struct IdfArgs {
    /// Multiply weights by the idf of a word, from a table: a file of idf build, or zhen1, which is included (Chinese and English)
    #[arg(long, value_name = "TABLE", help_heading = "Fingerprints", value_hint = ValueHint::FilePath)]
    idf: Option<String>,

    /// Multiply by the square roots of that table: rare words weigh more, but a few cannot decide
    #[arg(long, requires = "idf", help_heading = "Fingerprints")]
    idf_root: bool,
}

impl IdfArgs {
    /// The profile that `named` returns for an id, with the table if one is given.
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
        // An id from config.toml names the table already.
        let (base, key_and_stop_words) = id.split_at(id.find('+').unwrap_or(id.len()));
        let mut parts: Vec<&str> = base.split('-').collect();
        let with_table = parts.get(2).and_then(|weight| weight.split_once('.'));
        let root = match with_table {
            None => self.idf_root,
            Some((weight, of)) => {
                let root = of.strip_prefix("root.");
                if root.unwrap_or(of) != table.name() {
                    Err(refuse(&format!(
                        "the table in {given} is named {}, which is not the table of the profile",
                        table.name()
                    )))?;
                }
                if self.idf_root && root.is_none() {
                    Err(refuse(
                        "takes the table's values as they are; leave out --idf-root",
                    ))?;
                }
                parts[2] = weight;
                root.is_some()
            }
        };
        let power = if root { IdfPower::Root } else { IdfPower::Whole };
        Ok(named(&(parts.join("-") + key_and_stop_words))?.with_idf(table, power))
    }

    /// The values for `config.toml`.
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
