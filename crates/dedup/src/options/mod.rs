//! The options of a run. `config.toml` beside the output has them in full.

mod auto;
mod columns;

use serde::{Deserialize, Serialize};
use twinprint_io::sink::Existing;
use twinprint_text::{Analyzer, Features, MIN_FEATURES, Profile, ProfileError, Weight};

use crate::error::DedupError;

pub use auto::Auto;
pub use columns::Columns;

/// Widest radius at 64 and at 128 bits: plans are proved exact up to there.
pub const WIDEST: [(u32, u32); 2] = [(64, 12), (128, 40)];
/// Rows of `pairs.jsonl` above which a run stops.
pub const MAX_PAIR_ROWS: u64 = 100_000_000;

/// Which document of a group is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The first in input order.
    #[default]
    First,
    /// The longest text; ties go to the first.
    Longest,
    /// The shortest text; ties go to the first.
    Shortest,
    /// The largest value of the sort field; ties go to the first, documents without the field come last.
    Newest,
}

impl Keep {
    /// As the command line calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Longest => "longest",
            Self::Shortest => "shortest",
            Self::Newest => "newest",
        }
    }
}

/// What is written of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// `kept/` and `removed/`.
    #[default]
    Remove,
    /// `annotated/`: every document with fields that tell its group.
    Annotate,
    /// Reports only; no record is copied.
    Report,
}

/// How the records that are not removed stand in each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As in the input.
    #[default]
    Input,
    /// Relatives next to one another, in files of a record a line; others are left as they are.
    Similar,
}

/// The treatment of texts without features: empty ones, and those of punctuation or stop words alone. Such a text is a duplicate of nothing,
/// not even of its copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmptyTexts {
    /// Each is kept.
    #[default]
    Keep,
    /// All are removed.
    Remove,
    /// All are rejected.
    Reject,
}

/// Which pairs are written to `pairs.jsonl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairRows {
    /// None.
    #[default]
    None,
    /// Every verified pair of documents.
    All,
    /// One representative of equal texts, and one row for each copy.
    Distinct,
}

/// The files that list the group of every document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClusterFiles {
    /// `clusters.jsonl`.
    Jsonl,
    /// `clusters.parquet`. Needs the feature `tables`.
    Parquet,
    /// Both of them.
    #[default]
    Both,
    /// Neither.
    None,
}

/// How to find duplicates. Everything that decides the result, besides the input.
#[derive(Clone, Debug, PartialEq)]
pub struct DedupOptions {
    /// What the features of a document are and what they weigh. Its own width is not used: see [`DedupOptions::bits`].
    pub profile: Profile,
    /// The file the profile's stop words were read from; decides nothing, `config.toml` names it.
    pub stop_words_file: Option<std::path::PathBuf>,
    /// What the profile's table of idf weights was given as, and whether its square roots are taken; decides nothing, `config.toml`
    /// names it.
    pub idf_file: Option<(String, bool)>,
    /// Width of the fingerprints: 64 or 128.
    pub bits: Auto,
    /// Radius of the candidates.
    pub hamming: Auto,
    /// Least Jaccard of a duplicate, in (0, 1].
    pub threshold: f64,
    /// Whether candidates are verified on the text.
    pub verify: bool,
    /// See [`MIN_FEATURES`].
    pub min_features: u32,
    /// Directory of a collection or an index: documents that it knows are removed, whatever else is kept.
    pub against: Option<std::path::PathBuf>,
    /// True if the kept documents are added to that collection.
    pub append: bool,
    /// Which document of a group is kept.
    pub keep: Keep,
    /// The treatment of texts without features.
    pub empty: EmptyTexts,
    /// What is written of the records.
    pub mode: Mode,
    /// How they stand in each file.
    pub order: Order,
    /// Fields added to every record that is written; see [`DedupOptions::added_columns`].
    pub columns: Option<Columns>,
    /// The prefix of the names of these fields.
    pub prefix: String,
    /// The files that list the group of every document.
    pub clusters: ClusterFiles,
    /// The treatment of an earlier result in the output directory.
    pub existing: Existing,
    /// Which pairs are written.
    pub pairs: PairRows,
    /// Partial copies from this containment up are written to `parts.jsonl`; none where absent.
    pub parts: Option<f64>,
    /// Worker threads; 0 takes all cores.
    pub threads: usize,
    /// Bytes of memory the run may take, where there is a limit. It bounds the caches; a run that needs more than that for its tables
    /// ends with [`DedupError::Memory`].
    pub memory: Option<u64>,
    /// Seed of the samples.
    pub seed: u64,
    /// Where the spool goes; the output directory when none is given.
    pub work_dir: Option<std::path::PathBuf>,
}

impl DedupOptions {
    /// The defaults.
    ///
    /// # Errors
    /// Never in practice: when the default profile were refused.
    pub fn new() -> Result<Self, ProfileError> {
        Ok(Self {
            profile: Profile::new(Features::Words, Weight::LogTf, 128)?,
            stop_words_file: None,
            idf_file: None,
            bits: Auto::Auto,
            hamming: Auto::Auto,
            threshold: 0.8,
            verify: true,
            min_features: MIN_FEATURES,
            against: None,
            append: false,
            keep: Keep::First,
            empty: EmptyTexts::Keep,
            mode: Mode::Remove,
            order: Order::Input,
            columns: None,
            prefix: String::new(),
            clusters: ClusterFiles::Both,
            existing: Existing::Refuse,
            pairs: PairRows::None,
            parts: None,
            threads: 0,
            memory: None,
            seed: 42,
            work_dir: None,
        })
    }

    /// Refuses what makes no sense, naming the option.
    ///
    /// # Errors
    /// An [`OptionError`](twinprint_io::OptionError).
    pub fn check(&self) -> Result<(), DedupError> {
        let refuse = |option, problem: String| Err(DedupError::option(option, problem));
        if !(self.threshold > 0.0 && self.threshold <= 1.0) {
            return refuse(
                "threshold",
                format!(
                    "{} is not a Jaccard; give one above 0 and at most 1",
                    self.threshold
                ),
            );
        }
        if let Some(least) = self.parts {
            if !(least > 0.0 && least <= 1.0) {
                return refuse(
                    "parts",
                    format!("{least} is not a containment; give one above 0 and at most 1"),
                );
            }
            if !self.verify {
                return refuse(
                    "parts",
                    "partial copies are searched in the texts, which a run without verification does not hold".to_owned(),
                );
            }
        }
        if self.order == Order::Similar && self.mode == Mode::Report {
            return refuse(
                "order",
                "a run that only reports writes no records to put in order".to_owned(),
            );
        }
        self.check_append()?;
        let width = match self.bits {
            Auto::Auto => 128,
            Auto::Fixed(bits @ (64 | 128)) => bits,
            Auto::Fixed(bits) => {
                return refuse(
                    "bits",
                    format!("{bits} is not supported; dedup joins fingerprints of 64 or 128 bits"),
                );
            }
        };
        if let Auto::Fixed(k) = self.hamming {
            let [(_, narrow), (_, wide)] = WIDEST;
            let most = if width == 64 { narrow } else { wide };
            if k > most {
                return refuse(
                    "hamming",
                    format!(
                        "{k} is too wide; the join is exact up to {narrow} at 64 bits and up to {wide} at 128"
                    ),
                );
            }
        }
        Ok(())
    }

    fn check_append(&self) -> Result<(), DedupError> {
        let refuse = |problem: &str| Err(DedupError::option("append", problem));
        if self.append && self.against.is_none() {
            return refuse("name the collection to compare with");
        }
        if self.append && self.mode != Mode::Remove {
            return refuse(
                "the documents in kept/ are added, and only a run that removes duplicates writes kept/",
            );
        }
        Ok(())
    }

    /// The width compared when nothing is verified: there is no text to correct a wide radius, so the paper's 64 bits.
    pub(crate) fn width_without_verification(&self) -> u32 {
        match self.bits {
            Auto::Auto => 64,
            Auto::Fixed(bits) => bits.clamp(1, 128),
        }
    }

    /// The fields added to every record that is written: those asked for, or under [`Mode::Annotate`] the usual ones.
    pub fn added_columns(&self) -> Option<Columns> {
        match self.mode {
            Mode::Annotate => Some(self.columns.unwrap_or_default()),
            Mode::Remove => self.columns,
            Mode::Report => None,
        }
    }

    /// The profile of the fingerprints at `bits`.
    ///
    /// # Errors
    /// When `bits` is no width of a fingerprint.
    pub fn profile_at(&self, bits: u32) -> Result<Profile, ProfileError> {
        self.profile.at_width(bits)
    }

    /// The width fingerprints are made at: the widest that may still be chosen.
    pub(crate) fn width_made(&self) -> u32 {
        match self.bits {
            Auto::Auto if self.verify => 128,
            _ => self.width_without_verification(),
        }
    }

    pub(crate) fn analyzer(&self) -> Result<Analyzer, ProfileError> {
        Ok(Analyzer::new(
            &self.profile_at(self.width_made())?,
            twinprint_fingerprint::HashKey::PUBLIC,
        ))
    }
}
