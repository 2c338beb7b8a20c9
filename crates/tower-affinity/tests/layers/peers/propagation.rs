//! A session goes on to other services from whichever process serves it.

use std::time::Duration;

use http::HeaderMap;

use super::mesh::{Asked, Mesh, Process, token};
use crate::support::{COOKIE_NAME, ask};

/// The pin that the application of `process` would take along.
fn taken_along(process: &Process) -> Option<String> {
    let asked: Vec<Asked> = process.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let mut outgoing = HeaderMap::new();
    asked[0].context.as_ref()?.apply(&mut outgoing);
    let pin = outgoing.get("affinity-pin")?;
    Some(pin.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_process_that_serves_takes_along_the_pin_that_the_other_one_writes() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let pin = token("B", 7);
    let cookie = format!("{COOKIE_NAME}={pin}");
    let request = || ask("GET", "/shop/cart", &[("cookie", &cookie)]);
    let reply = a.send(request()).await;
    assert_eq!(reply.served(), (200, "B"));
    assert_eq!(taken_along(&b), Some(pin.clone()), "as it came");

    mesh.clock.advance(Duration::from_secs(900));
    let renewed = a.send(request()).await;
    assert_eq!(renewed.served(), (200, "B"));
    assert_ne!(renewed.cookie(), Some(pin), "it is renewed");
    assert_eq!(taken_along(&b), renewed.cookie());
}

#[tokio::test]
async fn in_other_scopes_no_pin_goes_to_a_peer() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let reply = a.get(&token("B", 7), &[("affinity-pin", "forged")]).await;
    assert_eq!(reply.served(), (200, "B"));
    let asked = b.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].context.is_none());
    assert_eq!(asked[0].headers.get("affinity-pin"), None);
}
