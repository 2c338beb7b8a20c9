//! How many files this process may open, and how many connections that leaves room for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::admin::ADMIN_CONNECTIONS;
use crate::serve::Limits;

/// Raises the limit of open files of this process as far as it may be raised without rights: a
/// service manager's usual 1,024 are few for a gateway. What cannot be raised stays.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it was");
    }
}

/// The same limits with no more connections than there are files for: each may need a second one
/// for its endpoint, and the admin side and the gateway itself have theirs in any case.
pub(crate) fn fitting(limits: Limits) -> Limits {
    let most = room(getrlimit(Resource::Nofile).current);
    if limits.max_connections <= most {
        return limits;
    }
    tracing::warn!(
        wanted = limits.max_connections,
        most,
        "listen.max_connections is lowered to what the limit of open files allows"
    );
    Limits {
        max_connections: most,
        ..limits
    }
}

fn room(files: Option<u64>) -> usize {
    let Some(files) = files.and_then(|files| usize::try_from(files).ok()) else {
        return usize::MAX;
    };
    (files.saturating_sub(ADMIN_CONNECTIONS + OWN) / 2).max(LEAST)
}

/// Listeners, the state file, watches, and a check of health for each of some endpoints.
const OWN: usize = 64;
/// Fewer would serve nobody, whatever the limit says.
const LEAST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_files_are_for_clients_and_some_for_nobody_else() {
        assert_eq!(room(None), usize::MAX);
        assert_eq!(room(Some(20_000)), (20_000 - ADMIN_CONNECTIONS - OWN) / 2);
        assert_eq!(room(Some(0)), LEAST);
        for files in [1024, 2000, 65_536] {
            let most = room(Some(files));
            let taken = 2 * most + ADMIN_CONNECTIONS + OWN;
            assert!(
                taken <= usize::try_from(files).unwrap_or(usize::MAX),
                "{files}"
            );
        }
    }
}
