//! `twinprint plan`

use std::fmt::Write as _;
use std::process::ExitCode;

use twinprint::plan::{Design, Plan, check};
use twinprint::planner::{self, LookupCosts, LookupMode, Medium, Workload};
use twinprint::segment::Codec;

use crate::choice::{Choice, explained};
use crate::index::{CODECS, check_radius};
use crate::usage::usage;
use crate::{number, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint plan -n 1e9 -k 3 --memory 14GB
      the tables for an index of 10^9 fingerprints within 14 GB
  twinprint plan -n 8e9 -k 3 --explain
      also every alternative, the naive methods among them, and why it was not chosen
  twinprint plan -n 1e7 -k 3 --plan blocks:4 --explain
      the expected work of lookups in the four tables of 16-bit keys
  twinprint plan -n 1e8 -k 10 --bits 128 --mode online --medium disk
      for single queries on an index on disk
  twinprint plan --check blocks:5 -k 3
      whether a design finds every pair within distance 3, and the share that it finds at larger distances";

/// `--measure` builds tables of random rows of at most this size, in bytes.
const MAX_SAMPLE_BYTES: u64 = 512 << 20;

const MEDIA: [Choice<Medium>; 2] = [
    Choice {
        name: "memory",
        help: "In memory, or cached",
        value: Medium::Memory,
    },
    Choice {
        name: "disk",
        help: "On disk",
        value: Medium::Disk,
    },
];
const LOOKUP_MODES: [Choice<LookupMode>; 2] = [
    Choice {
        name: "online",
        help: "One at a time",
        value: LookupMode::Online,
    },
    Choice {
        name: "batch",
        help: "Many at once",
        value: LookupMode::Batch,
    },
];

/// Chooses the tables of an index, and explains their cost and the alternatives; or checks a design of tables
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("subject").args(["n", "check"]).required(true))]
pub(crate) struct Args {
    /// Number of fingerprints in the index, such as 1000000 or 1e9
    #[arg(short, long, value_name = "N", value_parser = number::parse_count_in(1..=u64::MAX))]
    n: Option<u64>,

    /// Check a design of tables instead: whether it finds every pair within -k, and the share of pairs that it finds at
    /// each distance. The designs are those of `index build --plan`. The exit code is 1 if the design misses pairs
    #[arg(long, value_name = "DESIGN", conflicts_with_all = ["plan", "memory", "medium", "mode", "codec", "skew", "measure", "explain"])]
    check: Option<Design>,

    /// Design of the tables, as for `index build --plan` [default: the best one]
    #[arg(long, value_name = "DESIGN")]
    plan: Option<Design>,

    /// Largest Hamming distance of lookups
    #[arg(short = 'k', long, default_value_t = 3, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=128))]
    hamming: u32,

    /// Width of the fingerprints in bits
    #[arg(long, default_value_t = 64, value_name = "BITS", value_parser = parse_bits)]
    bits: u32,

    /// Largest size of the index including ids, such as 14GB
    #[arg(long, value_name = "SIZE", value_parser = number::parse_bytes)]
    memory: Option<u64>,

    /// Storage that lookups read from. On disk, the tables with the fewest reads are chosen that take at most eight times
    /// the space of the fingerprints, or --memory
    #[arg(long, value_parser = explained(MEDIA), default_value = "memory", value_name = "WHERE")]
    medium: Medium,

    /// Queries arrive one at a time or in large batches
    #[arg(long, value_parser = explained(LOOKUP_MODES), default_value = "batch", value_name = "HOW")]
    mode: LookupMode,

    /// Storage format of the fingerprints
    #[arg(long, value_parser = explained(CODECS), default_value = "packed")]
    codec: Codec,

    /// Bits by which the entropy of table addresses is below the maximum, if fingerprints are not uniform
    #[arg(long, default_value_t = 0.0, value_name = "BITS", value_parser = parse_skew)]
    skew: f64,

    /// Measure the speed of this machine first, for about a second
    #[arg(long)]
    measure: bool,

    /// List the expected work of a lookup (probes, candidates, bytes that are read), and every alternative with its work
    /// and why it was not chosen
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    check_radius(args.hamming, args.bits)?;
    if let Some(design) = &args.check {
        return check_design(design, args.bits, args.hamming);
    }
    // The parser requires the number in this case.
    let n = args.n.unwrap_or_default();
    let ask = Workload {
        n,
        bits: args.bits,
        k: args.hamming,
        memory: args.memory,
        medium: args.medium,
        mode: args.mode,
        skew_bits: args.skew,
        codec: args.codec,
    };
    let prices = if args.measure {
        planner::measure(n.saturating_mul(5).min(MAX_SAMPLE_BYTES) as usize)
    } else {
        LookupCosts::default()
    };
    let choice = match &args.plan {
        None => planner::plan_segment(&ask, &prices)?,
        Some(design) => {
            let plan = design_plan("--plan", design, args.bits, args.hamming)?;
            planner::plan_addresses(plan, &ask, &prices)
        }
    };
    let chosen = &choice.alternatives[0];
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        text,
        "{}: {}, {:.1} bytes a fingerprint with its id, {} in all\n{}",
        chosen.name,
        number::counted(chosen.tables as u64, "table"),
        chosen.bytes / n.max(1) as f64,
        number::bytes(chosen.bytes as u64),
        lookups(chosen.cost),
    );
    if args.medium == Medium::Disk {
        let design = Design::of(&choice.plan.plan);
        let _ = writeln!(
            text,
            "to build it: twinprint index build --plan {design} -k {}",
            args.hamming
        );
    }
    if let Some(missed) = chosen
        .lookup
        .map(|lookup| lookup.missed)
        .filter(|&missed| missed > 0.0)
    {
        let (percent, k) = (100.0 * missed, args.hamming);
        let _ = writeln!(
            text,
            "not exact: misses {percent:.3} % of the fingerprints at distance {k}"
        );
    }
    if args.explain {
        let _ = write!(
            text,
            "\ncost model: {prices}\n\n{choice}\n`index build --plan DESIGN` builds other tables, and `plan --check DESIGN` describes them.\n"
        );
    }
    terminal::out(&text)?;
    if args.memory.is_some_and(|most| chosen.bytes > most as f64) {
        anyhow::bail!("--memory: no choice of tables fits; the smallest is printed");
    }
    Ok(ExitCode::SUCCESS)
}

/// The speed of lookups of which one takes `cost` nanoseconds.
fn lookups(cost: f64) -> String {
    if cost > 1e9 {
        format!("a lookup takes about {} on one core", number::seconds(cost / 1e9))
    } else {
        let rate = number::counted((1e9 / cost) as u64, "lookup");
        format!("about {rate} a second on one core")
    }
}

/// The plan of a design that the option `flag` names.
fn design_plan(flag: &str, design: &Design, bits: u32, k: u32) -> anyhow::Result<Plan> {
    design
        .plan(bits, k)
        .map_err(|problem| usage(format!("{flag} {}: {problem}", design.short_name())))
}

/// Number of distances beyond the radius for which the recall of a design is printed.
const DISTANCES_BEYOND: u32 = 3;

/// Prints whether a design is exact, and its recall by distance.
fn check_design(design: &Design, bits: u32, k: u32) -> anyhow::Result<ExitCode> {
    let plan = design_plan("--check", design, bits, k)?;
    let keys = || plan.tables.iter().map(|table| table.mask.count_ones());
    let (shortest, longest) = (keys().min().unwrap_or(0), keys().max().unwrap_or(0));
    let keys = if shortest == longest {
        shortest.to_string()
    } else {
        format!("{shortest} to {longest}")
    };
    let verdict = check::is_exact(&plan);
    let mut text = format!("{plan}, keys of {keys} bits\n");
    // Writing to a `String` cannot fail.
    let _ = match &verdict {
        Ok(()) => writeln!(text, "exact: finds every pair within distance {k}"),
        Err(missed) => writeln!(text, "{missed}"),
    };
    let _ = writeln!(text, "\ndistance  pairs found");
    for (distance, recall) in plan.recalls(k + DISTANCES_BEYOND).iter().enumerate().skip(1) {
        // Rounded down, so that 100 % is the share of a plan that finds all pairs.
        let percent = (recall.share * 1e5).floor() / 1e3;
        let error = if recall.is_estimated() {
            format!("  estimated, ± {:.3} %", 2e2 * recall.standard_error)
        } else {
            String::new()
        };
        let _ = writeln!(text, "{distance:8}  {percent:9.3} %{error}");
    }
    terminal::out(&text)?;
    Ok(if verdict.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn parse_bits(text: &str) -> Result<u32, String> {
    match text {
        "16" => Ok(16),
        "32" => Ok(32),
        "64" => Ok(64),
        "128" => Ok(128),
        _ => Err("a fingerprint has 16, 32, 64 or 128 bits".to_owned()),
    }
}

fn parse_skew(text: &str) -> Result<f64, String> {
    let bits = text.parse().ok().filter(|bits| (0.0..=64.0).contains(bits));
    bits.ok_or_else(|| "write a number of bits from 0 to 64".to_owned())
}
