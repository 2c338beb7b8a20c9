//! `[store]` with `kind = "dynamodb"`.

use std::time::Duration;

use super::login::{self, Line};
use super::section::Section;
use super::settings::Sources;
use super::span::Bounds;
use super::store::StoreKind;

/// How DynamoDB is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DynamoSettings {
    /// The table.
    pub table: String,
    /// The region of the table.
    pub region: String,
    /// Where DynamoDB is, if not at the region's own endpoint.
    pub endpoint: Option<String>,
    /// The id of the gateway's access key.
    pub access_key_id: Line,
    /// The secret of it.
    pub secret_access_key: Line,
    /// How often live sessions are counted; `None` if they are not.
    pub count_every: Option<Duration>,
}

pub(super) fn read(store: &Section<'_>, sources: &Sources<'_>) -> Option<StoreKind> {
    let text = |name, accepted, is_one: fn(&str) -> bool| {
        let field = store.required(name, accepted)?;
        field.parsed(accepted, |text| is_one(text).then(|| text.to_owned()))
    };
    let table = text("table", TABLE, is_table);
    let region = text("region", REGION, is_region);
    let endpoint = store.field("endpoint").map(|field| {
        // who puts a secret into an address finds it in no message
        let parse = |text: &str| is_endpoint(text).then(|| text.to_owned());
        field.unseen().parsed(ENDPOINT, parse)
    });
    let line = |name| login::line(&store.required(name, login::FORM)?, sources);
    let (access_key_id, secret_access_key) = (line("access_key_id"), line("secret_access_key"));
    let count_every = store.field("count_every");
    let count_every = count_every.map(|field| field.duration(&COUNT_EVERY));
    Some(StoreKind::Dynamo(DynamoSettings {
        table: table?,
        region: region?,
        endpoint: match endpoint {
            Some(endpoint) => Some(endpoint?),
            None => None,
        },
        access_key_id: access_key_id?,
        secret_access_key: secret_access_key?,
        count_every: match count_every {
            Some(interval) => Some(interval?),
            None => None,
        },
    }))
}

fn is_table(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (3..=255).contains(&text.len()) && text.bytes().all(is_of_name)
}

fn is_region(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(is_of_name)
}

/// A scheme and a host, perhaps with a port, and nothing behind it.
fn is_endpoint(text: &str) -> bool {
    let Ok(uri) = text.parse::<http::Uri>() else {
        return false;
    };
    let is_place = uri.authority().is_some_and(|place| {
        !place.host().is_empty() && !place.as_str().contains('@') && !place.as_str().ends_with(':')
    });
    let is_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    is_scheme && is_place && uri.path() == "/" && uri.query().is_none()
}

const TABLE: &str = "a name of 3 to 255 letters, digits, dots, dashes and underscores";
const REGION: &str = "the name of a region such as \"eu-central-1\"";
const ENDPOINT: &str = "an address such as \"https://dynamodb.eu-central-1.amazonaws.com\" or \
                        \"http://127.0.0.1:8000\"";
/// Longer than that, and counts would be too old to be told before the next ones are there.
const COUNT_EVERY: Bounds = Bounds::seconds(1, 5);
