//! The OpenAPI 3.1 description of the service, generated from the routes and their types.

use utoipa::OpenApi;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::Ref;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::problem::Problem;
use crate::route::{collections, documents, export, health, import, jobs, queries, stories};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "twinprint",
        description = "Collections of documents that report atomically whether a document is new, a copy or a near-duplicate."
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
        queries::similar,
        queries::collapse,
        queries::explain,
        queries::groups,
        queries::group,
        stories::stories,
        stories::story,
        queries::stats,
        queries::changes,
        jobs::list,
        jobs::show,
        jobs::cancel,
        export::export,
        import::import,
        health::livez,
        health::readyz,
        health::metrics,
        health::openapi,
    ),
    components(schemas(Problem)),
    tags(
        (name = "collections", description = "Create, show, delete and back up collections"),
        (name = "documents", description = "Check, add, show, delete, import and export documents"),
        (name = "questions", description = "Similar documents, differences, groups, statistics and changes"),
        (name = "stories", description = "Stories and their topics, by time"),
        (name = "jobs", description = "Work that continues after its request is answered"),
        (name = "health", description = "Liveness, readiness, metrics and this description"),
    ),
    modifiers(&SecuritySchemes, &ProblemResponses)
)]
struct ApiDescription;

/// Adds the bearer token to the description, as an optional security scheme.
struct SecuritySchemes;

impl utoipa::Modify for SecuritySchemes {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        // The empty requirement stands for a service without a token file, which needs no token.
        openapi.security = Some(vec![
            utoipa::openapi::SecurityRequirement::default(),
            utoipa::openapi::SecurityRequirement::new("token", Vec::<String>::new()),
        ]);
    }
}

/// Adds the problem object to the description, as the default response of every route that can fail.
struct ProblemResponses;

impl utoipa::Modify for ProblemResponses {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("Problem")))
            .build();
        let problem = ResponseBuilder::new()
            .description("A problem (RFC 9457), with the limit that was exceeded, if any")
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

/// Returns the OpenAPI description as JSON.
pub(crate) fn document() -> String {
    // Serialization cannot fail, because the description consists of strings and maps.
    ApiDescription::openapi().to_pretty_json().unwrap_or_default()
}
