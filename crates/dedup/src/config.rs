//! `config.toml`: all options of a run, as the command line reads them again.
//!
//! Keys are the names of options on the command line. Options that do not affect the output (threads, directories) are left out.

use serde::{Serialize, Serializer};

use crate::candidates::radius::Radius;
use crate::options::Columns;
use crate::options::{ClusterFiles, DedupOptions, EmptyTexts, Keep, Mode, Order, PairRows};
use twinprint_io::source::SourceOptions;

/// A whole number. Numbers of TOML are below 2^63; larger ones are written as strings.
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

/// The options that decide which documents match: the choice of `calibrate`, and a part of `Config`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Matching {
    profile: String,
    stop_words: Option<String>,
    idf: Option<String>,
    idf_root: Option<bool>,
    bits: u32,
    hamming: u32,
    /// Absent in a run without verification, where it has no effect.
    threshold: Option<f64>,
    no_verify: bool,
}

impl Matching {
    /// The matching options of a run at a radius.
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
            hamming: radius.k,
            threshold: options.verify.then_some(options.threshold),
            no_verify: !options.verify,
        }
    }
}

/// The effective configuration, named as the flags of the command line.
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
    /// Absent unless it is set.
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

/// Formats options as TOML below a comment.
pub fn to_toml(comment: &str, options: &impl Serialize) -> String {
    // Strings, numbers in the range of TOML, and lists of them can always be serialised.
    let body = toml::to_string(options).unwrap_or_default();
    format!("# {comment}.\n{body}")
}
