//! Jobs: deletions and backups that go on by themselves, listed, cancelled, and what is known of them after a restart.

use serde_json::{Value, json};
use twinprint_server::{Limits, LogFormat, Service, ServiceOptions};

use crate::client::{Running, page};

fn add(running: &Running, id: &str, text: &str) -> Value {
    let body = json!({"id": id, "text": text, "url": format!("http://a.example/{id}")});
    running.post("check-and-insert", &body).is(200).json()
}

/// A job once it has come to its end.
fn ended(running: &Running, job: &Value) -> Value {
    let path = format!("/v1/jobs/{}", job["id"]);
    let mut looks = (0..600).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        running.get(&path).is(200).json()
    });
    looks.find(|job| job["state"] != "running").unwrap()
}

#[test]
fn a_source_is_deleted_by_a_job_and_a_collection_at_once() {
    let running = Running::new();
    for n in 0..5 {
        add(&running, &format!("d{n}"), &page(n, 0));
    }
    let job = running
        .call("DELETE", "/v1/collections/c/sources/a.example", "")
        .is(202)
        .json();
    let ended = ended(&running, &job);
    assert_eq!((&ended["state"], &ended["done"]), (&json!("done"), &json!(5)));
    assert_eq!(running.get("/v1/collections/c/stats").json()["documents"], 0);
    running.call("PUT", "/v1/collections/c", "{}").is(200);
    running.call("PUT", "/v1/collections/c", "{\"k\": 3}").is(409);
    running.call("DELETE", "/v1/collections/c", "").is(204);
    running.get("/v1/collections/c").is(404);
    running.call("PUT", "/v1/collections/c", "{\"k\": 3}").is(201);
}

#[test]
fn a_backup_is_made_while_the_service_runs() {
    let running = Running::new();
    for n in 0..5 {
        add(&running, &format!("d{n}"), &page(n, 0));
    }
    let job = running
        .call("POST", "/v1/collections/c/backup", "")
        .is(202)
        .json();
    add(&running, "later", &page(9, 0));
    let ended = ended(&running, &job);
    assert_eq!(
        (&ended["collection"], &ended["state"]),
        (&json!("c"), &json!("done"))
    );
    let name = ended["directory"].as_str().unwrap();
    let backup = running.dir.path().join("backups").join(name);
    let restored =
        twinprint::collection::Collection::restore(&backup, &running.dir.path().join("again")).unwrap();
    // The one that came after the job began may be in it.
    assert!([5, 6].contains(&restored.documents), "{restored:?}");
    running.call("POST", "/v1/collections/nothing/backup", "").is(404);
}

#[test]
fn backups_of_one_second_have_directories_of_their_own() {
    let running = Running::new();
    add(&running, "a", &page(1, 0));
    let begun: Vec<Value> = (0..4)
        .map(|_| {
            running
                .call("POST", "/v1/collections/c/backup", "")
                .is(202)
                .json()
        })
        .collect();
    let mut names: Vec<String> = begun
        .iter()
        .map(|job| {
            let ended = ended(&running, job);
            assert_eq!((&ended["state"], &ended["done"]), (&json!("done"), &json!(1)));
            ended["directory"].as_str().unwrap().to_owned()
        })
        .collect();
    for name in &names {
        let backup = running.dir.path().join("backups").join(name);
        assert!(twinprint::collection::Collection::is_at(&backup), "{name}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), begun.len());
}

/// The same directory served again.
fn again(running: Running) -> Running {
    let Running { service, dir } = running;
    service.stop();
    let options = ServiceOptions {
        dir: dir.path().join("collections"),
        backup_dir: Some(dir.path().join("backups")),
        listen: "127.0.0.1:0".parse().unwrap(),
        token_file: None,
        limits: Limits::default(),
        log_format: LogFormat::Quiet,
    };
    let service = Service::start(&options).unwrap();
    Running { service, dir }
}

#[test]
fn jobs_are_listed_in_parts_and_known_after_a_restart() {
    let running = Running::new();
    for n in 0..5 {
        let path = format!("/v1/collections/c/sources/s{n}");
        let job = running.call("DELETE", &path, "").is(202).json();
        assert_eq!(ended(&running, &job)["state"], "done");
    }
    let running = again(running);
    let mut ids = Vec::new();
    let mut after = String::new();
    loop {
        let part = running.get(&format!("/v1/jobs?limit=2{after}")).is(200).json();
        let jobs = part["jobs"].as_array().unwrap();
        ids.extend(jobs.iter().map(|job| job["id"].as_u64().unwrap()));
        let Some(next) = part["next_after"].as_u64() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(ids, [5, 4, 3, 2, 1]);
    let path = "/v1/collections/c/sources/more";
    assert_eq!(running.call("DELETE", path, "").is(202).json()["id"], 6);
    running.get("/v1/jobs?limit=0").is(422);
    running.get("/v1/jobs/7").is(404);
    running.call("DELETE", "/v1/jobs/7", "").is(404);
}

#[test]
fn a_job_that_was_under_way_when_the_service_ended_is_told_as_interrupted() {
    let running = Running::new();
    let Running { service, dir } = running;
    service.stop();
    let left = dir.path().join("backups/c-1-7");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("collection.new"), "half").unwrap();
    let list = json!([{"id": 7, "what": "back up to c-1-7", "collection": "c", "directory": "c-1-7", "done": 0, "state": "running"}]);
    std::fs::write(dir.path().join("collections/.jobs.json"), list.to_string()).unwrap();
    let service = Service::start(&ServiceOptions {
        dir: dir.path().join("collections"),
        backup_dir: Some(dir.path().join("backups")),
        listen: "127.0.0.1:0".parse().unwrap(),
        token_file: None,
        limits: Limits::default(),
        log_format: LogFormat::Quiet,
    });
    let running = Running {
        service: service.unwrap(),
        dir,
    };
    assert_eq!(running.get("/v1/jobs/7").is(200).json()["state"], "interrupted");
    assert!(!left.exists());
    // It has ended, so there is nothing to cancel.
    assert_eq!(
        running.call("DELETE", "/v1/jobs/7", "").is(200).json()["state"],
        "interrupted"
    );
    let job = running
        .call("POST", "/v1/collections/c/backup", "")
        .is(202)
        .json();
    assert_eq!(job["id"], 8);
    assert_eq!(ended(&running, &job)["state"], "done");
}

#[test]
fn a_job_that_is_cancelled_ends_and_keeps_what_it_did() {
    let running = Running::new();
    for batch in 0..6 {
        let documents: Vec<Value> = (0..1000)
            .map(|n| json!({"id": format!("{batch}/{n}"), "text": format!("a{batch} b{n} c{batch}{n}"), "source": "s"}))
            .collect();
        running
            .post("documents", &json!({"documents": documents}))
            .is(200);
    }
    let backup = running
        .call("POST", "/v1/collections/c/backup", "")
        .is(202)
        .json();
    let path = format!("/v1/jobs/{}", backup["id"]);
    let told = running.call("DELETE", &path, "");
    assert!([200, 202].contains(&told.status), "{told:?}");
    let backup = ended(&running, &backup);
    let directory = running.dir.path().join("backups");
    let directory = directory.join(backup["directory"].as_str().unwrap());
    assert_eq!(directory.exists(), backup["state"] == "done", "{backup}");

    let job = running
        .call("DELETE", "/v1/collections/c/sources/s", "")
        .is(202)
        .json();
    let path = format!("/v1/jobs/{}", job["id"]);
    running.call("DELETE", &path, "");
    let job = ended(&running, &job);
    let left = running.get("/v1/collections/c/stats").is(200).json()["documents"]
        .as_u64()
        .unwrap();
    assert_eq!(job["done"].as_u64().unwrap() + left, 6000, "{job}");
    // Six commits take longer than one request.
    assert_eq!(
        (&job["state"], left > 0),
        (&json!("cancelled"), true),
        "{job} {left}"
    );
    let again = running
        .call("DELETE", "/v1/collections/c/sources/s", "")
        .is(202)
        .json();
    assert_eq!(ended(&running, &again)["done"], left);
}

#[test]
fn backups_do_not_lie_among_the_collections() {
    let dir = tempfile::tempdir().unwrap();
    let options = |backups| ServiceOptions {
        dir: dir.path().join("collections"),
        backup_dir: backups,
        listen: "127.0.0.1:0".parse().unwrap(),
        token_file: None,
        limits: Limits::default(),
        log_format: LogFormat::Quiet,
    };
    let inside = options(Some(dir.path().join("collections/backups")));
    let refused = Service::start(&inside).err().unwrap().to_string();
    assert!(
        refused.contains("inside the directory of the collections"),
        "{refused}"
    );
    let without = Service::start(&options(None)).unwrap();
    drop(without);
}
