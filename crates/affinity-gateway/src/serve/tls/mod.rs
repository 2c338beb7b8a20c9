//! TLS at the listener, by rustls over aws-lc-rs.
//!
//! The provider is passed along: nothing here installs a default for the process, which belongs
//! to the application.

mod identity;
mod tickets;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    server::{NoServerSessionStorage, ProducesTickets},
    version::{TLS12, TLS13},
};

pub use self::{
    identity::{Identity, IdentityError},
    tickets::{SharedTickets, TicketError},
};

/// TLS 1.2 and 1.3 with HTTP/1.1 and, with `http2`, HTTP/2, as `identity`.
///
/// Sessions are resumed by tickets only: no replica keeps one.
///
/// # Errors
///
/// If rustls refuses what [`Identity`] has accepted.
pub fn server_config(
    identity: &Identity,
    tickets: Arc<dyn ProducesTickets>,
    http2: bool,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(identity.chain().to_vec(), identity.key())?;
    let protocols: &[&[u8]] = match http2 {
        true => &[b"h2", b"http/1.1"],
        false => &[b"http/1.1"],
    };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = tickets;
    Ok(Arc::new(config))
}

/// Tickets of this process only: its keys are random, change every six hours and are shared with
/// nobody.
///
/// # Errors
///
/// If the system gives no random bytes.
pub fn own_tickets() -> Result<Arc<dyn ProducesTickets>, rustls::Error> {
    aws_lc_rs::Ticketer::new()
}
