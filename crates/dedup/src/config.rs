//! `config.toml`: all options of a run, as the command line reads them again.
//!
//! Keys are the names of options on the command line. Options that do not affect the output (threads, directories) are
//! left out.

use serde::{Serialize, Serializer};

use crate::candidates::radius::{Radius, RadiusChoice};
use crate::options::Columns;
use crate::options::{ClusterFiles, DedupOptions, EmptyTexts, Keep, Mode, Order, PairRows};
use twinprint_io::source::SourceOptions;

/// A whole number. It serialises as a TOML integer if it is below 2^63, the range of TOML, and as a string otherwise.
#[derive(Clone, Copy, Debug)]
struct Whole(u64);

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(n) => serializer.serialize_i64(n),
            Err(_) => serializer.serialize_str(&self.0.to_string()),
        }
    }
}

/// The radius of a run with the same result.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
enum Hamming {
    Radius(u32),
    /// The run chooses again. It will find every pair by the set join, without a radius.
    #[serde(serialize_with = "auto")]
    Auto,
}

fn auto<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("auto")
}

/// The options that decide which documents match. `calibrate` writes them as its choice, and a run writes them as a
/// part of `config.toml`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Matching {
    profile: String,
    stop_words: Option<String>,
    idf: Option<String>,
    idf_root: Option<bool>,
    bits: u32,
    hamming: Hamming,
    /// The minimum Jaccard of a duplicate; left out in a run without verification, where it has no effect.
    threshold: Option<f64>,
    no_verify: bool,
}

impl Matching {
    /// Takes the matching options from `options`, with the chosen width and radius from `radius`.
    pub fn of(options: &DedupOptions, radius: &Radius) -> Self {
        Self {
            profile: options
                .profile_at(radius.bits)
                .map_or_else(|_| String::new(), |profile| profile.id()),
            stop_words: options
                .stop_words_file
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            idf: options.idf_file.as_ref().map(|(table, _)| table.clone()),
            idf_root: options.idf_file.as_ref().map(|&(_, root)| root),
            bits: radius.bits,
            hamming: match radius.choice {
                RadiusChoice::Exact => Hamming::Auto,
                _ => Hamming::Radius(radius.k),
            },
            threshold: options.verify.then_some(options.threshold),
            no_verify: !options.verify,
        }
    }
}

/// The effective configuration of a run. Its keys are the long names of command-line flags.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct Config {
    inputs: Vec<String>,
    text_key: Option<String>,
    html_key: Option<String>,
    id_key: Option<String>,
    format: Option<&'static str>,
    delimiter: Option<String>,
    no_header: bool,
    charset: Option<&'static str>,
    lines: bool,
    ext: Vec<String>,
    include: Vec<String>,
    exclude: Vec<String>,
    any_text: bool,
    any_status: bool,
    max_document: Whole,
    max_ratio: Whole,
    limit: Option<Whole>,
    #[serde(flatten)]
    matching: Matching,
    against: Option<String>,
    /// True if the kept documents are added to the collection; left out otherwise.
    append: Option<bool>,
    keep: Keep,
    keep_key: Option<String>,
    empty: EmptyTexts,
    mode: Mode,
    order: Order,
    columns: Option<Columns>,
    prefix: Option<String>,
    clusters: ClusterFiles,
    pairs: PairRows,
    parts: Option<f64>,
    seed: Whole,
    #[serde(skip)]
    reason: String,
}

impl Config {
    pub(crate) fn of(
        inputs: &[String],
        source: &SourceOptions,
        options: &DedupOptions,
        radius: &Radius,
    ) -> Self {
        let columns = options.added_columns();
        Self {
            inputs: inputs.to_vec(),
            text_key: (!source.html).then(|| source.text_key.clone()),
            html_key: source.html.then(|| source.text_key.clone()),
            id_key: source.id_key.clone(),
            format: source.format.map(twinprint_io::source::Format::name),
            delimiter: source.delimiter.map(|byte| char::from(byte).to_string()),
            no_header: source.no_header,
            charset: source.charset.map(twinprint_text::charset::Charset::name),
            lines: source.lines,
            ext: source.extra_extensions.clone(),
            include: source.include.clone(),
            exclude: source.exclude.clone(),
            any_text: source.any_text,
            any_status: source.any_status,
            max_document: Whole(source.max_document),
            max_ratio: Whole(source.max_ratio),
            limit: source.limit.map(Whole),
            matching: Matching::of(options, radius),
            against: options
                .against
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            append: options.append.then_some(true),
            keep: options.keep,
            keep_key: source.sort_key.clone(),
            empty: options.empty,
            mode: options.mode,
            order: options.order,
            columns,
            prefix: columns.map(|_| options.prefix.clone()),
            clusters: options.clusters,
            pairs: options.pairs,
            parts: options.parts,
            seed: Whole(options.seed),
            reason: radius.reason.clone(),
        }
    }

    pub(crate) fn to_toml(&self) -> String {
        let head = format!(
            "The options of this run, in full.\n# bits and hamming: {}",
            self.reason
        );
        to_toml(&head, self)
    }
}

/// Formats options as TOML, preceded by `comment`.
pub fn to_toml(comment: &str, options: &impl Serialize) -> String {
    // Serialising cannot fail: the options are strings, numbers in the range of TOML, and lists of these.
    let body = toml::to_string(options).unwrap_or_default();
    format!("# {comment}.\n{body}")
}
