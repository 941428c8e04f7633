//! The report of an experiment: claims with the documents' figures and the measured ones, tables, and plots.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use twinprint_eval::plot::Plot;

/// What the measurement says about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim is true as it is written.
    Holds,
    /// The claim is wrong.
    Fails,
    /// The claim is true under a condition, which the reason states.
    Depends,
    /// The claim was not measured, for the stated reason.
    NotRun,
}

impl Verdict {
    /// [`Holds`](Self::Holds) if `holds` is true, otherwise [`Fails`](Self::Fails).
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Depends => "depends",
            Self::NotRun => "not run",
        })
    }
}

/// A claim of the documents, with their figure and the measured one.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The name of the claim, unique in its experiment.
    pub name: &'static str,
    /// The numbers of the documents that make the claim.
    pub documents: &'static [u8],
    /// The claim in one phrase.
    pub claim: &'static str,
    /// The documents' figure.
    pub theirs: String,
    /// The measured figure.
    pub ours: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason of the verdict in one sentence; empty if the figures speak for themselves.
    pub reason: String,
}

/// A table of figures that belongs to an experiment.
#[derive(Clone, Debug)]
pub struct Table {
    /// The caption.
    pub caption: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, one cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new<const N: usize>(caption: impl Into<String>, columns: [&str; N]) -> Self {
        Self {
            caption: caption.into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    fn markdown(&self) -> String {
        let mut text = format!("{}:\n\n", self.caption);
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text += &line(&self.columns);
        text += &line(&vec!["---".to_owned(); self.columns.len()]);
        for row in &self.rows {
            text += &line(row);
        }
        text
    }
}

/// A plot of an experiment.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of the file, without `experiments-` and `.svg`.
    pub name: &'static str,
    /// The caption.
    pub caption: String,
    /// The plot.
    pub plot: Plot,
}

impl Picture {
    /// The name of the file.
    pub fn file_name(&self) -> String {
        format!("experiments-{}.svg", self.name)
    }
}

/// The result of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The claims, in the order of the experiment.
    pub claims: Vec<Claim>,
    /// Further tables.
    pub tables: Vec<Table>,
    /// Plots.
    pub pictures: Vec<Picture>,
    /// Figures by name, for tests.
    pub numbers: BTreeMap<String, f64>,
}

impl Report {
    /// Adds a claim whose figure must be reproduced as it is written.
    pub fn exact(
        &mut self,
        name: &'static str,
        documents: &'static [u8],
        claim: &'static str,
        theirs: impl Into<String>,
        ours: impl Into<String>,
    ) {
        let (theirs, ours) = (theirs.into(), ours.into());
        self.claims.push(Claim {
            name,
            documents,
            claim,
            verdict: Verdict::of(theirs == ours),
            reason: String::new(),
            theirs,
            ours,
        });
    }

    /// Adds a claim with a verdict and its reason.
    pub fn claim(
        &mut self,
        name: &'static str,
        documents: &'static [u8],
        claim: &'static str,
        [theirs, ours]: [String; 2],
        verdict: Verdict,
        reason: impl Into<String>,
    ) {
        self.claims.push(Claim {
            name,
            documents,
            claim,
            theirs,
            ours,
            verdict,
            reason: reason.into(),
        });
    }

    /// Records a figure for tests.
    pub fn number(&mut self, name: impl Into<String>, value: f64) {
        self.numbers.insert(name.into(), value);
    }

    /// The claims as rows of the table of docs/experiments.md. `experiment` is the name of the experiment.
    pub fn claim_rows(&self, experiment: &str) -> String {
        let mut text = String::new();
        for claim in &self.claims {
            let documents: Vec<String> = claim.documents.iter().map(u8::to_string).collect();
            let verdict = if claim.reason.is_empty() {
                format!("{}.", claim.verdict)
            } else {
                format!("{}: {}", claim.verdict, claim.reason)
            };
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | `{experiment}` | {} | {} | {verdict} |",
                documents.join(", "),
                claim.claim,
                claim.theirs,
                claim.ours
            );
        }
        text
    }

    /// The tables and pictures as Markdown; empty if there are none.
    pub fn details(&self) -> String {
        let tables = self.tables.iter().map(Table::markdown);
        let pictures = self
            .pictures
            .iter()
            .map(|picture| format!("![{}]({})\n", picture.caption, picture.file_name()));
        tables.chain(pictures).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for claim in &self.claims {
            writeln!(f, "{}: {}", claim.name, claim.claim)?;
            writeln!(f, "    theirs: {}", claim.theirs)?;
            writeln!(f, "    ours:   {}", claim.ours)?;
            let colon = if claim.reason.is_empty() { "" } else { ": " };
            writeln!(f, "    {}{colon}{}", claim.verdict, claim.reason)?;
        }
        for table in &self.tables {
            writeln!(f, "\n{}", table.markdown())?;
        }
        Ok(())
    }
}
