//! `twinprint compare` of fingerprints, features and vectors.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueHint;
use serde_json::Value;
use twinprint::compat::Recipe;
use twinprint::hyperplane::Hyperplanes;
use twinprint::measures::{TermVector, mahalanobis, minkowski};
use twinprint::{
    FeatureVotes, GivenFeatures, HashKey, Vector, compare_features, compare_fingerprints, compare_vectors,
    parse_features, parse_vector,
};

use crate::notation::Notation;
use crate::number;
use crate::profile::profile_named;
use crate::usage::usage;

/// Options for arguments that are fingerprints, features or vectors instead of texts.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "every flag is one")]
pub(crate) struct GivenArgs {
    /// Compare two fingerprints: A and B are numbers
    #[arg(long, conflicts_with_all = ["text", "profile", "explain", "idf"], help_heading = "Fingerprints, features and vectors")]
    fingerprints: bool,

    /// Notation of the fingerprints
    #[arg(long, value_enum, default_value_t = Notation::Hex, value_name = "FORM", requires = "fingerprints", conflicts_with_all = ["features", "vectors"], help_heading = "Fingerprints, features and vectors")]
    notation: Notation,

    /// Width of the fingerprints
    #[arg(long, default_value = "64", value_parser = ["16", "32", "64", "128"], value_name = "BITS", requires = "fingerprints", conflicts_with_all = ["features", "vectors"], help_heading = "Fingerprints, features and vectors")]
    bits: String,

    /// Compare two sets of weighted features, JSON as for fingerprint --features-key
    #[arg(long, conflicts_with_all = ["fingerprints", "explain", "idf"], help_heading = "Fingerprints, features and vectors")]
    features: bool,

    /// The features are hashes: decimal numbers, or digits after 0x or 0b
    #[arg(long, requires = "features", conflicts_with_all = ["fingerprints", "vectors"], help_heading = "Fingerprints, features and vectors")]
    hashed: bool,

    /// Compare two vectors, JSON as for fingerprint --vector-key. --profile decides only the width of their fingerprints
    #[arg(long, conflicts_with_all = ["fingerprints", "features", "explain", "idf"], help_heading = "Fingerprints, features and vectors")]
    vectors: bool,

    /// Add the Minkowski distance of this order, 1 or more
    #[arg(long, value_name = "P", requires = "vectors", conflicts_with_all = ["fingerprints", "features"], help_heading = "Fingerprints, features and vectors")]
    minkowski: Option<f64>,

    /// Add the Mahalanobis distance of uncorrelated dimensions. FILE has the variance of each dimension, as a vector
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "vectors", conflicts_with_all = ["fingerprints", "features"], help_heading = "Fingerprints, features and vectors")]
    variances: Option<PathBuf>,
}

/// The two arguments, and how they are read.
pub(crate) struct Sides<'a> {
    pub(crate) arguments: [&'a OsString; 2],
    /// True if the arguments are the contents, and not names of files.
    pub(crate) literal: bool,
    pub(crate) profile: &'a str,
    /// Reads an argument. The flag is `literal`.
    pub(crate) read: fn(&Path, bool) -> anyhow::Result<String>,
}

impl Sides<'_> {
    fn contents(&self) -> anyhow::Result<[String; 2]> {
        let [a, b] = self.arguments.map(Path::new);
        Ok([(self.read)(a, self.literal)?, (self.read)(b, self.literal)?])
    }

    /// Adds the name of the argument to an error about it.
    fn named(&self, side: usize, error: &dyn std::error::Error) -> anyhow::Error {
        let name = if self.literal {
            ["A", "B"][side].to_owned()
        } else {
            self.arguments[side].display().to_string()
        };
        anyhow::anyhow!("{name}: {error}")
    }

    fn both<T, U, E: std::error::Error>(
        &self,
        [a, b]: [T; 2],
        convert: impl Fn(T) -> Result<U, E>,
    ) -> anyhow::Result<[U; 2]> {
        let a = convert(a).map_err(|error| self.named(0, &error))?;
        Ok([a, convert(b).map_err(|error| self.named(1, &error))?])
    }
}

impl GivenArgs {
    /// Compares the arguments if they are not texts. The result is an object of figures.
    pub(crate) fn compare(&self, sides: &Sides<'_>) -> anyhow::Result<Option<Value>> {
        let figures = if self.fingerprints {
            self.fingerprints(sides)?
        } else if self.features {
            self.features(sides)?
        } else if self.vectors {
            self.vectors(sides)?
        } else {
            return Ok(None);
        };
        Ok(Some(figures))
    }

    fn fingerprints(&self, sides: &Sides<'_>) -> anyhow::Result<Value> {
        let bits: u32 = self.bits.parse()?;
        let read = |argument: &OsString| {
            let text = argument.to_string_lossy();
            self.notation.read(&text, bits).ok_or_else(|| {
                usage(format!(
                    "{text}: not a fingerprint of {bits} bits; --notation names another notation, and --bits another width"
                ))
            })
        };
        let [a, b] = sides.arguments;
        Ok(serde_json::to_value(compare_fingerprints(
            read(a)?,
            read(b)?,
            bits,
        ))?)
    }

    fn features(&self, sides: &Sides<'_>) -> anyhow::Result<Value> {
        let rules = if let Ok(recipe) = Recipe::parse(sides.profile) {
            GivenFeatures::of_recipe(recipe)
                .map_err(|error| usage(format!("--profile {}: {error}", sides.profile)))?
        } else {
            GivenFeatures::of_profile(&profile_named(sides.profile, None)?, HashKey::PUBLIC)
        };
        let rules = rules.hashed(self.hashed);
        let features = sides.both(sides.contents()?, |json| parse_features(&json))?;
        let votes: [FeatureVotes; 2] = sides.both(features, |features| rules.votes(features))?;
        Ok(serde_json::to_value(compare_features(&votes[0], &votes[1]))?)
    }

    fn vectors(&self, sides: &Sides<'_>) -> anyhow::Result<Value> {
        let bits = profile_named(sides.profile, None)?.bits();
        let vectors = sides.both(sides.contents()?, |json| parse_vector(&json))?;
        let fingerprint = |vector: &Vector| {
            let votes = Hyperplanes::new(HashKey::PUBLIC, bits).of(&vector.components);
            votes.map(|votes| votes.fingerprint)
        };
        let [a, b] = sides.both(vectors.each_ref(), fingerprint)?;
        let fingerprints = compare_fingerprints(a, b, bits);
        let [a, b] = vectors.each_ref().map(components);
        let mut figures = serde_json::to_value(compare_vectors(&a, &b, fingerprints))?;
        if let Some(p) = self.minkowski {
            if !(p.is_finite() && p >= 1.0) {
                return Err(usage(format!("--minkowski {p}: write a number from 1 up")));
            }
            figures["minkowski"] = minkowski(&a, &b, p).into();
        }
        if let Some(path) = &self.variances {
            let name = || format!("--variances {}", path.display());
            let json = std::fs::read_to_string(path).with_context(name)?;
            let variances = parse_vector(&json).with_context(name)?;
            check_variances(&variances, &vectors).with_context(name)?;
            figures["mahalanobis"] = mahalanobis(&a, &b, &components(&variances)).into();
        }
        Ok(figures)
    }
}

/// Checks that every dimension of the two vectors has a variance, and that the variance is positive.
fn check_variances(variances: &Vector, vectors: &[Vector; 2]) -> anyhow::Result<()> {
    let known: HashMap<_, _> = variances
        .components
        .iter()
        .map(|(dimension, x)| (dimension, *x))
        .collect();
    let used: BTreeSet<_> = vectors
        .iter()
        .flat_map(|vector| &vector.components)
        .map(|(dimension, _)| dimension)
        .collect();
    for dimension in used {
        match known.get(dimension) {
            None => anyhow::bail!(
                "no variance for dimension {dimension}; the file has {}, and every dimension of A and B needs one",
                number::counted(known.len() as u64, "variance")
            ),
            Some(variance) if *variance <= 0.0 => {
                anyhow::bail!(
                    "the variance of dimension {dimension} is {variance}; expected a positive number"
                )
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn components(vector: &Vector) -> TermVector {
    let components = vector.components.iter();
    TermVector::of_components(components.map(|(dimension, value)| (dimension.hash(&HashKey::PUBLIC), *value)))
}

/// The figures as lines of text, in a fixed order.
pub(crate) fn table(figures: &Value) -> String {
    const ROWS: [(&str, &str); 12] = [
        ("hamming", "Hamming distance"),
        ("cosine", "cosine"),
        ("pearson", "Pearson"),
        ("jaccard", "Jaccard"),
        ("dice", "Dice"),
        ("overlap_coefficient", "overlap"),
        ("euclidean", "Euclidean"),
        ("manhattan", "Manhattan"),
        ("chebyshev", "Chebyshev"),
        ("minkowski", "Minkowski"),
        ("mahalanobis", "Mahalanobis"),
        ("features", "features"),
    ];
    let mut text = String::new();
    for (key, name) in ROWS {
        let line = match (key, &figures[key]) {
            (_, Value::Null) => continue,
            ("hamming", distance) => format!(
                "{name:<17} {:>10}  of {} bits\n{}",
                distance.as_u64().unwrap_or_default(),
                figures["bits"],
                angle_line(
                    figures["angle"]["degrees"].as_f64().unwrap_or_default(),
                    figures["angle"]["cosine"].as_f64().unwrap_or_default()
                )
            ),
            (_, Value::Array(two)) => {
                let [a, b] = [0, 1].map(|side| two.get(side).and_then(Value::as_u64).unwrap_or_default());
                format!("{name:<17} {a:>10}  and {b}\n")
            }
            (_, number) => format!("{name:<17} {:>10.4}\n", number.as_f64().unwrap_or_default()),
        };
        text += &line;
    }
    let [a, b] = [0, 1].map(|side| figures["fingerprints"][side].as_str().unwrap_or_default());
    text + &format!("fingerprints      {a}\n                  {b}\n")
}

/// The line of the angle that a Hamming distance estimates.
pub(crate) fn angle_line(degrees: f64, cosine: f64) -> String {
    format!(
        "angle             {degrees:>9.2}°  estimated from the Hamming distance; its cosine is {cosine:.4}\n"
    )
}
