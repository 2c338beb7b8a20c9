//! Opening connections to endpoints.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;
use tokio_util::either::Either;

use super::{
    EndpointProtocol, UpstreamOptions,
    stream::Stream,
    timeouts::{TimeoutKind, Timeouts},
};
use crate::gather::Gathered;

/// Opens connections of one kind: all of them with TLS, or none.
#[derive(Clone, Debug)]
pub(super) struct Dialer {
    within: Duration,
    stalled_after: Duration,
    counted: Timeouts,
    secure: Option<Arc<Secure>>,
}

struct Secure {
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
    http2: bool,
}

impl Dialer {
    /// TLS is spoken where the options have it, but for h2c, which is without.
    pub(super) fn new(options: &UpstreamOptions, protocol: EndpointProtocol) -> Self {
        let tls = options
            .tls
            .as_ref()
            .filter(|_| protocol != EndpointProtocol::H2c);
        Self {
            within: options.connect_timeout,
            stalled_after: options.stalled_after,
            counted: options.timeouts.clone(),
            secure: tls.map(|tls| {
                Arc::new(Secure {
                    connector: tls.config_for(protocol).into(),
                    name: tls.name.clone(),
                    http2: protocol.is_http2(),
                })
            }),
        }
    }

    pub(super) fn is_secure(&self) -> bool {
        self.secure.is_some()
    }

    /// A connection that is ready for HTTP, in time.
    pub(super) async fn dial(&self, address: SocketAddr) -> io::Result<Stream> {
        if let Ok(opened) = timeout(self.within, self.open(address)).await {
            return opened;
        }
        self.counted.of(address).note(TimeoutKind::Connect);
        Err(io::ErrorKind::TimedOut.into())
    }

    async fn open(&self, address: SocketAddr) -> io::Result<Stream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        leave_stalled(&stream, self.stalled_after)?;
        let stream = Gathered::new(stream);
        let Some(secure) = &self.secure else {
            return Ok(Stream::new(Either::Left(stream)));
        };
        let name = secure.name.clone();
        let name = name.unwrap_or_else(|| ServerName::from(address.ip().to_canonical()));
        let shaken = secure.connector.connect(name, stream).await;
        let stream = shaken.inspect_err(|error| {
            tracing::warn!(endpoint = %address, %error, "TLS with an endpoint failed");
        })?;
        if secure.http2 && stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            tracing::warn!(endpoint = %address, "an endpoint does not speak h2 over TLS");
            return Err(io::Error::other("h2 was not agreed upon"));
        }
        Ok(Stream::new(Either::Right(Box::new(stream))))
    }
}

/// Has the kernel close the connection if the other side takes nothing for so long. Nobody else could
/// tell: who waits to write is not the one that waits for the answer, and may be the last who knows of
/// the connection.
#[cfg(target_os = "linux")]
fn leave_stalled(stream: &TcpStream, after: Duration) -> io::Result<()> {
    let millis = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, millis)?)
}

#[cfg(not(target_os = "linux"))]
fn leave_stalled(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

impl std::fmt::Debug for Secure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secure")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
