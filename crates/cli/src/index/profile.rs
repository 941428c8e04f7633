//! The profile with which the fingerprints of an index, of files or of queries were made.

use twinprint::compat::Recipe;
use twinprint::raw::RawFiles;
use twinprint::{ProfileLabel, ProfilesDiffer, Subject};

use crate::subject::{Content, KeyArgs, PartArgs, subject};
use crate::usage::UsageError;

/// Options that state the profile of given fingerprints.
#[derive(clap::Args)]
pub(super) struct ProfileArgs {
    /// Profile that the fingerprints were made with, as in `twinprint fingerprint --profile` (such as
    /// tp1-words-lntf-64, 1e0ng or cppjieba). The index stores it, and refuses fingerprints of other profiles
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,

    #[command(flatten)]
    parts: PartArgs,
}

impl ProfileArgs {
    /// The profile of the fingerprints in `files`, from the command line or from the files. An error if both name one
    /// and they differ.
    pub(super) fn label(&self, files: &RawFiles) -> anyhow::Result<Option<ProfileLabel>> {
        let theirs = of_files(files)?;
        let Some(name) = &self.profile else {
            return Ok(theirs);
        };
        let given = self.label_of(name, files.bits())?;
        check_same(Some(&given), theirs.as_ref())?;
        Ok(Some(given))
    }

    /// Chooses what fingerprints of queries are made with, so that they are comparable with those of an index of `bits`
    /// bits and the profile `stored`.
    pub(super) fn subject(
        &self,
        keys: &KeyArgs,
        stored: Option<&ProfileLabel>,
        bits: u32,
    ) -> anyhow::Result<Subject> {
        let name = self.profile.as_deref().or(stored.map(ProfileLabel::id));
        let Some(name) = name else {
            let refused = "the profile of this index is unknown; name it with --profile";
            return Err(UsageError(refused.to_owned()).into());
        };
        check_same(stored, Some(&self.label_of(name, bits)?))?;
        subject(name, &self.parts, keys, Content::Texts)
    }

    /// The label of the profile of a name. An error if its fingerprints do not have `bits` bits.
    fn label_of(&self, name: &str, bits: u32) -> anyhow::Result<ProfileLabel> {
        let (label, made, fix) = if let Ok(recipe) = Recipe::parse(name) {
            let fix = format!("this library makes fingerprints of {} bits", recipe.bits());
            (ProfileLabel::of_recipe(recipe), recipe.bits(), fix)
        } else {
            let profile = self.parts.profile(name)?;
            let fix = format!("take {}", profile.at_width(bits)?.id());
            (ProfileLabel::of_profile(&profile), profile.bits(), fix)
        };
        if made != bits {
            let refused = format!("--profile {name}: the fingerprints have {bits} bits; {fix}");
            return Err(UsageError(refused).into());
        }
        Ok(label)
    }
}

/// The profile that the files themselves state for their fingerprints. An error if two files state different profiles.
pub(super) fn of_files(files: &RawFiles) -> Result<Option<ProfileLabel>, ProfilesDiffer> {
    let mut one: Option<ProfileLabel> = None;
    for (_, label) in files.profiles() {
        let next = ProfileLabel::read(label);
        check_same(one.as_ref(), next.as_ref())?;
        one = one.or(next);
    }
    Ok(one)
}

/// Returns an error if two profiles differ, so that their fingerprints are not comparable. An unknown profile (`None`)
/// is accepted.
pub(super) fn check_same(
    one: Option<&ProfileLabel>,
    other: Option<&ProfileLabel>,
) -> Result<(), ProfilesDiffer> {
    one.zip(other)
        .map_or(Ok(()), |(one, other)| one.check_same(other))
}
