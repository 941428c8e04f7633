//! Options of the commands that form stories.

use twinprint::stream::parse_span;

/// Parses a cosine within the allowed range.
fn cosine(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|&x| x > 0.0 && x <= 1.0);
    number.ok_or_else(|| "give a cosine above 0 and at most 1".to_owned())
}

#[derive(clap::Args)]
pub(crate) struct StoryArgs {
    /// Minimum cosine between a document and the centre of the story that it joins [default: estimated from the
    /// documents]
    #[arg(long, value_parser = cosine, value_name = "COSINE", help_heading = "Stories")]
    pub(crate) story_threshold: Option<f64>,

    /// Minimum cosine between the centres of two stories at which they are merged; 1 disables merging [default:
    /// estimated from the documents]
    #[arg(long, value_parser = cosine, value_name = "COSINE", help_heading = "Stories")]
    pub(crate) merge: Option<f64>,

    /// End a story when it gained no document for this time, such as 7d
    #[arg(long, value_name = "TIME", value_parser = parse_span, help_heading = "Stories")]
    pub(crate) window: Option<i64>,

    /// Time after which the weight of a document in its story's centre is halved, such as 36h
    #[arg(long, value_name = "TIME", value_parser = parse_span, help_heading = "Stories")]
    pub(crate) half_life: Option<i64>,
}
