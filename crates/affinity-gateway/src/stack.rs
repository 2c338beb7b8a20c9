//! The path of a request through the gateway.

use std::borrow::Cow;
use std::sync::Arc;

use http::Extensions;
use hyper::body::Incoming;
use tower::ServiceBuilder;
use tower_affinity::balance::{Connect, Endpoint, GroupBalance, Lease, ReplayBody};
use tower_affinity::store::GuardedStore;
use tower_affinity::{AffinityLayer, BuildError, GatewayLayer, GatewayService};

use crate::access::{Access, AccessLayer, AccessLog};
use crate::boxed::Boxed;
use crate::config::Settings;
use crate::control::Control;
use crate::discard::{Discard, DiscardBody, DiscardLayer, DiscardLimits};
use crate::edge::{Edge, EdgeLayer, Requests};
use crate::intake::{BodyLimits, Bounded, Intake, IntakeLayer};
use crate::metrics::Metrics;
use crate::upstream::{EndpointService, Upstream};

/// Everything that a request meets after the listener, from the outside to the leaf.
pub(crate) type Stack = Access<Discard<Edge<Intake<Boxed<GatewayService<GroupBalance<Dial>>>>>>>;

/// Speaks to the endpoint that the balancer picked.
#[derive(Clone, Debug)]
pub(crate) struct Dial(pub(crate) Upstream<Sent>);

/// The body of a request on its way to an endpoint.
pub(crate) type Sent = ReplayBody<Bounded<DiscardBody<Incoming>>>;

impl Connect<Sent> for Dial {
    type Service = EndpointService<Sent>;

    fn connect(&self, endpoint: &Arc<Endpoint>) -> Self::Service {
        self.0.endpoint(endpoint.address())
    }

    fn attempt(
        &self,
        lease: &Lease,
        extensions: Cow<'_, Extensions>,
    ) -> (Self::Service, Extensions) {
        self.connect(lease.endpoint()).attempt(lease, extensions)
    }
}

/// Builds the path from the settings, over state that outlives it.
pub(crate) fn build(
    settings: &Settings,
    control: &Control,
    upstream: Upstream<Sent>,
    metrics: &Metrics,
    requests: &Requests,
    store: Option<&GuardedStore>,
    log: Option<&AccessLog>,
) -> Result<Stack, StackError> {
    let (recorder, series) = (metrics.recorder(), metrics.connections().clone());
    let mut affinity = AffinityLayer::builder()
        .keyring(settings.pin.keyring().map_err(StackError::Keys)?)
        .service(settings.service.as_str())
        .rollout(control.rollouts().clone())
        .readiness(control.groups().clone())
        .lifetimes(settings.pin.lifetimes)
        .carriers(settings.pin.carriers.clone())
        .cookie(settings.pin.cookie.attributes().clone())
        .former_cookies(control.former_cookies(settings))
        .clock(control.clock())
        .expiries(control.expiries().clone())
        .recorder(recorder.clone());
    for scope in &settings.scopes {
        affinity = affinity.scope(scope.scope());
    }
    if !settings.experiments.as_set().as_slice().is_empty() {
        affinity = affinity.experiments(settings.experiments.clone());
    }
    if let Some(store) = store {
        affinity = affinity.store(store.clone());
    }
    // an answer that is not there by then is not waited for any longer, whoever is asked
    let within = settings.upstream.response_timeout;
    let retries = settings.upstream.retries.policy(within);
    let limits = &settings.listen.limits;
    let scopes = settings.scopes.iter();
    let scopes = scopes.map(|scope| {
        (
            scope.path.clone(),
            scope.max_body.unwrap_or(limits.max_body),
        )
    });
    let bodies = BodyLimits {
        most: limits.max_body,
        scopes: scopes.collect(),
        patience: limits.body_timeout,
        told: Arc::new(move |fault| series.body(fault)),
    };
    let series = metrics.connections().clone();
    let unread = DiscardLimits::new(limits.body_timeout, move || series.unread());
    let (early, long) = (recorder.clone(), recorder.clone());
    Ok(ServiceBuilder::new()
        .layer(AccessLayer::new(log.cloned(), control.clock()))
        .layer(DiscardLayer::new(unread))
        .layer(
            EdgeLayer::new()
                .max_requests(limits.max_requests)
                .requests(requests.clone())
                .trusted_proxies(settings.listen.trusted_proxies.iter().copied())
                .recorder(move |status| early.early(status)),
        )
        .layer(IntakeLayer::new(bodies, move |status| long.early(status)))
        .layer_fn(Boxed)
        .layer(
            GatewayLayer::new(affinity.build()?)
                .slow(settings.analysis.slow)
                .login(settings.analysis.login.iter().cloned()),
        )
        .service(
            GroupBalance::new(control.groups().clone(), Dial(upstream))
                .recorder(recorder.clone())
                .retries(retries)
                .rollouts(control.rollouts().clone()),
        ))
}

/// Settings from which no path can be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// The keys cannot be used.
    #[error("the keys of the configuration cannot be used")]
    Keys(#[source] tower_affinity::core::KeyError),
    /// The certificates of the authorities of endpoints cannot be used.
    #[error("the TLS to endpoints cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The layers cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use tower_service::Service;

    use super::*;

    type Asked = Request<Incoming>;
    type Future = <Stack as Service<Asked>>::Future;
    type Answer = <Stack as Service<Asked>>::Response;

    /// Up to 128 bytes are moved by a few instructions in place, beyond that by a call of `memcpy`.
    #[test]
    fn what_the_server_and_the_layers_move_for_a_request_is_small() {
        assert!(size_of::<Future>() <= 104, "{}", size_of::<Future>());
        assert!(size_of::<Answer>() <= 128, "{}", size_of::<Answer>());
        assert_eq!(
            size_of::<Answer>() - size_of::<Response<()>>(),
            16,
            "a body is more than its box and its place at the edge"
        );
    }
}
