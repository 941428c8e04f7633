//! The end of a run that read documents: its exit code, and the lines that give the reason.

use std::process::ExitCode;

use twinprint::source::{FileIntake, Intake};

use crate::number::{count, counted};
use crate::terminal;
use crate::usage::{reject_message, skipped_records};

/// The exit code of a run that ended, although input was damaged or too many records were rejected.
const INCOMPLETE: u8 = 3;

/// The help text about exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed; or records were rejected under --strict
  2    wrong usage
  3    done, and everything is written, but a file was unreadable, cut off or damaged, all records of a file were rejected,
       or more than --max-rejected of all records were rejected; stderr has a line for each such file, with --quiet as well
  130  interrupted";

#[derive(clap::Args)]
pub(crate) struct IntakeArgs {
    /// Fail (exit code 1) if any record was rejected
    #[arg(long, help_heading = "Rejected records")]
    strict: bool,

    /// End with exit code 3 if more than this share of the records was rejected; a damaged file always gives that code
    #[arg(long, default_value = "1", value_name = "PERCENT", value_parser = percent, help_heading = "Rejected records")]
    max_rejected: f64,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let share: Option<f64> = number.parse().ok();
    share
        .filter(|share| (0.0..=100.0).contains(share))
        .ok_or_else(|| "write a number of per cent from 0 to 100".to_owned())
}

/// The rejected records that a command has printed before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrintedRejects {
    /// Each has its line.
    All,
    None,
}

impl IntakeArgs {
    /// The exit code of a run that read the records of `intake`. Prints the files that caused an exit code other than
    /// 0.
    pub(crate) fn end(&self, intake: &Intake) -> ExitCode {
        self.end_after(intake, PrintedRejects::None)
    }

    /// See [`end`](Self::end). Does not print the first reject of a file again.
    fn end_after(&self, intake: &Intake, printed: PrintedRejects) -> ExitCode {
        if intake.records() == 0 {
            terminal::note("warning: the input holds no document");
        }
        let too_many = self.are_too_many(intake);
        let nothing_taken = intake.damaged().filter(|(file, _)| file.nothing_taken).count() as u64;
        let damaged = intake.damaged().count() as u64 - nothing_taken;
        let failed = self.fails(intake);
        let first_rejects = (too_many || failed) && printed == PrintedRejects::None;
        for line in intake.files.iter().filter_map(|file| line(file, first_rejects)) {
            terminal::note(&format!("warning: {line}"));
        }
        let rejected = format!(
            "{} of {}",
            count(intake.rejected),
            counted(intake.records(), "record")
        );
        if failed {
            terminal::note(&format!("error: {rejected} rejected, and --strict allows none"));
            return ExitCode::FAILURE;
        }
        let most = self.max_rejected;
        let reasons = [
            (damaged > 0).then(|| {
                let files = counted(damaged, "file");
                format!(
                    "{files} unreadable, cut off or damaged; {} readable parts were used",
                    if damaged == 1 { "its" } else { "their" }
                )
            }),
            (nothing_taken > 0)
                .then(|| format!("{} without any usable record", counted(nothing_taken, "file"))),
            too_many.then(|| format!("{rejected} rejected, more than {most} % (--max-rejected)")),
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        if reasons.is_empty() {
            return ExitCode::SUCCESS;
        }
        terminal::note(&format!("exit code {INCOMPLETE}: {}", reasons.join("; ")));
        ExitCode::from(INCOMPLETE)
    }

    /// The exit code, as from [`end`](Self::end). Also prints the number of rejected records, for commands whose output
    /// does not include it. `printed` are the rejected records that the command has printed. With `quiet` it has printed none.
    pub(crate) fn end_counting(&self, intake: &Intake, quiet: bool, printed: PrintedRejects) -> ExitCode {
        if quiet {
            return self.end(intake);
        }
        if let Some(first) = intake.first_reject() {
            // If `end_after` prints the first reject of each file, this one is among them.
            let is_shown = printed == PrintedRejects::All || self.are_too_many(intake) || self.fails(intake);
            let first = if is_shown {
                String::new()
            } else {
                format!(
                    "; the first is {}:{}: {}",
                    first.source,
                    first.line,
                    reject_message(&first.reason)
                )
            };
            terminal::note(&format!(
                "{} of {} rejected: {}{first}",
                count(intake.rejected),
                counted(intake.records(), "record"),
                intake.rejected_kinds(),
            ));
        }
        if let Some(skipped) = skipped_records(intake) {
            terminal::note(&format!("records that are not documents: {skipped}"));
        }
        self.end_after(intake, printed)
    }

    /// True if more records are rejected than `--max-rejected` allows.
    fn are_too_many(&self, intake: &Intake) -> bool {
        intake.rejected as f64 * 100.0 > self.max_rejected * intake.records() as f64
    }

    /// True if the command fails because of `--strict`.
    fn fails(&self, intake: &Intake) -> bool {
        self.strict && intake.rejected > 0
    }
}

/// One line for stderr about a file: what is damaged in it, or, if `all` is true, its first reject. `None` if there is
/// nothing to report.
fn line(file: &FileIntake, all: bool) -> Option<String> {
    let more = match file.rejected {
        1 => String::new(),
        n => format!(" ({} rejected in this file)", counted(n, "record")),
    };
    let (line, reason) = match &file.damage {
        Some(damage) => (damage.line, &damage.reason),
        None if all => (file.line, &file.reason),
        None => return None,
    };
    Some(format!(
        "{}:{line}: {}{more}",
        file.source,
        reject_message(reason)
    ))
}

/// For a summary: the number of damaged files, and a description of what was not read. `None` if no file is damaged.
pub(crate) fn damaged_row(intake: &Intake) -> Option<(u64, String)> {
    let files = intake.damaged().count() as u64;
    let noun = if files == 1 { "file" } else { "files" };
    (files > 0).then(|| {
        let row = format!("{noun}; not used: {}; see rejects.jsonl", intake.loss());
        (files, row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_parsed_in_per_cent() {
        assert_eq!(percent("1"), Ok(1.0));
        assert_eq!(percent("0.5 %"), Ok(0.5));
        assert_eq!(percent("100%"), Ok(100.0));
        for wrong in ["", "%", "-1", "101", "nan", "much"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
