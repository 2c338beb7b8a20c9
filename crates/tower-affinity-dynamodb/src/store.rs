//! [`DynamoStore`]: the contract of a store in DynamoDB's words.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure as OnFailure,
};
use tower_affinity_core::{
    Claim, Counted, LiveCounts, PinStore, RowCodec, RowFault, RowKey, ServiceName, SessionId,
    SessionPin, StoreCall, StoreError, Terms, Timestamp,
};

use crate::client::client;
use crate::condition::Condition;
use crate::failure::{Failure, failed};
use crate::item::{Item, Place, READ, row, unwrap, wrap};
use crate::options::{DynamoOptions, InvalidDynamo, check};

/// Stored assignments in DynamoDB; see the [crate's documentation](crate).
#[derive(Clone)]
pub struct DynamoStore(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    codec: RowCodec,
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) place: Place,
    options: DynamoOptions,
    absent: [AtomicU64; RowFault::ALL.len()],
    count: Mutex<Count>,
}

#[derive(Default)]
struct Count {
    /// When the last count was begun.
    begun: Option<Timestamp>,
    last: Option<Arc<Counted>>,
}

impl DynamoStore {
    /// A store of the rows of `service` under `prefix` in `table`, which connects when it is first
    /// asked.
    ///
    /// # Errors
    ///
    /// If the table, the prefix, the region, the endpoint or the credentials cannot be any.
    pub fn new(
        table: &str,
        prefix: &str,
        service: ServiceName,
        options: DynamoOptions,
    ) -> Result<Self, InvalidDynamo> {
        check(table, prefix, &options)?;
        Ok(Self(Arc::new(Inner {
            codec: RowCodec::new(service),
            client: client(&options),
            table: table.to_owned(),
            place: Place::new(prefix),
            options,
            absent: Default::default(),
            count: Mutex::default(),
        })))
    }

    /// Has a call go on when nobody waits for it any more: whoever asks waits less long than a
    /// connection takes, and the next one needs it.
    fn call<T, F>(&self, ask: impl FnOnce(Arc<Inner>) -> F + Send + 'static) -> StoreCall<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let inner = Arc::clone(&self.0);
        StoreCall::later(async move {
            let asked = tokio::spawn(ask(inner)).await;
            asked.unwrap_or_else(|_| Err(Failure::Broken.into()))
        })
    }

    fn write(&self, how: How, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        self.call(move |inner| async move { inner.write(how, key, pin, terms).await })
    }
}

/// How often an item is written in one call: once for a claim, once for its touch, and once each for
/// an expiry that is kept and for an item that cannot be read.
const TRIES: usize = 4;

/// When a pin is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// If no row stands.
    First,
    /// If none stands that it does not take the place of.
    Later,
}

/// What has come of a pin that was written.
enum Written {
    Stored,
    /// Another item stands.
    Stands(Item),
    /// One stood that was gone afterwards.
    Gone,
}

impl Inner {
    async fn load(&self, key: RowKey, terms: Terms) -> Result<Option<SessionPin>, StoreError> {
        let item = self.get(key).await?;
        Ok(item.and_then(|item| self.read(key, &item, terms)))
    }

    async fn write(
        &self,
        mut how: How,
        key: RowKey,
        mut pin: SessionPin,
        terms: Terms,
    ) -> Result<SessionPin, StoreError> {
        let mut refused: Option<String> = None;
        for _ in 0..TRIES {
            let Some(item) = wrap(&self.codec, &self.place, key, &pin) else {
                // what could not be read again is not kept
                return Ok(pin);
            };
            let condition = match how {
                How::First => Condition::absent(terms, refused.as_deref()),
                How::Later => Condition::lesser(&item, terms, refused.as_deref()),
            };
            let stands = match self.put(key, item, condition, terms).await? {
                Written::Stored => return Ok(pin),
                Written::Stands(item) => item,
                Written::Gone => continue,
            };
            match (self.read(key, &stands, terms), how) {
                (None, _) => refused = row(&stands).map(str::to_owned),
                (Some(standing), How::First) if standing.is_due(terms.now, terms.lifetimes) => {
                    how = How::Later;
                    pin = standing.touched(terms.now, terms.lifetimes);
                }
                (Some(standing), How::Later) if pin.supersedes(&standing) => {
                    pin.expires = pin.expires.max(standing.expires);
                }
                (Some(standing), _) => return Ok(standing),
            }
        }
        Err(Failure::Rows.into())
    }

    /// Writes an item under a condition.
    async fn put(
        &self,
        key: RowKey,
        item: Item,
        condition: Condition,
        terms: Terms,
    ) -> Result<Written, StoreError> {
        let put = self.client.put_item().table_name(&self.table);
        let put = put
            .set_item(Some(item))
            .condition_expression(condition.text)
            .set_expression_attribute_values(Some(condition.values))
            .return_values(ReturnValue::AllOld)
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let error = match put.send().await {
            Ok(answer) => {
                if let Some(before) = answer.attributes {
                    // there was nothing to be read there, or something lesser: this counts why
                    self.read(key, &before, terms);
                }
                return Ok(Written::Stored);
            }
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(refused)) => {
                let stands = match refused.item() {
                    Some(item) => Some(item.clone()),
                    // a server that does not tell
                    None => self.get(key).await?,
                };
                Ok(stands.map_or(Written::Gone, Written::Stands))
            }
            _ => Err(failed(&error)),
        }
    }

    async fn get(&self, key: RowKey) -> Result<Option<Item>, StoreError> {
        let get = self.client.get_item().table_name(&self.table);
        let get = get
            .key(crate::item::KEY, self.place.key(key))
            .consistent_read(true)
            .projection_expression(READ);
        let answer = get.send().await.map_err(|error| failed(&error))?;
        Ok(answer.item)
    }

    async fn remove(&self, key: RowKey, session: SessionId) -> Result<(), StoreError> {
        let delete = self.client.delete_item().table_name(&self.table);
        let delete = delete
            .key(crate::item::KEY, self.place.key(key))
            .condition_expression("sid = :session")
            .expression_attribute_values(":session", AttributeValue::S(session.to_string()));
        match delete.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                // there is none, or that of another session
                Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(failed(&error)),
            },
        }
    }

    /// Reads an item; one that does not count is counted for that.
    fn read(&self, key: RowKey, item: &Item, terms: Terms) -> Option<SessionPin> {
        match unwrap(&self.codec, key, item, terms) {
            Ok(pin) => Some(pin),
            Err(fault) => {
                if let Some(count) = self.absent.get(fault as usize) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                None
            }
        }
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        // what it guards is only ever replaced as a whole
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is time to count, from now on by the caller.
    fn is_to_count(&self, now: Timestamp) -> bool {
        let Some(every) = self.options.count_every else {
            return false;
        };
        let begun = &mut self.count().begun;
        let is_soon = begun.is_some_and(|begun| begun <= now && now.since(begun) < every);
        if !is_soon {
            *begun = Some(now);
        }
        !is_soon
    }
}

impl PinStore for DynamoStore {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        self.call(move |inner| async move { inner.load(key, terms).await })
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        // DynamoDB knows no bound of rows, so nobody's row goes for another one
        self.write(How::First, claim.key, claim.pin, claim.terms)
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        self.write(How::Later, key, pin, terms)
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        self.call(move |inner| async move { inner.remove(key, session).await })
    }

    fn absent(&self, fault: RowFault) -> u64 {
        let count = self.0.absent.get(fault as usize);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        match &self.0.count().last {
            Some(counted) => counted.told(now),
            None => LiveCounts::Unknown,
        }
    }

    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        if !self.0.is_to_count(now) {
            return StoreCall::ready(());
        }
        self.call(move |inner| async move {
            let counted = inner.counted(now).await?;
            inner.count().last = Some(Arc::new(counted));
            Ok(())
        })
    }
}

impl fmt::Debug for DynamoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoStore")
            .field("service", self.0.codec.service())
            .field("table", &self.0.table)
            .field("place", &self.0.place)
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
