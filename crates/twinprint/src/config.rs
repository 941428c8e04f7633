//! `config.toml`: the options a run had, in full.

use serde::Serialize;

use crate::options::{DedupOptions, Keep, Mode, PairRows};
use crate::radius::Radius;
use crate::source::SourceOptions;

/// The effective configuration, named as the flags of the command line.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Config {
    inputs: Vec<String>,
    text_key: String,
    id_key: Option<String>,
    format: Option<&'static str>,
    lines: bool,
    ext: Vec<String>,
    any_text: bool,
    max_document: u64,
    limit: Option<u64>,
    profile: String,
    bits: u32,
    hamming: u32,
    threshold: f64,
    verify: bool,
    keep: Keep,
    keep_key: Option<String>,
    mode: Mode,
    pairs: PairRows,
    seed: u64,
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
        Self {
            inputs: inputs.to_vec(),
            text_key: source.text_key.clone(),
            id_key: source.id_key.clone(),
            format: source.format.map(crate::source::Format::name),
            lines: source.lines,
            ext: source.extra_extensions.clone(),
            any_text: source.any_text,
            max_document: source.max_document,
            limit: source.limit,
            profile: options
                .profile_at(radius.bits)
                .map_or_else(|_| String::new(), |profile| profile.id()),
            bits: radius.bits,
            hamming: radius.k,
            threshold: options.threshold,
            verify: options.verify,
            keep: options.keep,
            keep_key: source.sort_key.clone(),
            mode: options.mode,
            pairs: options.pairs,
            seed: options.seed,
            reason: radius.reason.clone(),
        }
    }

    pub(crate) fn to_toml(&self) -> String {
        // Strings, numbers and lists of them always serialise to TOML.
        let body = toml::to_string(self).unwrap_or_default();
        format!(
            "# The options of this run, in full.\n# bits and hamming: {}.\n{body}",
            self.reason
        )
    }
}
