use proptest::prelude::*;
use twinprint_text::charset::Charset;

use super::*;
use twinprint_io::source::{DelimitedFormat, Header};

fn annotation() -> Annotation<'static> {
    Annotation {
        document: 7,
        cluster_id: 3,
        cluster_size: 4,
        is_leader: false,
        duplicate_of: Some("a \"b\"é".into()),
        hamming: 5,
        jaccard: Ratio::new(0.875),
        dup_count: 2,
        place: 1,
    }
}

fn annotated(
    columns: Columns,
    charset: Charset,
    header: Option<&Header>,
    record: &[u8],
) -> Result<Vec<u8>, String> {
    let under = RecordContext {
        source: 0,
        charset,
        header,
    };
    let mut out = Vec::new();
    let annotator = Annotator::new(columns, "x_");
    let position = RecordPosition { label: "in", line: 9 };
    let done = annotator.append(under, record, position, &annotation(), &mut out);
    done.map_err(|error| error.to_string())?;
    Ok(out)
}

fn object(columns: Columns, record: &str) -> Result<String, String> {
    let out = annotated(columns, Charset::UTF_8, None, record.as_bytes())?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn fields_are_added_before_the_last_brace() {
    assert_eq!(
        object(Columns::Twinprint, "\u{feff}{ \"text\" : \"}\" } \r\n").unwrap(),
        "\u{feff}{ \"text\" : \"}\" ,\"x_cluster_id\":3,\"x_cluster_size\":4,\"x_is_leader\":false,\
         \"x_duplicate_of\":\"a \\\"b\\\"é\",\"x_hamming\":5,\"x_jaccard\":0.875,\"x_dup_count\":2} \r\n"
    );
    assert_eq!(
        object(Columns::Duplodocus, "{\"text\":{}}").unwrap(),
        "{\"text\":{},\"x_cc_id\":3,\"x_cc_size\":4,\"x_cc_idx\":1}"
    );
}

#[test]
fn an_existing_field_of_the_same_name_is_refused_in_any_spelling() {
    for record in [
        "{\"x_cc_id\":1}",
        "{\"a\":{\"x_cc_id\":0},\"x_cc\\u005fid\":null}",
    ] {
        let refused = object(Columns::Duplodocus, record).unwrap_err();
        assert!(
            refused.contains("in:9") && refused.contains("x_cc_id"),
            "{refused}"
        );
    }
    assert!(object(Columns::Duplodocus, "{\"a\":{\"x_cc_id\":0},\"cc_id\":1}").is_ok());
    // The field is also found in a record whose charset is not UTF-8.
    let gbk = Charset::named("gbk").unwrap();
    let record = b"{\"text\":\"\xc4\xe3\",\"x_cc_id\":0}";
    assert!(annotated(Columns::Duplodocus, gbk, None, record).is_err());
}

#[test]
fn fields_are_written_in_the_charset_of_the_file() {
    let gbk = Charset::named("gbk").unwrap();
    let record = annotated(Columns::Twinprint, gbk, None, b"{\"text\":\"\xc4\xe3\"}").unwrap();
    let text = gbk.decode(&record).unwrap();
    assert!(record.starts_with(b"{\"text\":\"\xc4\xe3\","), "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["x_duplicate_of"], "a \"b\"é");

    let row = |charset, header: &[u8]| {
        let form = DelimitedFormat {
            usual: b',',
            given: None,
            charset,
            headless: false,
        };
        let header = Header::new(header, form).unwrap();
        annotated(Columns::Twinprint, charset, Some(&header), b"\xc4\xe3;1\r\n")
    };
    let written = row(gbk, b"text;n").unwrap();
    assert!(written.starts_with(b"\xc4\xe3;1;3;4;false;\"a \"\"b\"\""));
    assert_eq!(
        gbk.decode(&written).unwrap(),
        "你;1;3;4;false;\"a \"\"b\"\"é\";5;0.875;2\r\n"
    );
    let greek = row(Charset::named("windows-1253").unwrap(), b"text;n").unwrap_err();
    assert!(
        greek.contains("in:9") && greek.contains("windows-1253"),
        "{greek}"
    );
}

proptest! {
    /// The csv crate reads a row with added fields back as the row and the fields.
    #[test]
    fn rows_read_back(
        fields in proptest::collection::vec("[a,;\"\r\n ]{0,5}", 2..5),
        added in proptest::collection::vec("[b,;\"\r\n\t ]{0,5}", 1..5),
        delimiter in prop::sample::select(b",;\t".as_slice()),
        ending in prop::sample::select(vec!["\n", "\r\n", "\r", ""]),
    ) {
        let mut writer = csv::WriterBuilder::new()
            .delimiter(delimiter)
            .quote_style(csv::QuoteStyle::Always)
            .from_writer(Vec::new());
        writer.write_record(&fields).unwrap();
        let mut row = writer.into_inner().unwrap();
        row.pop();
        row.extend_from_slice(ending.as_bytes());
        let mut out = Vec::new();
        let values = added.iter().map(|field| Cow::Borrowed(field.as_str()));
        row::append(&row, values, delimiter, Charset::UTF_8, &mut out).unwrap();
        prop_assert!(out.ends_with(ending.as_bytes()));
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).from_reader(out.as_slice());
        let read: Vec<Vec<String>> = reader
            .records()
            .map(|record| record.unwrap().iter().map(str::to_owned).collect())
            .collect();
        prop_assert_eq!(read, vec![[fields, added].concat()]);
    }
}
