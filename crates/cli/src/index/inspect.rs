//! `twinprint index stat` and `check`

use std::fmt::Write as _;

use twinprint::segment::{Codec, DirectoryForm, Search};
use twinprint::{ProfileLabel, Width, store};

use super::width::at_width;
use super::{Directory, read, recall};
use crate::{number, terminal};

/// Prints the number of fingerprints in an index, the sizes of its files, and its settings
#[derive(clap::Args)]
pub(super) struct StatArgs {
    #[command(flatten)]
    directory: Directory,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Reads every byte of an index and compares it with the checksums
#[derive(clap::Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    directory: Directory,
}

pub(super) fn stat(args: &StatArgs) -> anyhow::Result<()> {
    at_width!(args.directory.bits()?, print_stat(args))
}

fn print_stat<W: Width>(args: &StatArgs) -> anyhow::Result<()> {
    let index = read::<W>(&args.directory.index)?;
    let rows = index.snapshot.rows();
    let label = ProfileLabel::read(&index.settings.label);
    let radius = index.settings.radius;
    let recalls = index.snapshot.recalls(Search::Directory, radius);
    if args.json {
        let segments: Vec<_> = index
            .snapshot
            .segments()
            .map(|s| serde_json::json!({"file": s.path(), "ids": s.len(), "fingerprints": s.rows(), "bytes": s.bytes(), "plan": s.plan().name, "codec": name(s.codec()), "exact": s.is_exact()}))
            .collect();
        let json = serde_json::json!({
            "bits": W::BITS,
            "radius": index.settings.radius,
            "exact": index.snapshot.is_exact(),
            "recall": recalls.iter().map(|recall| (recall.share * 1e5).floor() / 1e5).collect::<Vec<_>>(),
            "profile": label.as_ref().map(ProfileLabel::id),
            "profile_checksum": label.as_ref().and_then(ProfileLabel::checksum).map(|sum| format!("{sum:016x}")),
            "generation": index.generation,
            "next_id": index.checkpoint,
            "names": index.names.as_ref().map(|names| names.len()),
            "ids": rows,
            "deleted": index.tombstones,
            "bytes": index.bytes,
            "segments": segments,
        });
        return terminal::out(&format!("{json:#}\n"));
    }
    let mut profile = label.map_or_else(String::new, |label| format!(", {}", label.id()));
    if index.names.is_some() {
        profile.push_str(", ids are names");
    }
    let mut text = format!(
        "fingerprints  {:>14}  of {} bits, planned for k = {}{profile}\n",
        number::count(rows),
        W::BITS,
        index.settings.radius
    );
    if index.tombstones > 0 {
        let _ = writeln!(
            text,
            "deleted       {:>14}  of them at most; `index compact` removes them from the disk",
            number::count(index.tombstones)
        );
    }
    if !index.snapshot.is_exact() {
        let _ = writeln!(text, "recall        {}", recall::described(radius, &recalls));
    }
    let each = match rows {
        0 => String::new(),
        rows => format!("  {:.1} bytes each", index.bytes as f64 / rows as f64),
    };
    let _ = writeln!(text, "on disk       {:>14}{each}", number::bytes(index.bytes));
    for segment in index.snapshot.segments() {
        let file = segment.path().file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(
            text,
            "{file:12}  {:>14}  {}, {}",
            number::count(segment.len()),
            segment.plan().name,
            name(segment.codec())
        );
    }
    terminal::out(&text)
}

/// The name of a codec on the command line.
fn name(codec: Codec) -> String {
    match codec {
        Codec::Packed(DirectoryForm::Compact | DirectoryForm::Plain) => "packed".to_owned(),
        Codec::Packed(_) => "elias-fano".to_owned(),
        Codec::Huffman { page_rows } => format!("huffman, {page_rows} a page"),
        _ => "unknown".to_owned(),
    }
}

pub(super) fn check(args: &CheckArgs) -> anyhow::Result<()> {
    at_width!(args.directory.bits()?, check_files(args))
}

fn check_files<W: Width>(args: &CheckArgs) -> anyhow::Result<()> {
    let checked = store::check::<W>(&args.directory.index)?;
    for path in &checked.left_over {
        terminal::note(&format!(
            "{}: an interrupted writer left this file; the next writer removes it",
            path.display()
        ));
    }
    if checked.unbound > 0 {
        terminal::note(&format!(
            "{}: the manifest has no checksums of the other files, because an earlier version wrote it; the next change of the index adds them",
            args.directory.index.display()
        ));
    }
    terminal::out(&format!(
        "{}: undamaged; {} in {}\n",
        args.directory.index.display(),
        number::counted(checked.living, "fingerprint"),
        number::counted(checked.segments as u64, "segment")
    ))
}
