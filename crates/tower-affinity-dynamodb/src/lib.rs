//! Stored assignments of commit affinity in [Amazon DynamoDB](https://aws.amazon.com/dynamodb/).
//!
//! ```
//! use tower_affinity_dynamodb::{DynamoOptions, DynamoStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // connects when it is first asked; a table that is not there is an error of that call
//! let store = DynamoStore::new(
//!     "affinity",
//!     "affinity:checkout",
//!     "checkout".parse()?,
//!     DynamoOptions::new("eu-central-1", "AKIAIOSFODNN7EXAMPLE", "from-a-file"),
//! )?;
//! # drop(store);
//! # Ok(())
//! # }
//! ```
//!
//! # The table
//!
//! One table with the partition key `k`, a string, and neither a sort key nor an index:
//!
//! ```text
//! aws dynamodb create-table --table-name affinity --billing-mode PAY_PER_REQUEST \
//!     --attribute-definitions AttributeName=k,AttributeType=S \
//!     --key-schema AttributeName=k,KeyType=HASH
//! aws dynamodb update-time-to-live --table-name affinity \
//!     --time-to-live-specification Enabled=true,AttributeName=ttl
//! ```
//!
//! | attribute | type | what it holds |
//! | --- | --- | --- |
//! | `k` | S | `PREFIX:s:ID` of a session, or `PREFIX:k:ID` of what a scope names |
//! | `v` | N | the version of this form, 1 |
//! | `pin` | S | the row: the JSON of [`RowCodec`](tower_affinity_core::RowCodec) |
//! | `ord` | S | what orders the pins of a session, [`RowCodec::rank`](tower_affinity_core::RowCodec::rank) |
//! | `sid` | S | the session |
//! | `grp` | S | `GROUP#GENERATION` |
//! | `ep` | S | the endpoint, if the session is bound to one |
//! | `sst`, `exp` | N | the seconds in which the session began and in which the row ends |
//! | `ttl` | N | when DynamoDB may delete it: ten minutes after its end |
//!
//! The JSON is the row; the other attributes only repeat it for conditions and counts. An item whose
//! attributes tell anything else is malformed, and absent. Prefixes share a table without seeing each
//! other's rows.
//!
//! Whether a row has ended is decided by whoever reads it, and by the conditions of what is written.
//! That DynamoDB deletes items by `ttl`, often days late, only frees their space: without
//! `update-time-to-live` nobody is misled, and the table grows for ever.
//!
//! A user needs `dynamodb:GetItem`, `dynamodb:PutItem` and `dynamodb:DeleteItem` on the table, and
//! `dynamodb:Scan` where live sessions are counted.
//!
//! # One request for a request
//!
//! A claim and a replacement are one conditional `PutItem` each, a removal is one conditional
//! `DeleteItem`, a load is one consistent `GetItem`. What a condition refuses comes with the item that
//! stands (`ReturnValuesOnConditionCheckFailure`), so whoever has lost a race hears of the winner in
//! the same answer. A second request follows only
//!
//! - when the claim of a client without a pin finds a row that is due for a touch: once in a quarter
//!   of the idle lifetime;
//! - when a session is moved while its row has a later expiry than its pin, since that is kept;
//! - over an item that is none of ours although its attributes look right;
//! - where a server in the place of DynamoDB does not tell which item stands.
//!
//! Each of these writes costs one write unit for each KiB of the item, refused or not; items are
//! smaller than that unless names are long.
//!
//! # Live sessions
//!
//! DynamoDB counts nothing by itself, so live sessions are unknown unless
//! [`count_every`](DynamoOptions::count_every) is set. They are counted in
//! [`upkeep`](tower_affinity_core::PinStore::upkeep) then, by a scan of the whole table in four
//! segments, which costs a read unit for each 8 KiB of it. A scan that takes more than five seconds is
//! given up, and counts older than ten seconds are not told.
//!
//! # When something fails
//!
//! The SDK tries nothing twice: the guard around every store decides what happens next. A call goes on
//! in the background when nobody waits for it any more, for at most its own timeouts, so that a
//! connection comes about which takes longer than a request waits. An answer of more than 4 MiB is
//! cut off. An error tells what is wrong in words of our own, and the one word by which DynamoDB names
//! its exception.
//!
//! # Why `aws-sdk-dynamodb`
//!
//! It is AWS' own, its endpoints and signatures follow what AWS changes, and it compiles without its
//! default features: the connections are made by rustls with aws-lc-rs, the one cryptography of this
//! workspace. `rusoto` is no longer maintained. It is a large dependency, so this crate is one of its
//! own, and its oldest Rust (1.94.1) is that of the SDK.

mod client;
mod condition;
mod failure;
mod item;
mod options;
mod store;
mod table;

pub use options::{DynamoOptions, InvalidDynamo};
pub use store::DynamoStore;
