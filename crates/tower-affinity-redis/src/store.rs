//! [`RedisStore`]: the contract of a store in Redis' words.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::{cmd, from_redis_value};
use tokio::task::JoinSet;
use tower_affinity_core::{
    Claim, Counted, LiveCounts, PinStore, RowCodec, RowFault, RowKey, ServiceName, SessionId,
    SessionPin, StoreCall, StoreError, Terms, Timestamp,
};

use crate::failure::{Failure, failed};
use crate::keys::{BUCKETS, Names};
use crate::limits::Limits;
use crate::link::Link;
use crate::options::{InvalidRedis, RedisOptions, check_prefix, parse_server};
use crate::row::{READ, parse_label, unwrap, wrap};
use crate::scripts::{Program, Scripts};

/// Stored assignments in Redis; see the [crate's documentation](crate).
#[derive(Clone)]
pub struct RedisStore(Arc<Inner>);

struct Inner {
    codec: RowCodec,
    names: Names,
    link: Link,
    scripts: Scripts,
    absent: [AtomicU64; RowFault::ALL.len()],
    counted: Mutex<Option<Arc<Counted>>>,
}

impl RedisStore {
    /// A store of the rows of `service` under `prefix`, which connects when it is first asked.
    ///
    /// # Errors
    ///
    /// If there is no server, one is not of the form `redis://HOST:PORT`, several of them make no
    /// cluster, the prefix is empty or has a brace, or the options contradict each other.
    pub fn new<S: AsRef<str>>(
        servers: impl IntoIterator<Item = S>,
        prefix: &str,
        service: ServiceName,
        options: RedisOptions,
    ) -> Result<Self, InvalidRedis> {
        let servers = (1..).zip(servers);
        let servers = servers.map(|(number, server)| parse_server(number, server.as_ref()));
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        check_prefix(prefix)?;
        let is_cluster = options.is_cluster();
        match servers.len() {
            0 => return Err(InvalidRedis::NoServer),
            2.. if !is_cluster => return Err(InvalidRedis::NoCluster),
            _ if options.user.is_some() && options.password.is_none() => {
                return Err(InvalidRedis::UserAlone);
            }
            _ if is_cluster && options.database != 0 => {
                return Err(InvalidRedis::Database(options.database));
            }
            _ => {}
        }
        Ok(Self(Arc::new(Inner {
            codec: RowCodec::new(service),
            names: Names::new(prefix),
            link: Link::new(servers, options),
            scripts: Scripts::new(),
            absent: Default::default(),
            counted: Mutex::default(),
        })))
    }

    /// Runs a script that stores a pin or answers what stands.
    fn write(
        &self,
        program: impl Fn(&Scripts) -> &Program + Send + 'static,
        key: RowKey,
        pin: SessionPin,
        terms: Terms,
    ) -> StoreCall<SessionPin> {
        let Some(row) = wrap(&self.0.codec, key, &pin) else {
            // what could not be read again is not kept
            return StoreCall::ready(pin);
        };
        let inner = Arc::clone(&self.0);
        StoreCall::later(async move {
            let program = program(&inner.scripts);
            inner.write(program, key, pin, &row, terms).await
        })
    }
}

/// How often a row that cannot be read is met in one call: once, unless others keep writing such.
const TRIES: usize = 3;

/// How long ended rows are still known to their sets, for replicas whose clocks are behind.
const SWEPT_AFTER: u64 = 15 * 60;

impl Inner {
    async fn load(&self, key: RowKey, terms: Terms) -> Result<Option<SessionPin>, StoreError> {
        let name = self.names.bucket_of(key).row(key);
        let mut command = cmd("GETRANGE");
        command.arg(name).arg(0).arg(READ - 1);
        let row: Vec<u8> = match self.link.ask(&command).await {
            Ok(row) => from_redis_value(row).map_err(|_| Failure::Answer)?,
            Err(error) if error.code() == Some("WRONGTYPE") => {
                self.count_absent(RowFault::Malformed);
                return Ok(None);
            }
            Err(error) => return Err(failed(&error)),
        };
        if row.is_empty() {
            return Ok(None);
        }
        Ok(self.read(key, &row, terms))
    }

    async fn write(
        &self,
        program: &Program,
        key: RowKey,
        mut pin: SessionPin,
        row: &str,
        terms: Terms,
    ) -> Result<SessionPin, StoreError> {
        let bucket = self.names.bucket_of(key);
        let keys = [&*bucket.row(key), &*bucket.labels];
        let (member, lifetimes) = (key.to_string(), terms.lifetimes);
        let [now, age, idle] = [
            terms.now.as_millis().to_string(),
            lifetimes.max_age().as_millis().to_string(),
            lifetimes.idle().as_millis().to_string(),
        ];
        let limits = Limits::new(terms);
        let mut refused = Vec::new();
        for _ in 0..TRIES {
            let args: [&[u8]; 12] = [
                bucket.sets.as_bytes(),
                member.as_bytes(),
                &refused,
                now.as_bytes(),
                age.as_bytes(),
                row.as_bytes(),
                idle.as_bytes(),
                limits.now.as_bytes(),
                limits.oldest.as_bytes(),
                limits.latest.as_bytes(),
                limits.revision.as_bytes(),
                limits.due.as_bytes(),
            ];
            let answer = program.run(&self.link, &keys, &args).await;
            let answer = answer.map_err(|error| failed(&error))?;
            let answer: Result<(u8, Vec<u8>, Vec<u8>), _> = from_redis_value(answer);
            match answer.map_err(|_| Failure::Answer)? {
                (0, expires, before) => {
                    if !before.is_empty() {
                        // there is nothing to be read there: this counts why
                        self.read(key, &before, terms);
                    }
                    let expires = std::str::from_utf8(&expires).ok();
                    let expires = expires.and_then(|expires| expires.parse().ok());
                    let expires = Timestamp::from_secs(expires.ok_or(Failure::Answer)?);
                    pin.expires = pin.expires.max(expires);
                    return Ok(pin);
                }
                (_, standing, _) => match self.read(key, &standing, terms) {
                    Some(pin) => return Ok(pin),
                    None => refused = standing,
                },
            }
        }
        Err(Failure::Rows.into())
    }

    async fn remove(&self, key: RowKey, session: SessionId) -> Result<(), StoreError> {
        let bucket = self.names.bucket_of(key);
        let keys = [&*bucket.row(key), &*bucket.labels];
        let (member, session) = (key.to_string(), session.to_string());
        let args: [&[u8]; 6] = [
            bucket.sets.as_bytes(),
            member.as_bytes(),
            b"",
            b"0",
            b"0",
            session.as_bytes(),
        ];
        let answer = self.scripts.remove.run(&self.link, &keys, &args).await;
        answer.map(drop).map_err(|error| failed(&error))
    }

    /// Counts one bucket's live rows by label.
    async fn count(&self, bucket: u8, now: Timestamp) -> Result<Vec<(String, u64)>, StoreError> {
        let bucket = self.names.bucket(bucket);
        let now = now.as_secs();
        let (swept, now) = (now.saturating_sub(SWEPT_AFTER).to_string(), now.to_string());
        let args: [&[u8]; 3] = [bucket.sets.as_bytes(), now.as_bytes(), swept.as_bytes()];
        let count = &self.scripts.count;
        let answer = count.run(&self.link, &[&bucket.labels], &args).await;
        let answer: Result<Vec<(String, u64)>, _> =
            from_redis_value(answer.map_err(|error| failed(&error))?);
        Ok(answer.map_err(|_| Failure::Answer)?)
    }

    /// Reads a row; one that does not count is counted for that.
    fn read(&self, key: RowKey, row: &[u8], terms: Terms) -> Option<SessionPin> {
        match unwrap(&self.codec, key, row, terms) {
            Ok(pin) => Some(pin),
            Err(fault) => {
                self.count_absent(fault);
                None
            }
        }
    }

    fn count_absent(&self, fault: RowFault) {
        if let Some(count) = self.absent.get(fault as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counted(&self) -> MutexGuard<'_, Option<Arc<Counted>>> {
        // what it guards is only ever replaced as a whole
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PinStore for RedisStore {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        let inner = Arc::clone(&self.0);
        StoreCall::later(async move { inner.load(key, terms).await })
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        // Redis knows no bound of rows but its memory, so nobody's row goes for another one
        self.write(|scripts| &scripts.claim, claim.key, claim.pin, claim.terms)
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        self.write(|scripts| &scripts.replace, key, pin, terms)
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        let inner = Arc::clone(&self.0);
        StoreCall::later(async move { inner.remove(key, session).await })
    }

    fn absent(&self, fault: RowFault) -> u64 {
        let count = self.0.absent.get(fault as usize);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        match &*self.0.counted() {
            Some(counted) => counted.told(now),
            None => LiveCounts::Unknown,
        }
    }

    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        let inner = Arc::clone(&self.0);
        StoreCall::later(async move {
            let mut buckets = JoinSet::new();
            for bucket in 0..BUCKETS {
                let inner = Arc::clone(&inner);
                buckets.spawn(async move { inner.count(bucket, now).await });
            }
            let mut all = Counted::new(now);
            while let Some(counted) = buckets.join_next().await {
                for (label, count) in counted.map_err(StoreError::new)?? {
                    // a label that nobody can have written counts nowhere
                    if let Some((group, endpoint)) = parse_label(&label) {
                        all.add(group, endpoint, count);
                    }
                }
            }
            *inner.counted() = Some(Arc::new(all));
            Ok(())
        })
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("service", self.0.codec.service())
            .field("names", &self.0.names)
            .field("link", &self.0.link)
            .finish_non_exhaustive()
    }
}
