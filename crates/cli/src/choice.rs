//! Options whose values are variants of a library type.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A parser of the value with one of these names. Help and shell completion list the names.
pub(crate) fn by_name<T, const N: usize>(choices: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(choices.map(|(name, _)| name));
    names.try_map(move |given| {
        let choice = choices.iter().find(|(name, _)| *name == given);
        choice.map(|(_, value)| *value).ok_or("no such value")
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
