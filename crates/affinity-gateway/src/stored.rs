//! The store of assignments that the settings name.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use tower_affinity::core::{Clock, MemoryStore, PinStore, ServiceName};
use tower_affinity::record::Recorder;
use tower_affinity::store::{GuardedStore, Sleep, Timer};

use crate::causes::with_causes;
use crate::config::{StoreKind, StoreSettings};
use crate::start_error::StartError;

/// How often a store sweeps and counts.
const UPKEEP: Duration = Duration::from_secs(1);

/// The store, guarded so that it holds no request up.
pub(crate) fn of(
    settings: &StoreSettings,
    service: &ServiceName,
    clock: &Arc<dyn Clock>,
    recorder: &Recorder,
) -> Result<GuardedStore, StartError> {
    let store = backend(&settings.kind, service)?;
    Ok(GuardedStore::new(store, Tokio)
        .patience(settings.timeout)
        .clock(Arc::clone(clock))
        .recorder(recorder.clone()))
}

fn backend(kind: &StoreKind, service: &ServiceName) -> Result<Arc<dyn PinStore>, StartError> {
    match kind {
        StoreKind::Memory { capacity } => Ok(Arc::new(MemoryStore::new(*capacity))),
        StoreKind::Redis(redis) => in_redis::over(redis, service),
        StoreKind::Dynamo(dynamo) => in_dynamo::over(dynamo, service),
    }
}

#[cfg(feature = "redis")]
mod in_redis {
    use tower_affinity::redis::{RedisOptions, RedisStore};

    use super::{Arc, PinStore, ServiceName, StartError};
    use crate::config::{RedisServers, RedisSettings};

    pub(super) fn over(
        redis: &RedisSettings,
        service: &ServiceName,
    ) -> Result<Arc<dyn PinStore>, StartError> {
        let mut options = RedisOptions::new();
        if let Some(login) = &redis.login {
            // what the settings hold was text when it was read
            options = options.password(String::from_utf8_lossy(login.password.expose()));
            if let Some(user) = &login.user {
                options = options.user(user);
            }
        }
        let prefix = format!("affinity:{service}");
        let service = service.clone();
        let store = match &redis.servers {
            RedisServers::One(url) => RedisStore::new([url], &prefix, service, options),
            RedisServers::Cluster(nodes) => {
                RedisStore::new(nodes, &prefix, service, options.cluster(true))
            }
        };
        Ok(Arc::new(store.map_err(StartError::Redis)?))
    }
}

#[cfg(not(feature = "redis"))]
mod in_redis {
    use super::{Arc, PinStore, ServiceName, StartError};
    use crate::config::RedisSettings;

    pub(super) fn over(
        _: &RedisSettings,
        _: &ServiceName,
    ) -> Result<Arc<dyn PinStore>, StartError> {
        Err(StartError::NoStore("redis"))
    }
}

#[cfg(feature = "dynamodb")]
mod in_dynamo {
    use tower_affinity::dynamodb::{DynamoOptions, DynamoStore};

    use super::{Arc, PinStore, ServiceName, StartError};
    use crate::config::{DynamoSettings, Line};

    pub(super) fn over(
        dynamo: &DynamoSettings,
        service: &ServiceName,
    ) -> Result<Arc<dyn PinStore>, StartError> {
        // what the settings hold was text when it was read
        let text = |line: &Line| String::from_utf8_lossy(line.held.expose()).into_owned();
        let (id, secret) = (text(&dynamo.access_key_id), text(&dynamo.secret_access_key));
        let mut options = DynamoOptions::new(&dynamo.region, id, secret);
        if let Some(endpoint) = &dynamo.endpoint {
            options = options.endpoint(endpoint);
        }
        if let Some(interval) = dynamo.count_every {
            options = options.count_every(interval);
        }
        let prefix = format!("affinity:{service}");
        let store = DynamoStore::new(&dynamo.table, &prefix, service.clone(), options);
        Ok(Arc::new(store.map_err(StartError::Dynamo)?))
    }
}

#[cfg(not(feature = "dynamodb"))]
mod in_dynamo {
    use super::{Arc, PinStore, ServiceName, StartError};
    use crate::config::DynamoSettings;

    pub(super) fn over(
        _: &DynamoSettings,
        _: &ServiceName,
    ) -> Result<Arc<dyn PinStore>, StartError> {
        Err(StartError::NoStore("dynamodb"))
    }
}

/// Has the store sweep and count until `shutdown`.
pub(crate) async fn keep(store: GuardedStore, clock: Arc<dyn Clock>, shutdown: CancellationToken) {
    let mut ticks = interval(UPKEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failed = false;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.cancelled() => return,
        }
        let outcome = store.upkeep(clock.now()).await;
        if let Err(error) = &outcome
            && !failed
        {
            let error = with_causes(error);
            tracing::warn!(error, "live sessions cannot be counted");
        }
        failed = outcome.is_err();
    }
}

/// The runtime's timer.
#[derive(Debug)]
struct Tokio;

impl Timer for Tokio {
    fn sleep(&self, span: Duration) -> Sleep {
        Box::pin(sleep(span))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::causes::with_causes;
    use crate::config::parse;

    /// The kind that these lines name.
    fn kind(store: &str) -> StoreKind {
        let key = "5TTK48nkSfEDI7Og9alBBsqR4RW_cVPE0LN2jPHYJr8";
        let text = format!(
            "service = \"checkout\"\n[listen]\naddress = \"127.0.0.1:1\"\n\
             admin = \"127.0.0.1:2\"\nadmin_token_file = \"token\"\n\
             [pin]\nkeys = [\"k:env:K\"]\n[[group]]\nname = \"a\"\nweight = 1\nstable = true\n\
             endpoints = [\"127.0.0.1:3\"]\n[store]\nkind = {store}\n"
        );
        let env = |name: &str| match name {
            "K" => Some(key.to_owned()),
            "PASSWORD" => Some("hunter2".to_owned()),
            "SPACED" => Some("hunter2 hunter2".to_owned()),
            _ => None,
        };
        let settings = parse(&text, std::path::Path::new("/"), &env).unwrap();
        settings.store.unwrap().kind
    }

    fn made(store: &str) -> Result<Arc<dyn PinStore>, StartError> {
        backend(&kind(store), &"checkout".parse().unwrap())
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_store_in_redis_is_made_without_asking_the_server() {
        for servers in [
            "url = \"redis://127.0.0.1:1\"",
            "cluster = [\"redis://127.0.0.1:1\", \"redis://[::1]:1\"]",
        ] {
            let login = "user = \"shop\"\npassword = \"env:PASSWORD\"";
            let store = made(&format!("\"redis\"\n{servers}\n{login}")).unwrap();
            let shown = format!("{store:?}");
            assert!(shown.contains("affinity:checkout"), "{shown}");
            assert!(shown.contains("shop"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_place_that_redis_cannot_be_at_is_refused_with_its_key() {
        let error = made("\"redis\"\nurl = \"redis://a!b:1\"").unwrap_err();
        let told = with_causes(&error);
        assert!(told.starts_with("store"), "{told}");
        assert!(told.contains("redis://HOST:PORT"), "{told}");
    }

    #[cfg(not(feature = "redis"))]
    #[test]
    fn a_build_without_redis_says_which_feature_is_missing() {
        let told = with_causes(&made("\"redis\"\nurl = \"redis://127.0.0.1:1\"").unwrap_err());
        assert!(told.contains("store.kind"), "{told}");
        assert!(told.contains("the feature redis"), "{told}");
    }

    const DYNAMO: &str = "\"dynamodb\"\ntable = \"affinity\"\nregion = \"eu-central-1\"\n\
                          access_key_id = \"env:PASSWORD\"\nsecret_access_key = \"env:PASSWORD\"";

    #[cfg(feature = "dynamodb")]
    #[test]
    fn a_store_in_dynamodb_is_made_without_asking_the_server() {
        let more = "endpoint = \"http://127.0.0.1:1\"\ncount_every = \"5s\"";
        let store = made(&format!("{DYNAMO}\n{more}")).unwrap();
        let shown = format!("{store:?}");
        for part in [
            "affinity:checkout",
            "eu-central-1",
            "http://127.0.0.1:1",
            "5s",
        ] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
    }

    #[cfg(feature = "dynamodb")]
    #[test]
    fn a_key_that_dynamodb_cannot_be_sent_is_refused_without_it() {
        let spaced = DYNAMO.replace("env:PASSWORD", "env:SPACED");
        let told = with_causes(&made(&spaced).unwrap_err());
        assert!(told.contains("access key id"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }

    #[cfg(not(feature = "dynamodb"))]
    #[test]
    fn a_build_without_dynamodb_says_which_feature_is_missing() {
        let told = with_causes(&made(DYNAMO).unwrap_err());
        assert!(told.contains("store.kind"), "{told}");
        assert!(told.contains("the feature dynamodb"), "{told}");
    }
}
