//! From the settings to what connections pass before HTTP.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::server::ProducesTickets;
use thiserror::Error;
use tower_affinity::core::Clock;

use crate::config::{Listen, TlsSettings};
use crate::metrics::TransportSeries;
use crate::serve::tls::{SharedTickets, TicketError, own_tickets, server_config};
use crate::serve::{Transport, Transports};

/// Settings of TLS that cannot be put into effect.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// rustls refuses the certificate or its key.
    #[error("listen.tls cannot be used")]
    Tls(#[from] rustls::Error),
    /// The keys of session tickets cannot be used.
    #[error("listen.tls.ticket_keys cannot be used")]
    Tickets(#[from] TicketError),
}

/// The transport of the listener over all reloads.
pub(crate) struct Doorstep {
    transports: Transports,
    series: TransportSeries,
    clock: Arc<dyn Clock>,
    /// Without shared keys: the same over all reloads, so that these cost no session.
    own_tickets: Arc<dyn ProducesTickets>,
}

impl Doorstep {
    pub(crate) fn begin(
        listen: &Listen,
        series: TransportSeries,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let recorded = series.clone();
        let doorstep = Self {
            transports: Transports::recorded(Transport::new(), move |event| recorded.count(event)),
            series,
            clock,
            own_tickets: own_tickets()?,
        };
        doorstep.take(listen, doorstep.prepare(listen)?);
        Ok(doorstep)
    }

    /// A handle for the listener.
    pub(crate) fn transports(&self) -> Transports {
        self.transports.clone()
    }

    /// What new connections would pass; nothing changes yet.
    pub(crate) fn prepare(&self, listen: &Listen) -> Result<Transport, TransportError> {
        let mut transport = Transport::new();
        if listen.proxy_protocol {
            transport = transport.proxy_protocol(listen.trusted_proxies.iter().copied());
        }
        if let Some(tls) = &listen.tls {
            let config = server_config(&tls.identity, self.tickets(tls)?, listen.limits.http2)?;
            transport = transport.tls(config);
        }
        Ok(transport)
    }

    /// From now on new connections pass what was prepared from the same settings.
    pub(crate) fn take(&self, listen: &Listen, transport: Transport) {
        self.transports.replace(transport);
        let tls = listen.tls.as_ref();
        self.series
            .not_after(tls.map(|tls| tls.identity.not_after()));
        if let Some(tls) = tls.filter(|tls| is_world_readable(&tls.key)) {
            let path = tls.key.display();
            tracing::warn!(%path, "everybody on this machine can read the key of listen.tls");
        }
    }

    fn tickets(&self, tls: &TlsSettings) -> Result<Arc<dyn ProducesTickets>, TicketError> {
        if tls.ticket_keys.is_empty() {
            return Ok(Arc::clone(&self.own_tickets));
        }
        let secrets = tls.ticket_keys.iter().map(|key| key.secret.expose());
        Ok(Arc::new(SharedTickets::new(
            secrets,
            Arc::clone(&self.clock),
        )?))
    }
}

fn is_world_readable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o004 != 0)
}

impl fmt::Debug for Doorstep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorstep")
            .field("transports", &self.transports)
            .finish_non_exhaustive()
    }
}
