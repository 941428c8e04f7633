//! Runs the command on corpora with one fingerprint: `crowds --twinprint T --equal F --crowded F…`.

use std::path::PathBuf;

use bench::engine::Engine;
use bench::table::Table;
use clap::Parser;

#[derive(Parser)]
#[command(about = "Equal documents, and different ones on one fingerprint")]
struct Cli {
    /// The program `twinprint`.
    #[arg(long, value_name = "FILE")]
    twinprint: PathBuf,
    /// Directory of temporary results.
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    work: PathBuf,
    /// A corpus of `corpus equal`.
    #[arg(long, value_name = "FILE")]
    equal: PathBuf,
    /// Corpora of `corpus crowded`.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    crowded: Vec<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let engine = Engine {
        program: cli.twinprint.clone(),
        work: cli.work.clone(),
        threads: 2,
    };
    let mut table = Table::new([
        "corpus",
        "documents",
        "texts",
        "kept",
        "wall s",
        "CPU s",
        "stages, s",
        "peak MB",
        "bound MB",
        "hot row",
    ]);
    let weighted: &[&str] = &["--profile", "tp1-words-tf"];
    let crowded = cli.crowded.iter().map(|path| (path, weighted));
    for (path, options) in std::iter::once((&cli.equal, &[][..])).chain(crowded) {
        let mut options: Vec<String> = options.iter().map(ToString::to_string).collect();
        options.extend(["--mode".to_owned(), "report".to_owned()]);
        let finished = engine.dedup(path, &options)?;
        let report = &finished.report;
        let hot = report.hot_rows.first();
        table.row([
            path.file_stem().unwrap_or_default().display().to_string(),
            report.records.read.to_string(),
            report.search.texts.to_string(),
            report.records.kept.to_string(),
            format!("{:.1}", finished.wall),
            format!("{:.1}", finished.cpu),
            report.stages(),
            format!("{:.0}", report.peak_megabytes()),
            format!("{:.0}", 600.0 + 64.0 * report.records.read as f64 / 1e6),
            hot.map_or("none".to_owned(), |row| {
                format!("{} with {} texts", row.fingerprint, row.texts)
            }),
        ]);
    }
    println!("{table}");
    Ok(())
}
