//! `--config FILE.toml`: options from a file, as if they were given on the command line.
//!
//! A key is the long name of an option, or `inputs` for the inputs. The command line takes precedence: an option on it, a list too,
//! replaces the one of the file.

use crate::usage::UsageError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use toml::{Table, Value};

/// The command line with the options of its `--config` file, and the keys of the file for error messages.
pub(crate) struct Arguments {
    /// All of the arguments, the program's name first.
    pub(crate) all: Vec<OsString>,
    /// The file, and the keys taken from it.
    from_file: Option<(PathBuf, Vec<String>)>,
}

impl Arguments {
    /// Reads the `--config` file that `given` names, if it names one.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML, a key that is not an option of the command, or a value whose type no
    /// option accepts.
    pub(crate) fn read(command: &Command, given: Vec<OsString>) -> anyhow::Result<Self> {
        // Required options may be in the file, so none is missed here. Invalid options are reported when all arguments
        // are parsed.
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
        // The first word is the program's name. The subcommand names follow, each after its parent's. The added options
        // go behind the last of them.
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

    /// The error of parsing [`all`](Self::all) with the name of the file, if a value of the file caused it.
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

/// The command and its subcommands, without errors about unknown or missing arguments. A built command does not pass the setting on.
fn lenient(command: Command) -> Command {
    command.ignore_errors(true).mut_subcommands(lenient)
}

/// The names of the subcommand, the outermost first, its `--config` file, and its arguments.
fn named_file(mut matches: &ArgMatches) -> Option<(Vec<&str>, &PathBuf, &ArgMatches)> {
    let mut names = Vec::new();
    while let Some((name, below)) = matches.subcommand() {
        names.push(name);
        matches = below;
    }
    let path = matches.try_get_one::<PathBuf>("config").ok()??;
    Some((names, path, matches))
}

/// The option with the name of a key. A file cannot name another file, nor a positional argument other than the inputs.
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

/// Arguments made of a file's entries.
#[derive(Default)]
struct ConfigArguments {
    options: Vec<OsString>,
    inputs: Vec<OsString>,
}

impl ConfigArguments {
    /// Adds an entry, or returns a description of the expected value.
    fn add(&mut self, arg: &Arg, key: &str, value: &Value) -> Result<(), &'static str> {
        let takes = arg.get_num_args().unwrap_or_default();
        match value {
            // An option whose value may be omitted is given without one for `true`.
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
