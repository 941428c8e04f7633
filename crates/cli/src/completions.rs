//! `twinprint completions`: shell completions, made from the definitions of the options.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  twinprint completions bash > ~/.bash_completion
      for bash, read by every new shell; with other completions in that file, append with >>
  twinprint completions zsh > _twinprint
      for zsh, in a directory of its $fpath
  twinprint completions fish > twinprint.fish
      for fish, in ~/.config/fish/completions";

/// Writes a shell script that completes commands and options
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell that the script is for
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "twinprint", &mut script);
    terminal::out(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
