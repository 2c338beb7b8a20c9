//! `GET /v1/openapi.json`: the admin API as OpenAPI 3.1, made of the handlers themselves.

use http::Method;
use serde_json::json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, InfoBuilder, OpenApi, OpenApiBuilder, Ref, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::preview::PreviewView;
use super::problem::Problem;

/// The name of the scheme of the token.
const TOKEN: &str = "admin_token";

/// What stands in the document besides the handlers.
pub(super) fn base() -> OpenApi {
    let info = InfoBuilder::new()
        .title("commit affinity: the admin side of a gateway")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Changing calls need the admin token and `content-type: application/json`; off loopback \
             reading needs the token too. Times are seconds since the Unix epoch.",
        ));
    OpenApiBuilder::new().info(info.build()).build()
}

/// Adds what is the same for every call: errors, the token, and the answer of a preview.
pub(super) fn finished(mut api: OpenApi) -> String {
    for item in api.paths.paths.values_mut() {
        for (method, operation) in [
            (Method::GET, &mut item.get),
            (Method::PUT, &mut item.put),
            (Method::POST, &mut item.post),
            (Method::DELETE, &mut item.delete),
        ] {
            if let Some(operation) = operation {
                common(operation, &method);
            }
        }
    }
    let components = api.components.get_or_insert_default();
    for (name, schema) in [
        (Problem::name(), Problem::schema()),
        (PreviewView::name(), PreviewView::schema()),
    ] {
        components.schemas.insert(name.into_owned(), schema);
    }
    let mut parts = Vec::new();
    PreviewView::schemas(&mut parts);
    components.schemas.extend(parts);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme(TOKEN, SecurityScheme::Http(token));
    // a document of texts has a text
    api.to_json().unwrap_or_else(|_| json!({}).to_string())
}

fn common(operation: &mut Operation, method: &Method) {
    let problem = Content::new(Some(Ref::from_schema_name(Problem::name())));
    let refused = ResponseBuilder::new()
        .description("Refused: a problem (RFC 9457); `type` is stable, `detail` is for people")
        .content("application/problem+json", problem);
    let responses = &mut operation.responses.responses;
    responses.insert("default".to_owned(), refused.build().into());
    let requirement = SecurityRequirement::new(TOKEN, Vec::<String>::new());
    operation.security = Some(match *method {
        // on loopback reading needs none
        Method::GET => vec![requirement, SecurityRequirement::default()],
        _ => vec![requirement],
    });
}
