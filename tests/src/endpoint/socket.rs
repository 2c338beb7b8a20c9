//! The WebSocket of an endpoint: sends its group, then every message back.

use futures_util::{SinkExt, StreamExt};
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::{Body, Here};

pub(super) fn switch(here: &Here, mut request: Request<Incoming>) -> Response<Body> {
    let empty = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(empty);
    let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) else {
        *response.status_mut() = StatusCode::UPGRADE_REQUIRED;
        return response;
    };
    let accept = derive_accept_key(key.as_bytes());
    let group = here.group.to_string();
    tokio::spawn(async move {
        let upgraded = hyper::upgrade::on(&mut request)
            .await
            .expect("the protocol is switched");
        let io = TokioIo::new(upgraded);
        let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
        let mut alive = socket.send(Message::text(group)).await.is_ok();
        while alive {
            alive = match socket.next().await {
                Some(Ok(message)) if message.is_text() => socket.send(message).await.is_ok(),
                Some(Ok(message)) => !message.is_close(),
                _ => false,
            };
        }
    });
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept.parse().expect("an accept key"));
    response
}
