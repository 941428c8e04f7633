//! Formats results as Markdown tables, in which they are recorded.

use std::fmt;

/// A Markdown table whose rows are added one by one.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new<const N: usize>(columns: [&str; N]) -> Self {
        Self {
            rows: vec![columns.map(str::to_owned).to_vec()],
        }
    }

    /// Adds a row to the table.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(Vec::from(cells));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, row) in self.rows.iter().enumerate() {
            writeln!(f, "| {} |", row.join(" | "))?;
            if number == 0 {
                writeln!(f, "|{}", "---|".repeat(row.len()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_follows_the_columns() {
        let mut table = Table::new(["a", "b"]);
        table.row(["1".to_owned(), "2".to_owned()]);
        assert_eq!(table.to_string(), "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
