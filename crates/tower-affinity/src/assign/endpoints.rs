//! Which endpoint a pin's code names.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tower_affinity_core::{
    EndpointCodes, EndpointId, EndpointRef, GroupId, GroupRef, PinCodec, Readiness, SessionPin,
};

/// The codes of each group's endpoints. They are made when a pin first names one of the group, and
/// again when its list has changed; groups that no such pin names cost nothing.
///
/// It has one place for each id of a rollout, since pins of others are not looked up.
#[derive(Default)]
pub(super) struct Endpoints(ArcSwap<HashMap<GroupId, Arc<Listed>>>);

struct Listed {
    list: Arc<[EndpointId]>,
    codes: EndpointCodes,
}

impl Endpoints {
    /// Puts the endpoint's id into a pin whose group is known.
    pub(super) fn resolve(&self, codec: &PinCodec, ready: &dyn Readiness, pin: &mut SessionPin) {
        let (Some(EndpointRef::Unknown(_)), GroupRef::Known(id)) = (&pin.endpoint, &pin.group)
        else {
            return;
        };
        let Some(list) = ready.endpoint_ids(id.name()) else {
            return;
        };
        let known = self.0.load().get(id).cloned();
        let listed = known.filter(|known| Arc::ptr_eq(&known.list, &list));
        let listed = listed.unwrap_or_else(|| self.listed(codec, id, list));
        listed.codes.resolve(pin);
    }

    fn listed(&self, codec: &PinCodec, id: &GroupId, list: Arc<[EndpointId]>) -> Arc<Listed> {
        let codes = codec.endpoint_codes(id, &list);
        let listed = Arc::new(Listed { list, codes });
        self.0.rcu(|all| {
            let mut all = HashMap::clone(all);
            all.insert(id.clone(), Arc::clone(&listed));
            all
        });
        listed
    }
}
