//! Options with a fixed set of values, each of which stands for a value of a library type.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A value of an option: its name, its line in the help, and the variant it stands for.
#[derive(Clone, Copy)]
pub(crate) struct Choice<T> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) value: T,
}

/// Returns a parser that accepts the given names and returns the value of each. Help and shell completion list the
/// names.
pub(crate) fn by_name<T, const N: usize>(choices: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    explained(choices.map(|(name, value)| Choice {
        name,
        help: "",
        value,
    }))
}

/// Like [`by_name`], with a line of help for each value.
pub(crate) fn explained<T, const N: usize>(choices: [Choice<T>; N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(choices.map(|choice| match choice.help {
        "" => PossibleValue::new(choice.name),
        help => PossibleValue::new(choice.name).help(help),
    }));
    names.try_map(move |given| {
        let choice = choices.iter().find(|choice| choice.name == given);
        choice.map(|choice| choice.value).ok_or("no such value")
    })
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    #[test]
    fn known_names_give_values_and_other_names_are_refused() {
        let digits = by_name([("one", 1u8), ("two", 2)]);
        let command = Command::new("test").arg(Arg::new("digit").value_parser(digits));
        let parse = |name: &str| command.clone().try_get_matches_from(["test", name]);
        assert_eq!(parse("two").unwrap().get_one("digit"), Some(&2u8));
        assert!(parse("three").is_err());
    }
}
