//! Tests of jobs: deletions and backups, their list, cancellation and restarts.

use serde_json::{Value, json};
use twinprint_server::{Limits, Service, ServiceOptions};

use crate::client::{TestService, page, quiet_options};

/// Waits until a job has ended, and returns it.
fn wait_for(running: &TestService, job: &Value) -> Value {
    let path = format!("/v1/jobs/{}", job["id"]);
    let mut polls = (0..600).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        running.get(&path).is(200).json()
    });
    polls.find(|job| job["state"] != "running").unwrap()
}

#[test]
fn a_source_is_deleted_by_a_job_and_a_collection_directly() {
    let running = TestService::new();
    for n in 0..5 {
        running.add(&format!("d{n}"), &page(n, 0));
    }
    let job = running
        .call("DELETE", "/v1/collections/c/sources/a.example", "")
        .is(202)
        .json();
    let ended = wait_for(&running, &job);
    assert_eq!((&ended["state"], &ended["done"]), (&json!("done"), &json!(5)));
    assert_eq!(running.get("/v1/collections/c/stats").json()["documents"], 0);
    running.call("PUT", "/v1/collections/c", "{}").is(200);
    running.call("PUT", "/v1/collections/c", "{\"k\": 3}").is(409);
    running.call("DELETE", "/v1/collections/c", "").is(204);
    running.get("/v1/collections/c").is(404);
    running.call("PUT", "/v1/collections/c", "{\"k\": 3}").is(201);
}

#[test]
fn a_running_service_makes_a_backup_that_can_be_restored() {
    let running = TestService::new();
    for n in 0..5 {
        running.add(&format!("d{n}"), &page(n, 0));
    }
    let job = running
        .call("POST", "/v1/collections/c/backup", "")
        .is(202)
        .json();
    running.add("later", &page(9, 0));
    let ended = wait_for(&running, &job);
    assert_eq!(
        (&ended["collection"], &ended["state"]),
        (&json!("c"), &json!("done"))
    );
    let name = ended["directory"].as_str().unwrap();
    let backup = running.dir.path().join("backups").join(name);
    let restored =
        twinprint_collection::Collection::restore(&backup, &running.dir.path().join("again")).unwrap();
    // The document added after the start of the job may be in the backup.
    assert!([5, 6].contains(&restored.documents), "{restored:?}");
    running.call("POST", "/v1/collections/nothing/backup", "").is(404);
}

#[test]
fn backups_started_in_the_same_second_have_different_directories() {
    let running = TestService::new();
    running.add("a", &page(1, 0));
    let started: Vec<Value> = (0..4)
        .map(|_| {
            running
                .call("POST", "/v1/collections/c/backup", "")
                .is(202)
                .json()
        })
        .collect();
    let mut names: Vec<String> = started
        .iter()
        .map(|job| {
            let ended = wait_for(&running, job);
            assert_eq!((&ended["state"], &ended["done"]), (&json!("done"), &json!(1)));
            ended["directory"].as_str().unwrap().to_owned()
        })
        .collect();
    for name in &names {
        let backup = running.dir.path().join("backups").join(name);
        assert!(twinprint_collection::Collection::is_at(&backup), "{name}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), started.len());
}

#[test]
fn jobs_are_listed_in_pages_and_survive_a_restart() {
    let running = TestService::new();
    for n in 0..5 {
        let path = format!("/v1/collections/c/sources/s{n}");
        let job = running.call("DELETE", &path, "").is(202).json();
        assert_eq!(wait_for(&running, &job)["state"], "done");
    }
    let running = running.restart(Limits::default());
    let mut ids = Vec::new();
    let mut after = String::new();
    loop {
        let page = running.get(&format!("/v1/jobs?limit=2{after}")).is(200).json();
        let jobs = page["jobs"].as_array().unwrap();
        ids.extend(jobs.iter().map(|job| job["id"].as_u64().unwrap()));
        let Some(next) = page["next_after"].as_u64() else {
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
fn a_job_that_ran_when_the_service_crashed_is_interrupted() {
    let running = TestService::new();
    let TestService { service, dir } = running;
    service.stop();
    let incomplete = dir.path().join("backups/c-1-7");
    std::fs::create_dir_all(&incomplete).unwrap();
    std::fs::write(incomplete.join("collection.new"), "half").unwrap();
    let list = json!([{"id": 7, "what": "back up to c-1-7", "collection": "c", "directory": "c-1-7", "done": 0, "state": "running"}]);
    std::fs::write(dir.path().join("collections/.jobs.json"), list.to_string()).unwrap();
    let service = Service::start(&ServiceOptions {
        backup_dir: Some(dir.path().join("backups")),
        ..quiet_options(&dir.path().join("collections"))
    });
    let running = TestService {
        service: service.unwrap(),
        dir,
    };
    assert_eq!(running.get("/v1/jobs/7").is(200).json()["state"], "interrupted");
    assert!(!incomplete.exists());
    // A job that has ended cannot be cancelled.
    assert_eq!(
        running.call("DELETE", "/v1/jobs/7", "").is(200).json()["state"],
        "interrupted"
    );
    let job = running
        .call("POST", "/v1/collections/c/backup", "")
        .is(202)
        .json();
    assert_eq!(job["id"], 8);
    assert_eq!(wait_for(&running, &job)["state"], "done");
}

#[test]
fn a_cancelled_job_ends_and_its_deletions_stay() {
    let running = TestService::new();
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
    let cancelled = running.call("DELETE", &path, "");
    assert!([200, 202].contains(&cancelled.status), "{cancelled:?}");
    let backup = wait_for(&running, &backup);
    let directory = running.dir.path().join("backups");
    let directory = directory.join(backup["directory"].as_str().unwrap());
    assert_eq!(directory.exists(), backup["state"] == "done", "{backup}");

    let job = running
        .call("DELETE", "/v1/collections/c/sources/s", "")
        .is(202)
        .json();
    let path = format!("/v1/jobs/{}", job["id"]);
    running.call("DELETE", &path, "");
    let job = wait_for(&running, &job);
    let remaining = running.get("/v1/collections/c/stats").is(200).json()["documents"]
        .as_u64()
        .unwrap();
    assert_eq!(job["done"].as_u64().unwrap() + remaining, 6000, "{job}");
    // The deletion needs six commits, which take longer than the request that cancels it.
    assert_eq!(
        (&job["state"], remaining > 0),
        (&json!("cancelled"), true),
        "{job} {remaining}"
    );
    let repeated = running
        .call("DELETE", "/v1/collections/c/sources/s", "")
        .is(202)
        .json();
    assert_eq!(wait_for(&running, &repeated)["done"], remaining);
}

#[test]
fn a_backup_directory_inside_the_collections_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let options = |backup_dir| ServiceOptions {
        backup_dir,
        ..quiet_options(&dir.path().join("collections"))
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
