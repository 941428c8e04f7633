//! Runs the experiments: `cargo run --release -p twinprint-experiments -- NAME [--size small|full] [--seed N]`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a program that prints reports")]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Parser;
use twinprint_experiments::experiments::ALL;
use twinprint_experiments::{Experiment, Setup, Size, find};

/// Runs the examples, tables and claims of the documents that twinprint implements, and prints the documents' figure
/// next to the measured one. docs/experiments.md has the results.
#[derive(Parser)]
struct Arguments {
    /// The name of an experiment; `list` lists them, and `all` runs all of them.
    name: String,
    /// The size of the data: `small` takes seconds, `full` up to three minutes for each experiment.
    #[arg(long, value_enum, default_value_t = Size::Full)]
    size: Size,
    /// The seed of all generated data.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The number of fingerprints, in place of that of the size.
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Writes the results into this directory: NAME.rows.md, NAME.details.md and the pictures as SVG.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut setup = Setup::new(arguments.size, arguments.seed);
    setup.rows = arguments.rows;
    match arguments.name.as_str() {
        "list" => {
            for experiment in ALL {
                println!("{:14} {}", experiment.name, experiment.about);
            }
            Ok(())
        }
        "all" => ALL
            .iter()
            .try_for_each(|experiment| run(experiment, &setup, arguments.out.as_deref())),
        name => {
            let experiment = find(name)
                .with_context(|| format!("there is no experiment {name:?}; `list` lists the experiments"))?;
            run(experiment, &setup, arguments.out.as_deref())
        }
    }
}

fn run(experiment: &Experiment, setup: &Setup, out: Option<&Path>) -> Result<()> {
    println!("== {}: {}", experiment.name, experiment.about);
    let report = experiment.run(setup).context(experiment.name)?;
    println!("{report}");
    let Some(out) = out else { return Ok(()) };
    fs::create_dir_all(out)?;
    let name = experiment.name;
    fs::write(out.join(format!("{name}.rows.md")), report.claim_rows(name))?;
    fs::write(out.join(format!("{name}.details.md")), report.details())?;
    for picture in &report.pictures {
        fs::write(out.join(picture.file_name()), picture.plot.standalone())?;
    }
    Ok(())
}
