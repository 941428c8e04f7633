//! The service's own description, OpenAPI 3.1, from the routes and the types they take and give.

use utoipa::OpenApi;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::Ref;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::problem::Problem;
use crate::route::{collections, documents, health, jobs, questions, stories, stream};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "twinprint",
        description = "New, or seen? Collections of documents that answer atomically whether a document is new, a copy or a near-duplicate."
    ),
    paths(
        collections::list,
        collections::show,
        collections::create,
        collections::remove,
        collections::back_up,
        documents::check,
        documents::checks,
        documents::check_and_insert,
        documents::add,
        documents::show,
        documents::remove,
        documents::remove_source,
        questions::similar,
        questions::collapse,
        questions::explain,
        questions::groups,
        questions::group,
        stories::stories,
        stories::story,
        questions::stats,
        questions::changes,
        jobs::list,
        jobs::show,
        jobs::cancel,
        stream::export,
        stream::import,
        health::livez,
        health::readyz,
        health::metrics,
        health::openapi,
    ),
    components(schemas(Problem)),
    tags(
        (name = "collections", description = "Making, showing, deleting and copying collections"),
        (name = "documents", description = "Documents: asked about, taken in, shown, deleted"),
        (name = "questions", description = "What is near, why, in which groups, how much, and what changed"),
        (name = "stories", description = "What the documents are about, by time"),
        (name = "jobs", description = "Work that goes on after its request is answered"),
        (name = "health", description = "What watches the service asks"),
    ),
    modifiers(&Security, &Errors)
)]
struct Description;

struct Security;

impl utoipa::Modify for Security {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        // A token, or none where the service asks for none.
        openapi.security = Some(vec![
            utoipa::openapi::SecurityRequirement::default(),
            utoipa::openapi::SecurityRequirement::new("token", Vec::<String>::new()),
        ]);
    }
}

/// Every route that does something may answer with a problem.
struct Errors;

impl utoipa::Modify for Errors {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("Problem")))
            .build();
        let problem = ResponseBuilder::new()
            .description("A problem (RFC 9457), with the limit that was reached")
            .content("application/problem+json", content)
            .build();
        for (path, item) in &mut openapi.paths.paths {
            if !path.starts_with("/v1/") && path != "/metrics" {
                continue;
            }
            let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
            for operation in operations.into_iter().flatten() {
                let responses = &mut operation.responses.responses;
                responses.insert("default".to_owned(), problem.clone().into());
            }
        }
    }
}

/// The description as JSON.
pub(crate) fn document() -> String {
    // A document of strings and maps can always be written.
    Description::openapi().to_pretty_json().unwrap_or_default()
}
