//! [`Account`]: what became of one request, for whoever logs it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Extensions, StatusCode};

use super::series::CodeClass;
use crate::Affinity;

/// Collects what the layers know of one request, and hands it over when the request has ended: once
/// its answer, or its tunnel, has ended or was dropped.
///
/// Put one into the extensions of a request before it meets the layers. Clones share what is
/// collected; what is told at the end is called when the last of them is dropped, on whatever thread
/// that is, so it should not block. A request without one costs nothing.
///
/// ```
/// use tower_affinity::record::Account;
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(Account::new(|summary| {
///     println!("{:?} after {} attempts", summary.status, summary.attempts);
/// }));
/// ```
#[derive(Clone)]
pub struct Account(Arc<Shared>);

/// What is known of a request at its end.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// What was decided; `None` for a request that was answered before that.
    pub affinity: Option<Affinity>,
    /// The status of the answer; `None` if the client did not wait for one.
    pub status: Option<StatusCode>,
    /// How the request ended: the label `code_class` of `affinity_requests_total`; `None` where nobody
    /// answered or counted it.
    pub code_class: Option<&'static str>,
    /// The endpoint that was asked last.
    pub endpoint: Option<SocketAddr>,
    /// How many times an endpoint was asked.
    pub attempts: u32,
    /// How many bytes of the answer's body were handed out.
    pub body_bytes: u64,
}

struct Shared {
    summary: Mutex<Summary>,
    ended: Box<dyn Fn(Summary) + Send + Sync>,
}

impl Account {
    /// Calls `ended` once the request has ended.
    #[must_use]
    pub fn new(ended: impl Fn(Summary) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared {
            summary: Mutex::default(),
            ended: Box::new(ended),
        }))
    }

    /// The head of the answer is there.
    pub fn answered(&self, status: StatusCode, affinity: Option<&Affinity>) {
        self.note(|summary| {
            summary.status = Some(status);
            // whoever counts it knows better, and one without a body may be counted by now
            let class = CodeClass::of(status).as_str();
            summary.code_class.get_or_insert(class);
            summary.affinity = affinity.cloned();
        });
    }

    /// The account of a request, if somebody wants one.
    pub(crate) fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// An endpoint is asked.
    pub(crate) fn attempt(&self, endpoint: SocketAddr) -> u32 {
        self.note(|summary| {
            summary.endpoint = Some(endpoint);
            summary.attempts = summary.attempts.saturating_add(1);
            summary.attempts
        })
    }

    pub(super) fn ended(&self, class: CodeClass, body_bytes: u64) {
        self.note(|summary| {
            summary.code_class = Some(class.as_str());
            summary.body_bytes = body_bytes;
        });
    }

    fn note<T>(&self, note: impl FnOnce(&mut Summary) -> T) -> T {
        note(
            &mut self
                .0
                .summary
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let summary = self.summary.get_mut();
        (self.ended)(std::mem::take(
            summary.unwrap_or_else(PoisonError::into_inner),
        ));
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Account").finish_non_exhaustive()
    }
}
