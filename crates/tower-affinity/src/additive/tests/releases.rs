//! Old and new code take turns.

use serde_json::json;
use tower_sessions::session::{Id, Record};
use tower_sessions::{MemoryStore, Session, SessionStore};

use super::{Additive, New, Old, new};
use std::sync::Arc;

#[test]
fn a_field_of_the_next_release_survives_a_change_by_this_one() {
    let text = serde_json::to_string(&Additive::new(new())).unwrap();
    let mut old: Additive<Old> = serde_json::from_str(&text).unwrap();
    assert_eq!((old.carried(), old.dropped()), (2, 0));
    old.step = 2;
    let text = serde_json::to_string(&old).unwrap();
    let read: Additive<New> = serde_json::from_str(&text).unwrap();
    assert_eq!(*read, New { step: 2, ..new() });
    assert_eq!(read.carried(), 0);
}

#[test]
fn without_it_the_field_is_lost() {
    let text = serde_json::to_string(&new()).unwrap();
    let old: Old = serde_json::from_str(&text).unwrap();
    let read: New = serde_json::from_str(&serde_json::to_string(&old).unwrap()).unwrap();
    assert_eq!(read.coupon, None, "then nobody would need it");
}

#[test]
fn what_this_release_wrote_is_read_by_the_next_one() {
    let old = Additive::new(Old {
        step: 3,
        name: "Ada".to_owned(),
    });
    let text = serde_json::to_string(&old).unwrap();
    assert_eq!(text, r#"{"step":3,"name":"Ada"}"#);
    let read: Additive<New> = serde_json::from_str(&text).unwrap();
    assert_eq!((read.step, &read.coupon), (3, &None));
}

#[test]
fn a_struct_that_denies_unknown_fields_never_sees_them() {
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        step: u32,
    }
    let stored = json!({"step": 1, "more": [1, 2]});
    let strict: Additive<Strict> = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(strict.step, 1);
    assert_eq!(serde_json::to_value(&strict).unwrap(), stored);
}

#[test]
fn an_alias_is_a_name_that_is_known() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Renamed {
        #[serde(alias = "step")]
        stage: u32,
    }
    let renamed: Additive<Renamed> = serde_json::from_str(r#"{"step":4}"#).unwrap();
    assert_eq!((renamed.stage, renamed.carried()), (4, 0));
}

#[test]
fn what_a_struct_writes_but_does_not_read_is_written_once_and_new() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Derived {
        step: u32,
        #[serde(skip_deserializing)]
        next: u32,
    }
    let stored = r#"{"step":1,"next":7,"more":true}"#;
    let mut derived: Additive<Derived> = serde_json::from_str(stored).unwrap();
    derived.next = derived.step + 1;
    assert_eq!(
        serde_json::to_string(&derived).unwrap(),
        r#"{"step":1,"next":2,"more":true}"#
    );
    let packed = rmp_serde::to_vec(&derived).unwrap();
    let read: serde_json::Value = rmp_serde::from_slice(&packed).unwrap();
    assert_eq!(read, json!({"step": 1, "next": 2, "more": true}));
}

#[test]
fn what_the_top_level_holds_is_carried_and_what_is_wrapped_below_it() {
    #[derive(Default, serde::Serialize, serde::Deserialize)]
    #[serde(default)]
    struct Order {
        bare: Old,
        wrapped: Additive<Old>,
        rows: Vec<Additive<Old>>,
    }
    let stored = json!({
        "bare": {"step": 1, "name": "a", "more": 1},
        "wrapped": {"step": 2, "name": "b", "more": 2},
        "rows": [{"step": 3, "name": "c", "more": 3}],
        "more": 4,
    });
    let mut order: Additive<Order> = serde_json::from_value(stored.clone()).unwrap();
    order.wrapped.step = 20;
    let mut expected = stored;
    expected["wrapped"]["step"] = json!(20);
    expected["bare"].as_object_mut().unwrap().remove("more");
    assert_eq!(serde_json::to_value(&order).unwrap(), expected);
}

const KEY: &str = "flow";

/// A request on which a release changes the session's payload, through the store.
async fn request(store: &Arc<MemoryStore>, id: Id, change: impl AsyncFnOnce(&Session)) {
    let session = Session::new(Some(id), Arc::clone(store) as Arc<_>, None);
    change(&session).await;
    session.save().await.unwrap();
}

#[tokio::test]
async fn releases_share_sessions_in_a_store_also_after_a_rollback() {
    let store = Arc::new(MemoryStore::default());
    let first = Session::new(None, Arc::clone(&store) as Arc<_>, None);
    first.insert(KEY, Additive::new(new())).await.unwrap();
    first.save().await.unwrap();
    let id = first.id().unwrap();

    // the rollout is aborted: the old release goes on with sessions that the new one wrote
    for step in 2..5 {
        request(&store, id, async |session| {
            let mut flow: Additive<Old> = session.get(KEY).await.unwrap().unwrap();
            assert_eq!(flow.name, "Ada");
            flow.step = step;
            session.insert(KEY, flow).await.unwrap();
        })
        .await;
    }
    // and the fixed one comes back
    request(&store, id, async |session| {
        let flow: Additive<New> = session.get(KEY).await.unwrap().unwrap();
        assert_eq!(*flow, New { step: 4, ..new() });
    })
    .await;
    let record: Record = store.load(&id).await.unwrap().unwrap();
    assert_eq!(record.data[KEY]["coupon"], json!("SPRING"));
}
