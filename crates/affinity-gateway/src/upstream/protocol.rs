//! How a group's endpoints are spoken to.

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName},
};

/// The version of HTTP that an endpoint speaks; HTTP/1.1 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndpointProtocol {
    /// HTTP/1.1, one exchange at a time on each connection.
    #[default]
    Http1,
    /// HTTP/2 without TLS, known beforehand.
    H2c,
    /// HTTP/2 by ALPN over TLS.
    H2,
}

impl EndpointProtocol {
    /// The words of the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("http1", Self::Http1), ("h2c", Self::H2c), ("h2", Self::H2)];

    pub(super) fn is_http2(self) -> bool {
        self != Self::Http1
    }
}

/// TLS towards endpoints: whose certificates are believed, and for which name.
#[derive(Clone)]
pub struct EndpointTls {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: Option<ServerName<'static>>,
}

impl EndpointTls {
    /// Certificates that `authorities` have signed, for `name`; without a name for the endpoint's
    /// IP address.
    ///
    /// # Errors
    ///
    /// If an authority's certificate cannot be used.
    pub fn new<'a>(
        authorities: impl IntoIterator<Item = &'a CertificateDer<'static>>,
        name: Option<ServerName<'static>>,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority.clone())?;
        }
        // given and not installed: the process may have another default
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            config: Arc::new(config),
            name,
        })
    }

    /// The settings for connections on which `protocol` is spoken.
    pub(super) fn config_for(&self, protocol: EndpointProtocol) -> Arc<ClientConfig> {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![match protocol {
            EndpointProtocol::Http1 => b"http/1.1".to_vec(),
            EndpointProtocol::H2c | EndpointProtocol::H2 => b"h2".to_vec(),
        }];
        Arc::new(config)
    }
}

impl fmt::Debug for EndpointTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointTls")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
