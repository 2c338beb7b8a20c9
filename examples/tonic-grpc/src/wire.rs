//! The messages and methods. A build with protoc makes the same of `shop.proto`:
//!
//! ```proto
//! package shop;
//! message Item { string name = 1; }
//! message Sum { uint32 cents = 1; repeated string met = 2; }
//! service Cart { rpc Add(Item) returns (Sum); }
//! service Price { rpc Of(Item) returns (Sum); }
//! ```

/// What is bought.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Item {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// What it costs.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Sum {
    /// The sum.
    #[prost(uint32, tag = "1")]
    pub cents: u32,
    /// The services on the way and their commits, as in `cart 9f1c2ab`.
    #[prost(string, repeated, tag = "2")]
    pub met: Vec<String>,
}

/// `shop.Cart.Add`.
pub const ADD: &str = "/shop.Cart/Add";

/// `shop.Price.Of`.
pub const OF: &str = "/shop.Price/Of";
