//! `twinprint replay`: an archive is sent to a service.

use crate::corpus::Corpus;
use crate::sandbox::Sandbox;

/// A compressed web archive of pages with their addresses.
fn archive(pages: &[(&str, &str)]) -> Vec<u8> {
    let record = |(url, text): &(&str, &str)| {
        let page = format!("<nav>Home</nav><main><p>{text}</p></main>");
        let head = format!(
            "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {url}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            page.len()
        );
        Corpus::gzip(format!("{head}{page}\r\n\r\n").as_bytes())
    };
    pages.iter().flat_map(record).collect()
}

/// Runs a script while a service runs. The address of the service is in `$address`. The output of an earlier service is removed
/// before this one starts, so that the script does not read the old address.
pub(crate) fn with_a_service(sandbox: &Sandbox, script: &str) -> crate::sandbox::Run {
    sandbox.bash(&format!(
        "rm -f printed\ntwinprint serve collections --listen 127.0.0.1:0 --log quiet > printed & service=$!\n\
         trap 'kill $service; wait $service' EXIT\n\
         until grep -qs '^http.*:[0-9]' printed; do sleep 0.1; done\naddress=$(cat printed)/v1/collections/crawl\n{script}"
    ))
}

#[test]
fn pages_of_an_archive_are_sent_in_order_with_distinct_ids() {
    let sandbox = Sandbox::new();
    let text =
        "The kettle whistled twice before anyone stood up to make the tea, and by then the room was warm.";
    let pages = [
        ("http://a.example/1", text.to_owned()),
        (
            "http://a.example/2",
            "Heavy rain closed three mountain roads on Tuesday evening, and drivers stayed at home."
                .to_owned(),
        ),
        ("http://b.example/1", text.to_owned()),
        ("http://c.example/1", format!("{text} Yes.")),
    ];
    let pages: Vec<(&str, &str)> = pages.iter().map(|(url, text)| (*url, text.as_str())).collect();
    sandbox.put("crawl.warc.gz", archive(&pages));
    let run = with_a_service(
        &sandbox,
        "twinprint replay crawl.warc.gz --to $address --batch 3 --quiet",
    )
    .ok();
    let rows: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answers: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["verdict"].as_str().unwrap()))
        .collect();
    let expected = [
        ("http://a.example/1", "new"),
        ("http://a.example/2", "new"),
        ("http://b.example/1", "exact"),
        ("http://c.example/1", "near"),
    ];
    assert_eq!(answers, expected);
    // A second replay of the archive changes nothing.
    let again = with_a_service(
        &sandbox,
        "twinprint replay crawl.warc.gz --to $address --summary --quiet",
    )
    .ok();
    assert_eq!(again.stdout, "{\"updated\":4}\n");
}

#[test]
fn an_unreachable_service_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.put("a.txt", "A text.");
    let replay = |to: &str| sandbox.run(&format!("replay a.txt --to {to} --quiet"));
    replay("https://a.example/v1/collections/c").fails(1, &["http://HOST:PORT/v1/collections/NAME"]);
    replay("http://127.0.0.1:1/v1/collections/c").fails(1, &["127.0.0.1:1"]);
    let run = with_a_service(
        &sandbox,
        "twinprint replay a.txt --to ${address%crawl}A.B --quiet",
    );
    run.fails(1, &["422", "the name of the collection"]);
}
