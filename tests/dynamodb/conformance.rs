//! The facts of every store.

use tower_affinity_testing::store::{Planted, conform, conform_rows};

use crate::support::{DynamoServer, Tells, item, put, shared, store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dynamodb_fulfils_the_contract() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    conform(|place| shared(store(&server.url(), place))).await;
}

/// Others speak as DynamoDB does, too, and not all of them tell what stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_tell_what_stands_is_asked_for_it() {
    let Some(server) = DynamoServer::start(Tells::Nothing).await else {
        return;
    };
    conform(|place| shared(store(&server.url(), place))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_row_of_ours_is_not_used() {
    let Some(server) = DynamoServer::start(Tells::Item).await else {
        return;
    };
    let plant = async |place: &'static str, planted: Planted| {
        let row = String::from_utf8(planted.row).expect("a string of DynamoDB is text");
        let item = item(place, planted.key, &planted.pin, &row);
        put(server.address(), &item).await;
    };
    conform_rows(|place| shared(store(&server.url(), place)), plant).await;
}
