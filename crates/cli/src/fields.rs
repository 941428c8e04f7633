//! Options that name the fields of a record: time, title, URL and score.

use twinprint::stream::FieldKeys;

#[derive(clap::Args)]
#[expect(clippy::struct_field_names, reason = "the flags are called so")]
pub(crate) struct FieldArgs {
    /// Field with the time at which a document was seen: 2024-05-01T12:00:00Z, 2024-05-01, or seconds since 1970
    #[arg(long, default_value = "time", value_name = "FIELD", help_heading = "Fields")]
    pub(crate) time_key: String,

    /// Field with the title. A document without this field has the first line of its text as the title
    #[arg(long, default_value = "title", value_name = "FIELD", help_heading = "Fields")]
    title_key: String,

    /// Field with the URL
    #[arg(long, default_value = "url", value_name = "FIELD", help_heading = "Fields")]
    url_key: String,

    /// Field with the score of a document, a number
    #[arg(long, default_value = "score", value_name = "FIELD", help_heading = "Fields")]
    score_key: String,
}

impl FieldArgs {
    pub(crate) fn keys(&self) -> FieldKeys {
        FieldKeys {
            time: self.time_key.clone(),
            title: self.title_key.clone(),
            url: self.url_key.clone(),
            score: self.score_key.clone(),
            label: None,
        }
    }
}
