//! Documents taken in, asked about, explained, grouped, exported, deleted.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::{Running, page};

fn add(running: &Running, id: &str, text: &str) -> Value {
    let body = json!({"id": id, "text": text, "url": format!("http://a.example/{id}")});
    running.post("check-and-insert", &body).is(200).json()
}

#[test]
fn new_near_exact_updated_explained_and_deleted() {
    let running = Running::new();
    let first = add(&running, "a", &page(1, 0));
    assert_eq!(
        (&first["verdict"], &first["durable"]),
        (&json!("new"), &json!(true))
    );
    let near = add(&running, "b", &page(1, 3));
    assert_eq!(
        (&near["verdict"], &near["best"]["id"], &near["group_id"]),
        (&json!("near"), &json!("a"), &first["group_id"])
    );
    assert!(near["best"]["jaccard"].as_f64().unwrap() > 0.9);
    assert_eq!(add(&running, "c", &page(1, 0))["verdict"], "exact");
    let moved = add(&running, "c", &page(2, 0));
    assert!(
        moved["verdict"] == "updated" && moved["moved"].as_u64().unwrap() > 5,
        "{moved}"
    );
    let checked = running
        .post("check", &json!({"id": "x", "text": page(2, 1)}))
        .is(200)
        .json();
    assert_eq!(
        (&checked["verdict"], &checked["best"]["id"]),
        (&json!("near"), &json!("c"))
    );
    let explained = running.get("/v1/collections/c/explain?a=a&b=b").is(200).json();
    assert!(
        explained["explanation"]["features"]
            .to_string()
            .contains("edited3")
    );
    let similar = running
        .post("similar", &json!({"document": {"id": "x", "text": page(1, 0)}}))
        .is(200)
        .json();
    assert_eq!(
        (&similar["hits"][0]["id"], &similar["hits"][0]["duplicate"]),
        (&json!("a"), &json!(true))
    );
    let groups = running.get("/v1/collections/c/groups").is(200).json();
    assert_eq!(groups["groups"].as_array().unwrap().len(), 1);
    let group = running
        .get(&format!("/v1/collections/c/groups/{}", first["group_id"]))
        .is(200)
        .json();
    assert_eq!(group["members"].as_array().unwrap().len(), 2);
    let stats = running
        .get("/v1/collections/c/stats?source=a.example")
        .is(200)
        .json();
    assert_eq!(
        (&stats["documents"], &stats["sources"][0]["near"]),
        (&json!(3), &json!(1))
    );
    running
        .call("DELETE", "/v1/collections/c/documents/a", "")
        .is(200);
    running.get("/v1/collections/c/documents/a").is(404);
    // The number of a group stands for the document that leads it.
    let group = format!("/v1/collections/c/groups/{}", first["group_id"]);
    running.get(&group).is(404);
    let left = running.get("/v1/collections/c/documents/b").is(200).json();
    assert_eq!((&left["leads"], &left["group_id"]), (&json!(true), &near["seq"]));
    let changes = running.get("/v1/collections/c/changes?since=0").is(200).json();
    let kinds: Vec<&str> = changes["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["change"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["new", "near", "exact", "updated", "deleted", "regrouped"]);
}

#[test]
fn a_batch_has_one_answer_a_document_in_order() {
    let running = Running::new();
    let documents = json!([
        {"id": "a", "text": page(1, 0)}, {"id": "b", "text": page(1, 2)}, {"id": "bad"},
        {"id": "c", "html": format!("<html><body><p>{}</p></body></html>", page(1, 0))}, {"id": "d", "text": page(3, 0), "ttl": 0},
    ]);
    let answer = running
        .post("documents", &json!({"documents": documents}))
        .is(200)
        .json();
    let told: Vec<String> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let told = if item["answer"].is_null() {
                &item["problem"]["status"]
            } else {
                &item["answer"]["verdict"]
            };
            told.to_string()
        })
        .collect();
    assert_eq!(told, ["\"new\"", "\"near\"", "422", "\"exact\"", "422"]);
    let checks = running.post(
        "checks",
        &json!({"documents": [{"id": "a2", "text": page(1, 0)}, {"id": "z", "text": page(9, 0)}]}),
    );
    let checks = checks.is(200).json();
    assert_eq!(
        (
            &checks["items"][0]["answer"]["verdict"],
            &checks["items"][1]["answer"]["verdict"]
        ),
        (&json!("exact"), &json!("new"))
    );
    let collapsed = running.post("collapse", &json!({"documents": [
        {"id": "1", "text": page(5, 0)}, {"id": "2", "text": page(6, 0)}, {"id": "3", "text": page(5, 1)}, {"id": "4", "text": page(5, 0)}]}));
    assert_eq!(
        collapsed.is(200).json(),
        json!({"groups": [{"id": "1", "duplicates": ["3", "4"]}, {"id": "2", "duplicates": []}]})
    );
}

#[test]
fn eight_clients_with_the_same_pages_get_one_new_for_each() {
    let running = Running::new();
    let pages = 60;
    let new: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8u64)
            .map(|client| {
                let running = &running;
                scope.spawn(move || {
                    let mut new = 0;
                    for batch in (0..pages).collect::<Vec<u64>>().chunks(10) {
                        let documents: Vec<Value> = batch
                            .iter()
                            .map(|&n| json!({"id": format!("{client}/{n}"), "text": page(n, client)}))
                            .collect();
                        let answer = running
                            .post("documents", &json!({"documents": documents}))
                            .is(200)
                            .json();
                        new += answer["items"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .filter(|item| item["answer"]["verdict"] == "new")
                            .count();
                    }
                    new
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(new as u64, pages);
}

/// Looks through the description for what ought to say what it is.
fn undescribed(value: &Value, place: &str) {
    let Some(object) = value.as_object() else {
        for value in value.as_array().into_iter().flatten() {
            undescribed(value, place);
        }
        return;
    };
    for (name, value) in object {
        let here = format!("{place}/{name}");
        let under = place.rsplit('/').next().unwrap_or_default();
        let has_one = |value: &Value| value["description"].as_str().is_some_and(|text| !text.is_empty());
        let chosen = value["oneOf"].as_array().into_iter().flatten();
        let described = has_one(value) || chosen.clone().any(has_one);
        let wanted = matches!(under, "responses" | "schemas" | "properties") || name == "requestBody";
        assert!(described || !wanted, "{here}: {value}");
        for parameter in value["parameters"].as_array().into_iter().flatten() {
            assert!(has_one(parameter), "{here}: {parameter}");
        }
        undescribed(value, &here);
    }
}

/// Every family stands together, with what it means and its type; buckets are cumulative.
fn metrics(running: &Running) {
    let told = running.get("/metrics").is(200);
    assert!(told.head.contains("text/plain; version=0.0.4"), "{}", told.head);
    for sample in [
        "twinprint_verdicts_total{verdict=\"new\"} 1",
        "twinprint_verdicts_total{verdict=\"near\"} 0",
        "twinprint_collection_documents{collection=\"c\"} 1",
        "twinprint_build_info{version=\"0.1.0\"} 1",
        "twinprint_request_seconds_count{route=\"/livez\"} 1",
    ] {
        assert!(
            told.body.contains(&format!("{sample}\n")),
            "{sample} in {}",
            told.body
        );
    }
    let mut seen = BTreeSet::new();
    let (mut help, mut family) = ("", "");
    for line in told.body.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, _] => help = name,
            ["#", "TYPE", name, _] => {
                assert_eq!(help, name);
                assert!(seen.insert(name.to_owned()), "{name} comes twice");
                family = name;
            }
            _ => assert!(line.starts_with(family), "{line} stands under {family}"),
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
    let process = seen.contains("process_resident_memory_bytes");
    assert_eq!(process, cfg!(target_os = "linux"));
    let buckets = told.body.lines().filter(|line| {
        line.starts_with("twinprint_request_seconds_bucket{") && line.contains("route=\"/livez\"")
    });
    let buckets: Vec<u64> = buckets
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        buckets.len() > 10 && buckets.is_sorted() && buckets.ends_with(&[1]),
        "{buckets:?}"
    );
}

#[test]
fn what_watches_the_service_finds_it_well() {
    let running = Running::new();
    add(&running, "a", &page(1, 0));
    assert_eq!(running.get("/livez").is(200).body, "ok\n");
    assert_eq!(running.get("/readyz").is(200).json()["ready"], true);
    metrics(&running);
    let openapi = running.get("/openapi.json").is(200).json();
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = openapi["paths"].as_object().unwrap();
    assert!(paths.len() >= 20);
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let mut names: Vec<&str> = operations
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let many = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), many, "operations have names of their own: {names:?}");
    undescribed(&openapi, "");
    let page = running.get("/").is(200);
    assert!(page.head.contains("script-src 'self'") && page.body.contains("data-zh"));
    running.get("/page.js").is(200);
    running.get("/page.css").is(200);
}

#[test]
fn a_service_started_again_knows_what_it_knew_and_sets_a_damaged_collection_aside() {
    let running = Running::new();
    add(&running, "a", &page(1, 0));
    running.call("PUT", "/v1/collections/broken", "").is(201);
    let Running { service, dir } = running;
    service.stop();
    std::fs::write(
        dir.path().join("collections/broken/collection.redb"),
        "not a store",
    )
    .unwrap();
    let options = twinprint_server::ServiceOptions {
        dir: dir.path().join("collections"),
        backup_dir: None,
        listen: "127.0.0.1:0".parse().unwrap(),
        token_file: None,
        limits: twinprint_server::Limits::default(),
        log_format: twinprint_server::LogFormat::Quiet,
    };
    let running = Running {
        service: twinprint_server::Service::start(&options).unwrap(),
        dir,
    };
    assert_eq!(add(&running, "b", &page(1, 0))["verdict"], "exact");
    running.get("/v1/collections/broken/stats").is(503);
    assert_eq!(running.get("/readyz").status, 503);
}

#[test]
fn collections_made_and_deleted_by_many_at_once_are_there_or_not() {
    let running = Running::new();
    let count = |all: &[u16], status: u16| all.iter().filter(|&&one| one == status).count();
    let at_once = |calls: &[(&str, &str)]| -> Vec<u16> {
        std::thread::scope(|scope| {
            let one = |&(method, body)| {
                let running = &running;
                scope.spawn(move || running.call(method, "/v1/collections/d", body).status)
            };
            let threads: Vec<_> = calls.iter().map(one).collect();
            let statuses = threads.into_iter().map(|thread| thread.join().unwrap());
            statuses.collect()
        })
    };
    for _ in 0..5 {
        // One makes it, the others find it; who wants other settings is told so.
        let told = at_once(&[("PUT", "{}"); 6]);
        assert_eq!((count(&told, 201), count(&told, 200)), (1, 5), "{told:?}");
        assert_eq!(at_once(&[("PUT", "{\"k\": 5}"); 3]), [409; 3]);
        let told = at_once(&[("DELETE", ""); 3]);
        assert_eq!((count(&told, 204), count(&told, 404)), (1, 2), "{told:?}");
        // In whatever order these come, each deletion that did something had one to delete.
        let told = at_once(&[
            ("PUT", ""),
            ("DELETE", ""),
            ("PUT", ""),
            ("DELETE", ""),
            ("PUT", ""),
        ]);
        let there = running.get("/v1/collections/d").status == 200;
        assert_eq!(
            count(&told, 201),
            count(&told, 204) + usize::from(there),
            "{told:?}"
        );
        let last = running.call("DELETE", "/v1/collections/d", "").status;
        assert_eq!(last, if there { 204 } else { 404 });
    }
    let left = std::fs::read_dir(running.dir.path().join("collections")).unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["c"]);
    running.get("/v1/collections/c/stats").is(200);
}
