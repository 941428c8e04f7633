//! `twinprint man`: manual pages, made from the same definitions of the options as the help.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  twinprint man ~/.local/share/man/man1
      a page for every command: man twinprint, man twinprint-dedup";

/// Writes manual pages into a directory
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory for the pages, made if it does not exist. Files of the same names are replaced
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args, command: clap::Command) -> anyhow::Result<ExitCode> {
    let dir = &args.dir;
    let command = command.disable_help_subcommand(true);
    if dir.is_file() {
        anyhow::bail!(
            "{}: the manual pages cannot be written: it is not a directory",
            dir.display()
        );
    }
    let mut pages = Vec::new();
    list("twinprint", &command, &mut pages);
    fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(command, dir))
        .with_context(|| format!("{}: the manual pages cannot be written", dir.display()))?;
    for page in pages {
        terminal::out(&format!("{}\n", dir.join(page).display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Appends the names of the pages of a command and of all its subcommands to `pages`.
fn list(name: &str, command: &clap::Command, pages: &mut Vec<String>) {
    pages.push(format!("{name}.1"));
    for sub in command.get_subcommands() {
        list(&format!("{name}-{}", sub.get_name()), sub, pages);
    }
}
