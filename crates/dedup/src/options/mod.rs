//! The options of a run. `config.toml` in the output directory lists all of them.

mod auto;
mod columns;
mod near_miss;

use serde::{Deserialize, Serialize};
use twinprint_io::sink::Existing;
use twinprint_text::{Analyzer, Features, MIN_FEATURES, Profile, ProfileError, Weight};

use crate::error::DedupError;

pub use auto::Auto;
pub use columns::Columns;
pub(crate) use near_miss::least_near_miss;

/// The largest radius at 64 and at 128 bits, as pairs (bits, radius). The plans of the join are proved exact up to
/// these radii.
pub const MAX_RADIUS: [(u32, u32); 2] = [(64, 12), (128, 40)];
/// The largest number of rows in `pairs.jsonl`. A run that needs more stops with an error.
pub const MAX_PAIR_ROWS: u64 = 100_000_000;

/// The bytes of records that a forecast reads as its sample by default.
pub(crate) const SAMPLE_BYTES: u64 = 32 << 20;

/// The rule that decides which document of a group is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The first document in input order is kept.
    #[default]
    First,
    /// The document with the longest text is kept; of equally long ones, the first.
    Longest,
    /// The document with the shortest text is kept; of equally short ones, the first.
    Shortest,
    /// The document with the largest value in the sort field is kept; of equal ones, the first. Documents without the
    /// field come last.
    Newest,
}

impl Keep {
    /// The name of the rule in options and results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Longest => "longest",
            Self::Shortest => "shortest",
            Self::Newest => "newest",
        }
    }
}

/// The files that receive the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Kept records go to `kept/`, duplicates to `removed/`.
    #[default]
    Remove,
    /// All records go to `annotated/`, with fields that describe the group of their document.
    Annotate,
    /// Only reports are written; no record is copied.
    Report,
}

/// The order of the kept records in each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The records stay in the order of the input.
    #[default]
    Input,
    /// Similar documents next to one another, in files with one record per line. Other files keep the order of the
    /// input.
    Similar,
}

/// The treatment of texts without features: empty texts, and texts of punctuation or stop words only. Such a text is
/// not a duplicate of any other, not even of its copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmptyTexts {
    /// Every such document is kept.
    #[default]
    Keep,
    /// All such documents are removed.
    Remove,
    /// All such documents are rejected.
    Reject,
}

/// The pairs that are written to `pairs.jsonl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairRows {
    /// No pairs; the file is not written.
    #[default]
    None,
    /// Every verified pair of documents, including the pairs of equal texts.
    All,
    /// Every verified pair of distinct texts, each named by one of its documents, and one row for each further document
    /// with an equal text.
    Distinct,
}

/// The files that list the group of every document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClusterFiles {
    /// Only `clusters.jsonl` is written.
    Jsonl,
    /// Only `clusters.parquet` is written. Needs the feature `tables`.
    Parquet,
    /// Both `clusters.jsonl` and `clusters.parquet` are written.
    #[default]
    Both,
    /// Neither of the two files is written.
    None,
}

/// The place of the tables of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDisk {
    /// Memory, and the disk if they exceed the memory limit. An interrupted run on disk resumes.
    #[default]
    AsNeeded,
    /// The disk. An interrupted run resumes after its last complete stage.
    Always,
    /// The disk. The run starts over.
    Anew,
}

/// The options of a run. The result depends on the options and the input only.
///
/// ```
/// use twinprint_dedup::{Auto, DedupOptions, Keep};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut options = DedupOptions { keep: Keep::Longest, threshold: 0.7, ..DedupOptions::new()? };
/// options.check()?;
///
/// // Joins are exact up to a radius of 12 at 64 bits.
/// options.bits = Auto::Fixed(64);
/// options.hamming = Auto::Fixed(13);
/// assert!(options.check().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DedupOptions {
    /// The profile of the fingerprints. Its width is ignored: [`DedupOptions::bits`] decides.
    pub profile: Profile,
    /// The file that the profile's stop words were read from. It is only written to `config.toml`.
    pub stop_words_file: Option<std::path::PathBuf>,
    /// The file of the profile's idf table, and true if the square roots of the table's weights are taken. Both are
    /// only written to `config.toml`.
    pub idf_file: Option<(String, bool)>,
    /// The width of the fingerprints: 64 or 128 bits.
    pub bits: Auto,
    /// The radius: the largest Hamming distance of a candidate pair.
    pub hamming: Auto,
    /// The minimum Jaccard of a duplicate, in (0, 1].
    pub threshold: f64,
    /// True if candidates are verified on their texts. Otherwise every pair within the radius is a duplicate.
    pub verify: bool,
    /// The number of distinct features below which a text is short (by default [`MIN_FEATURES`]), so that the set join
    /// finds its duplicates.
    pub min_features: u32,
    /// The directory of a collection or an index. Duplicates of its documents are removed, whatever
    /// [`DedupOptions::keep`] says.
    pub against: Option<std::path::PathBuf>,
    /// True if the kept documents are added to the collection that [`DedupOptions::against`] names.
    pub append: bool,
    /// The rule that decides which document of a group is kept.
    pub keep: Keep,
    /// The treatment of texts without features: they are kept, removed or rejected.
    pub empty: EmptyTexts,
    /// The files that receive the records.
    pub mode: Mode,
    /// The order of the kept records in each file.
    pub order: Order,
    /// The fields that are added to every record that is written; see [`DedupOptions::added_columns`].
    pub columns: Option<Columns>,
    /// The prefix of the names of the added fields.
    pub prefix: String,
    /// The files that list the group of every document.
    pub clusters: ClusterFiles,
    /// The treatment of an earlier result in the output directory.
    pub existing: Existing,
    /// The pairs that are written to `pairs.jsonl`.
    pub pairs: PairRows,
    /// The minimum containment of the partial copies that `parts.jsonl` lists. With `None`, partial copies are not
    /// searched.
    pub parts: Option<f64>,
    /// The number of worker threads; 0 means one per core.
    pub threads: usize,
    /// The limit of memory in bytes. It bounds the caches. A run whose tables exceed it begins again on disk, or ends with
    /// [`DedupError::Memory`] if it has an option that a run on disk does not offer. `None` means no limit.
    pub memory: Option<u64>,
    /// The place of the tables of the run.
    pub on_disk: OnDisk,
    /// The least number of blocks into which a run on disk divides the fingerprints, and about the least number for the
    /// texts. B blocks make B (B + 1) / 2 tasks that can run at the same time. The result is the same with any number.
    pub blocks: u32,
    /// True if the folder of a run on disk stays, for a later run over the same files and more.
    pub incremental: bool,
    /// The bytes of records that a forecast reads as its sample. A larger sample makes a better forecast; a run ignores it.
    pub sample_bytes: u64,
    /// The seed of the random samples.
    pub seed: u64,
    /// The directory in which the work directory is created; `None` means the output directory.
    pub work_dir: Option<std::path::PathBuf>,
}

impl DedupOptions {
    /// Returns the default options.
    ///
    /// # Errors
    /// A [`ProfileError`] if the default profile is invalid, which does not happen.
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
            on_disk: OnDisk::default(),
            blocks: 1,
            incremental: false,
            sample_bytes: SAMPLE_BYTES,
            seed: 42,
            work_dir: None,
        })
    }

    /// Checks that every option is valid and that the options do not contradict one another. The error names the
    /// option.
    ///
    /// # Errors
    /// An [`OptionError`](twinprint_io::OptionError).
    pub fn check(&self) -> Result<(), DedupError> {
        let refuse = |option, problem: String| Err(DedupError::option(option, problem));
        if !(self.threshold > 0.0 && self.threshold <= 1.0) {
            return refuse(
                "threshold",
                format!(
                    "{} is not a Jaccard; give a number above 0 and at most 1",
                    self.threshold
                ),
            );
        }
        if let Some(least) = self.parts {
            if !(least > 0.0 && least <= 1.0) {
                return refuse(
                    "parts",
                    format!("{least} is not a containment; give a number above 0 and at most 1"),
                );
            }
            if !self.verify {
                return refuse(
                    "parts",
                    "partial copies are searched in the texts, and a run without verification keeps no texts; \
                     verify".to_owned(),
                );
            }
        }
        if self.order == Order::Similar && self.mode == Mode::Report {
            return refuse(
                "order",
                "a run that writes only reports copies no records, so their order cannot be chosen; leave it out"
                    .to_owned(),
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
            let [(_, narrow), (_, wide)] = MAX_RADIUS;
            let max = if width == 64 { narrow } else { wide };
            if k > max {
                return refuse(
                    "hamming",
                    format!(
                        "{k} is too large; the join is exact for radii up to {narrow} at 64 bits and up to {wide} at 128 bits"
                    ),
                );
            }
        }
        Ok(())
    }

    fn check_append(&self) -> Result<(), DedupError> {
        let refuse = |problem: &str| Err(DedupError::option("append", problem));
        if self.append && self.against.is_none() {
            return refuse(
                "documents are added to the collection that the run is compared with; name that collection",
            );
        }
        if self.append && self.mode != Mode::Remove {
            return refuse(
                "the documents in kept/ are added, and only a run that removes duplicates writes kept/; choose that \
                 mode",
            );
        }
        Ok(())
    }

    /// The width in a run without verification: the given width, or 64 bits as in Manku, Jain and Das Sarma 2007. The
    /// radius must be small then, because no verification removes its false candidates.
    pub(crate) fn width_without_verification(&self) -> u32 {
        match self.bits {
            Auto::Auto => 64,
            Auto::Fixed(bits) => bits.clamp(1, 128),
        }
    }

    /// The fields that are added to every written record: those of [`DedupOptions::columns`], or a default set under
    /// [`Mode::Annotate`].
    pub fn added_columns(&self) -> Option<Columns> {
        match self.mode {
            Mode::Annotate => Some(self.columns.unwrap_or_default()),
            Mode::Remove => self.columns,
            Mode::Report => None,
        }
    }

    /// The profile of the fingerprints, at a width of `bits`.
    ///
    /// # Errors
    /// A [`ProfileError`] if a fingerprint cannot have `bits` bits.
    pub fn profile_at(&self, bits: u32) -> Result<Profile, ProfileError> {
        self.profile.at_width(bits)
    }

    /// The width in which fingerprints are computed: the largest width that may still be chosen.
    pub(crate) fn width_made(&self) -> u32 {
        match self.bits {
            Auto::Auto if self.verify => 128,
            _ => self.width_without_verification(),
        }
    }

    /// An analyzer with the profile of these options.
    pub(crate) fn analyzer(&self) -> Result<Analyzer, ProfileError> {
        Ok(Analyzer::new(
            &self.profile_at(self.width_made())?,
            twinprint_fingerprint::HashKey::PUBLIC,
        ))
    }
}
