//! What concerns the whole table: how it is made, and how its rows are counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
    ScalarAttributeType, TableStatus,
};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower_affinity_core::{Counted, EndpointId, GroupId, StoreError, Timestamp};

use crate::DynamoStore;
use crate::failure::{Failure, failed};
use crate::item::{ENDPOINT, GROUP, Item, KEY, VERSION, label, number};
use crate::store::Inner;

/// How long a count may take: one that takes longer would be too old before the next is there.
const COUNT_TIME: Duration = Duration::from_secs(5);

/// How many parts of the table are counted at once.
const SEGMENTS: u16 = 4;

/// What is counted: rows of this place and form that have not ended.
const LIVE: &str = "begins_with(k, :place) AND size(k) = :length AND v = :version AND exp > :now";

impl DynamoStore {
    /// Makes the table, paid by the request, unless it is there, and waits up to a minute until it can
    /// be used. For tests and for trying things out: it does not have DynamoDB delete what has ended,
    /// see the [crate's documentation](crate).
    ///
    /// # Errors
    ///
    /// If DynamoDB refuses, or does not answer, or the table is not ready in time.
    pub async fn create_table(&self) -> Result<(), StoreError> {
        let Inner { client, table, .. } = &*self.0;
        let definition = AttributeDefinition::builder()
            .attribute_name(KEY)
            .attribute_type(ScalarAttributeType::S)
            .build();
        let key = KeySchemaElement::builder()
            .attribute_name(KEY)
            .key_type(KeyType::Hash)
            .build();
        let create = client
            .create_table()
            .table_name(table)
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(definition.map_err(StoreError::new)?)
            .key_schema(key.map_err(StoreError::new)?);
        match create.send().await {
            Ok(_) => {}
            Err(error) => match error.as_service_error() {
                Some(CreateTableError::ResourceInUseException(_)) => {}
                _ => return Err(failed(&error)),
            },
        }
        for _ in 0..READY_LOOKS {
            let answer = client.describe_table().table_name(table).send().await;
            let answer = answer.map_err(|error| failed(&error))?;
            let status = answer.table.and_then(|table| table.table_status);
            if status == Some(TableStatus::Active) {
                return Ok(());
            }
            sleep(READY_LOOK).await;
        }
        Err(Failure::Table.into())
    }
}

const READY_LOOK: Duration = Duration::from_millis(250);
const READY_LOOKS: u32 = 240;

impl Inner {
    /// Counts all live rows of this place.
    pub(crate) async fn counted(self: &Arc<Self>, now: Timestamp) -> Result<Counted, StoreError> {
        let mut segments = JoinSet::new();
        for segment in 0..SEGMENTS {
            let inner = Arc::clone(self);
            segments.spawn(async move { inner.count_segment(segment, now).await });
        }
        let mut all = Counted::new(now);
        let gather = async {
            while let Some(counted) = segments.join_next().await {
                for ((group, endpoint), count) in counted.map_err(StoreError::new)?? {
                    all.add(group, endpoint, count);
                }
            }
            Ok::<_, StoreError>(())
        };
        let gathered = timeout(COUNT_TIME, gather).await;
        gathered.unwrap_or_else(|_| Err(Failure::Late.into()))?;
        Ok(all)
    }

    /// Counts the live rows of one part of the table, page by page.
    async fn count_segment(&self, segment: u16, now: Timestamp) -> Result<Counts, StoreError> {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let place = self.place.prefix();
        let values = [
            (":place", text(place)),
            (":length", number(self.place.key_length() as u64)),
            (":version", AttributeValue::N(VERSION.to_owned())),
            (":now", number(now.as_secs())),
        ];
        let values: Item = values.map(|(name, value)| (name.to_owned(), value)).into();
        let mut counts = Counts::new();
        let mut from: Option<Item> = None;
        loop {
            let scan = self.client.scan().table_name(&self.table);
            let scan = scan
                .segment(segment.into())
                .total_segments(SEGMENTS.into())
                .filter_expression(LIVE)
                .projection_expression(format!("{GROUP}, {ENDPOINT}"))
                .set_expression_attribute_values(Some(values.clone()))
                .set_exclusive_start_key(from);
            let page = scan.send().await.map_err(|error| failed(&error))?;
            // an item that nobody of ours can have written counts nowhere
            for of_item in page.items().iter().filter_map(label) {
                *counts.entry(of_item).or_default() += 1;
            }
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(counts);
            }
        }
    }
}

/// How many rows there are of a group and endpoint.
type Counts = HashMap<(GroupId, Option<EndpointId>), u64>;
