//! Forms of features and vectors, and the messages about other JSON.

use super::*;

fn features(json: &str) -> Vec<(String, f64)> {
    let entries = parse_features(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    entries
        .into_iter()
        .map(|feature| (feature.name, feature.weight))
        .collect()
}

fn vector(json: &str) -> Vector {
    parse_vector(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[test]
fn features_have_three_forms() {
    let expected = vec![
        ("b".to_owned(), 1.0),
        ("a".to_owned(), 2.5),
        ("b".to_owned(), 3.0),
    ];
    assert_eq!(features(r#"{"b": 1, "a": 2.5, "b": 3}"#), expected);
    assert_eq!(features(r#"[["b", 1], ["a", 2.5], ["b", 3e0]]"#), expected);
    assert_eq!(features(r#"["b", ["a", 2.5], ["b", 3]]"#), expected);
    let largest = format!("[{}, [7, 2]]", u64::MAX);
    assert_eq!(
        features(&largest),
        [(u64::MAX.to_string(), 1.0), ("7".to_owned(), 2.0)]
    );
    assert_eq!(features("[]").len() + features("{}").len(), 0);
}

#[test]
fn vectors_have_three_forms() {
    let expected = vec![(Dimension::Index(0), 0.5), (Dimension::Index(2), -1.0)];
    assert_eq!(vector(r#"{"0": 0.5, "2": -1}"#).components, expected);
    assert_eq!(vector(r#" [ [0, 0.5], ["2", -1]]"#).components, expected);
    let dense = vector("[0.5, 0, -1]").components;
    assert_eq!((&dense[0], &dense[2]), (&expected[0], &expected[1]));
    let named = vector(r#"{"x": 1, "02": 2, "-1": 3}"#).components;
    let names = ["x", "02", "-1"].map(|name| Dimension::Name(name.to_owned()));
    assert_eq!(named, names.into_iter().zip([1.0, 2.0, 3.0]).collect::<Vec<_>>());
    assert_eq!(vector("[]").components.len() + vector("{}").components.len(), 0);
}

/// Every message names the place and the form that is expected.
#[test]
fn other_json_is_refused() {
    let features = |json: &str| parse_features(json).unwrap_err().to_string();
    let vector = |json: &str| parse_vector(json).unwrap_err().to_string();
    let forms = r#"{"name": weight, …}, [["name", weight], …] or ["name", …]"#;
    for (wrong, found) in [
        ("3", "the number 3"),
        ("\"a b\"", "a string"),
        ("null", "null"),
        ("true", "true or false"),
    ] {
        assert_eq!(
            features(wrong),
            format!("expected features: {forms}, but found {found}")
        );
        assert!(
            vector(wrong).starts_with("expected a vector: [value, …], "),
            "{wrong}"
        );
    }
    for (wrong, message) in [
        (
            r#"{"a": "1"}"#,
            "the weight of \"a\" is a string; expected a number",
        ),
        (r#"{"a": null}"#, "the weight of \"a\" is null; expected a number"),
        (
            r#"[["a", []]]"#,
            "the weight of \"a\" is a list of 0 values; expected a number",
        ),
        (
            r#"["b", ["a"]]"#,
            "entry 2 of the list is a list of 1 value; expected a name or [\"name\", weight]",
        ),
        (
            r#"[["a", 1, 2]]"#,
            "entry 1 of the list is a list of 3 values; expected a name or [\"name\", weight]",
        ),
        (
            "[[1.5, 1]]",
            "entry 1 of the list is a pair whose first value is not a name; expected a name or [\"name\", weight]",
        ),
        (
            "[-1]",
            "entry 1 of the list is the number -1; expected a name or [\"name\", weight]",
        ),
        (
            "[true]",
            "entry 1 of the list is true or false; expected a name or [\"name\", weight]",
        ),
        (
            "[{}]",
            "entry 1 of the list is an object; expected a name or [\"name\", weight]",
        ),
    ] {
        assert_eq!(features(wrong), message);
    }
    for broken in [r#"{"a": 1e999}"#, "[", r#"[["a", NaN]]"#, ""] {
        assert!(
            features(broken).starts_with("invalid JSON at character "),
            "{broken}"
        );
        assert!(
            vector(broken).starts_with("invalid JSON at character "),
            "{broken}"
        );
    }
    for (wrong, message) in [
        (
            r#"["a"]"#,
            "entry 1 of the list is a string; expected a number or [dimension, value]",
        ),
        (
            "[1, null]",
            "entry 2 of the list is null; expected a number or [dimension, value]",
        ),
        (
            "[[-1, 1]]",
            "entry 1 of the list is a pair whose first value is not a dimension; expected a number or [dimension, value]",
        ),
        (
            r#"{"x": "1"}"#,
            "the value of \"x\" is a string; expected a number",
        ),
        (
            "[[0, 1], 2]",
            "the vector has both pairs and single values: write every component as [dimension, value]",
        ),
        (
            "[1, [0, 1]]",
            "the vector has both pairs and single values: write every component as [dimension, value]",
        ),
        (
            "[[9007199254740992, 1]]",
            "dimension 9007199254740992 of the vector is too large: the largest is 2^53 - 1",
        ),
        (
            "[0, 1e80]",
            "the value of dimension 1 is 1e80; expected 0 or a magnitude from 1e-70 to 1e70: multiply all values by the same number",
        ),
        (
            r#"{"x": -1e-80}"#,
            "the value of dimension \"x\" is -1e-80; expected 0 or a magnitude from 1e-70 to 1e70: multiply all values by the same number",
        ),
    ] {
        assert_eq!(vector(wrong), message);
    }
}
