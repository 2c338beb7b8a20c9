//! What a request costs, through the layer: requests to DynamoDB, and whether they write.

use crate::site::{QUARTER, Site};

#[tokio::test]
async fn a_request_takes_one_request_and_a_touched_row_two() {
    let Some(site) = Site::start([90, 10]).await else {
        return;
    };
    // who shows nothing leaves nothing behind
    let (cost, (pin, _)) = site.cost(site.get(&[])).await;
    assert_eq!(cost, [0, 0], "a request without a pin or a key");
    let steady = async {
        for _ in 0..100 {
            site.get(&[("cookie", &pin)]).await;
        }
    };
    let (cost, ()) = site.cost(steady).await;
    assert_eq!(
        cost,
        [100, 0],
        "100 requests, the first of which makes the row"
    );

    let (cost, (first, _)) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, [1, 0], "the first request of a user");
    let (cost, _) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, [1, 0], "the same user elsewhere");
    site.clock.advance(QUARTER);
    let (cost, (renewed, _)) = site.cost(site.get(&[("cookie", &pin)])).await;
    assert_eq!((cost, renewed.is_empty()), ([1, 0], false), "a renewal");
    let (cost, _) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, [2, 0], "a row that is touched");
    let (cost, _) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, [1, 0], "after it was touched");
    let both = [("x-user", "ann"), ("cookie", &*first)];
    let (cost, _) = site.cost(site.get(&both)).await;
    assert_eq!(cost, [1, 0], "a pin that is older than its row");

    let mut to_b = None;
    for _ in 0..1_000 {
        let (pin, group) = site.get(&[]).await;
        if group == "B" {
            to_b = Some(pin);
            break;
        }
    }
    let to_b = to_b.expect("one of ten goes to B");
    site.get(&[("cookie", &to_b)]).await;
    site.abort_b();
    let (cost, (moved, group)) = site.cost(site.get(&[("cookie", &to_b)])).await;
    assert_eq!((cost, moved.is_empty()), ([1, 0], false), "a move");
    assert_eq!(group, "A");

    // what has ended lies there still, and is replaced in the same step
    site.clock.advance(QUARTER * 5);
    let (cost, _) = site.cost(site.get(&[("x-user", "ann")])).await;
    assert_eq!(cost, [1, 0], "the heir of a row that has ended");
}
