//! Tests of collections: secret keys, fingerprints without texts, restarts, and concurrent creation and deletion.

use serde_json::json;

use crate::client::{TestService, page, quiet_options};

#[test]
fn no_answer_of_a_keyed_collection_contains_the_key_or_fingerprints() {
    let running = TestService::new();
    let path = |rest: &str| format!("/v1/collections/keyed{rest}");
    let mut answers = running.call("PUT", &path(""), "{\"keyed\": true}").is(201).body;
    for n in 0..3 {
        let body = json!({"id": n.to_string(), "text": page(1, n)}).to_string();
        answers += &running
            .call("POST", &path("/check-and-insert"), &body)
            .is(200)
            .body;
        answers += &running.get(&path(&format!("/documents/{n}"))).is(200).body;
    }
    for rest in ["", "/export", "/stats", "/changes", "/groups"] {
        answers += &running.get(&path(rest)).is(200).body;
    }
    for word in ["fingerprint", "secret", "key\""] {
        assert!(!answers.contains(word), "{word} in {answers}");
    }
    let explained = running.get(&path("/explain?a=0&b=1")).is(200).json();
    assert_eq!(
        (&explained["fingerprints"], &explained["explanation"]["bits"]),
        (&json!(["", ""]), &json!([]))
    );
}

#[test]
fn a_collection_without_texts_compares_fingerprints() {
    let running = TestService::new();
    running
        .call("PUT", "/v1/collections/f", "{\"store\": \"none\", \"k\": 3}")
        .is(201);
    let add = |id: &str, digits: &str| {
        let body = json!({"id": id, "fingerprint": digits}).to_string();
        let answer = running
            .call("POST", "/v1/collections/f/check-and-insert", &body)
            .is(200)
            .json();
        assert_eq!(answer["verified"], false);
        (
            answer["verdict"].as_str().unwrap().to_owned(),
            answer["best"]["hamming"].as_u64(),
        )
    };
    let digits = "0123456789abcdef0123456789abcdef";
    assert_eq!(add("a", digits), ("new".to_owned(), None));
    assert_eq!(
        add("b", &digits.replacen('0', "7", 1)),
        ("near".to_owned(), Some(3))
    );
    assert_eq!(add("c", &digits.replacen('0', "f", 1)), ("new".to_owned(), None));
    // A collection with texts can check a fingerprint but not store it.
    let body = json!({"id": "a", "fingerprint": digits});
    running.post("check", &body).is(200);
    running.post("check-and-insert", &body).is(422);
}

#[test]
fn a_restarted_service_keeps_its_documents_and_reports_a_damaged_collection() {
    let running = TestService::new();
    running.add("a", &page(1, 0));
    running.call("PUT", "/v1/collections/broken", "").is(201);
    let TestService { service, dir } = running;
    service.stop();
    std::fs::write(
        dir.path().join("collections/broken/collection.redb"),
        "not a store",
    )
    .unwrap();
    let options = quiet_options(&dir.path().join("collections"));
    let running = TestService {
        service: twinprint_server::Service::start(&options).unwrap(),
        dir,
    };
    assert_eq!(running.add("b", &page(1, 0))["verdict"], "exact");
    running.get("/v1/collections/broken/stats").is(503);
    assert_eq!(running.get("/readyz").status, 503);
}

#[test]
fn concurrent_creations_and_deletions_leave_a_collection_or_none() {
    let running = TestService::new();
    let count = |statuses: &[u16], status: u16| statuses.iter().filter(|&&other| other == status).count();
    let concurrently = |calls: &[(&str, &str)]| -> Vec<u16> {
        std::thread::scope(|scope| {
            let spawn = |&(method, body)| {
                let running = &running;
                scope.spawn(move || running.call(method, "/v1/collections/d", body).status)
            };
            let threads: Vec<_> = calls.iter().map(spawn).collect();
            let statuses = threads.into_iter().map(|thread| thread.join().unwrap());
            statuses.collect()
        })
    };
    for _ in 0..5 {
        // One request creates the collection, the others find it, and other settings are refused.
        let statuses = concurrently(&[("PUT", "{}"); 6]);
        assert_eq!(
            (count(&statuses, 201), count(&statuses, 200)),
            (1, 5),
            "{statuses:?}"
        );
        assert_eq!(concurrently(&[("PUT", "{\"k\": 5}"); 3]), [409; 3]);
        let statuses = concurrently(&[("DELETE", ""); 3]);
        assert_eq!(
            (count(&statuses, 204), count(&statuses, 404)),
            (1, 2),
            "{statuses:?}"
        );
        // In any order, each successful deletion matches a creation.
        let statuses = concurrently(&[
            ("PUT", ""),
            ("DELETE", ""),
            ("PUT", ""),
            ("DELETE", ""),
            ("PUT", ""),
        ]);
        let exists = running.get("/v1/collections/d").status == 200;
        assert_eq!(
            count(&statuses, 201),
            count(&statuses, 204) + usize::from(exists),
            "{statuses:?}"
        );
        let last = running.call("DELETE", "/v1/collections/d", "").status;
        assert_eq!(last, if exists { 204 } else { 404 });
    }
    let entries = std::fs::read_dir(running.dir.path().join("collections")).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["c"]);
    running.get("/v1/collections/c/stats").is(200);
}
