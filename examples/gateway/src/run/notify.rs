//! Tells the supervisor that started us who serves, in systemd's way.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Tells whoever listens at `NOTIFY_SOCKET`, if it is set, that this process serves and is the main
/// one from now on. That nobody hears it is logged, and no reason not to serve.
pub(super) fn ready() {
    let Some(place) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let word = format!("READY=1\nMAINPID={}\n", std::process::id());
    if let Err(error) = tell(&place.to_string_lossy(), &word) {
        tracing::warn!(%error, ?place, "the supervisor is not told that this process serves");
    }
}

fn tell(place: &str, word: &str) -> io::Result<()> {
    let address = match place.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(place)?,
    };
    UnixDatagram::unbound()?.send_to_addr(word.as_bytes(), &address)?;
    Ok(())
}
