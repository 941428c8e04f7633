//! The streaming picker compared with its brute-force twin, which parses the whole line into a tree.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn options(text: &str) -> SourceOptions {
    SourceOptions {
        text_key: text.to_owned(),
        sort_key: Some("time".to_owned()),
        ..SourceOptions::default()
    }
}

#[test]
fn picks_the_fields_and_borrows_plain_text() {
    let line = r#" {"x":[1,{"text":"no"}],"id":"a","text":"plain","time":12.5,"y":{"text":1}} "#;
    let picked = pick(line, &options("text")).expect("a document");
    assert!(matches!(picked.text, Cow::Borrowed("plain")));
    assert!(matches!(picked.id, Some(Cow::Borrowed("a"))));
    assert_eq!(picked.sort_value, Some(SortValue::Real(12.5)));
    let escaped = pick(
        r#"{"text":"a\nb\u4e2d\ud83d\ude00","id":"q\""}"#,
        &options("text"),
    )
    .expect("a document");
    assert_eq!(
        (escaped.text.as_ref(), escaped.id.as_deref()),
        ("a\nb中😀", Some("q\""))
    );
}

#[test]
fn numbers_as_ids_keep_every_digit() {
    let id = |line| {
        pick(line, &options("text"))
            .expect("a document")
            .id
            .map(Cow::into_owned)
    };
    assert_eq!(
        id(r#"{"id":123456789012345678901234567890,"text":""}"#).as_deref(),
        Some("123456789012345678901234567890")
    );
    assert_eq!(id(r#"{"id":1.50,"text":""}"#).as_deref(), Some("1.50"));
    assert_eq!(id(r#"{"id":null,"text":""}"#), None);
    assert_eq!(id(r#"{"id":[1],"text":""}"#), None);
    assert_eq!(id(r#"{"text":""}"#), None);
}

#[test]
fn dotted_keys_descend_or_match_literally() {
    let text = |line, key| pick(line, &options(key)).map(|p| p.text.into_owned());
    assert_eq!(
        text(r#"{"a":{"b":{"c":"deep"}}}"#, "a.b.c").as_deref(),
        Ok("deep")
    );
    assert_eq!(text(r#"{"a.b":"flat"}"#, "a.b").as_deref(), Ok("flat"));
    assert_eq!(text(r#"{"a":{"b.c":"mixed"}}"#, "a.b.c").as_deref(), Ok("mixed"));
    assert!(text(r#"{"a":"b"}"#, "a.b").is_err());
    assert!(text(r#"{"ab":"x"}"#, "a").is_err());
}

#[test]
fn one_field_may_have_two_roles_and_the_last_occurrence_counts() {
    let mut both = options("a");
    both.id_key = Some("a".to_owned());
    both.sort_key = Some("a".to_owned());
    let picked = pick(r#"{"a":"x","a":"y"}"#, &both).expect("a document");
    assert_eq!((picked.text.as_ref(), picked.id.as_deref()), ("y", Some("y")));
    assert_eq!(picked.sort_value, Some(SortValue::Text("y".into())));
    let again = pick(r#"{"text":"x","text":null}"#, &options("text"));
    assert_eq!(
        again,
        Err(RejectReason::FieldNull {
            key: "text".to_owned()
        })
    );
    let id = pick(r#"{"text":"x","id":"a","id":null}"#, &options("text"))
        .expect("a document")
        .id;
    assert_eq!(id, None);
}

#[test]
fn reasons_name_the_error_and_its_position() {
    let reason = |line| pick(line, &options("text")).expect_err("no document");
    let key = "text".to_owned();
    assert_eq!(reason("[1]"), RejectReason::NotAnObject { found: "an array" });
    assert_eq!(reason("12"), RejectReason::NotAnObject { found: "a number" });
    assert!(matches!(
        reason("hello"),
        RejectReason::InvalidJson { column: 1, .. }
    ));
    assert!(matches!(
        reason(r#"{"text":"a"} x"#),
        RejectReason::InvalidJson { column: 14, .. }
    ));
    assert!(matches!(
        reason(r#"{"text":"a""#),
        RejectReason::InvalidJson { column: 11, .. }
    ));
    assert!(matches!(
        reason(r#"{"text":"\ud800"}"#),
        RejectReason::LoneSurrogate { .. }
    ));
    let present = vec!["body".to_owned(), "n".to_owned()];
    assert_eq!(
        reason(r#"{"body":"a","n":1}"#),
        RejectReason::FieldMissing {
            key: key.clone(),
            present
        }
    );
    assert_eq!(
        reason(r#"{"text":{}}"#),
        RejectReason::FieldNotText {
            key: key.clone(),
            found: "an object"
        }
    );
    assert_eq!(
        reason(r#"{"text":[[]]}"#),
        RejectReason::FieldNotText {
            key: key.clone(),
            found: "an array"
        }
    );
    assert_eq!(
        reason(r#"{"text":-1}"#),
        RejectReason::FieldNotText {
            key: key.clone(),
            found: "a number"
        }
    );
    assert_eq!(
        reason(r#"{"text":1e3}"#),
        RejectReason::FieldNotText {
            key: key.clone(),
            found: "a number"
        }
    );
    assert_eq!(
        reason(r#"{"text":true}"#),
        RejectReason::FieldNotText {
            key,
            found: "a boolean"
        }
    );
    let many = reason(r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}"#).to_string();
    assert!(
        many.contains("h, …") && !many.contains('i'.to_string().as_str().repeat(2).as_str()),
        "{many}"
    );
}

#[test]
fn deep_nesting_in_another_field_is_accepted() {
    let line = format!(r#"{{"x":{}{},"text":"t"}}"#, "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(pick(&line, &options("text")).expect("a document").text, "t");
    let inside = format!(r#"{{"text":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    assert!(pick(&inside, &options("text")).is_err());
}

/// Finds the value of a key in a parsed tree, by the rule of the module.
fn find_in_tree<'v>(value: &'v Value, path: &str, found: &mut Option<&'v Value>) {
    let Some(object) = value.as_object() else { return };
    for (key, inner) in object {
        if key == path {
            *found = Some(inner);
        } else if let Some(rest) = path
            .strip_prefix(key.as_str())
            .and_then(|rest| rest.strip_prefix('.'))
        {
            find_in_tree(inner, rest, found);
        }
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        "[a-z\n\"\\\\]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,2}|a\\.b|é", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// The id may be a number whose key is the beginning of the path of the text.
#[test]
fn one_path_may_begin_with_another() {
    let options = SourceOptions {
        text_key: "a.b".to_owned(),
        id_key: Some("a".to_owned()),
        ..SourceOptions::default()
    };
    let picked = pick(r#"{"a":7,"a.b":"flat"}"#, &options).unwrap();
    assert_eq!((picked.text.as_ref(), picked.id.as_deref()), ("flat", Some("7")));
    let picked = pick(r#"{"a":{"b":"deep"}}"#, &options).unwrap();
    assert_eq!((picked.text.as_ref(), picked.id.as_deref()), ("deep", None));
}

proptest! {
    #[test]
    fn picks_the_values_of_the_tree(value in tree(), text in "a|b|a\\.b|a\\.b\\.c|é", id in "a|c|b\\.a") {
        let line = value.to_string();
        let options = SourceOptions { text_key: text.clone(), id_key: Some(id.clone()), ..SourceOptions::default() };
        let picked = pick(&line, &options);
        let (mut the_text, mut the_id) = (None, None);
        find_in_tree(&value, &text, &mut the_text);
        find_in_tree(&value, &id, &mut the_id);
        match (&picked, the_text) {
            (Ok(picked), Some(Value::String(expected))) => {
                prop_assert_eq!(picked.text.as_ref(), expected);
                let expected_id = match the_id {
                    Some(Value::String(s)) => Some(s.clone()),
                    Some(Value::Number(n)) => Some(n.to_string()),
                    _ => None,
                };
                prop_assert_eq!(picked.id.as_deref(), expected_id.as_deref());
            }
            (Err(RejectReason::FieldMissing { .. }), None) => prop_assert!(value.is_object()),
            (Err(RejectReason::NotAnObject { .. }), None) => prop_assert!(!value.is_object()),
            (Err(RejectReason::FieldNull { .. }), Some(Value::Null)) => {}
            (Err(RejectReason::FieldNotText { .. }), Some(v)) => prop_assert!(!v.is_string() && !v.is_null()),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn any_text_is_a_document_or_a_reason(line in "\\PC{0,40}|[\\[\\]{}:,\"a0-9tex]{0,40}") {
        let valid = serde_json::from_str::<Value>(&line).is_ok();
        match pick(&line, &options("text")) {
            Err(RejectReason::InvalidJson { .. }) => prop_assert!(!valid || line.contains("1e")),
            _ => prop_assert!(valid || line.len() > 20, "{}", line),
        }
    }
}

#[test]
fn a_document_needs_no_id() {
    let line = json!({"text": "t"}).to_string();
    let none = SourceOptions {
        id_key: None,
        ..SourceOptions::default()
    };
    assert_eq!(pick(&line, &none).expect("a document").text, "t");
}

#[test]
fn raw_values_of_any_type_are_picked() {
    let raw = SourceOptions {
        raw: true,
        ..options("v")
    };
    let line = r#"{"id":"a","v": [1.5, {"x":"\n"}] ,"time":3}"#;
    let picked = pick(line, &raw).expect("a document");
    assert_eq!(
        (picked.text.as_ref(), picked.id.as_deref()),
        (r#"[1.5, {"x":"\n"}]"#, Some("a"))
    );
    assert_eq!(picked.sort_value, Some(SortValue::Integer(3)));
    assert_eq!(pick(r#"{"v":"s"}"#, &raw).expect("a document").text, r#""s""#);
    assert!(matches!(pick("{}", &raw), Err(RejectReason::FieldMissing { .. })));
}
