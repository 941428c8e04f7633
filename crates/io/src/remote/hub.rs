//! Datasets of the Hugging Face Hub, `hf://datasets/OWNER/NAME[@REVISION]/PATH`: they are listed by the API of the Hub, and
//! their files are read like those of a web server.
//!
//! Invariants: all files are those of the commit that the revision named when the dataset was opened. The token is sent to
//! the Hub alone.
//!
//! `HF_ENDPOINT` names another server. The token is in `HF_TOKEN`, or in the file that `hf auth login` writes.
//! Source: <https://huggingface.co/docs/hub/api>.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object_store::ClientOptions;
use object_store::http::HttpBuilder;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LINK};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use tokio::runtime::Runtime;
use url::Url;

use super::objects::Bucket;
use super::storage::{Object, Storage, runtime};
use super::{Fetch, ObjectVersion};

const ENDPOINT: &str = "https://huggingface.co";
/// The revision of a dataset that names none.
const MAIN: &str = "main";
/// The other name of the revision with the files that the Hub has converted to Parquet.
const PARQUET: (&str, &str) = ("~parquet", "refs/convert/parquet");
/// A read that waits longer than this has failed. There is no limit for a whole file.
const PATIENCE: Duration = Duration::from_mins(1);
/// The waits before a request is sent again.
const WAITS: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// A dataset at one commit.
pub(super) struct Dataset {
    api: Api,
    /// The address of the API for this dataset.
    address: Url,
    commit: String,
    /// The URL of the dataset as the user has written it.
    base: String,
    files: Bucket,
}

/// The client of the API.
struct Api {
    client: Client,
    runtime: Arc<Runtime>,
    cancel: Arc<AtomicBool>,
}

/// The parts of the URL of a dataset.
#[derive(Debug, PartialEq)]
struct Address {
    owner: String,
    name: String,
    revision: String,
    /// The URL up to the path.
    base: String,
    path: String,
}

/// A file or a folder in an answer of the API.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    /// The number that Git gives to the content.
    oid: String,
    #[serde(default)]
    size: u64,
}

#[derive(Deserialize)]
struct Revision {
    sha: String,
}

impl Address {
    fn parse(input: &str) -> io::Result<Self> {
        let invalid = || {
            let message = "the URL of a dataset is hf://datasets/OWNER/NAME or hf://datasets/OWNER/NAME@REVISION, and a path";
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        let below = input.strip_prefix("hf://datasets/").ok_or_else(invalid)?;
        let mut parts = below.splitn(3, '/');
        let (owner, name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (dataset, revision) = name.split_once('@').unwrap_or((name, MAIN));
        if [owner, dataset, revision].contains(&"") {
            return Err(invalid());
        }
        let revision = if revision == PARQUET.0 {
            PARQUET.1
        } else {
            revision
        };
        Ok(Self {
            owner: owner.to_owned(),
            name: dataset.to_owned(),
            // A slash of a revision would end it, so it is written as %2F.
            revision: revision.replace("%2F", "/").replace("%2f", "/"),
            base: format!("hf://datasets/{owner}/{name}/"),
            path: parts.next().unwrap_or("").to_owned(),
        })
    }
}

impl Dataset {
    /// Finds the commit of a dataset. Returns the dataset with the path of the URL.
    pub(super) fn open(input: &str, cancel: Arc<AtomicBool>) -> io::Result<(Self, String)> {
        let Address {
            owner,
            name,
            revision,
            base,
            path,
        } = Address::parse(input)?;
        let endpoint = env::var("HF_ENDPOINT").unwrap_or_else(|_| ENDPOINT.to_owned());
        let endpoint = Url::parse(endpoint.trim_end_matches('/')).map_err(io::Error::other)?;
        let mut headers = HeaderMap::new();
        if let Some(token) = token() {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(io::Error::other)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = Client::builder().default_headers(headers.clone());
        let client = client.read_timeout(PATIENCE).build().map_err(io::Error::other)?;
        let runtime = runtime()?;
        let api = Api {
            client,
            runtime: Arc::clone(&runtime),
            cancel: Arc::clone(&cancel),
        };
        let address = below(&endpoint, ["api", "datasets", &owner, &name])?;
        let found = api.text(&|client| Ok(client.get(below(&address, ["revision", &revision])?)))?;
        let commit = serde_json::from_str::<Revision>(&found.body)?.sha;
        let files = below(&endpoint, ["datasets", &owner, &name, "resolve", &commit])?;
        let options = ClientOptions::new()
            .with_default_headers(headers)
            .with_allow_http(endpoint.scheme() == "http")
            .with_timeout_disabled()
            .with_read_timeout(PATIENCE);
        let store = HttpBuilder::new()
            .with_url(files.as_str())
            .with_client_options(options);
        let store = store.build().map_err(io::Error::other)?;
        let files = Bucket::new(Arc::new(store), base.clone(), runtime, cancel);
        let dataset = Self {
            api,
            address,
            commit,
            base,
            files,
        };
        Ok((dataset, path))
    }

    fn object(&self, entry: Entry) -> Option<Object> {
        (entry.kind == "file").then(|| Object {
            version: ObjectVersion {
                url: format!("{}{}", self.base, entry.path),
                bytes: entry.size,
                tag: Some(entry.oid),
            },
            key: entry.path,
            modified: None,
        })
    }
}

impl Storage for Dataset {
    fn find(&self, key: &str) -> io::Result<Option<Object>> {
        let question = serde_json::json!({ "paths": [key] }).to_string();
        let answer = self.api.text(&|client| {
            let address = below(&self.address, ["paths-info", &self.commit])?;
            let request = client.post(address).header(CONTENT_TYPE, "application/json");
            Ok(request.body(question.clone()))
        })?;
        let entries: Vec<Entry> = serde_json::from_str(&answer.body)?;
        Ok(entries.into_iter().find_map(|entry| self.object(entry)))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        let mut page = below(
            &self.address,
            ["tree", &self.commit].into_iter().chain(folder.split('/')),
        )?;
        page.set_query(Some("recursive=true"));
        let mut objects = Vec::new();
        loop {
            let answer = match self.api.text(&|client| Ok(client.get(page.clone()))) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                answer => answer?,
            };
            let entries: Vec<Entry> = serde_json::from_str(&answer.body)?;
            objects.extend(entries.into_iter().filter_map(|entry| self.object(entry)));
            let Some(next) = answer.next else { break };
            page = page.join(&next).map_err(io::Error::other)?;
            if page.origin() != self.address.origin() {
                return Err(io::Error::other(format!(
                    "the list of files continues at another server, {page}"
                )));
            }
        }
        Ok(objects)
    }
}

impl Fetch for Dataset {
    fn fetch(&self, object: &ObjectVersion, to: &mut File) -> io::Result<()> {
        // The commit fixes the content. The servers that keep it have other tags.
        let untagged = ObjectVersion {
            tag: None,
            ..object.clone()
        };
        self.files.fetch(&untagged, to)
    }
}

/// An answer of the API.
struct Answer {
    body: String,
    /// The address of the next page, if there is one.
    next: Option<String>,
}

/// A failed request.
enum Failure {
    /// The same request may succeed later.
    ForNow(io::Error),
    ForGood(io::Error),
}

impl Api {
    /// Sends a request, and again if the server or the network fails for a time.
    fn text(&self, request: &dyn Fn(&Client) -> io::Result<RequestBuilder>) -> io::Result<Answer> {
        let mut waits = WAITS.iter();
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(io::Error::from(io::ErrorKind::Interrupted));
            }
            match self.runtime.block_on(ask(request(&self.client)?)) {
                Ok(answer) => return Ok(answer),
                Err(Failure::ForGood(error)) => return Err(error),
                Err(Failure::ForNow(error)) => match waits.next() {
                    Some(&wait) => std::thread::sleep(wait),
                    None => return Err(error),
                },
            }
        }
    }
}

/// Sends a request once.
async fn ask(request: RequestBuilder) -> Result<Answer, Failure> {
    let for_now = |error: reqwest::Error| Failure::ForNow(io::Error::other(error));
    let response = request.send().await.map_err(for_now)?;
    let status = response.status();
    if status.is_success() {
        let next = next_page(&response);
        let body = response.text().await.map_err(for_now)?;
        return Ok(Answer { body, next });
    }
    // The Hub tells the reason in a header.
    let why = response
        .headers()
        .get("x-error-message")
        .and_then(|it| it.to_str().ok());
    let message = why.map_or_else(|| status.to_string(), |why| format!("{status}: {why}"));
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(Failure::ForNow(io::Error::other(message)));
    }
    Err(Failure::ForGood(match status {
        StatusCode::NOT_FOUND => io::Error::new(io::ErrorKind::NotFound, message),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            io::Error::new(io::ErrorKind::PermissionDenied, message)
        }
        _ => io::Error::other(message),
    }))
}

/// The address of the next page, from the header `Link: <ADDRESS>; rel="next"`.
fn next_page(response: &Response) -> Option<String> {
    let links = response.headers().get(LINK)?.to_str().ok()?;
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let (address, _) = next.trim().strip_prefix('<')?.split_once('>')?;
    Some(address.to_owned())
}

/// The address below another one at the names of a path. A slash in a name does not end it.
fn below<'a>(address: &Url, names: impl IntoIterator<Item = &'a str>) -> io::Result<Url> {
    let mut address = address.clone();
    address
        .path_segments_mut()
        .map_err(|()| io::Error::other("HF_ENDPOINT is not the address of a server"))?
        .pop_if_empty()
        .extend(names.into_iter().filter(|name| !name.is_empty()));
    Ok(address)
}

/// The token of the user, if there is one.
fn token() -> Option<String> {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let folder = variable("HF_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache/huggingface")));
    let file = variable("HF_TOKEN_PATH")
        .map(PathBuf::from)
        .or_else(|| Some(folder?.join("token")));
    let token = variable("HF_TOKEN").or_else(|| fs::read_to_string(file?).ok())?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(input: &str) -> (String, String, String, String) {
        let it = Address::parse(input).unwrap();
        (format!("{}/{}", it.owner, it.name), it.revision, it.base, it.path)
    }

    fn expected(parts: [&str; 4]) -> (String, String, String, String) {
        let [id, revision, base, path] = parts.map(str::to_owned);
        (id, revision, base, path)
    }

    #[test]
    fn addresses_have_an_owner_a_name_a_revision_and_a_path() {
        assert_eq!(
            address("hf://datasets/ferries/times"),
            expected(["ferries/times", "main", "hf://datasets/ferries/times/", ""])
        );
        assert_eq!(
            address("hf://datasets/ferries/times@v1.0/data/*.parquet"),
            expected([
                "ferries/times",
                "v1.0",
                "hf://datasets/ferries/times@v1.0/",
                "data/*.parquet"
            ])
        );
        for revision in ["~parquet", "refs%2Fconvert%2Fparquet"] {
            let (_, found, base, path) = address(&format!("hf://datasets/ferries/times@{revision}/a@b/c"));
            assert_eq!(found, "refs/convert/parquet");
            assert_eq!(base, format!("hf://datasets/ferries/times@{revision}/"));
            assert_eq!(path, "a@b/c");
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for input in [
            "hf://ferries/times",
            "hf://datasets",
            "hf://datasets/ferries",
            "hf://datasets//times",
            "hf://datasets/ferries/@v1",
            "hf://datasets/ferries/times@/a",
            "hf://spaces/ferries/times",
        ] {
            let error = Address::parse(input).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{input}");
        }
    }

    #[test]
    fn revisions_are_one_part_of_an_address() {
        let hub = Url::parse("https://hub.example/mirror/").unwrap();
        let api = below(&hub, ["api", "datasets", "ferries", "times"]).unwrap();
        let tree = below(
            &api,
            ["tree", "refs/pr/1"].into_iter().chain("data/part 1/".split('/')),
        )
        .unwrap();
        assert_eq!(
            tree.as_str(),
            "https://hub.example/mirror/api/datasets/ferries/times/tree/refs%2Fpr%2F1/data/part%201"
        );
    }
}
