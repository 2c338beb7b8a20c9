//! A collector that keeps what it is sent.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;

/// What came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector {
    sent: Arc<Mutex<Sent>>,
}

#[derive(Debug, Default)]
struct Sent {
    spans: Vec<Span>,
    metrics: Vec<Metric>,
    resources: Vec<KeyValue>,
}

impl Collector {
    /// Listens on a free port of loopback for as long as the runtime lives.
    pub(crate) async fn start() -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let collector = Self::default();
        let kept = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = kept.clone();
                let service = service_fn(move |request| kept.clone().take(request));
                let server = hyper::server::conn::http1::Builder::new();
                tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
            }
        });
        (collector, address)
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.expect("a whole body");
        let body = body.to_bytes();
        let mut sent = self.sent.lock().expect("no panic before");
        match path.as_str() {
            "/v1/traces" => {
                let all = ExportTraceServiceRequest::decode(body).expect("spans");
                for one in all.resource_spans {
                    sent.resources
                        .extend(one.resource.expect("a resource").attributes);
                    let scopes = one.scope_spans.into_iter();
                    sent.spans.extend(scopes.flat_map(|scope| scope.spans));
                }
            }
            "/v1/metrics" => {
                let all = ExportMetricsServiceRequest::decode(body).expect("metrics");
                let scopes = all.resource_metrics.into_iter();
                let scopes = scopes.flat_map(|one| one.scope_metrics);
                sent.metrics.extend(scopes.flat_map(|scope| scope.metrics));
            }
            path => panic!("nothing is at {path}"),
        }
        Ok(Response::default())
    }

    /// The spans of that name, in the order of their beginnings.
    pub(crate) fn spans(&self, name: &str) -> Vec<Span> {
        let sent = self.sent.lock().expect("no panic before");
        let mut spans: Vec<_> = sent
            .spans
            .iter()
            .filter(|span| span.name == name)
            .cloned()
            .collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }

    /// The value of an attribute of the resource.
    pub(crate) fn resource(&self, name: &str) -> Option<String> {
        text(&self.sent.lock().expect("no panic before").resources, name)
    }

    /// The last count of a sum whose labels are these.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<i64> {
        let sent = self.sent.lock().expect("no panic before");
        let metrics = sent
            .metrics
            .iter()
            .rev()
            .filter(|metric| metric.name == name);
        let sums = metrics.filter_map(|metric| match &metric.data {
            Some(metric::Data::Sum(sum)) => Some(&sum.data_points),
            _ => None,
        });
        let fits = |attributes: &[KeyValue]| {
            labels
                .iter()
                .all(|(label, value)| text(attributes, label).as_deref() == Some(value))
        };
        let mut points = sums.flatten().filter(|point| fits(&point.attributes));
        points.next().and_then(|point| match point.value {
            Some(number_data_point::Value::AsInt(value)) => Some(value),
            _ => None,
        })
    }

    /// Whether there is a histogram of that name and group.
    pub(crate) fn has_histogram(&self, name: &str, group: &str) -> bool {
        let sent = self.sent.lock().expect("no panic before");
        let of = |metric: &Metric| match &metric.data {
            Some(metric::Data::Histogram(of)) => of
                .data_points
                .iter()
                .any(|point| text(&point.attributes, "deployment.id").as_deref() == Some(group)),
            _ => false,
        };
        sent.metrics
            .iter()
            .any(|metric| metric.name == name && of(metric))
    }
}

/// An attribute as text.
pub(crate) fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => text.clone(),
        any_value::Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}
