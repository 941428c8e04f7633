//! Shows progress on stderr: a bar on a terminal, otherwise plain lines with rate and remaining time.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use twinprint::{Progress, Unit};

use crate::{number, terminal};

/// Time between two plain lines of progress.
const PRINT_INTERVAL: Duration = Duration::from_secs(5);

/// Shows the progress of the stages of a run.
pub(crate) struct Bars {
    quiet: bool,
    terminal: bool,
    stage: Mutex<Option<Stage>>,
}

struct Stage {
    name: &'static str,
    unit: Unit,
    total: u64,
    done: u64,
    started: Instant,
    /// When the last plain line was printed.
    printed: Instant,
    bar: Option<ProgressBar>,
}

impl Bars {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            stage: Mutex::new(None),
        }
    }

    /// Ends the current stage, which is the last.
    pub(crate) fn finish(&self) {
        if let Ok(mut stage) = self.stage.lock()
            && let Some(stage) = stage.take()
        {
            stage.end();
        }
    }

    fn bar(name: &'static str, total: u64, unit: Unit) -> ProgressBar {
        let template = match unit {
            Unit::Bytes => "{prefix:>8} {bar:32} {bytes:>10} of {total_bytes}, {bytes_per_sec}, {eta} left",
            Unit::Documents => {
                "{prefix:>8} {bar:32} {human_pos:>10} of {human_len} texts, {per_sec}, {eta} left"
            }
            Unit::Fingerprints => {
                "{prefix:>8} {bar:32} {human_pos:>10} of {human_len} fingerprints, {per_sec}, {eta} left"
            }
            Unit::Steps => "{prefix:>8} {spinner} {elapsed}",
        };
        let bar = ProgressBar::new(total);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        bar.set_prefix(name);
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}

impl Progress for Bars {
    fn stage(&self, name: &'static str, total: u64, unit: Unit) {
        self.finish();
        if self.quiet {
            return;
        }
        let bar = self.terminal.then(|| Self::bar(name, total, unit));
        let now = Instant::now();
        if let Ok(mut stage) = self.stage.lock() {
            *stage = Some(Stage {
                name,
                unit,
                total,
                done: 0,
                started: now,
                printed: now,
                bar,
            });
        }
    }

    fn advance(&self, done: u64) {
        if let Ok(mut stage) = self.stage.lock()
            && let Some(stage) = stage.as_mut()
        {
            stage.advance(done);
        }
    }

    fn warn(&self, message: &str) {
        terminal::note(&format!("warning: {message}"));
    }
}

impl Stage {
    fn advance(&mut self, done: u64) {
        self.done += done;
        if let Some(bar) = &self.bar {
            bar.inc(done);
        } else if self.printed.elapsed() >= PRINT_INTERVAL {
            self.printed = Instant::now();
            terminal::note(&self.line());
        }
    }

    fn line(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64().max(1e-9);
        let rate = self.done as f64 / seconds;
        let left = self.total.saturating_sub(self.done) as f64 / rate.max(1e-9);
        let show = |n: u64| match self.unit {
            Unit::Bytes => number::bytes(n),
            Unit::Documents | Unit::Fingerprints | Unit::Steps => number::count(n),
        };
        format!(
            "{}: {} of {}, {}/s, {} left",
            self.name,
            show(self.done),
            show(self.total),
            show(rate as u64),
            number::seconds(left)
        )
    }

    /// Ends the stage: replaces its bar by a line that stays on the terminal.
    fn end(self) {
        let seconds = self.started.elapsed().as_secs_f64();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let done = match self.unit {
            Unit::Bytes if self.done > 0 => {
                let rate = number::bytes((self.done as f64 / seconds.max(1e-9)) as u64);
                format!("  {} at {rate}/s", number::bytes(self.done))
            }
            Unit::Documents => format!("  {} texts", number::count(self.done)),
            Unit::Fingerprints => {
                let rate = number::count((self.done as f64 / seconds.max(1e-9)) as u64);
                format!("  {} fingerprints at {rate}/s", number::count(self.done))
            }
            _ => String::new(),
        };
        terminal::note(&format!(
            "{:>8}  {:>8}{done}",
            self.name,
            number::seconds(seconds)
        ));
    }
}
