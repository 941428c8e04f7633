//! Tests of documents: added, checked, compared, grouped and deleted; metrics and the OpenAPI description.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::{TestService, page};

#[test]
fn a_document_is_new_near_exact_or_updated_and_can_be_compared_and_deleted() {
    let running = TestService::new();
    let first = running.add("a", &page(1, 0));
    assert_eq!(
        (&first["verdict"], &first["durable"]),
        (&json!("new"), &json!(true))
    );
    let near = running.add("b", &page(1, 3));
    assert_eq!(
        (&near["verdict"], &near["best"]["id"], &near["group_id"]),
        (&json!("near"), &json!("a"), &first["group_id"])
    );
    assert!(near["best"]["jaccard"].as_f64().unwrap() > 0.9);
    assert_eq!(running.add("c", &page(1, 0))["verdict"], "exact");
    let moved = running.add("c", &page(2, 0));
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
    // A group is numbered after its leader, so the number is gone with the leader.
    let group = format!("/v1/collections/c/groups/{}", first["group_id"]);
    running.get(&group).is(404);
    let remaining = running.get("/v1/collections/c/documents/b").is(200).json();
    assert_eq!(
        (&remaining["leads"], &remaining["group_id"]),
        (&json!(true), &near["seq"])
    );
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
fn a_batch_has_one_answer_per_document_in_order() {
    let running = TestService::new();
    let documents = json!([
        {"id": "a", "text": page(1, 0)}, {"id": "b", "text": page(1, 2)}, {"id": "bad"},
        {"id": "c", "html": format!("<html><body><p>{}</p></body></html>", page(1, 0))}, {"id": "d", "text": page(3, 0), "ttl": 0},
    ]);
    let answer = running
        .post("documents", &json!({"documents": documents}))
        .is(200)
        .json();
    let results: Vec<String> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let result = if item["answer"].is_null() {
                &item["problem"]["status"]
            } else {
                &item["answer"]["verdict"]
            };
            result.to_string()
        })
        .collect();
    assert_eq!(results, ["\"new\"", "\"near\"", "422", "\"exact\"", "422"]);
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
fn of_eight_concurrent_clients_exactly_one_gets_new_for_each_page() {
    let running = TestService::new();
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

/// Asserts that all responses, schemas, properties and parameters of an OpenAPI description have a description.
fn assert_described(value: &Value, path: &str) {
    let Some(object) = value.as_object() else {
        for value in value.as_array().into_iter().flatten() {
            assert_described(value, path);
        }
        return;
    };
    for (name, value) in object {
        let child_path = format!("{path}/{name}");
        let parent = path.rsplit('/').next().unwrap_or_default();
        let has_description =
            |value: &Value| value["description"].as_str().is_some_and(|text| !text.is_empty());
        let variants = value["oneOf"].as_array().into_iter().flatten();
        let described = has_description(value) || variants.clone().any(has_description);
        let is_required = matches!(parent, "responses" | "schemas" | "properties") || name == "requestBody";
        assert!(described || !is_required, "{child_path}: {value}");
        for parameter in value["parameters"].as_array().into_iter().flatten() {
            assert!(has_description(parameter), "{child_path}: {parameter}");
        }
        assert_described(value, &child_path);
    }
}

/// Asserts that every metric family is in one piece, with help and type, and that buckets are cumulative.
fn check_metrics(running: &TestService) {
    let metrics = running.get("/metrics").is(200);
    assert!(
        metrics.head.contains("text/plain; version=0.0.4"),
        "{}",
        metrics.head
    );
    for sample in [
        "twinprint_verdicts_total{verdict=\"new\"} 1",
        "twinprint_verdicts_total{verdict=\"near\"} 0",
        "twinprint_collection_documents{collection=\"c\"} 1",
        "twinprint_build_info{version=\"0.1.0\"} 1",
        "twinprint_request_seconds_count{route=\"/livez\"} 1",
    ] {
        assert!(
            metrics.body.contains(&format!("{sample}\n")),
            "{sample} in {}",
            metrics.body
        );
    }
    let mut seen = BTreeSet::new();
    let (mut help, mut family) = ("", "");
    for line in metrics.body.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, _] => help = name,
            ["#", "TYPE", name, _] => {
                assert_eq!(help, name);
                assert!(seen.insert(name.to_owned()), "{name} appears twice");
                family = name;
            }
            _ => assert!(line.starts_with(family), "{line} is in the family {family}"),
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
    let process = seen.contains("process_resident_memory_bytes");
    assert_eq!(process, cfg!(target_os = "linux"));
    let buckets = metrics.body.lines().filter(|line| {
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
fn monitoring_routes_description_and_page_are_complete() {
    let running = TestService::new();
    running.add("a", &page(1, 0));
    assert_eq!(running.get("/livez").is(200).body, "ok\n");
    assert_eq!(running.get("/readyz").is(200).json()["ready"], true);
    check_metrics(&running);
    let openapi = running.get("/openapi.json").is(200).json();
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = openapi["paths"].as_object().unwrap();
    assert!(paths.len() >= 20);
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let mut names: Vec<&str> = operations
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let operation_count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names.len(),
        operation_count,
        "operation ids are unique: {names:?}"
    );
    assert_described(&openapi, "");
    let page = running.get("/").is(200);
    assert!(page.head.contains("script-src 'self'") && page.body.contains("data-zh"));
    running.get("/page.js").is(200);
    running.get("/page.css").is(200);
}
