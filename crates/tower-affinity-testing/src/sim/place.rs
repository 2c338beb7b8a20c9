//! Endpoints: where they are, what a replica sees of them, and which one answers.

use std::sync::Arc;

use tower_affinity_core::{
    Decision, EndpointId, EndpointRef, GroupRef, PinCodec, Readiness, SessionPin, endpoint_rank,
};

use super::Violation;
use super::names::{GROUPS, id_of};
use super::replica::View;
use super::world::{Check, World};

/// How many endpoints a group has at most.
pub(super) const MOST: usize = 3;

/// An endpoint as the world knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pod {
    pub(super) up: bool,
    /// How often it has come back elsewhere.
    pub(super) life: u32,
}

impl Default for Pod {
    fn default() -> Self {
        Self { up: true, life: 0 }
    }
}

/// Where an endpoint is: one that comes back elsewhere is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) group: u8,
    pub(super) nth: u8,
    pub(super) life: u32,
}

impl Place {
    pub(super) fn id(self) -> EndpointId {
        let Self { group, nth, life } = self;
        EndpointId::new(&format!("g{group}-{nth}-{life}"))
    }

    pub(super) fn of(id: &EndpointId) -> Option<Self> {
        let mut parts = id.as_str().strip_prefix('g')?.split('-');
        Some(Self {
            group: parts.next()?.parse().ok()?,
            nth: parts.next()?.parse().ok()?,
            life: parts.next()?.parse().ok()?,
        })
    }

    /// The place that an opened pin names, as far as that can be told.
    pub(super) fn known(endpoint: Option<&EndpointRef>) -> Option<Self> {
        Self::of(endpoint?.known()?)
    }
}

/// The endpoints of all groups as a replica has last seen them.
pub(super) type Seen = [[Option<Pod>; MOST]; GROUPS];

/// The endpoints of a group in such a list, each with whether it was up.
pub(super) fn listed(seen: &Seen, group: u8) -> impl Iterator<Item = (Place, bool)> + '_ {
    let pods = seen[usize::from(group)].iter().enumerate();
    pods.filter_map(move |(nth, pod)| {
        let (nth, pod) = (nth as u8, (*pod)?);
        let life = pod.life;
        Some((Place { group, nth, life }, pod.up))
    })
}

/// Puts the endpoint's id into a pin, as a replica does that sees `view`.
pub(super) fn resolve(codec: &PinCodec, view: &View, pin: &mut SessionPin) {
    if let (Some(EndpointRef::Unknown(_)), GroupRef::Known(id)) = (&pin.endpoint, &pin.group)
        && let Some(ids) = view.endpoint_ids(id.name())
    {
        codec.endpoint_codes(id, &ids).resolve(pin);
    }
}

impl View {
    pub(super) fn ids(&self, group: u8) -> Arc<[EndpointId]> {
        let places = listed(&self.endpoints, group);
        places.map(|(place, _)| place.id()).collect()
    }

    pub(super) fn is_up(&self, place: Place) -> bool {
        listed(&self.endpoints, place.group).any(|(listed, up)| up && listed == place)
    }
}

impl World<'_> {
    /// The endpoints of a group as they are.
    pub(super) fn pods(&self, group: usize) -> [Option<Pod>; MOST] {
        std::array::from_fn(|nth| self.endpoints[group].get(nth).copied())
    }

    /// An endpoint that comes up may be another one, elsewhere.
    pub(super) fn comes(&mut self, group: usize, nth: usize, up: bool) {
        let pod = &mut self.endpoints[group][nth];
        let was_up = std::mem::replace(&mut pod.up, up);
        let Some(levels) = &mut self.levels else {
            return;
        };
        if up && levels.chance(if was_up { 300 } else { 500 }) {
            pod.life += 1;
        }
    }

    /// Which endpoint of its group answers a request whose session is at `home`, in the runs in
    /// which that matters. The session's own does while it is there.
    pub(super) fn serves(
        &mut self,
        replica: usize,
        decision: &Decision,
        home: Option<Place>,
    ) -> Check<Option<Place>> {
        let group = decision.group.as_ref().map(id_of);
        let (Some(levels), Some((group, _))) = (&mut self.levels, group) else {
            return Ok(None);
        };
        let view = self.replicas[replica].view();
        let up: Vec<Place> = self.endpoints[usize::from(group)]
            .iter()
            .enumerate()
            .filter(|(_, pod)| pod.up)
            .map(|(nth, pod)| Place {
                group,
                nth: nth as u8,
                life: pod.life,
            })
            .collect();
        let served = match decision.endpoint_key {
            None => up.get(levels.below(up.len())).copied(),
            Some(key) => {
                let named = decision.endpoint().and_then(Place::of);
                // who finds it gone asks another one
                let named = named.filter(|place| up.contains(place));
                let rank = |place: &Place| (view.is_up(*place), endpoint_rank(key, &place.id()));
                named.or_else(|| up.iter().copied().max_by_key(rank))
            }
        };
        let left = home.filter(|home| up.contains(home) && served != Some(*home));
        if let Some(home) = left {
            return Violation::of(
                "I1 the same endpoint",
                format!("{served:?} serves a session of {home:?}, which is there: {decision:?}"),
            );
        }
        if let Some(place) = served {
            self.trace
                .mix_numbers(&[u64::from(place.nth), u64::from(place.life)]);
            self.trace
                .tell(|| format!("  which {} answers", place.id()));
        }
        Ok(served)
    }
}
