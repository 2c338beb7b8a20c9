//! Threads that serve, each with a runtime and a socket of its own.

use std::{collections::HashSet, net::SocketAddr, thread};

use tokio::{net::TcpStream, task::JoinHandle};

use super::*;
use crate::{
    reserved::Reserved,
    serve::{Shutdown, Workers},
};

struct Server {
    address: SocketAddr,
    shutdown: Shutdown,
    ended: JoinHandle<Drained>,
}

/// Two workers, and so many sockets; each answer names the thread that has made it, once `gate` lets
/// it.
fn serving(sockets: usize, gate: &Arc<Gate>) -> Server {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let reserved = Reserved::new(any, "listen.address").unwrap();
    let address = reserved.address();
    let mut listening = reserved.listen().unwrap();
    listening.spread(sockets).unwrap();
    let gate = Arc::clone(gate);
    let service = service_fn(move |_: Request<Incoming>| {
        let gate = Arc::clone(&gate);
        async move {
            gate.pass().await;
            let name = thread::current().name().map(str::to_owned);
            Ok::<_, Infallible>(Response::new(Body::from(name.unwrap_or_default() + ".")))
        }
    });
    let shutdown = Shutdown::new();
    let workers = Workers::new(2).unwrap();
    let sockets = listening.into_sockets();
    let options = ServeOptions::new().linger(Duration::from_millis(50));
    let (_, served) = workers
        .serve(sockets, &service, options, Tunnels::new(), shutdown.clone())
        .unwrap();
    let ended = tokio::spawn(served);
    Server {
        address,
        shutdown,
        ended,
    }
}

async fn worker(client: &mut Wire) -> String {
    client.send(GET).await;
    client.head().await;
    client.word().await.expect("an answer")
}

#[tokio::test]
async fn a_connection_stays_on_the_worker_that_accepted_it() {
    let server = serving(2, &Gate::open());
    let mut seen = HashSet::new();
    for _ in 0..64 {
        let mut client = Wire::connect(server.address).await;
        let first = worker(&mut client).await;
        assert_eq!(worker(&mut client).await, first, "it has changed threads");
        seen.insert(first);
    }
    assert_eq!(seen, ["worker-1.", "worker-2."].map(str::to_owned).into());
}

#[tokio::test]
async fn every_socket_is_accepted_from_though_there_are_fewer_workers() {
    let server = serving(5, &Gate::open());
    for _ in 0..64 {
        let mut client = Wire::connect(server.address).await;
        assert!(worker(&mut client).await.starts_with("worker-"));
    }
}

#[tokio::test]
async fn requests_on_all_workers_are_finished_before_the_end() {
    let gate = Gate::closed();
    let server = serving(2, &gate);
    let mut clients = Vec::new();
    for _ in 0..32 {
        let mut client = Wire::connect(server.address).await;
        client.send(GET).await;
        gate.arrival().await;
        clients.push(client);
    }
    server.shutdown.begin();
    gate.allowed.add_permits(Semaphore::MAX_PERMITS / 2);
    for mut client in clients {
        assert!(client.head().await.starts_with("HTTP/1.1 200"), "lost");
    }
    let drained = within("the end", server.ended).await.expect("no panic");
    assert!(drained.is_clean(), "{drained:?}");
    let refused = TcpStream::connect(server.address).await;
    assert!(refused.is_err(), "a worker still accepts");
}

#[tokio::test]
async fn workers_end_with_whoever_waits_for_them() {
    let server = serving(2, &Gate::open());
    let mut client = Wire::connect(server.address).await;
    worker(&mut client).await;
    server.ended.abort();
    assert_eq!(client.rest().await, "", "the connection is still served");
}
