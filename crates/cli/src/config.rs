//! `--config FILE.toml`: reads options from a file, as if they were given on the command line.
//!
//! A key of the file is the long name of an option, or `inputs`. If an option is in the file and on the command line,
//! only its value on the command line counts, even if it is a list.

use crate::usage::UsageError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use toml::{Table, Value};

/// The command line, extended by the options of its `--config` file. Also has the keys of the file, for error messages.
pub(crate) struct Arguments {
    /// All arguments. The name of the program is the first.
    pub(crate) all: Vec<OsString>,
    /// The `--config` file, and the keys whose values were used.
    from_file: Option<(PathBuf, Vec<String>)>,
}

impl Arguments {
    /// Adds the options of the `--config` file to the command line `given`. Does nothing if it has no `--config`.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not TOML, if a key is not an option of the command, or if no option
    /// accepts the type of a value.
    pub(crate) fn read(command: &Command, given: Vec<OsString>) -> anyhow::Result<Self> {
        // This first parse ignores errors. Required options may be in the file, and invalid ones are reported when the
        // complete command line is parsed.
        let matches = lenient(command.clone()).try_get_matches_from(&given);
        let Some((names, path, matches)) = matches.as_ref().ok().and_then(named_file) else {
            return Ok(Self {
                all: given,
                from_file: None,
            });
        };
        let text = fs::read_to_string(path).with_context(|| format!("--config {}", path.display()))?;
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| wrong(path, error.to_string().trim_end()))?;
        let below = |command, name: &&str| Command::find_subcommand(command, name).unwrap_or(command);
        let command = names.iter().fold(command, below);
        let mut added = ConfigArguments::default();
        let mut keys = Vec::new();
        for (key, value) in &table {
            let arg = argument(command, key).ok_or_else(|| {
                let program = format!("twinprint {}", names.join(" "));
                wrong(
                    path,
                    &format!("{key}: {program} has no such option; {program} --help lists them"),
                )
            })?;
            if matches.value_source(arg.get_id().as_str()) != Some(ValueSource::CommandLine) {
                added
                    .add(arg, key, value)
                    .map_err(|wanted| wrong(path, &format!("{key}: write {wanted}")))?;
                keys.push(key.clone());
            }
        }
        let mut all = given;
        // Options are inserted after the program's name and the names of the subcommands, which follow in the order of
        // `names`.
        let behind_names = names.iter().fold(1, |from, name| {
            let at = all.iter().skip(from).position(|word| word == name);
            at.map_or(from, |at| from + at + 1)
        });
        all.splice(behind_names..behind_names, added.options);
        if !added.inputs.is_empty() {
            all.push("--".into());
            all.extend(added.inputs);
        }
        Ok(Self {
            all,
            from_file: Some((path.clone(), keys)),
        })
    }

    /// If a value of the file caused `error`, which parsing [`all`](Self::all) returned: the same error with the name
    /// of the file.
    pub(crate) fn blame(&self, error: &clap::Error) -> Option<anyhow::Error> {
        use clap::error::{ContextKind, ContextValue};
        let (path, keys) = self.from_file.as_ref()?;
        let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let name = option.strip_prefix("--")?;
        let name = name.split(['=', ' ', '[']).next()?;
        keys.iter().find(|key| *key == name)?;
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let text = text.split("\n\nFor more").next().unwrap_or(text);
        Some(wrong(path, text))
    }
}

/// Returns the command without errors about unknown or missing arguments. Each subcommand is changed too, because a
/// built command does not inherit this setting.
fn lenient(command: Command) -> Command {
    command.ignore_errors(true).mut_subcommands(lenient)
}

/// If a `--config` file is given: the names of the subcommand (the outermost first), the file, and the arguments of the
/// subcommand.
fn named_file(mut matches: &ArgMatches) -> Option<(Vec<&str>, &PathBuf, &ArgMatches)> {
    let mut names = Vec::new();
    while let Some((name, below)) = matches.subcommand() {
        names.push(name);
        matches = below;
    }
    let path = matches.try_get_one::<PathBuf>("config").ok()??;
    Some((names, path, matches))
}

/// The option of `command` that the key of a file names, if the file may set it: a file cannot name another file, or a
/// positional argument other than the inputs.
fn argument<'c>(command: &'c Command, key: &str) -> Option<&'c Arg> {
    let named = |arg: &&Arg| match arg.get_long() {
        Some(long) => {
            let aliases = arg.get_visible_aliases().unwrap_or_default();
            long == key || aliases.contains(&key)
        }
        None => key == "inputs" && arg.is_positional() && arg.get_id() == key,
    };
    let arg = command.get_arguments().find(named)?;
    (!matches!(key, "config" | "help" | "version")).then_some(arg)
}

/// Command-line arguments made from the entries of a file.
#[derive(Default)]
struct ConfigArguments {
    options: Vec<OsString>,
    inputs: Vec<OsString>,
}

impl ConfigArguments {
    /// Adds the option of an entry with its value. If the type of the value is wrong, returns a description of what to
    /// write instead.
    fn add(&mut self, arg: &Arg, key: &str, value: &Value) -> Result<(), &'static str> {
        let takes = arg.get_num_args().unwrap_or_default();
        match value {
            // In the file, `true` stands for an option without a value, if the option may have none.
            Value::Boolean(true) if takes.min_values() == 0 && !arg.is_positional() => {
                self.options.push(format!("--{key}").into());
            }
            Value::Boolean(false) if !takes.takes_values() => {}
            _ if !takes.takes_values() => return Err("true or false"),
            Value::Array(values) => values.iter().try_for_each(|value| self.value(arg, key, value))?,
            value => self.value(arg, key, value)?,
        }
        Ok(())
    }

    fn value(&mut self, arg: &Arg, key: &str, value: &Value) -> Result<(), &'static str> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Boolean(yes) => yes.to_string(),
            _ => return Err("a string, a number, true or false, or a list of strings"),
        };
        if arg.is_positional() {
            self.inputs.push(text.into());
        } else {
            self.options.push(format!("--{key}={text}").into());
        }
        Ok(())
    }
}

fn wrong(path: &Path, what: &str) -> anyhow::Error {
    UsageError(format!("{}: {what}", path.display())).into()
}
