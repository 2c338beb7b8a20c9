//! A few words with a server, past any client.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_affinity::core::{RowCodec, RowKey, SessionPin};

use super::TABLE;

/// Far above what a server takes for an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// The status and the body of an answer.
pub(crate) type Answer = (u16, Vec<u8>);

/// Sends one request and gives its answer.
pub(crate) async fn talk(server: SocketAddr, action: &str, body: &[u8]) -> std::io::Result<Answer> {
    let ask = async {
        let mut stream = TcpStream::connect(server).await?;
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\
             content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\
             x-amz-target: DynamoDB_20120810.{action}\r\nx-amz-date: 20260101T000000Z\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=a/20260101/r/dynamodb/aws4_request, \
             SignedHeaders=host, Signature=x\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = match timeout(ANSWER, ask).await {
        Ok(answer) => answer?,
        Err(late) => return Err(std::io::Error::other(late)),
    };
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n");
    let (head, body) = answer.split_at(end.expect("a head ends") + 4);
    let head = String::from_utf8_lossy(head).to_lowercase();
    assert!(!head.contains("chunked"), "it tells how long it is: {head}");
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Ok((status.expect("a status"), body.to_vec()))
}

/// Does something that succeeds.
pub(crate) async fn say(server: SocketAddr, action: &str, body: &Value) -> Value {
    let answer = talk(server, action, body.to_string().as_bytes()).await;
    let (status, body) = answer.expect("it answers");
    let body = String::from_utf8_lossy(&body).into_owned();
    assert_eq!(status, 200, "{action}: {body}");
    serde_json::from_str(&body).expect("it is JSON")
}

/// All items of the table, whatever they are.
pub(crate) async fn items(server: SocketAddr) -> Vec<Value> {
    let all = say(server, "Scan", &json!({ "TableName": TABLE })).await;
    assert_eq!(all.get("LastEvaluatedKey"), None, "it is more than a page");
    all["Items"].as_array().unwrap().clone()
}

/// An item as the store writes it, with that text for its row.
pub(crate) fn item(place: &str, key: RowKey, pin: &SessionPin, row: &str) -> Value {
    json!({
        "k": { "S": format!("{place}:{key}") },
        "v": { "N": "1" },
        "pin": { "S": row },
        "ord": { "S": RowCodec::rank(pin) },
        "sid": { "S": pin.session.to_string() },
        "grp": { "S": pin.group.known().unwrap().to_string() },
        "sst": { "N": pin.started.as_secs().to_string() },
        "exp": { "N": pin.expires.as_secs().to_string() },
        "ttl": { "N": (pin.expires.as_secs() + 600).to_string() },
    })
}

/// Writes an item, whatever stands.
pub(crate) async fn put(server: SocketAddr, item: &Value) {
    say(
        server,
        "PutItem",
        &json!({ "TableName": TABLE, "Item": item }),
    )
    .await;
}
