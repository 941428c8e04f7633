//! Tests of stories: their list, members and topics, and collections without stories.

use serde_json::{Value, json};

use crate::client::TestService;

const SUBJECTS: [&str; 3] = [
    "quake coast harbour towns rescue shaken tremor wave",
    "football final stadium goal keeper striker cup crowd",
    "comet telescope orbit tail dust observatory bright sky",
];

/// Report number `n`, about one of the subjects, an hour after the previous report.
fn report(n: u64) -> Value {
    let subject: Vec<&str> = SUBJECTS[(n % 3) as usize].split(' ').collect();
    let words: Vec<String> = (0..60)
        .map(|i| match i % 2 {
            0 => subject[((n * 7 + i / 2 + i / 7) % 8) as usize].to_owned(),
            _ => format!("w{}", (n * 31 + i * 17) % 300),
        })
        .collect();
    let time = format!("2024-05-{:02}T{:02}:00:00Z", 1 + n / 24, n % 24);
    let title = format!("Report {n}");
    json!({"id": format!("d{n}"), "text": words.join(" "), "time": time, "fields": {"title": title}})
}

/// A service with a collection `s` of reports with stories.
fn with_reports() -> TestService {
    let running = TestService::new();
    let settings = json!({"stories": true, "story_threshold": 0.2, "story_window": 40 * 3600});
    running
        .call("PUT", "/v1/collections/s", &settings.to_string())
        .is(201);
    // Reports about the comet end after a day.
    let documents: Vec<Value> = (0..96).filter(|n| n % 3 != 2 || *n < 24).map(report).collect();
    let body = json!({"documents": documents}).to_string();
    let answer = running
        .call("POST", "/v1/collections/s/documents", &body)
        .is(200)
        .json();
    for item in answer["items"].as_array().unwrap() {
        assert!(item["answer"]["story_id"].is_u64(), "{item}");
    }
    running
}

/// All stories that match a query, read in pages of one.
fn list(running: &TestService, query: &str) -> Vec<Value> {
    let mut stories = Vec::new();
    let mut after = String::new();
    loop {
        let page = running
            .get(&format!("/v1/collections/s/stories?limit=1&{query}{after}"))
            .is(200)
            .json();
        stories.extend(page["stories"].as_array().unwrap().clone());
        match page["next_after"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return stories,
        }
    }
}

#[test]
fn stories_have_topics_and_members_and_documents_name_their_story() {
    let running = with_reports();
    let all = list(&running, "");
    let lasts: Vec<&str> = all.iter().map(|story| story["last"].as_str().unwrap()).collect();
    assert!(lasts.is_sorted_by(|a, b| a >= b) && all.len() >= 3, "{lasts:?}");
    let about = |word: &str| {
        let has = |story: &&Value| {
            story["topic"]
                .as_array()
                .unwrap()
                .iter()
                .any(|term| term["term"].as_str().unwrap().contains(word))
        };
        all.iter()
            .find(has)
            .unwrap_or_else(|| panic!("no story about {word}"))
    };
    let (quake, comet) = (about("quake"), about("comet"));
    assert_eq!((&quake["ended"], &comet["ended"]), (&json!(false), &json!(true)));
    assert!(comet["title"].as_str().unwrap().starts_with("Report "));
    assert_eq!(
        list(&running, "state=ended").len() + list(&running, "state=live").len(),
        all.len()
    );
    assert_eq!(
        list(&running, "until=2024-05-02")
            .iter()
            .filter(|story| story["ended"] == false)
            .count(),
        0
    );
    assert_eq!(
        list(&running, "since=2024-05-04"),
        list(&running, "state=live&since=2024-05-04")
    );
    let path = format!("/v1/collections/s/stories/{}", comet["story_id"]);
    let mut members = Vec::new();
    let mut after = 0;
    loop {
        let page = running
            .get(&format!("{path}?limit=3&after={after}"))
            .is(200)
            .json();
        assert_eq!((&page["size"], &page["topic"]), (&comet["size"], &comet["topic"]));
        members.extend(page["members"].as_array().unwrap().clone());
        match page["next_after"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(members.len() as u64, comet["size"].as_u64().unwrap());
    for member in &members {
        let document = running
            .get(&format!(
                "/v1/collections/s/documents/{}",
                member["id"].as_str().unwrap()
            ))
            .is(200)
            .json();
        assert_eq!(document["story_id"], comet["story_id"]);
    }
    // A copy gets the story of its group, whether checked or added. An export can be imported.
    let mut copy = report(90);
    copy["id"] = "copy".into();
    let checked = running
        .call("POST", "/v1/collections/s/check", &copy.to_string())
        .is(200)
        .json();
    let added = running
        .call("POST", "/v1/collections/s/check-and-insert", &copy.to_string())
        .is(200)
        .json();
    assert_eq!(
        (&checked["story_id"], &added["story_id"]),
        (&quake["story_id"], &quake["story_id"])
    );
    let exported = running.get("/v1/collections/s/export").is(200).body;
    let ndjson = "Content-Type: application/x-ndjson\r\n";
    let imported = running.call_with("POST", "/v1/collections/c/import", ndjson, exported.as_bytes());
    assert_eq!(imported.is(200).json()["rejected"], 0);
}

#[test]
fn invalid_story_requests_are_refused() {
    let running = with_reports();
    let none = running.get("/v1/collections/c/stories").is(404).json();
    assert!(
        none["detail"].as_str().unwrap().contains("keeps no stories"),
        "{none}"
    );
    running.get("/v1/collections/c/stories/1").is(404);
    running.get("/v1/collections/s/stories/1000000").is(404);
    running.get("/v1/collections/s/stories/x").is(400);
    running.get("/v1/collections/s/stories?state=dead").is(400);
    running.get("/v1/collections/s/stories?colour=red").is(400);
    running.get("/v1/collections/s/stories?since=yesterday").is(422);
    running.get("/v1/collections/s/stories?after=nowhere").is(422);
    running.get("/v1/collections/s/stories?limit=1001").is(422);
    running
        .call("PUT", "/v1/collections/d", "{\"story_window\": 60}")
        .is(422);
    let other = json!({"stories": true}).to_string();
    running.call("PUT", "/v1/collections/s", &other).is(409);
    let bare = json!({"id": "bare", "fingerprint": "0".repeat(32)}).to_string();
    running.call("POST", "/v1/collections/s/check", &bare).is(200);
    running
        .call("POST", "/v1/collections/s/check-and-insert", &bare)
        .is(422);
}
