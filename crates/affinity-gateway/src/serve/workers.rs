//! [`Workers`]: threads that serve, each with a runtime of its own.

use std::{
    future::Future,
    io, iter,
    sync::{Arc, Weak},
    thread,
};

use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    Drained, ServeOptions, Shutdown, Tunnels,
    listen::{Served, ServedBody, Server},
};
use crate::gather;

/// Runtimes of one thread each: a connection stays on the thread that accepted it, with all that
/// its requests open, so that nothing of a request wakes another core. They are used as evenly as
/// the kernel spreads connections over the listening sockets.
#[derive(Debug)]
pub(crate) struct Workers(Vec<Runtime>);

/// A listening socket that a worker accepts from, as long as it does.
pub(crate) type Socket = Weak<TcpListener>;

impl Workers {
    /// So many runtimes, at least one, whose threads do not run yet.
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let runtimes = iter::repeat_with(|| Builder::new_current_thread().enable_all().build());
        runtimes
            .take(count.max(1))
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// As [`serve`](super::serve()), on all `listeners` at once, which are dealt out to the workers.
    ///
    /// The future is to be polled on another runtime; dropped before its end, it ends the threads at
    /// once.
    pub(crate) fn serve<S, B>(
        self,
        listeners: Vec<std::net::TcpListener>,
        service: &S,
        options: ServeOptions,
        tunnels: Tunnels,
        shutdown: Shutdown,
    ) -> io::Result<(
        Vec<Socket>,
        impl Future<Output = Drained> + Send + use<S, B>,
    )>
    where
        S: Served<B>,
        B: ServedBody,
    {
        let server = Arc::new(Server::new(options, tunnels, shutdown));
        let (over, mut sockets) = (CancellationToken::new(), Vec::new());
        let mut accepting = Vec::new();
        let count = self.len();
        let mut hands: Vec<_> = iter::repeat_with(Vec::new).take(count).collect();
        for (listener, hand) in listeners.into_iter().zip((0..count).cycle()) {
            if let Some(hand) = hands.get_mut(hand) {
                hand.push(listener);
            }
        }
        for ((runtime, hand), number) in self.0.into_iter().zip(hands).zip(1_u32..) {
            let loops: Vec<_> = {
                let _within = runtime.enter();
                let registered = hand.into_iter().map(TcpListener::from_std);
                registered.collect::<io::Result<Vec<_>>>()?
            };
            let loops: Vec<_> = loops.into_iter().map(Arc::new).collect();
            sockets.extend(loops.iter().map(Arc::downgrade));
            let (accepted, deadline) = oneshot::channel();
            accepting.push(deadline);
            let (server, service, over) = (Arc::clone(&server), service.clone(), over.clone());
            let work = async move {
                tokio::spawn(gather::run());
                tokio::select! {
                    deadline = accept(server, loops, service) => {
                        // an error says that nobody waits for it any more, and so does `over`
                        let _ = accepted.send(deadline);
                        over.cancelled().await;
                    }
                    () = over.cancelled() => {}
                }
            };
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            thread.spawn(move || {
                runtime.block_on(work);
                runtime.shutdown_background();
            })?;
        }
        let over = over.drop_guard();
        Ok((sockets, async move {
            let _over = over;
            let mut all_over = None;
            for deadline in accepting {
                match deadline.await {
                    Ok(deadline) => all_over = all_over.max(Some(deadline)),
                    Err(_) => tracing::error!("a worker has ended, and its connections with it"),
                }
            }
            server.drain(all_over.unwrap_or_else(Instant::now)).await
        }))
    }
}

/// Accepts from all of a worker's listeners until the shutdown.
async fn accept<S, B>(server: Arc<Server>, listeners: Vec<Arc<TcpListener>>, service: S) -> Instant
where
    S: Served<B>,
    B: ServedBody,
{
    let mut loops = JoinSet::new();
    for listener in listeners {
        let (server, service) = (Arc::clone(&server), service.clone());
        loops.spawn(async move { server.accept(listener, service).await });
    }
    let mut over = None;
    while let Some(ended) = loops.join_next().await {
        match ended {
            Ok(deadline) => over = over.max(Some(deadline)),
            Err(error) => tracing::error!(%error, "nothing is accepted any more from a socket"),
        }
    }
    match over {
        Some(deadline) => deadline,
        // more workers than sockets
        None => server.ended().await,
    }
}
