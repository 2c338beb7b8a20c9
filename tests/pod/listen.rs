//! Takes connections until the process is asked to leave, and serves them to their end.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower::{Layer, service_fn};
use tower_affinity::GroupIdentityLayer;

use crate::answer::{Pod, answer};
use crate::body::Answer;
use crate::options::Protocol;

/// For ever: the orders end the process.
pub(crate) async fn listen(listener: TcpListener, pod: Pod, protocol: Protocol, identity: bool) {
    let pod = Arc::new(pod);
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted.expect("a pod can accept");
                tokio::spawn(serve(stream, Arc::clone(&pod), protocol, identity));
            }
            () = pod.switches.left() => break,
        }
    }
    // what the kernel has queued would be reset with the listener
    while let Ok(accepted) = timeout(Duration::from_millis(2), listener.accept()).await {
        let (stream, _) = accepted.expect("a pod can accept");
        tokio::spawn(serve(stream, Arc::clone(&pod), protocol, identity));
    }
    drop(listener);
    std::future::pending::<()>().await;
}

async fn serve(stream: TcpStream, pod: Arc<Pod>, protocol: Protocol, identity: bool) {
    stream
        .set_nodelay(true)
        .expect("a socket takes its options");
    let stream = TokioIo::new(stream);
    let at = Arc::clone(&pod);
    let service = service_fn(move |request| answer(Arc::clone(&at), request));
    if identity {
        let group = pod.group.parse().expect("a group's name");
        let service = GroupIdentityLayer::new(group).layer(service);
        speak(stream, &pod, protocol, TowerToHyperService::new(service)).await;
    } else {
        speak(stream, &pod, protocol, TowerToHyperService::new(service)).await;
    }
}

async fn speak<S>(stream: TokioIo<TcpStream>, pod: &Pod, protocol: Protocol, service: S)
where
    S: Service<Request<Incoming>, Response = Response<Answer>, Error = hyper::Error>,
    S::Future: Send + 'static,
{
    // how a connection ends is seen by the clients' side of the story
    match protocol {
        Protocol::Http1 => {
            // the next answer asks for the end of the connection: see `answer`
            drop(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(stream, service)
                    .await,
            );
        }
        Protocol::H2c => {
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let connection = builder.serve_connection(stream, service);
            tokio::pin!(connection);
            tokio::select! {
                served = connection.as_mut() => return drop(served),
                () = pod.switches.left() => connection.as_mut().graceful_shutdown(),
            }
            drop(connection.await);
        }
    }
}
